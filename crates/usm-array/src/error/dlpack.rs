//! Why a tensor is refused; every message about an external tensor starts with the field it is about

use thiserror::Error;
use usm_derive::ErrorDebug;
use usm_memory::usm_core::UsmKind;

use crate::abi::{DLDataTypeCode, DLDevice, DLDeviceType, DLPackVersion, VERSION};
use crate::layout::MAX_NDIM;

/// A tensor that cannot be imported, or an array that cannot be exported as requested.
#[derive(Clone, PartialEq, Eq, Error, ErrorDebug)]
#[non_exhaustive]
pub enum DlpackError {
    /// A struct of another layout. Only its version and deleter may be read then.
    #[error("version: found {}.{}, allowed is major version {}", found.major, found.minor, VERSION.major)]
    Version {
        /// The version
        found: DLPackVersion,
    },
    /// A kind of device whose memory is no USM.
    #[error(
        "device_type: found {found}, allowed are kDLCPU (1), kDLCUDA (2), kDLCUDAHost (3), kDLCUDAManaged (13), kDLOneAPI (14) and, \
         for the host backend, kDLExtDev (12)"
    )]
    DeviceType {
        /// The kind of device
        found: DLDeviceType,
    },
    /// A device that is not there.
    #[error("device_id: found {found} of {device_type}, allowed are {}", allowed_ids(*allowed))]
    DeviceId {
        /// Kind of the device
        device_type: DLDeviceType,
        /// Its number
        found: i32,
        /// How many there are
        allowed: usize,
    },
    /// A number of axes that no array has.
    #[error("ndim: found {found}, allowed are 0 to {MAX_NDIM}")]
    Ndim {
        /// Number of axes
        found: i32,
    },
    /// Elements that are vectors.
    #[error("lanes: found {found}, allowed is 1")]
    Lanes {
        /// Lanes of one element
        found: u16,
    },
    /// A kind of elements that no dtype has.
    #[error(
        "code: found {found}, allowed are kDLInt (0), kDLUInt (1), kDLFloat (2), kDLComplex (5) and kDLBool (6)"
    )]
    Code {
        /// Kind of the elements
        found: DLDataTypeCode,
    },
    /// Elements of a size that no dtype has.
    #[error("bits: found {found} bits of {code}, allowed are {allowed:?}")]
    Bits {
        /// Kind of the elements
        code: DLDataTypeCode,
        /// Bits of one element
        found: u8,
        /// Bits that there are
        allowed: Vec<u8>,
    },
    /// Axes without sizes.
    #[error("shape: found a null or misaligned pointer, allowed is one to {ndim} numbers of 64 bits")]
    NoShape {
        /// Number of axes
        ndim: usize,
    },
    /// Strides that cannot be read.
    #[error("strides: found a misaligned pointer, allowed is null or one to {ndim} numbers of 64 bits")]
    NoStrides {
        /// Number of axes
        ndim: usize,
    },
    /// Elements without memory.
    #[error("data: found null for shape {shape:?}, allowed is null without elements only")]
    NoData {
        /// The shape
        shape: Vec<i64>,
    },
    /// An offset out of the address space.
    #[error("byte_offset: found {found} bytes from {address:#x}, allowed are offsets that give an address")]
    ByteOffset {
        /// The offset
        found: u64,
        /// The address it counts from
        address: usize,
    },
    /// CUDA memory of another kind than the device type says.
    #[error("data: found {kind} memory at {address:#x}, which {device_type} does not stand for")]
    Kind {
        /// Kind of the device
        device_type: DLDeviceType,
        /// Kind of the memory, as the driver knows it
        kind: UsmKind,
        /// The address
        address: usize,
    },
    /// Host memory that no runtime knows as USM, where a copy is forbidden.
    #[error(
        "data: found host memory at {address:#x} that is no USM, allowed without a copy is memory that the runtime knows"
    )]
    NotUsm {
        /// The address
        address: usize,
    },
    /// A tensor on another device than the requested one, where a copy is forbidden.
    #[error("found {kind} memory on {found}, for {wanted} a copy is needed, which is not allowed")]
    CopyNeeded {
        /// Kind of the memory
        kind: UsmKind,
        /// Where the memory is
        found: String,
        /// Where it has to be
        wanted: String,
    },
    /// An array that DLPack has no device for.
    #[error(
        "found {kind} memory of {device}, allowed for DLPack is memory in the default context of a root \
         device; __sycl_usm_array_interface__ carries this array without a copy"
    )]
    NoDevice {
        /// Kind of the memory
        kind: UsmKind,
        /// The device and the reason
        device: String,
    },
    /// Device memory for a consumer that does not know the device.
    #[error(
        "found {kind} memory of {device}, which this consumer cannot use; allowed for it is host and shared memory, \
         to which usm.tensor.asarray(array, usm_type=\"host\") copies"
    )]
    NotUsable {
        /// Kind of the memory
        kind: UsmKind,
        /// The device
        device: String,
    },
    /// A read-only array as a struct that cannot say so.
    #[error("found a read-only array, allowed as a tensor without a version are writable ones and copies")]
    ReadOnly,
}

impl DlpackError {
    pub(crate) fn device_id(found: DLDevice, allowed: usize) -> Self {
        Self::DeviceId { device_type: found.device_type, found: found.device_id, allowed }
    }
}

fn allowed_ids(count: usize) -> String {
    match count {
        0 => "none: there is no such device".to_owned(),
        1 => "0".to_owned(),
        n => format!("0 to {}", n - 1),
    }
}
