//! The functions of the CUDA driver interface that this backend uses, loaded from the driver's library at run time.
//!
//! Types and numbers are those of the header `cuda.h` of CUDA 12. A name with a suffix such as `_v2` is the symbol that this header
//! stands for; the driver keeps all of them for older programs. Functions beyond CUDA 11.2 are
//! optional.

use std::ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void};
use std::fmt;

use libloading::Library;

/// The driver's library, which the loader finds by this name where a driver is installed.
pub const LIBRARY: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

/// `CUresult`.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Code(pub(super) c_uint);

/// `CUdevice`: the position of a device in the driver's list.
pub(super) type Ordinal = c_int;
/// `CUdeviceptr`: an address, unified for all devices and the host.
pub(super) type Address = u64;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        // Invariant DT1: a token, which the functions of the driver take on any thread: "all CUDA driver API functions are thread-safe".
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) struct $name(pub(super) *mut c_void);

        impl $name {
            pub(super) const NULL: Self = Self(std::ptr::null_mut());
        }

        // SAFETY: DT1.
        unsafe impl Send for $name {}
        // SAFETY: DT1; shared access only copies the token.
        unsafe impl Sync for $name {}
    )+};
}

handles!(
    /// `CUcontext`.
    ContextHandle,
    /// `CUstream`.
    Stream,
    /// `CUevent`.
    EventHandle,
    /// `CUmemoryPool`.
    MemoryPool,
    /// `CUmodule`.
    Module,
    /// `CUfunction`.
    Function,
    /// `CUgraph`.
    Graph,
    /// `CUuserObject`.
    UserObject,
);

/// Numbers of `cuda.h`, named as there without their prefixes.
impl Code {
    pub(super) const SUCCESS: Self = Self(0);
    pub(super) const INVALID_VALUE: Self = Self(1);
    pub(super) const NO_DEVICE: Self = Self(100);
    pub(super) const NOT_FOUND: Self = Self(500);
    pub(super) const NOT_READY: Self = Self(600);
    pub(super) const NOT_SUPPORTED: Self = Self(801);
    pub(super) const PEER_ACCESS_ALREADY_ENABLED: Self = Self(704);
    pub(super) const PEER_ACCESS_NOT_ENABLED: Self = Self(705);
    /// The legacy default stream would wait for a stream that is captured.
    pub(super) const CAPTURE_IMPLICIT: Self = Self(906);

    /// Whether the driver could not compile a module.
    pub(super) fn is_of_compiler(self) -> bool {
        const INVALID_IMAGE: c_uint = 200;
        const NO_BINARY_FOR_GPU: c_uint = 209;
        const INVALID_PTX: c_uint = 218;
        const JIT_COMPILER_NOT_FOUND: c_uint = 221;
        const UNSUPPORTED_PTX_VERSION: c_uint = 222;
        const JIT_COMPILATION_DISABLED: c_uint = 223;
        const UNSUPPORTED_DEVSIDE_SYNC: c_uint = 225;
        const INVALID_SOURCE: c_uint = 300;
        matches!(self.0, INVALID_IMAGE | NO_BINARY_FOR_GPU | INVALID_PTX | INVALID_SOURCE)
            || matches!(self.0, JIT_COMPILER_NOT_FOUND | UNSUPPORTED_PTX_VERSION | JIT_COMPILATION_DISABLED)
            || self.0 == UNSUPPORTED_DEVSIDE_SYNC
    }

    /// Whether a call was refused because work is captured into a graph. This says nothing about work that was submitted.
    pub(super) fn is_of_capture(self) -> bool {
        const UNSUPPORTED: c_uint = 900;
        const WRONG_THREAD: c_uint = 908;
        (UNSUPPORTED..=WRONG_THREAD).contains(&self.0)
    }

    /// Whether the context is unusable from now on: the header says of these that the process must end and start again to use CUDA.
    pub(super) fn is_sticky(self) -> bool {
        const ECC_UNCORRECTABLE: c_uint = 214;
        const NVLINK_UNCORRECTABLE: c_uint = 220;
        const CONTAINED: c_uint = 226;
        const ILLEGAL_ADDRESS: c_uint = 700;
        const LAUNCH_TIMEOUT: c_uint = 702;
        const CONTEXT_IS_DESTROYED: c_uint = 709;
        const ASSERT: c_uint = 710;
        const HARDWARE_STACK_ERROR: c_uint = 714;
        const LAUNCH_FAILED: c_uint = 719;
        matches!(
            self.0,
            ECC_UNCORRECTABLE | NVLINK_UNCORRECTABLE | CONTAINED | ILLEGAL_ADDRESS | LAUNCH_TIMEOUT
        ) || matches!(self.0, CONTEXT_IS_DESTROYED | ASSERT | HARDWARE_STACK_ERROR..=LAUNCH_FAILED)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CUresult {}", self.0)
    }
}

/// `CUdevice_attribute`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute(c_int);

impl Attribute {
    pub(super) const MAX_THREADS_PER_BLOCK: Self = Self(1);
    pub(super) const MAX_BLOCK_DIM_X: Self = Self(2);
    pub(super) const MAX_BLOCK_DIM_Y: Self = Self(3);
    pub(super) const MAX_BLOCK_DIM_Z: Self = Self(4);
    pub(super) const MAX_SHARED_MEMORY_PER_BLOCK: Self = Self(8);
    pub(super) const WARP_SIZE: Self = Self(10);
    pub(super) const CLOCK_RATE_KHZ: Self = Self(13);
    pub(super) const MULTIPROCESSOR_COUNT: Self = Self(16);
    pub(super) const L2_CACHE_SIZE: Self = Self(38);
    pub(super) const UNIFIED_ADDRESSING: Self = Self(41);
    pub(super) const COMPUTE_CAPABILITY_MAJOR: Self = Self(75);
    pub(super) const COMPUTE_CAPABILITY_MINOR: Self = Self(76);
    pub(super) const HOST_NATIVE_ATOMIC_SUPPORTED: Self = Self(86);
    pub(super) const PAGEABLE_MEMORY_ACCESS: Self = Self(88);
    pub(super) const CONCURRENT_MANAGED_ACCESS: Self = Self(89);
    pub(super) const MEMORY_POOLS_SUPPORTED: Self = Self(115);
    /// From CUDA 11.3 on.
    pub(super) const MEMPOOL_SUPPORTED_HANDLE_TYPES: Self = Self(119);
}

/// `CUpointer_attribute`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(super) struct PointerAttribute(c_int);

impl PointerAttribute {
    pub(super) const MEMORY_TYPE: Self = Self(2);
    pub(super) const IS_MANAGED: Self = Self(8);
    pub(super) const DEVICE_ORDINAL: Self = Self(9);
    pub(super) const RANGE_START: Self = Self(11);
    pub(super) const RANGE_SIZE: Self = Self(12);
    /// From CUDA 11.3 on.
    pub(super) const MEMPOOL_HANDLE: Self = Self(17);
}

/// `CUfunction_attribute`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(super) struct FunctionAttribute(c_int);

impl FunctionAttribute {
    pub(super) const MAX_THREADS_PER_BLOCK: Self = Self(0);
    pub(super) const LOCAL_SIZE_BYTES: Self = Self(3);
    pub(super) const NUM_REGS: Self = Self(4);
}

/// `CUjit_option`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(super) struct JitOption(c_int);

impl JitOption {
    pub(super) const MAX_REGISTERS: Self = Self(0);
    pub(super) const ERROR_LOG_BUFFER: Self = Self(5);
    pub(super) const ERROR_LOG_BUFFER_SIZE_BYTES: Self = Self(6);
    pub(super) const OPTIMIZATION_LEVEL: Self = Self(7);
    pub(super) const GENERATE_LINE_INFO: Self = Self(13);
}

/// `CU_MEMORYTYPE_HOST`; device memory is the next number.
pub(super) const MEMORYTYPE_HOST: c_uint = 1;
/// `CU_MEMORYTYPE_DEVICE`, also of managed memory.
pub(super) const MEMORYTYPE_DEVICE: c_uint = 2;
/// `CU_MEM_ATTACH_GLOBAL`: managed memory that every stream may use.
pub(super) const ATTACH_GLOBAL: c_uint = 1;
/// `CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP`: pinned for every context, and mapped.
pub(super) const HOSTALLOC_PORTABLE_MAPPED: c_uint = 3;
/// `CU_STREAM_NON_BLOCKING`: no implicit order with the legacy default stream.
pub(super) const STREAM_NON_BLOCKING: c_uint = 1;
/// `CU_EVENT_DISABLE_TIMING`.
pub(super) const EVENT_DISABLE_TIMING: c_uint = 2;
/// `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`, the one value there is.
pub(super) const USER_OBJECT_NO_DESTRUCTOR_SYNC: c_uint = 1;
/// `CU_GRAPH_USER_OBJECT_MOVE`: the graph takes the caller's references.
pub(super) const GRAPH_USER_OBJECT_MOVE: c_uint = 1;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`: the thread may make calls that captures of any thread forbid by default.
pub(super) const CAPTURE_MODE_RELAXED: c_int = 2;
/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
pub(super) const FILE_DESCRIPTOR: c_int = 1;
/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`, the one value there is.
pub(super) const LAZY_ENABLE_PEER_ACCESS: c_uint = 1;
/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`, a `u64` in bytes.
pub(super) const POOL_RELEASE_THRESHOLD: c_int = 4;

/// `CUmemLocation` of a device.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Location {
    kind: c_int,
    id: c_int,
}

impl Location {
    pub(super) const fn device(ordinal: Ordinal) -> Self {
        Self { kind: 1, id: ordinal }
    }
}

/// `CUmemPoolPtrExportData` and `CUipcMemHandle`: what the driver of another process knows a block by.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct HandleData(pub(super) [u8; 64]);

/// `CUmemPoolProps`. The handle types of a pool say how others import it. `cuIpcGetMemHandle` takes blocks of `cuMemAlloc` alone.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct PoolProperties {
    allocation_type: c_int,
    handle_types: c_int,
    location: Location,
    security_attributes: *mut c_void,
    max_size: usize,
    reserved: [u8; 56],
}

impl PoolProperties {
    pub(super) const fn of_device(ordinal: Ordinal, handle_types: c_int) -> Self {
        const PINNED: c_int = 1;
        Self {
            allocation_type: PINNED,
            handle_types,
            location: Location::device(ordinal),
            security_attributes: std::ptr::null_mut(),
            max_size: 0,
            reserved: [0; 56],
        }
    }
}

/// `CUmemAccessDesc`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct PoolAccess {
    pub(super) location: Location,
    /// 0 for none, 3 for reading and writing.
    pub(super) flags: c_int,
}

/// The reason why there is no driver.
#[derive(Clone, thiserror::Error, usm_derive::ErrorDebug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// The library cannot be loaded: the loader's text.
    #[error("there is no driver: {0}")]
    NotFound(String),
    /// The library is there: the reason why it cannot be used.
    #[error("the driver cannot be used: {0}")]
    Unusable(String),
}

impl LoadError {
    fn not_found(path: &OsStr, error: &libloading::Error) -> Self {
        // The loader's text is the source. Only the one of Linux names the file.
        let source = std::error::Error::source(error);
        let text = source.map_or_else(|| error.to_string(), ToString::to_string);
        let path = path.to_string_lossy();
        Self::NotFound(if text.contains(&*path) { text } else { format!("{path}: {text}") })
    }

    fn without(symbol: &str) -> Self {
        Self::Unusable(format!("it has no function {symbol}; a driver for CUDA 11.2 or newer has"))
    }
}

macro_rules! functions {
    (
        $($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?);)+
        optional:
        $($(#[$new_doc:meta])* fn $new:ident($($new_argument:ident: $new_type:ty),* $(,)?);)+
    ) => {
        /// Pointers to the functions of a driver, with the names of their symbols.
        #[allow(non_snake_case, reason = "symbols of a C library")]
        pub(super) struct Driver {
            $($(#[$doc])* pub(super) $name: unsafe extern "C" fn($($type),*) -> Code,)+
            $($(#[$new_doc])* pub(super) $new: Option<unsafe extern "C" fn($($new_type),*) -> Code>,)+
            // Invariant DR1: the library that the pointers lead into; it is never unloaded. Its functions do what `cuda.h` says.
            _library: std::mem::ManuallyDrop<Library>,
        }

        impl Driver {
            /// Loads the library and all functions.
            ///
            /// # Safety
            /// 1. Each of these symbols of the library has the type of `cuda.h`.
            ///
            /// # Errors
            /// Both of [`LoadError`].
            pub(super) unsafe fn load(path: &OsStr) -> Result<Self, LoadError> {
                // SAFETY: the initialisers of the driver's library, which the machine's owner installed (promise 1).
                let library = unsafe { Library::new(path) };
                let library = library.map_err(|error| LoadError::not_found(path, &error))?;
                Ok(Self {
                    $($name: {
                        let symbol: &[u8] = concat!(stringify!($name), "\0").as_bytes();
                        // SAFETY: the caller's promise 1.
                        let found = unsafe { library.get::<unsafe extern "C" fn($($type),*) -> Code>(symbol) };
                        *found.map_err(|_| LoadError::without(stringify!($name)))?
                    },)+
                    $($new: {
                        let symbol: &[u8] = concat!(stringify!($new), "\0").as_bytes();
                        // SAFETY: the caller's promise 1.
                        let found = unsafe { library.get::<unsafe extern "C" fn($($new_type),*) -> Code>(symbol) };
                        found.ok().map(|found| *found)
                    },)+
                    _library: std::mem::ManuallyDrop::new(library),
                })
            }
        }
    };
}

functions! {
    fn cuInit(flags: c_uint);
    fn cuDriverGetVersion(version: *mut c_int);
    fn cuGetErrorName(code: Code, name: *mut *const c_char);
    fn cuGetErrorString(code: Code, text: *mut *const c_char);

    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGet(device: *mut Ordinal, ordinal: c_int);
    fn cuDeviceGetName(name: *mut c_char, len: c_int, device: Ordinal);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: Ordinal);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: Attribute, device: Ordinal);
    fn cuDeviceGetPCIBusId(text: *mut c_char, len: c_int, device: Ordinal);
    fn cuDeviceCanAccessPeer(can: *mut c_int, device: Ordinal, peer: Ordinal);

    fn cuDevicePrimaryCtxRetain(context: *mut ContextHandle, device: Ordinal);
    fn cuCtxGetCurrent(context: *mut ContextHandle);
    fn cuCtxPushCurrent_v2(context: ContextHandle);
    fn cuCtxPopCurrent_v2(context: *mut ContextHandle);
    fn cuCtxEnablePeerAccess(peer: ContextHandle, flags: c_uint);
    fn cuCtxDisablePeerAccess(peer: ContextHandle);
    fn cuThreadExchangeStreamCaptureMode(mode: *mut c_int);

    fn cuMemPoolCreate(pool: *mut MemoryPool, properties: *const PoolProperties);
    fn cuMemPoolSetAttribute(pool: MemoryPool, attribute: c_int, value: *mut c_void);
    fn cuMemPoolSetAccess(pool: MemoryPool, access: *const PoolAccess, count: usize);
    fn cuMemPoolTrimTo(pool: MemoryPool, keep_bytes: usize);
    fn cuMemAllocFromPoolAsync(address: *mut Address, len_bytes: usize, pool: MemoryPool, stream: Stream);
    fn cuMemFreeAsync(address: Address, stream: Stream);
    fn cuMemAlloc_v2(address: *mut Address, len_bytes: usize);
    fn cuMemFree_v2(address: Address);
    fn cuMemAllocManaged(address: *mut Address, len_bytes: usize, flags: c_uint);
    fn cuMemHostAlloc(pointer: *mut *mut c_void, len_bytes: usize, flags: c_uint);
    fn cuMemFreeHost(pointer: *mut c_void);
    /// Writes a file descriptor, for handles of this type.
    fn cuMemPoolExportToShareableHandle(file: *mut c_int, pool: MemoryPool, kind: c_int, flags: u64);
    /// Takes a file descriptor as a pointer, for handles of this type. The caller keeps the file.
    fn cuMemPoolImportFromShareableHandle(pool: *mut MemoryPool, file: *mut c_void, kind: c_int, flags: u64);
    fn cuMemPoolDestroy(pool: MemoryPool);
    fn cuMemPoolExportPointer(data: *mut HandleData, address: Address);
    fn cuMemPoolImportPointer(address: *mut Address, pool: MemoryPool, data: *mut HandleData);
    fn cuIpcGetMemHandle(data: *mut HandleData, address: Address);
    fn cuIpcOpenMemHandle_v2(address: *mut Address, data: HandleData, flags: c_uint);
    fn cuIpcCloseMemHandle(address: Address);
    fn cuMemGetInfo_v2(free_bytes: *mut usize, total_bytes: *mut usize);
    /// The values are of the attributes' types. An unknown address gives the memory type 0, and no range, without an error.
    fn cuPointerGetAttributes(
        count: c_uint, attributes: *const PointerAttribute, values: *const *mut c_void, address: Address,
    );

    fn cuMemcpyAsync(to: Address, from: Address, len_bytes: usize, stream: Stream);
    fn cuMemcpyPeerAsync(
        to: Address, to_context: ContextHandle,
        from: Address, from_context: ContextHandle,
        len_bytes: usize, stream: Stream,
    );
    fn cuMemsetD8Async(to: Address, value: u8, count: usize, stream: Stream);
    fn cuMemsetD16Async(to: Address, value: u16, count: usize, stream: Stream);
    fn cuMemsetD32Async(to: Address, value: c_uint, count: usize, stream: Stream);
    fn cuMemPrefetchAsync(address: Address, len_bytes: usize, device: Ordinal, stream: Stream);
    fn cuMemAdvise(address: Address, len_bytes: usize, advice: c_int, device: Ordinal);

    fn cuStreamCreate(stream: *mut Stream, flags: c_uint);
    fn cuStreamDestroy_v2(stream: Stream);
    fn cuStreamSynchronize(stream: Stream);
    fn cuStreamQuery(stream: Stream);
    fn cuStreamIsCapturing(stream: Stream, status: *mut c_int);
    fn cuStreamWaitEvent(stream: Stream, event: EventHandle, flags: c_uint);
    fn cuStreamGetCtx(stream: Stream, context: *mut ContextHandle);

    fn cuEventCreate(event: *mut EventHandle, flags: c_uint);
    fn cuEventRecord(event: EventHandle, stream: Stream);
    fn cuEventQuery(event: EventHandle);
    fn cuEventSynchronize(event: EventHandle);
    fn cuEventElapsedTime(milliseconds: *mut f32, start: EventHandle, end: EventHandle);
    fn cuEventDestroy_v2(event: EventHandle);

    fn cuModuleLoadData(module: *mut Module, image: *const c_void);
    /// As many values as options: numbers as pointers without provenance, and pointers.
    fn cuModuleLoadDataEx(
        module: *mut Module, image: *const c_void,
        count: c_uint, options: *const JitOption, values: *const *mut c_void,
    );
    fn cuModuleUnload(module: Module);
    fn cuModuleGetFunction(function: *mut Function, module: Module, name: *const c_char);
    fn cuFuncGetAttribute(value: *mut c_int, attribute: FunctionAttribute, function: Function);
    fn cuLaunchKernel(
        function: Function,
        grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared_bytes: c_uint, stream: Stream, arguments: *mut *mut c_void, extra: *mut *mut c_void,
    );

    optional:
    /// From CUDA 12.4 on. `INVALID_VALUE` behind the last parameter.
    fn cuFuncGetParamInfo(function: Function, index: usize, offset_bytes: *mut usize, len_bytes: *mut usize);
    /// From CUDA 11.3 on, as the next three. All pointers but the first may be null; nodes and their number are not asked for.
    fn cuStreamGetCaptureInfo_v2(
        stream: Stream, status: *mut c_int, id: *mut u64, graph: *mut Graph,
        nodes: *mut *const c_void, count: *mut usize,
    );
    fn cuUserObjectCreate(
        object: *mut UserObject, value: *mut c_void, destroy: Option<unsafe extern "C" fn(*mut c_void)>,
        references: c_uint, flags: c_uint,
    );
    fn cuUserObjectRelease(object: UserObject, count: c_uint);
    fn cuGraphRetainUserObject(graph: Graph, object: UserObject, count: c_uint, flags: c_uint);
}

impl Driver {
    /// The driver's name of a code, such as `CUDA_ERROR_OUT_OF_MEMORY`, and its text.
    pub(super) fn describe(&self, code: Code) -> (String, String) {
        let text = |function: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
            let mut text = std::ptr::null();
            // SAFETY: DR1; the pointer is writable. The driver sets it to a text that it keeps, or to null for an unknown code.
            let _ = unsafe { function(code, &raw mut text) };
            if text.is_null() {
                return format!("CUresult {}", code.0);
            }
            // SAFETY: DR1; not null, so a text that the driver keeps.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        (text(self.cuGetErrorName), text(self.cuGetErrorString))
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}
