//! `usm_ndarray` and the functions of `usm.tensor`.

mod arguments;
mod array;
mod construct;
mod convert;
pub(crate) mod dtype;
mod exchange;
mod flags;

pub use array::UsmNdarray;
pub(crate) use construct::{empty, zeros};
pub(crate) use dtype::{PyDtype, named as dtype_named};
pub(crate) use exchange::{asarray, asnumpy};
pub(crate) use flags::Flags;
