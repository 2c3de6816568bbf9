//! For PyO3 extensions in Rust: arrays as arguments and results of `#[pyfunction]`s.
//!
//! An extension links a copy of this library of its own, so its classes and statics are not those of the installed package `usm`.
//! It joins the package at run time (`join.rs`): both copies then work on one host backend and one table of borrows, the SYCL
//! runtime is one anyway, and what is handed to Python is an object of the package's classes.

mod array;
mod handover;
mod package;
mod typed;

pub use self::array::{PyUsmArray, PyUsmArrayMut};
pub(crate) use self::package::_c_api;
pub use self::package::{runtime, to_py_err};
pub use self::typed::{PyTypedArray, PyTypedArrayMut};
