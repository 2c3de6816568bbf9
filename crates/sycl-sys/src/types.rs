//! The opaque handles, enumerations and callback of the C interface.
//!
//! Names come from the C headers, so that a search for a C name finds its Rust side. An enumeration is a newtype
//! over the C integer with associated constants, not a Rust `enum`: a newer library may return a value that this
//! list does not have, and an unlisted discriminant in a Rust `enum` would be undefined behaviour.
#![allow(non_camel_case_types)]

use core::ffi::{c_int, c_uint, c_void};
use core::marker::{PhantomData, PhantomPinned};

macro_rules! opaque {
    ($($(#[$doc:meta])* $pointee:ident, $handle:ident;)*) => {$(
        #[doc = concat!("What [`", stringify!($handle), "`] points to; it has no contents on this side.")]
        #[repr(C)]
        pub struct $pointee {
            _opaque: [u8; 0],
            // Not Send, not Sync, not Unpin: the C++ object behind it is unknown.
            _marker: PhantomData<(*mut u8, PhantomPinned)>,
        }

        impl core::fmt::Debug for $pointee {
            fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                formatter.write_str(stringify!($pointee))
            }
        }

        $(#[$doc])*
        pub type $handle = *mut $pointee;
    )*};
}

opaque! {
    /// A `sycl::context`.
    DPCTLOpaqueSyclContext, DPCTLSyclContextRef;
    /// A `sycl::device`.
    DPCTLOpaqueSyclDevice, DPCTLSyclDeviceRef;
    /// A device selector.
    DPCTLOpaqueSyclDeviceSelector, DPCTLSyclDeviceSelectorRef;
    /// A `sycl::event`.
    DPCTLOpaqueSyclEvent, DPCTLSyclEventRef;
    /// A `sycl::platform`.
    DPCTLOpaqueSyclPlatform, DPCTLSyclPlatformRef;
    /// A `sycl::queue`.
    DPCTLOpaqueSyclQueue, DPCTLSyclQueueRef;
    /// The first byte of a USM allocation (an address, not an object).
    DPCTLOpaqueSyclUSM, DPCTLSyclUSMRef;
    /// A `sycl::kernel`.
    DPCTLOpaqueSyclKernel, DPCTLSyclKernelRef;
    /// A `sycl::kernel_bundle` in the state `executable`.
    DPCTLOpaqueSyclKernelBundle, DPCTLSyclKernelBundleRef;
    /// A copy of bytes that a kernel takes by value.
    DPCTLOpaqueSyclRawKernelArg, DPCTLSyclRawKernelArgRef;
    /// A vector that owns device handles.
    DPCTLDeviceVector, DPCTLDeviceVectorRef;
    /// A vector that owns event handles.
    DPCTLEventVector, DPCTLEventVectorRef;
    /// A vector that owns platform handles.
    DPCTLPlatformVector, DPCTLPlatformVectorRef;
}

/// Receives the code of an asynchronous error. It is called on the thread that waits, from C++ frames, so it must
/// not unwind.
pub type error_handler_callback = unsafe extern "C" fn(err_code: c_int);

macro_rules! enumeration {
    ($($(#[$doc:meta])* $name:ident($repr:ty) { $($constant:ident = $value:expr, $doc_of_value:literal;)* })*) => {
        /// Every enumeration whose numbers do not depend on the form of the library, with its constants.
        pub const ENUMERATIONS: &[(&str, &[(&str, i64)])] =
            &[$((stringify!($name), &[$((stringify!($constant), $value)),*])),*];

        $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(transparent)]
        pub struct $name(pub $repr);

        impl $name {
            $(#[doc = $doc_of_value] pub const $constant: Self = Self($value);)*
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match *self {
                    $(Self::$constant => formatter.write_str(concat!(stringify!($name), "::", stringify!($constant))),)*
                    Self(other) => write!(formatter, concat!(stringify!($name), "({:#x})"), other),
                }
            }
        }
    )*};
}

enumeration! {
    /// The kind of a USM pointer in a context.
    DPCTLSyclUSMType(c_uint) {
        UNKNOWN = 0, "Not a USM pointer of the context.";
        DEVICE = 1, "Device USM.";
        SHARED = 2, "Shared USM.";
        HOST = 3, "Host USM.";
    }

    /// The SYCL backend of an object. The values are bits that may be combined with [`DPCTLSyclDeviceType`] into the
    /// `device_identifier` of the device manager.
    DPCTLSyclBackendType(c_uint) {
        UNKNOWN = 0, "A backend this interface has no name for.";
        CUDA = 1 << 16, "CUDA.";
        LEVEL_ZERO = 1 << 17, "oneAPI Level Zero.";
        OPENCL = 1 << 18, "OpenCL.";
        HIP = 1 << 19, "HIP.";
        ALL = 0x1f << 16, "Every backend; only for a `device_identifier`.";
    }

    /// The type of a device. The values are bits that may be combined with [`DPCTLSyclBackendType`].
    DPCTLSyclDeviceType(c_uint) {
        UNKNOWN = 0, "A type this interface has no name for.";
        ACCELERATOR = 1 << 0, "An accelerator.";
        AUTOMATIC = 1 << 1, "Whatever the runtime prefers; only for a `device_identifier`.";
        CPU = 1 << 2, "A CPU.";
        CUSTOM = 1 << 3, "A device with fixed functions.";
        GPU = 1 << 4, "A GPU.";
        ALL = 0x3f, "Every type; only for a `device_identifier`.";
    }

    /// A capability of a device, as `sycl::aspect`.
    DPCTLSyclAspectType(c_uint) {
        HOST = 0, "The host device of SYCL 1.2.1.";
        CPU = 1, "A CPU device.";
        GPU = 2, "A GPU device.";
        ACCELERATOR = 3, "An accelerator device.";
        CUSTOM = 4, "A custom device.";
        FP16 = 5, "Kernels may use `sycl::half`.";
        FP64 = 6, "Kernels may use `double`.";
        ATOMIC64 = 7, "64-bit atomic operations.";
        IMAGE = 8, "Images.";
        ONLINE_COMPILER = 9, "Kernels can be compiled at run time.";
        ONLINE_LINKER = 10, "Kernels can be linked at run time.";
        QUEUE_PROFILING = 11, "Queues can record times.";
        USM_DEVICE_ALLOCATIONS = 12, "Device USM.";
        USM_HOST_ALLOCATIONS = 13, "Host USM.";
        USM_SHARED_ALLOCATIONS = 14, "Shared USM.";
        USM_SYSTEM_ALLOCATIONS = 15, "Any memory of the process works as shared USM.";
        USM_ATOMIC_HOST_ALLOCATIONS = 16, "Atomic operations on host USM, concurrent with the host.";
        USM_ATOMIC_SHARED_ALLOCATIONS = 17, "Atomic operations on shared USM, concurrent with the host.";
        HOST_DEBUGGABLE = 18, "Kernels can be debugged from the host.";
        EMULATED = 19, "The device is emulated.";
        IS_COMPONENT = 20, "A component of a composite device.";
        IS_COMPOSITE = 21, "A composite device.";
        EXT_ONEAPI_IPC_MEMORY = 22, "Other processes can map the device's memory. From 0.23 on.";
    }

    /// A use of a peer's memory by a device, `sycl::ext::oneapi::peer_access`.
    DPCTLPeerAccessType(c_uint) {
        ACCESS_SUPPORTED = 0, "Read and write it.";
        ATOMICS_SUPPORTED = 1, "Use atomic operations on it.";
    }

    /// Use of the cache of global memory.
    DPCTLGlobalMemCacheType(c_uint) {
        INDETERMINATE = 0, "The runtime does not report it.";
        NONE = 1, "There is none.";
        READ_ONLY = 2, "Reads only.";
        READ_WRITE = 3, "Reads and writes.";
    }

    /// How far a command is.
    DPCTLSyclEventStatusType(c_uint) {
        UNKNOWN = 0, "The runtime does not report it.";
        SUBMITTED = 1, "Submitted, not started.";
        RUNNING = 2, "Running.";
        COMPLETE = 3, "Finished.";
    }

    /// Properties of a queue, as bits.
    DPCTLQueuePropertyType(c_int) {
        DEFAULT_PROPERTY = 0, "Out of order, times not recorded.";
        ENABLE_PROFILING = 1 << 0, "Events record times.";
        IN_ORDER = 1 << 1, "Commands run in the order of submission.";
    }

    /// The type of a kernel argument that a pointer leads to.
    DPCTLKernelArgType(c_uint) {
        INT8_T = 0, "An `int8_t`.";
        UINT8_T = 1, "A `uint8_t`.";
        INT16_T = 2, "An `int16_t`.";
        UINT16_T = 3, "A `uint16_t`.";
        INT32_T = 4, "An `int32_t`.";
        UINT32_T = 5, "A `uint32_t`.";
        INT64_T = 6, "An `int64_t`.";
        UINT64_T = 7, "A `uint64_t`.";
        FLOAT32_T = 8, "A `float`.";
        FLOAT64_T = 9, "A `double`.";
        VOID_PTR = 10, "The element is the USM pointer itself.";
        LOCAL_ACCESSOR = 11, "An [`MDLocalAccessor`].";
        WORK_GROUP_MEMORY = 12, "The element is a number of bytes of local memory; not in every build of the library.";
        RAW_KERNEL_ARG = 13, "The element is a [`DPCTLSyclRawKernelArgRef`]; not in every build of the library.";
        UNSUPPORTED = 14, "An argument of no type listed here.";
    }
}

/// Local memory as a kernel argument: an array of elements in up to three dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MDLocalAccessor {
    /// The number of dimensions, 1 to 3.
    pub ndim: usize,
    /// The type of an element; a scalar one.
    pub dpctl_type_id: DPCTLKernelArgType,
    /// Elements along the first dimension.
    pub dim0: usize,
    /// Elements along the second dimension, if there is one.
    pub dim1: usize,
    /// Elements along the third dimension, if there is one.
    pub dim2: usize,
}

/// The resource by which a device is partitioned into sub-devices, as the library at hand numbers it:
/// [`Form::affinity_domain`](crate::Form::affinity_domain) makes it, since the forms number it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct DPCTLPartitionAffinityDomainType(pub(crate) c_uint);

impl DPCTLPartitionAffinityDomainType {
    /// The number.
    #[must_use]
    pub const fn number(self) -> c_uint {
        self.0
    }
}

/// The value of a specialization constant of a SPIR-V module, from 0.23 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct DPCTLSpecConst {
    /// The number of the constant in the module.
    pub id: u32,
    /// Bytes of the value.
    pub size: usize,
    /// The value, read during the call.
    pub value: *const c_void,
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::{DPCTLSpecConst, MDLocalAccessor};

    /// The layouts of the C headers on 64-bit machines.
    #[test]
    fn structs_are_laid_out_as_in_c() {
        assert_eq!(size_of::<DPCTLSpecConst>(), 24);
        assert_eq!([offset_of!(DPCTLSpecConst, size), offset_of!(DPCTLSpecConst, value)], [8, 16]);
        assert_eq!((size_of::<MDLocalAccessor>(), offset_of!(MDLocalAccessor, dim0)), (40, 16));
    }
}
