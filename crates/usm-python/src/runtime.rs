//! The one runtime of the process, told where this Python installation keeps the SYCL libraries.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use usm_array::usm_core::{Runtime, RuntimeOptions};
use usm_array::usm_memory::{around_waits_in_drops, wait_for_others_with};

use crate::extension::{is_package, join};
use crate::interrupt;

/// The runtime; in an extension one that shares the package's host backend. The first call asks `usm._locate` for the places that only Python knows; nothing is loaded by it.
pub(crate) fn get(py: Python<'_>) -> PyResult<&'static Runtime> {
    static RUNTIME: PyOnceLock<&'static Runtime> = PyOnceLock::new();
    RUNTIME
        .get_or_try_init(py, || {
            around_waits_in_drops(detached);
            wait_for_others_with(interrupt::wait_in_guard);
            interrupt::finish_at_exit(py)?;
            let roots: Vec<(String, String)> = py.import("usm._locate")?.call_method0("roots")?.extract()?;
            let options = roots
                .into_iter()
                .fold(RuntimeOptions::new(), |options, (origin, path)| options.extra_root(origin, path));
            if is_package() { Ok(Runtime::init_global(|| options)) } else { join(py, options) }
        })
        .copied()
}

/// Waits without the interpreter, which pending work may need to end. Objects are dropped with the interpreter attached.
fn detached(wait: &mut (dyn FnMut() + Send)) {
    // A thread that is not attached cannot tell, so it attaches for a moment: waits in drops are rare.
    if Python::try_attach(|py| py.detach(&mut *wait)).is_none() {
        wait(); // there is no interpreter any more
    }
}
