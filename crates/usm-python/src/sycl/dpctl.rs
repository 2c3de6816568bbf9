//! Our objects as dpctl's, for libraries that know no other class.

use pyo3::intern;
use pyo3::prelude::*;
use usm_array::usm_core::{BackendId, Queue};

use super::SyclQueue;
use crate::imported;

/// The queue as a `dpctl.SyclQueue` where the program has imported dpctl, otherwise as ours.
///
/// dpnp's `__dlpack__` and scikit-learn-intelex take no queue of another class, whatever methods it has.
pub(crate) fn queue_object<'py>(py: Python<'py>, queue: &Queue) -> PyResult<Bound<'py, PyAny>> {
    let ours = Bound::new(py, SyclQueue::from_queue(queue.clone()))?.into_any();
    if queue.backend_id() != BackendId::Sycl {
        return Ok(ours);
    }
    // An import may be half done.
    let dpctl = imported::module(py, intern!(py, "dpctl"))?;
    let class = dpctl.map(|dpctl| dpctl.getattr_opt(intern!(py, "SyclQueue"))).transpose()?.flatten();
    match class {
        Some(class) => class.call1((ours.call_method0(intern!(py, "_get_capsule"))?,)),
        None => Ok(ours),
    }
}
