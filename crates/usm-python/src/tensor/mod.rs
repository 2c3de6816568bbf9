//! `usm_ndarray` and the functions of `usm.tensor`.

mod arguments;
mod array;
mod construct;
mod convert;
mod dlpack;
pub(crate) mod dtype;
mod exchange;
mod flags;

pub use array::UsmNdarray;
pub(crate) use construct::{empty, zeros};
pub(crate) use dlpack::from_dlpack;
pub(crate) use dtype::{PyDtype, named as dtype_named};
pub(crate) use exchange::{asarray, asnumpy, from_numpy, to_numpy};
pub(crate) use flags::Flags;
