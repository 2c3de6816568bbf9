//! Vectors of the C interface, which own copies of handles.

use std::ffi::c_void;
use std::ptr::NonNull;

use sycl_sys::{Api, DPCTLDeviceVectorRef};

use super::SyclBackend;
use crate::Result;
use crate::backend::RawDevice;

/// The functions for vectors of one kind.
pub(super) struct Vectors<V, H> {
    /// What failed when an element is missing.
    pub(super) element_call: &'static str,
    pub(super) len: unsafe extern "C" fn(*mut V) -> usize,
    pub(super) element: unsafe extern "C" fn(*mut V, usize) -> *mut H,
    pub(super) delete: unsafe extern "C-unwind" fn(*mut V),
    pub(super) delete_element: unsafe extern "C-unwind" fn(*mut H),
}

impl<V, H> Vectors<V, H> {
    /// Takes the elements out of a vector that a call has made, and deletes the vector.
    ///
    /// # Safety
    /// 1. The functions are those of the library for such vectors and their elements.
    /// 2. `vector` is null or a live vector that the caller owns.
    pub(super) unsafe fn take(self, vector: *mut V, call: &'static str) -> Result<Vec<NonNull<c_void>>> {
        if vector.is_null() {
            return Err(SyclBackend::failed(call));
        }
        // SAFETY: promise 1; the vector is live.
        let len = unsafe { (self.len)(vector) };
        let elements = (0..len).filter_map(|index| {
            // SAFETY: promise 1; the vector is live and the index in range.
            NonNull::new(unsafe { (self.element)(vector, index) })
        });
        let elements: Vec<_> = elements.collect();
        // SAFETY: promises 1 and 2, without a later use; the elements taken out are copies.
        unsafe { (self.delete)(vector) };
        if elements.len() == len {
            return Ok(elements.into_iter().map(NonNull::cast).collect());
        }
        // An incomplete list would look like a complete one.
        for element in elements {
            // SAFETY: promise 1; our own handle, without a later use.
            unsafe { (self.delete_element)(element.as_ptr()) };
        }
        Err(SyclBackend::failed(self.element_call))
    }
}

/// [`Vectors::take`] for devices.
///
/// # Safety
/// 1. `vector` is null or a live vector that the caller owns.
pub(super) unsafe fn take_devices(
    api: &Api,
    vector: DPCTLDeviceVectorRef,
    call: &'static str,
) -> Result<Vec<RawDevice>> {
    let vectors = Vectors {
        element_call: "DeviceVector_GetAt",
        len: api.DPCTLDeviceVector_Size,
        element: api.DPCTLDeviceVector_GetAt,
        delete: api.DPCTLDeviceVector_Delete,
        delete_element: api.DPCTLDevice_Delete,
    };
    // SAFETY: 1. The functions for devices. 2. The caller's promise 1.
    let devices = unsafe { vectors.take(vector, call) }?;
    Ok(devices.into_iter().map(RawDevice::new).collect())
}
