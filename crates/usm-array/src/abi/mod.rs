//! The C structs of DLPack 1.3

mod codes;

use std::ffi::{c_char, c_int, c_void};

pub use self::codes::{DLDataTypeCode, DLDeviceType};

/// The version of the specification that exported tensors follow. Tensors of every minor version are taken.
pub const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 3 };

/// Flag of a versioned tensor: its memory must not be written.
pub const FLAG_READ_ONLY: u64 = 1;

/// Flag of a versioned tensor: its memory is a copy for the consumer alone.
pub const FLAG_IS_COPIED: u64 = 1 << 1;

/// Flag of a versioned tensor: elements smaller than a byte fill one each. Arrays have no such elements.
pub const FLAG_IS_SUBBYTE_TYPE_PADDED: u64 = 1 << 2;

/// Version of the structs: another major number means another layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C)]
pub struct DLPackVersion {
    /// Changes with the layout
    pub major: u32,
    /// Changes when codes are added
    pub minor: u32,
}

/// A device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DLDevice {
    /// Kind of the device
    pub device_type: DLDeviceType,
    /// Its number among the devices of its kind, 0 for the host
    pub device_id: i32,
}

impl DLDevice {
    /// The host
    pub const CPU: Self = Self { device_type: DLDeviceType::CPU, device_id: 0 };
}

/// Element type, in the byte order of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DLDataType {
    /// Kind of the elements
    pub code: DLDataTypeCode,
    /// Bits of one lane
    pub bits: u8,
    /// Lanes of one element: 1, except for vector types
    pub lanes: u16,
}

/// The elements of a tensor: address, shape, strides and dtype. Owns no memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DLTensor {
    /// The memory; null only without elements
    pub data: *mut c_void,
    /// The device the memory belongs to
    pub device: DLDevice,
    /// Number of axes
    pub ndim: i32,
    /// Element type
    pub dtype: DLDataType,
    /// `ndim` sizes
    pub shape: *mut i64,
    /// `ndim` strides in elements; older producers leave it null for row-major order
    pub strides: *mut i64,
    /// Bytes from `data` to the element with index zero
    pub byte_offset: u64,
}

/// A tensor with its owner, as before version 1.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DLManagedTensor {
    /// The tensor
    pub dl_tensor: DLTensor,
    /// For the producer
    pub manager_ctx: *mut c_void,
    /// Releases the tensor, this struct included; null if there is nothing to release
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// A tensor with its owner. Every major version has the fields up to `flags` in these places.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DLManagedTensorVersioned {
    /// Version of this struct
    pub version: DLPackVersion,
    /// For the producer
    pub manager_ctx: *mut c_void,
    /// Releases the tensor, this struct included; null if there is nothing to release
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
    /// [`FLAG_READ_ONLY`] and the others
    pub flags: u64,
    /// The tensor
    pub dl_tensor: DLTensor,
}

/// How a function of the exchange table reports an error: context, kind and message.
pub type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// The part of the exchange table that every version has.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DLPackExchangeAPIHeader {
    /// Version of the table
    pub version: DLPackVersion,
    /// The table of an older version, or null
    pub prev_api: *mut Self,
}

/// The functions through which two Python libraries exchange tensors without Python calls. Only Python's own libraries can fill
/// it in, so this crate has its shape only. Each function returns 0, or −1 with an error set.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DLPackExchangeAPI {
    /// The fields that every version has
    pub header: DLPackExchangeAPIHeader,
    /// A new tensor like a prototype
    pub managed_tensor_allocator: Option<
        unsafe extern "C" fn(
            *mut DLTensor,
            *mut *mut DLManagedTensorVersioned,
            *mut c_void,
            SetError,
        ) -> c_int,
    >,
    /// A Python object as a tensor
    pub managed_tensor_from_py_object_no_sync:
        Option<unsafe extern "C" fn(*mut c_void, *mut *mut DLManagedTensorVersioned) -> c_int>,
    /// A tensor as a Python object
    pub managed_tensor_to_py_object_no_sync:
        Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut *mut c_void) -> c_int>,
    /// A Python object as a tensor that it still owns; may be null
    pub dltensor_from_py_object_no_sync: Option<unsafe extern "C" fn(*mut c_void, *mut DLTensor) -> c_int>,
    /// The stream, here a queue, that work is submitted to
    pub current_work_stream: Option<unsafe extern "C" fn(DLDeviceType, i32, *mut *mut c_void) -> c_int>,
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// Sizes and offsets as a C compiler gives them on 64-bit machines.
    #[test]
    fn structs_are_laid_out_as_in_c() {
        assert_eq!((size_of::<DLPackVersion>(), size_of::<DLDevice>(), size_of::<DLDataType>()), (8, 8, 4));
        assert_eq!((size_of::<DLTensor>(), align_of::<DLTensor>()), (48, 8));
        assert_eq!((size_of::<DLManagedTensor>(), size_of::<DLManagedTensorVersioned>()), (64, 80));
        assert_eq!((size_of::<DLPackExchangeAPIHeader>(), size_of::<DLPackExchangeAPI>()), (16, 56));
        assert_eq!(offset_of!(DLDevice, device_id), 4);
        assert_eq!((offset_of!(DLDataType, bits), offset_of!(DLDataType, lanes)), (1, 2));
        let tensor = [
            offset_of!(DLTensor, data),
            offset_of!(DLTensor, device),
            offset_of!(DLTensor, ndim),
            offset_of!(DLTensor, dtype),
            offset_of!(DLTensor, shape),
            offset_of!(DLTensor, strides),
            offset_of!(DLTensor, byte_offset),
        ];
        assert_eq!(tensor, [0, 8, 16, 20, 24, 32, 40]);
        assert_eq!(offset_of!(DLManagedTensor, manager_ctx), 48);
        assert_eq!(offset_of!(DLManagedTensor, deleter), 56);
        let versioned = [
            offset_of!(DLManagedTensorVersioned, version),
            offset_of!(DLManagedTensorVersioned, manager_ctx),
            offset_of!(DLManagedTensorVersioned, deleter),
            offset_of!(DLManagedTensorVersioned, flags),
            offset_of!(DLManagedTensorVersioned, dl_tensor),
        ];
        assert_eq!(versioned, [0, 8, 16, 24, 32]);
        assert_eq!(offset_of!(DLPackExchangeAPI, managed_tensor_allocator), 16);
        assert_eq!(offset_of!(DLPackExchangeAPI, current_work_stream), 48);
    }
}
