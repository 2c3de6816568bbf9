//! The capsules "SyclContextRef" and "SyclQueueRef", which SYCL libraries for Python exchange.

use std::env;
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use usm_array::usm_core::unwind::contained;
use usm_array::usm_core::{Context, ExternalHandle, Queue, Runtime};

use crate::errors::OrValueError;

/// Where memory is bound to: a context, perhaps with a queue.
#[derive(Clone, Debug)]
pub(crate) enum QueueOrContext {
    /// A context alone.
    Context(Context),
    /// A queue and its context.
    Queue(Queue),
}

impl QueueOrContext {
    pub(crate) fn context(&self) -> &Context {
        match self {
            Self::Context(context) => context,
            Self::Queue(queue) => queue.context(),
        }
    }
}

pub(super) const CONTEXT: &CStr = c"SyclContextRef";
pub(super) const QUEUE: &CStr = c"SyclQueueRef";
/// A queue of the host backend, which all copies of this library in a process share.
const HOST_QUEUE: &CStr = c"usm.HostQueueRef";

/// A capsule around a heap SYCL object, which is deleted with the capsule.
pub(super) fn export<'py>(
    py: Python<'py>,
    handle: ExternalHandle,
    name: &'static CStr,
) -> PyResult<Bound<'py, PyCapsule>> {
    owning(py, handle.as_ptr(), name, handle)
}

/// A capsule around a queue of the host backend, which lives as long as the capsule; `None` for other queues.
pub(crate) fn export_host<'py>(
    py: Python<'py>,
    runtime: &Runtime,
    queue: &Queue,
) -> PyResult<Option<Bound<'py, PyCapsule>>> {
    let Some(pointer) = runtime.host_queue_pointer(queue) else { return Ok(None) };
    owning(py, pointer, HOST_QUEUE, queue.clone()).map(Some)
}

/// A capsule around a pointer that lives as long as its owner, which is dropped with the capsule.
///
/// Invariant OW1: the context of the capsule is null, or a box with an owner of the type that its destructor has.
fn owning<'py, T: Send>(
    py: Python<'py>,
    pointer: NonNull<c_void>,
    name: &'static CStr,
    owner: T,
) -> PyResult<Bound<'py, PyCapsule>> {
    // SAFETY: OW1: the pointer lives as long as `owner`, which the destructor drops. A capsule that dies before it has the owner has
    // nothing to drop.
    let capsule =
        unsafe { PyCapsule::new_with_pointer_and_destructor(py, pointer, name, Some(drop_owner::<T>)) }?;
    // Consumers rename what they have used, so the name does not lead to the owner: the context does.
    let owned = Box::into_raw(Box::new(owner));
    if let Err(error) = capsule.set_context(owned.cast()) {
        // SAFETY: OW1: the box just made, which the capsule did not take.
        drop(unsafe { Box::from_raw(owned) });
        return Err(error);
    }
    Ok(capsule)
}

unsafe extern "C" fn drop_owner<T>(capsule: *mut ffi::PyObject) {
    _ = contained("destructor of a capsule", || {
        // SAFETY: PY2: the capsule that Python destroys.
        let context = unsafe { ffi::PyCapsule_GetContext(capsule) };
        if !context.is_null() {
            // SAFETY: OW1; taken out once.
            drop(unsafe { Box::from_raw(context.cast::<T>()) });
        }
    });
}

/// The queue of the host backend that an object of another copy of this library stands for; `None` for other objects.
pub(super) fn import_host(
    name: &str,
    object: &Bound<'_, PyAny>,
    runtime: &Runtime,
) -> PyResult<Option<Queue>> {
    let py = object.py();
    let Some(method) = object.getattr_opt(intern!(py, "_get_host_capsule"))? else { return Ok(None) };
    let made = method.call0()?;
    let Some(capsule) = made.cast::<PyCapsule>().ok().filter(|made| made.is_valid_checked(Some(HOST_QUEUE)))
    else {
        return Ok(None);
    };
    let found = runtime.host_queue(capsule.pointer_checked(Some(HOST_QUEUE))?).or_value_error(name)?;
    let none = || {
        value_error!(
            "{name}: found a capsule {HOST_QUEUE:?} that points to no live queue of the host backend"
        )
    };
    found.map(Some).ok_or_else(none)
}

/// Where this is "0", capsules are refused that no class of dpctl made.
const SWITCH: &str = "USM_RAW_CAPSULES";

/// Whether the program takes capsules of any code.
pub(super) fn check_allowed(name: &str) -> PyResult<()> {
    if env::var_os(SWITCH).is_none_or(|value| value != "0") {
        return Ok(());
    }
    Err(type_error!(
        "{name}: found a capsule that dpctl did not make, which {SWITCH}=0 refuses; allowed are queues, contexts and devices of usm and \
         dpctl, and filter selectors"
    ))
}

/// The context or queue that a capsule carries. The capsule keeps its name and its object.
pub(super) fn import(
    name: &str,
    capsule: &Bound<'_, PyCapsule>,
    runtime: &Runtime,
) -> PyResult<QueueOrContext> {
    for known in [QUEUE, CONTEXT] {
        if !capsule.is_valid_checked(Some(known)) {
            continue;
        }
        let pointer = capsule.pointer_checked(Some(known))?.as_ptr();
        let backend = capsule.py().detach(|| runtime.sycl_backend()).or_value_error(name)?;
        let imported = if known == QUEUE {
            // SAFETY: TB1: by its name a live queue; a pointer that is none is detected as far as can be.
            unsafe { Queue::from_external(backend, pointer) }.map(QueueOrContext::Queue)
        } else {
            // SAFETY: TB1: by its name a live context; a pointer that is none is detected as far as can be.
            unsafe { Context::from_external(backend, pointer) }.map(QueueOrContext::Context)
        };
        return imported.or_value_error(name);
    }
    let found = match capsule.name() {
        // SAFETY: PY1: the name is read at once, before any other code runs.
        Ok(Some(found)) => unsafe { found.as_cstr() }.to_string_lossy().into_owned(),
        Ok(None) => "(no name)".to_owned(),
        Err(error) => return Err(type_error!("{name}: found a broken capsule: {error}")),
    };
    let used = if found.starts_with("used_") { ", which another library has consumed" } else { "" };
    Err(type_error!(
        "{name}: found a capsule named {found:?}{used}; allowed are \"SyclQueueRef\" and \"SyclContextRef\""
    ))
}
