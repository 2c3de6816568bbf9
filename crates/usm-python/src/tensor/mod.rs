//! `usm_ndarray` and the functions of `usm.tensor`.
//!
//! | file | job |
//! |---|---|
//! | `array.rs` | all methods of `usm_ndarray`; the files below carry them out |
//! | `construct.rs`, `pickle.rs`, `transfer.rs` | new arrays; arrays from pickles; arrays on other devices, and converted |
//! | `indexing.rs`, `slice.rs` | `array[key]` and `array[key] = value` |
//! | `iteration.rs` | `for view in array` |
//! | `operators.rs`, `operand.rs` | comparisons and the logic of booleans, the objects beside an array |
//! | `arithmetic.rs`, `compute.rs`, `ufunc.rs` | operators that providers compute; what providers need of arrays; NumPy's functions on small ones |
//! | `numbers.rs` | Python numbers and lists |
//! | `flags.rs`, `device.rs`, `dtype.rs`, `known_dtypes.rs`, `print.rs` | the classes of attributes; arrays as text |
//! | `arguments.rs` | shapes, dtypes, orders and indices as arguments |
//! | `functions/` | the functions of `usm.tensor` |
//! | `exchange/`, `dlpack/`, `peer.rs` | arrays from and for other libraries |

mod arguments;
mod arithmetic;
mod array;
pub(crate) mod compute;
mod construct;
mod device;
mod dlpack;
pub(crate) mod dtype;
mod exchange;
mod flags;
pub(crate) mod functions;
mod indexing;
mod iteration;
mod known_dtypes;
mod numbers;
mod operand;
mod operators;
mod peer;
mod pickle;
mod print;
mod slice;
mod transfer;
pub(crate) mod ufunc;

pub(crate) use arguments::explicit_dtype;
pub(crate) use dlpack::{dldevice_to_sycl_device, from_dlpack, sycl_device_to_dldevice};
pub(crate) use dtype::{PyDtype, named as dtype_named};
pub(crate) use exchange::{asarray, asnumpy, from_numpy, to_numpy};
pub(crate) use flags::Flags;
pub(crate) use pickle::{array_from_pickle, array_over_buffer};
pub(crate) use print::{get_print_options, set_print_options, usm_ndarray_repr, usm_ndarray_str};
