//! Our memory through the buffer protocol (PEP 3118), for the kinds that host code may touch.

use std::ffi::{CString, c_int};
use std::ptr;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use usm_array::{Error, UsmArray};

use crate::errors::{DEVICE_HINT, OrRaise};

/// What a view points to besides the memory; freed with it.
struct Details {
    shape: Vec<ffi::Py_ssize_t>,
    strides_bytes: Vec<ffi::Py_ssize_t>,
    format: CString,
}

/// Fills a view of `array` for the owner of the memory, if host code is allowed to touch that.
///
/// # Safety
/// 1. `view` is null or a view to fill.
pub(crate) unsafe fn fill(
    owner: &Bound<'_, PyAny>,
    array: &UsmArray,
    is_allowed: bool,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    if view.is_null() {
        return Err(PyBufferError::new_err("there is no view to fill"));
    }
    // What Python finds when this fails.
    // SAFETY: the caller's promise 1.
    unsafe { (*view).obj = ptr::null_mut() };
    if !is_allowed {
        return Err(PyBufferError::new_err(DEVICE_HINT));
    }
    let details = details(array, flags)?;
    owner.py().detach(|| array.wait_for_host(array.is_writable())).or_raise()?;
    let wants = |flag: c_int| flags & flag == flag;
    let details = Box::new(details);
    let (shape, strides) = (details.shape.as_ptr().cast_mut(), details.strides_bytes.as_ptr().cast_mut());
    // Who does not ask for a shape gets the bytes as one axis: several axes without a shape would make no sense.
    let ndim = if wants(ffi::PyBUF_ND) { c_int::try_from(array.ndim()).unwrap_or(0) } else { 1 };
    // A 0-dimensional view has neither shape nor strides.
    let has_axes = array.ndim() > 0;
    let filled = ffi::Py_buffer {
        buf: ptr::with_exposed_provenance_mut(array.address()),
        obj: owner.clone().into_ptr(),
        len: array.size_bytes().cast_signed(),
        itemsize: array.itemsize_bytes().cast_signed(),
        readonly: c_int::from(!array.is_writable()),
        ndim,
        format: if wants(ffi::PyBUF_FORMAT) { details.format.as_ptr().cast_mut() } else { ptr::null_mut() },
        shape: if wants(ffi::PyBUF_ND) && has_axes { shape } else { ptr::null_mut() },
        strides: if wants(ffi::PyBUF_STRIDES) && has_axes { strides } else { ptr::null_mut() },
        suboffsets: ptr::null_mut(),
        internal: Box::into_raw(details).cast(),
    };
    // SAFETY: the caller's promise 1.
    unsafe { view.write(filled) };
    Ok(())
}

fn details(array: &UsmArray, flags: c_int) -> PyResult<Details> {
    let wants = |flag: c_int| flags & flag == flag;
    let refuse = |message: &str| Err(PyBufferError::new_err(message.to_owned()));
    if wants(ffi::PyBUF_WRITABLE) && !array.is_writable() {
        return refuse("the memory is read-only");
    }
    let (c_order, f_order) = (array.is_c_contiguous(), array.is_f_contiguous());
    if wants(ffi::PyBUF_C_CONTIGUOUS) && !c_order {
        return refuse("the array is not C-contiguous");
    }
    if wants(ffi::PyBUF_F_CONTIGUOUS) && !f_order {
        return refuse("the array is not Fortran-contiguous");
    }
    if wants(ffi::PyBUF_ANY_CONTIGUOUS) && !c_order && !f_order {
        return refuse("the array is not contiguous");
    }
    if !wants(ffi::PyBUF_STRIDES) && !c_order {
        return refuse("the array is not contiguous, and the consumer did not ask for strides");
    }
    let itemsize_bytes = array.itemsize_bytes().cast_signed();
    // In range: the bytes of every element lie within one allocation. Unit axes may have any stride, so let those wrap.
    let strides_bytes = array.strides().iter().map(|&stride| stride.wrapping_mul(itemsize_bytes)).collect();
    let shape = array.shape().iter().map(|&size| size.cast_signed()).collect();
    let Some(format) = array.dtype().buffer_format() else {
        let error = Error::NotDescribed { interface: "the buffer protocol", found: array.dtype() };
        return refuse(&error.to_string());
    };
    let format = CString::new(format)?;
    Ok(Details { shape, strides_bytes, format })
}

/// Frees what `fill` attached to a view.
///
/// # Safety
/// 1. `view` was filled by `fill` and is released once.
pub(crate) unsafe fn release(view: *mut ffi::Py_buffer) {
    // SAFETY: the caller's promise 1.
    let internal = unsafe { (*view).internal };
    if !internal.is_null() {
        // SAFETY: the box that `fill` put there (promise 1).
        drop(unsafe { Box::from_raw(internal.cast::<Details>()) });
    }
}
