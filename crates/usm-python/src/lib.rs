//! SYCL unified shared memory for Python: the native module `usm._usm`, and a library for PyO3 extensions.
//!
//! This layer is thin: it parses Python objects, calls the Rust crates and converts the results. What a Rust user would want,
//! too, is in [`usm_array`] and the crates below.
//!
//! # For authors of extensions
//! With this crate as a library, a PyO3 extension takes and returns arrays in the signatures of its functions: [`PyUsmArray`],
//! [`PyUsmArrayMut`], [`PyTypedArray`], [`PyTypedArrayMut`]. Arguments are arrays of dpctl, dpnp, `usm` and every other library with
//! `__sycl_usm_array_interface__`; results are `usm.tensor.usm_ndarray` of the installed package `usm`, which must be of the same
//! release. [`runtime`] has the devices and queues for new arrays, [`to_py_err`] the package's exceptions. The project's folder
//! `examples/pyext` is such an extension.
//!
//! An extension has a copy of this library of its own. It joins the package's copy when it is first used: both work on one
//! host backend, one SYCL runtime and one table of borrows, so that memory goes both ways without a copy and guards see each
//! other. Each copy keeps for itself: default resources and pools, the lists of live memory, and errors of operations on
//! queues that it made. The other classes of this crate are the package's own; an extension gets them from Python.

/// An interned Python string, as from the macro of PyO3. That one holds a lock while it waits for the interpreter, and a child
/// forked meanwhile would wait for ever.
macro_rules! intern {
    ($py:expr, $text:expr $(,)?) => {{
        use usm_array::usm_core::fork::ForkOnce;
        static INTERNED: ForkOnce<pyo3::Py<pyo3::types::PyString>> = ForkOnce::new();
        let py: pyo3::Python<'_> = $py;
        INTERNED.get_or_init(|| pyo3::types::PyString::intern(py, $text).unbind()).bind(py)
    }};
}

// What unsafe code relies on outside of this library. SAFETY comments name these facts.
// Invariant PY1: a `Bound` is a live object of the interpreter that this thread is attached to.
// Invariant PY2: functions of Python's C interface do what its documentation says, and so does Python when it calls ours.
// Invariant TB1: an interface, a capsule, a tensor or a table of another library is what its protocol says (SECURITY.md).
// Invariant TB2: code and arguments of kernels are valid, and streams are live, as the Python program says (SECURITY.md).

#[macro_use]
mod errors;
#[macro_use]
mod facts;

mod attribute;
mod buffer_export;
mod buffer_import;
mod builtin;
mod called;
mod doctor;
mod extension;
mod functions;
mod held;
mod imported;
mod interface;
mod interrupt;
mod ipc;
mod join;
mod memory;
mod module;
mod new_numpy;
mod number;
mod objects;
mod program;
mod queue;
mod selection;
mod sycl;
mod tensor;

pub use extension::{PyTypedArray, PyTypedArrayMut, PyUsmArray, PyUsmArrayMut, runtime, to_py_err};
pub use module::_usm;
pub use usm_array;
