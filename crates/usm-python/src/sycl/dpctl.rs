//! Our queues as dpctl's, for libraries that know no other class, and dpctl's as ours.

use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;
use usm_array::usm_core::{BackendId, Queue};

use super::SyclQueue;
use crate::imported;

/// One queue on both sides.
struct Pair {
    theirs: Py<PyAny>,
    ours: Queue,
}

/// The pairs used last, since it takes microseconds to make one: dpctl's queues never change. Only of contexts that live as long as
/// the process, of which nothing is kept alive in vain. The lock is held for moments, never while Python runs.
static PAIRS: Mutex<Vec<Pair>> = Mutex::new(Vec::new());
const MAX_PAIRS: usize = 8;

/// The queue as a `dpctl.SyclQueue` where the program has imported dpctl, otherwise as ours.
///
/// dpnp's `__dlpack__` and scikit-learn-intelex take no queue of another class, whatever methods it has.
pub(crate) fn queue_object<'py>(py: Python<'py>, queue: &Queue) -> PyResult<Bound<'py, PyAny>> {
    let ours = || Ok(Bound::new(py, SyclQueue::from_queue(queue.clone()))?.into_any());
    if queue.backend_id() != BackendId::Sycl {
        return ours();
    }
    let Some(class) = class(py)? else { return ours() };
    // Clones share one context field.
    let is_it = |pair: &&Pair| ptr::eq(pair.ours.context(), queue.context());
    if let Some(pair) = lock().iter().find(is_it) {
        return Ok(pair.theirs.bind(py).clone());
    }
    let theirs = class.call1((ours()?.call_method0(intern!(py, "_get_capsule"))?,))?;
    remember(&theirs, queue);
    Ok(theirs)
}

/// Our queue for one of dpctl's that has been here before.
pub(super) fn known_queue(object: &Bound<'_, PyAny>) -> Option<Queue> {
    lock().iter().find(|pair| pair.theirs.is(object)).map(|pair| pair.ours.clone())
}

/// Keeps what one of dpctl's queues is here. Objects of other classes, which may change, are left alone.
pub(super) fn remember_import(object: &Bound<'_, PyAny>, queue: &Queue) -> PyResult<()> {
    if class(object.py())?.is_some_and(|class| object.get_type().is(&class)) {
        remember(object, queue);
    }
    Ok(())
}

fn remember(theirs: &Bound<'_, PyAny>, ours: &Queue) {
    if !ours.context().is_permanent() {
        return;
    }
    let pair = Pair { theirs: theirs.clone().unbind(), ours: ours.clone() };
    let mut pairs = lock();
    let oldest = (pairs.len() >= MAX_PAIRS).then(|| pairs.remove(0));
    pairs.push(pair);
    drop(pairs);
    drop(oldest);
}

/// `dpctl.SyclQueue`, if the program has imported it. An import may be half done.
fn class(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    match imported::module(py, intern!(py, "dpctl"))? {
        Some(dpctl) => dpctl.getattr_opt(intern!(py, "SyclQueue")),
        None => Ok(None),
    }
}

fn lock() -> MutexGuard<'static, Vec<Pair>> {
    PAIRS.lock().unwrap_or_else(PoisonError::into_inner)
}
