//! Where an operation on several arrays computes, and in memory of which kind its result is.

use pyo3::prelude::*;
use pyo3::types::PyString;
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{coerced_kind, execution_queue};

use crate::errors::type_name;
use crate::number::sequence;
use crate::sycl::{queue_argument, queue_of};

/// get_execution_queue(qs, /)
///
/// The queue on which to compute with arrays of the given queues, a tuple or list: the first one if all are the same, else None.
///
/// Raises TypeError for what is no tuple or list.
///
/// >>> import usm, usm.tensor as ut
/// >>> queue = usm.SyclQueue("host")
/// >>> ut.get_execution_queue([queue, queue]) == queue, ut.get_execution_queue([queue, usm.SyclQueue("host")])
/// (True, None)
#[pyfunction]
#[pyo3(signature = (qs, /))]
pub(crate) fn get_execution_queue<'py>(qs: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let objects = sequence("qs", qs)?;
    let queues = objects.iter().map(one_queue).collect::<PyResult<Option<Vec<Queue>>>>()?;
    let has_one = queues.is_some_and(|queues| execution_queue(&queues).is_some());
    Ok(objects.into_iter().next().filter(|_| has_one))
}

/// A queue of ours or of another library; anything else is none.
fn one_queue(object: &Bound<'_, PyAny>) -> PyResult<Option<Queue>> {
    if let Some(queue) = queue_of(object)? {
        return Ok(Some(queue));
    }
    let py = object.py();
    if object.hasattr(intern!(py, "_get_capsule"))? && object.hasattr(intern!(py, "sycl_device"))? {
        return queue_argument(py, "qs", Some(object)).map(Some);
    }
    Ok(None)
}

/// get_coerced_usm_type(usm_types, /)
///
/// The USM type of the result of an operation on arrays of the given ones, a tuple or list: ``"device"`` before ``"shared"``
/// before ``"host"``; None without any, and for other words.
///
/// Raises TypeError for what is no tuple or list.
///
/// >>> import usm.tensor as ut
/// >>> ut.get_coerced_usm_type(["host", "shared"])
/// 'shared'
#[pyfunction]
#[pyo3(signature = (usm_types, /))]
pub(crate) fn get_coerced_usm_type(usm_types: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    let kinds: Option<Vec<UsmKind>> = sequence("usm_types", usm_types)?.iter().map(kind_of).collect();
    Ok(kinds.and_then(coerced_kind).map(UsmKind::as_str))
}

/// validate_usm_type(usm_type, /, *, allow_none=True)
///
/// Nothing for ``"device"``, ``"shared"``, ``"host"``, and for None if that is allowed.
///
/// Raises ValueError for another text, TypeError for what is no text.
///
/// >>> import usm.tensor as ut
/// >>> ut.validate_usm_type("shared")
#[pyfunction]
#[pyo3(signature = (usm_type, /, *, allow_none=true))]
pub(crate) fn validate_usm_type(usm_type: &Bound<'_, PyAny>, allow_none: bool) -> PyResult<()> {
    if allow_none && usm_type.is_none() {
        return Ok(());
    }
    let or_none = if allow_none { " and None" } else { "" };
    let Ok(text) = usm_type.cast::<PyString>() else {
        let found = type_name(usm_type);
        return Err(type_error!("usm_type: found {found}, allowed are a str{or_none}"));
    };
    match kind_of(usm_type) {
        Some(_) => Ok(()),
        None => Err(value_error!(
            "usm_type: found {:?}, allowed are \"device\", \"shared\", \"host\"{or_none}",
            text.to_string_lossy()
        )),
    }
}

fn kind_of(object: &Bound<'_, PyAny>) -> Option<UsmKind> {
    object.cast::<PyString>().ok()?.to_string_lossy().parse().ok()
}
