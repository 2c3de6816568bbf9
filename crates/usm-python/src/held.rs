//! The interpreter for code that other libraries call: destructors, and the functions of tables that they read.

use std::{fmt, mem};

use pyo3::ffi;
use pyo3::prelude::*;

use crate::called;

/// The interpreter for the time of a value, on a thread that holds it or not.
///
/// Invariant HE1: the state is the one that this thread took, and is released once.
struct Interpreter(ffi::PyGILState_STATE);

impl Interpreter {
    /// `None` where there is none any more.
    fn take() -> Option<Self> {
        // SAFETY: PY2: it may be called at any time from any thread.
        let is_there = unsafe { ffi::Py_IsInitialized() } != 0;
        // SAFETY: PY2: there is an interpreter; the call may come from any thread. One that begins to end in between ends this thread, as
        // each other that asks for it then.
        is_there.then(|| Self(unsafe { ffi::PyGILState_Ensure() }))
    }
}

impl Drop for Interpreter {
    fn drop(&mut self) {
        // SAFETY: HE1; on the same thread, since a raw state is not `Send`.
        unsafe { ffi::PyGILState_Release(self.0) };
    }
}

/// Does something with the interpreter, for a caller of which nobody knows whether it holds it. `None` where there is none any more.
///
/// PyO3 counts for each thread how often its code took the interpreter, and trusts the count. A library below one of our calls may
/// have given the interpreter up since, and call a deleter of ours then: PyTorch does. So Python itself is asked.
pub(crate) fn with_interpreter<T>(job: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    let _interpreter = Interpreter::take()?;
    Python::try_attach(job)
}

/// Gives something back to Python, on any thread, with the interpreter or without. Where a program ends the thing stays as it is.
pub(crate) fn give_back(job: impl FnOnce()) {
    if !called::is_left_behind() {
        with_interpreter(|_| job());
    }
}

/// A Python object that memory or a queue keeps: it may go on any thread, with the interpreter or without.
///
/// A thread without the interpreter would leave the object in a list of PyO3's, whose lock a forked child may find locked for ever.
pub(crate) struct Kept<T = PyAny> {
    /// There until the end.
    object: Option<Py<T>>,
}

impl<T> Kept<T> {
    pub(crate) fn of(object: &Bound<'_, T>) -> Self {
        Self { object: Some(object.clone().unbind()) }
    }

    pub(crate) fn object(&self) -> Option<&Py<T>> {
        self.object.as_ref()
    }
}

impl<T> fmt::Debug for Kept<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        let mut object = self.object.take();
        give_back(|| drop(object.take()));
        mem::forget(object);
    }
}
