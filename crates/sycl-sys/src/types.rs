//! The opaque handles, enumerations and callback of the C interface.
//!
//! Names come from the C headers, so that a search for a C name finds its Rust side. An enumeration is a newtype
//! over the C integer with associated constants, not a Rust `enum`: a newer library may return a value that this
//! list does not have, and an unlisted discriminant in a Rust `enum` would be undefined behaviour.
#![allow(non_camel_case_types)]

use core::ffi::{c_int, c_uint};
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
    ($($(#[$doc:meta])* $name:ident($repr:ty) { $($(#[$value_doc:meta])* $constant:ident = $value:expr,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(transparent)]
        pub struct $name(pub $repr);

        impl $name {
            $($(#[$value_doc])* pub const $constant: Self = Self($value);)*
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
        /// Not a USM pointer of the context.
        UNKNOWN = 0,
        /// Device USM.
        DEVICE = 1,
        /// Shared USM.
        SHARED = 2,
        /// Host USM.
        HOST = 3,
    }

    /// The SYCL backend of an object. The values are bits that may be combined with [`DPCTLSyclDeviceType`] into the
    /// `device_identifier` of the device manager.
    DPCTLSyclBackendType(c_uint) {
        /// A backend this interface has no name for.
        UNKNOWN = 0,
        /// CUDA.
        CUDA = 1 << 16,
        /// oneAPI Level Zero.
        LEVEL_ZERO = 1 << 17,
        /// OpenCL.
        OPENCL = 1 << 18,
        /// HIP.
        HIP = 1 << 19,
        /// Every backend; only for a `device_identifier`.
        ALL = 0x1f << 16,
    }

    /// The type of a device. The values are bits that may be combined with [`DPCTLSyclBackendType`].
    DPCTLSyclDeviceType(c_uint) {
        /// A type this interface has no name for.
        UNKNOWN = 0,
        /// An accelerator.
        ACCELERATOR = 1 << 0,
        /// Whatever the runtime prefers; only for a `device_identifier`.
        AUTOMATIC = 1 << 1,
        /// A CPU.
        CPU = 1 << 2,
        /// A device with fixed functions.
        CUSTOM = 1 << 3,
        /// A GPU.
        GPU = 1 << 4,
        /// Every type; only for a `device_identifier`.
        ALL = 0x3f,
    }

    /// A capability of a device, as `sycl::aspect`.
    DPCTLSyclAspectType(c_uint) {
        /// The host device of SYCL 1.2.1.
        HOST = 0,
        /// A CPU device.
        CPU = 1,
        /// A GPU device.
        GPU = 2,
        /// An accelerator device.
        ACCELERATOR = 3,
        /// A custom device.
        CUSTOM = 4,
        /// Kernels may use `sycl::half`.
        FP16 = 5,
        /// Kernels may use `double`.
        FP64 = 6,
        /// 64-bit atomic operations.
        ATOMIC64 = 7,
        /// Images.
        IMAGE = 8,
        /// Kernels can be compiled at run time.
        ONLINE_COMPILER = 9,
        /// Kernels can be linked at run time.
        ONLINE_LINKER = 10,
        /// Queues can record times.
        QUEUE_PROFILING = 11,
        /// Device USM.
        USM_DEVICE_ALLOCATIONS = 12,
        /// Host USM.
        USM_HOST_ALLOCATIONS = 13,
        /// Shared USM.
        USM_SHARED_ALLOCATIONS = 14,
        /// Any memory of the process works as shared USM.
        USM_SYSTEM_ALLOCATIONS = 15,
        /// Atomic operations on host USM, concurrent with the host.
        USM_ATOMIC_HOST_ALLOCATIONS = 16,
        /// Atomic operations on shared USM, concurrent with the host.
        USM_ATOMIC_SHARED_ALLOCATIONS = 17,
        /// Kernels can be debugged from the host.
        HOST_DEBUGGABLE = 18,
        /// The device is emulated.
        EMULATED = 19,
        /// A component of a composite device.
        IS_COMPONENT = 20,
        /// A composite device.
        IS_COMPOSITE = 21,
    }

    /// The resource by which a device is partitioned into sub-devices, `sycl::info::partition_affinity_domain`.
    DPCTLPartitionAffinityDomainType(c_uint) {
        /// By nothing; no device is partitioned so.
        NOT_APPLICABLE = 0,
        /// Compute units of one NUMA node stay together.
        NUMA = 1,
        /// Compute units that share a level 4 cache stay together.
        L4_CACHE = 2,
        /// Compute units that share a level 3 cache stay together.
        L3_CACHE = 3,
        /// Compute units that share a level 2 cache stay together.
        L2_CACHE = 4,
        /// Compute units that share a level 1 cache stay together.
        L1_CACHE = 5,
        /// The first of the above by which the device can be partitioned.
        NEXT_PARTITIONABLE = 6,
    }

    /// A use of a peer's memory by a device, `sycl::ext::oneapi::peer_access`.
    DPCTLPeerAccessType(c_uint) {
        /// Read and write it.
        ACCESS_SUPPORTED = 0,
        /// Use atomic operations on it.
        ATOMICS_SUPPORTED = 1,
    }

    /// Use of the cache of global memory.
    DPCTLGlobalMemCacheType(c_uint) {
        /// The runtime does not report it.
        INDETERMINATE = 0,
        /// There is none.
        NONE = 1,
        /// Reads only.
        READ_ONLY = 2,
        /// Reads and writes.
        READ_WRITE = 3,
    }

    /// How far a command is.
    DPCTLSyclEventStatusType(c_uint) {
        /// The runtime does not report it.
        UNKNOWN = 0,
        /// Submitted, not started.
        SUBMITTED = 1,
        /// Running.
        RUNNING = 2,
        /// Finished.
        COMPLETE = 3,
    }

    /// Properties of a queue, as bits.
    DPCTLQueuePropertyType(c_int) {
        /// Out of order, times not recorded.
        DEFAULT_PROPERTY = 0,
        /// Events record times.
        ENABLE_PROFILING = 1 << 0,
        /// Commands run in the order of submission.
        IN_ORDER = 1 << 1,
    }

    /// The type of a kernel argument that a pointer leads to.
    DPCTLKernelArgType(c_uint) {
        /// An `int8_t`.
        INT8_T = 0,
        /// A `uint8_t`.
        UINT8_T = 1,
        /// An `int16_t`.
        INT16_T = 2,
        /// A `uint16_t`.
        UINT16_T = 3,
        /// An `int32_t`.
        INT32_T = 4,
        /// A `uint32_t`.
        UINT32_T = 5,
        /// An `int64_t`.
        INT64_T = 6,
        /// A `uint64_t`.
        UINT64_T = 7,
        /// A `float`.
        FLOAT32_T = 8,
        /// A `double`.
        FLOAT64_T = 9,
        /// The element is the USM pointer itself.
        VOID_PTR = 10,
        /// An [`MDLocalAccessor`].
        LOCAL_ACCESSOR = 11,
        /// The element is a number of bytes of local memory; not in every build of the library.
        WORK_GROUP_MEMORY = 12,
        /// An argument as bytes; not in every build of the library.
        RAW_KERNEL_ARG = 13,
        /// An argument of no type listed here.
        UNSUPPORTED = 14,
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
