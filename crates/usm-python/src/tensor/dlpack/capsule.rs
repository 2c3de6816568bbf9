//! Tensors in capsules: who renames one owns what is in it.

use std::ffi::CStr;
use std::ptr::NonNull;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use usm_array::dlpack::{DLManagedTensor, DLManagedTensorVersioned, ManagedTensor, RawTensor};
use usm_array::usm_core::unwind::contained;

use crate::errors::wrong_type;

const VERSIONED: &CStr = c"dltensor_versioned";
const LEGACY: &CStr = c"dltensor";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";
const USED_LEGACY: &CStr = c"used_dltensor";

/// A capsule that owns a tensor until a consumer renames it.
///
/// Invariant DC1: under its first name the capsule has the tensor of this function, which nobody has taken.
pub(super) fn wrap(py: Python<'_>, tensor: ManagedTensor) -> PyResult<Bound<'_, PyCapsule>> {
    let raw = tensor.into_raw();
    let (pointer, name) = match raw {
        RawTensor::Versioned(tensor) => (tensor.cast(), VERSIONED),
        RawTensor::Legacy(tensor) => (tensor.cast(), LEGACY),
    };
    // SAFETY: DC1: the pointer is good until the deleter runs, which is called by `delete` or by the consumer.
    let capsule = unsafe { PyCapsule::new_with_pointer_and_destructor(py, pointer, name, Some(delete)) };
    if capsule.is_err() {
        // SAFETY: DC1: the tensor given away above, which no capsule has.
        drop(unsafe { ManagedTensor::from_raw(raw) });
    }
    capsule
}

/// Ends the tensor of a capsule that nobody consumed, also while the interpreter ends or an exception is under way: no Python code is
/// called here.
unsafe extern "C" fn delete(capsule: *mut ffi::PyObject) {
    // SAFETY: as the caller's: the capsule that Python destroys (PY2).
    _ = contained("destructor of a tensor", || unsafe { delete_tensor(capsule) });
}

/// # Safety
/// 1. Python destroys the capsule.
unsafe fn delete_tensor(capsule: *mut ffi::PyObject) {
    for name in [VERSIONED, LEGACY] {
        // SAFETY: PY2: the capsule that Python destroys.
        if unsafe { ffi::PyCapsule_IsValid(capsule, name.as_ptr()) } == 0 {
            continue;
        }
        // SAFETY: PY2: the capsule that Python destroys, by its name.
        let pointer = unsafe { ffi::PyCapsule_GetPointer(capsule, name.as_ptr()) };
        if let Some(raw) = raw(pointer.cast(), name) {
            // SAFETY: DC1: by its name still the tensor that `wrap` put there; it is one of ours.
            drop(unsafe { ManagedTensor::from_raw(raw) });
        }
    }
}

/// Takes the tensor out of a capsule, which is renamed. A refused capsule stays as it is.
pub(super) fn take(object: &Bound<'_, PyAny>) -> PyResult<ManagedTensor> {
    let capsule = object.cast::<PyCapsule>().map_err(|_| wrong_type("__dlpack__", object, "is a capsule"))?;
    for (name, used) in [(VERSIONED, USED_VERSIONED), (LEGACY, USED_LEGACY)] {
        if !capsule.is_valid_checked(Some(name)) {
            continue;
        }
        let pointer = capsule.pointer_checked(Some(name))?.as_ptr();
        let Some(raw) = raw(pointer.cast(), name) else { break };
        // SAFETY: PY1: a capsule, and a name that lives for ever.
        if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        // SAFETY: TB1: what the name promises, given away by it; the capsule is called something else now.
        return Ok(unsafe { ManagedTensor::from_raw(raw) });
    }
    let found = match capsule.name() {
        // SAFETY: PY1: the name is read at once, before any other code runs.
        Ok(Some(found)) => unsafe { found.as_cstr() }.to_string_lossy().into_owned(),
        _ => "(no name)".to_owned(),
    };
    let used = if found.starts_with("used_") { ", whose tensor somebody has taken" } else { "" };
    Err(value_error!(
        "__dlpack__: found a capsule named {found:?}{used}; allowed are \"dltensor\" and \"dltensor_versioned\""
    ))
}

fn raw(pointer: *mut u8, name: &CStr) -> Option<RawTensor> {
    // No struct is at such an address, so it is not looked at.
    let pointer = NonNull::new(pointer).filter(|pointer| pointer.cast::<DLManagedTensor>().is_aligned())?;
    Some(match name == VERSIONED {
        true => RawTensor::Versioned(pointer.cast::<DLManagedTensorVersioned>()),
        false => RawTensor::Legacy(pointer.cast()),
    })
}
