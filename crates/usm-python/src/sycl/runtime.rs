//! The one runtime of the process, told where this Python installation keeps the SYCL libraries.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use usm_array::usm_core::fork::ForkOnce;
use usm_array::usm_core::{BackendId, Context, Device, Problem, ProblemKind, Queue, Runtime, RuntimeOptions};
use usm_array::usm_memory::interpreter::{around_waits_in_drops, wait_for_others_with};

use super::dpctl::{default_queue, join_queues_of, known_default_queue};
use crate::errors::OrRaise;
use crate::held::with_interpreter;
use crate::imported;
use crate::interrupt;
use crate::join::{is_package, join};

/// The runtime; in an extension one that shares the package's host backend. The first call asks `usm._locate` for what only Python knows: places, and the driver that it has registered. Nothing is loaded by it.
pub(crate) fn get(py: Python<'_>) -> PyResult<&'static Runtime> {
    static RUNTIME: ForkOnce<&'static Runtime> = ForkOnce::new();
    RUNTIME
        .get_or_try_init(|| {
            around_waits_in_drops(detached);
            wait_for_others_with(
                interrupt::wait_in_guard,
                interrupt::wait_for_operation,
                interrupt::run_apart,
            );
            interrupt::finish_at_exit(py)?;
            let locate = imported::import(py, intern!(py, "usm._locate"))?;
            let roots: Vec<(String, String)> = locate.call_method0("roots")?.extract()?;
            let announced: Option<String> = locate.getattr("announced")?.extract()?;
            let options = roots
                .into_iter()
                .fold(RuntimeOptions::new(), |options, (origin, path)| options.extra_root(origin, path));
            let options = announced.into_iter().fold(options, RuntimeOptions::registered_driver);
            let runtime = if is_package() { Runtime::init_global(|| options) } else { join(py, options)? };
            runtime.default_queues_from(default_queue_of_peers);
            join_queues_of(runtime);
            Ok(runtime)
        })
        .copied()
}

/// The queue that dpctl and dpnp use by default, once the program has imported dpctl: arrays of all three compute together then.
fn default_queue_of_peers(device: &Device) -> Option<Queue> {
    if device.backend_id() != BackendId::Sycl {
        return None;
    }
    if let Some(queue) = known_default_queue(device) {
        return Some(queue);
    }
    let found = with_interpreter(|py| {
        get(py).and_then(|runtime| default_queue(py, runtime, device)).unwrap_or_else(|error| {
            error.write_unraisable(py, None);
            None
        })
    });
    found.flatten()
}

/// The device to use when nobody named one.
pub(crate) fn default_device(py: Python<'_>) -> PyResult<Device> {
    let runtime = get(py)?;
    let device = py.detach(|| runtime.default_device()).or_raise()?;
    warn_of_host_device(py, runtime, device.backend_id())?;
    Ok(device)
}

/// The root devices.
pub(crate) fn devices(py: Python<'_>) -> PyResult<Vec<Device>> {
    let runtime = get(py)?;
    Ok(py.detach(|| runtime.devices()))
}

/// The queue of the host device, which is always there.
pub(crate) fn host_queue(py: Python<'_>) -> PyResult<Queue> {
    default_queue_of(py, get(py)?.host_device())
}

/// The queue to use on a device when nobody gave one.
pub(crate) fn default_queue_of(py: Python<'_>, device: &Device) -> PyResult<Queue> {
    let runtime = get(py)?;
    py.detach(|| runtime.default_queue(device)).or_raise()
}

/// The queue to use in a context, on a device of it, when nobody gave one.
pub(crate) fn queue_in(py: Python<'_>, context: &Context, device: &Device) -> PyResult<Queue> {
    let runtime = get(py)?;
    py.detach(|| runtime.queue_in(context, device)).or_raise()
}

/// The queue to use when nobody named one.
pub(crate) fn default_device_queue(py: Python<'_>) -> PyResult<Queue> {
    let runtime = get(py)?;
    let queue = runtime.default_device_queue().or_raise()?;
    warn_of_host_device(py, runtime, queue.backend_id())?;
    Ok(queue)
}

/// Says once why the default device is the host device, where the program can change that.
fn warn_of_host_device(py: Python<'_>, runtime: &Runtime, backend: BackendId) -> PyResult<()> {
    static IS_SAID: AtomicBool = AtomicBool::new(false);
    if backend != BackendId::Host || IS_SAID.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let problems = py.detach(|| runtime.doctor()).problems;
    let late = problems.iter().find(|problem| problem.kind == ProblemKind::DriverRegisteredLate);
    let Some(Problem { what, remedy, .. }) = late else { return Ok(()) };
    let text = format!("new arrays are on the host backend: {what}; {remedy}");
    let text = CString::new(text)?;
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)
}

/// Waits without the interpreter, which pending work may need to end. Objects are dropped with the interpreter attached.
fn detached(wait: &mut (dyn FnMut() + Send)) {
    // A thread without the interpreter takes it for a moment, since it cannot tell: waits in drops are rare.
    if with_interpreter(|py| py.detach(&mut *wait)).is_none() {
        wait(); // there is no interpreter any more
    }
}
