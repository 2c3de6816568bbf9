//! The library as its callers see it: C functions of a private copy.
#![allow(dead_code, reason = "each test uses a part")]

use std::ffi::{c_char, c_int, c_uint, c_void};

use cuda_loopback::Loopback;
use libloading::Library;

/// Any handle.
pub(crate) type Handle = usize;

macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $ty:ty),* $(,)?);)*) => {
        #[allow(non_snake_case, clippy::too_many_arguments)]
        impl Driver {$(
            pub(crate) fn $name(&self, $($argument: $ty),*) -> u32 {
                // SAFETY: the signature of the header.
                let function = unsafe { self.library.get::<unsafe extern "C" fn($($ty),*) -> u32>(stringify!($name)) };
                let function = function.unwrap();
                // SAFETY: the tests give pointers that are writable; anything else this library checks.
                unsafe { function($($argument),*) }
            }
        )*}
    };
}

/// A copy of the library, with the first device's context current on this thread.
pub(crate) struct Driver {
    pub(crate) loopback: Loopback,
    library: Library,
    pub(crate) contexts: Vec<Handle>,
}

functions! {
    fn cuInit(flags: c_uint);
    fn cuDriverGetVersion(version: &mut c_int);
    fn cuGetErrorName(code: u32, name: &mut *const c_char);
    fn cuDeviceGetCount(count: &mut c_int);
    fn cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int);
    fn cuDeviceGetPCIBusId(text: *mut c_char, len: c_int, device: c_int);
    fn cuDeviceGetAttribute(value: &mut c_int, attribute: c_int, device: c_int);
    fn cuDeviceCanAccessPeer(can: &mut c_int, device: c_int, peer: c_int);
    fn cuDevicePrimaryCtxRetain(context: &mut Handle, device: c_int);
    fn cuCtxGetCurrent(context: &mut Handle);
    fn cuCtxPushCurrent_v2(context: Handle);
    fn cuCtxPopCurrent_v2(context: &mut Handle);
    fn cuCtxEnablePeerAccess(peer: Handle, flags: c_uint);
    fn cuCtxDisablePeerAccess(peer: Handle);
    fn cuMemPoolCreate(pool: &mut Handle, properties: &[c_int; 22]);
    fn cuMemPoolSetAttribute(pool: Handle, attribute: c_int, value: &mut u64);
    fn cuMemPoolSetAccess(pool: Handle, access: &[c_int; 3], count: usize);
    fn cuMemPoolTrimTo(pool: Handle, keep_bytes: usize);
    fn cuMemAllocFromPoolAsync(address: &mut u64, len_bytes: usize, pool: Handle, stream: Handle);
    fn cuMemFreeAsync(address: u64, stream: Handle);
    fn cuMemAlloc_v2(address: &mut u64, len_bytes: usize);
    fn cuMemFree_v2(address: u64);
    fn cuMemAllocManaged(address: &mut u64, len_bytes: usize, flags: c_uint);
    fn cuMemHostAlloc(pointer: &mut u64, len_bytes: usize, flags: c_uint);
    fn cuMemFreeHost(pointer: u64);
    fn cuMemGetInfo_v2(free_bytes: &mut usize, total_bytes: &mut usize);
    fn cuPointerGetAttributes(count: c_uint, attributes: *const c_int, values: *const *mut c_void, address: u64);
    fn cuMemcpyAsync(to: u64, from: u64, len_bytes: usize, stream: Handle);
    fn cuMemsetD8Async(to: u64, value: u8, count: usize, stream: Handle);
    fn cuMemsetD32Async(to: u64, value: c_uint, count: usize, stream: Handle);
    fn cuMemPrefetchAsync(address: u64, len_bytes: usize, device: c_int, stream: Handle);
    fn cuMemAdvise(address: u64, len_bytes: usize, advice: c_int, device: c_int);
    fn cuStreamCreate(stream: &mut Handle, flags: c_uint);
    fn cuStreamDestroy_v2(stream: Handle);
    fn cuStreamSynchronize(stream: Handle);
    fn cuStreamQuery(stream: Handle);
    fn cuStreamIsCapturing(stream: Handle, status: &mut c_int);
    fn cuStreamBeginCapture_v2(stream: Handle, mode: c_int);
    fn cuStreamEndCapture(stream: Handle, graph: &mut Handle);
    fn cuStreamGetCaptureInfo_v2(
        stream: Handle, status: &mut c_int, id: &mut u64, graph: &mut Handle, nodes: *mut *const Handle, count: *mut usize,
    );
    fn cuThreadExchangeStreamCaptureMode(mode: &mut c_int);
    fn cuGraphGetNodes(graph: Handle, nodes: *mut Handle, count: &mut usize);
    fn cuGraphInstantiateWithFlags(exec: &mut Handle, graph: Handle, flags: u64);
    fn cuGraphLaunch(exec: Handle, stream: Handle);
    fn cuGraphExecDestroy(exec: Handle);
    fn cuGraphDestroy(graph: Handle);
    fn cuUserObjectCreate(
        object: &mut Handle, value: *mut c_void, destroy: Option<unsafe extern "C" fn(*mut c_void)>, references: c_uint,
        flags: c_uint,
    );
    fn cuUserObjectRelease(object: Handle, count: c_uint);
    fn cuGraphRetainUserObject(graph: Handle, object: Handle, count: c_uint, flags: c_uint);
    fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint);
    fn cuStreamGetCtx(stream: Handle, context: &mut Handle);
    fn cuEventCreate(event: &mut Handle, flags: c_uint);
    fn cuEventRecord(event: Handle, stream: Handle);
    fn cuEventQuery(event: Handle);
    fn cuEventSynchronize(event: Handle);
    fn cuEventElapsedTime(milliseconds: &mut f32, start: Handle, end: Handle);
    fn cuEventDestroy_v2(event: Handle);
    fn cuModuleLoadData(module: &mut Handle, image: *const c_char);
    fn cuModuleLoadDataEx(
        module: &mut Handle, image: *const c_char, count: c_uint, options: *const c_int, values: *const *mut c_void,
    );
    fn cuModuleUnload(module: Handle);
    fn cuFuncGetAttribute(value: &mut c_int, attribute: c_int, function: Handle);
    fn cuFuncGetParamInfo(function: Handle, index: usize, offset: &mut usize, size: &mut usize);
    fn cuCtxSynchronize();
    fn cuModuleGetFunction(function: &mut Handle, module: Handle, name: *const c_char);
    fn cuLaunchKernel(
        function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared_bytes: c_uint, stream: Handle, arguments: *mut *mut c_void, extra: *mut *mut c_void,
    );
}

/// Gives what a function writes, which must succeed.
#[macro_export]
macro_rules! made {
    ($driver:ident.$function:ident($($argument:expr),*)) => {{
        let mut made = Default::default();
        assert_eq!($driver.$function(&mut made, $($argument),*), 0, stringify!($function));
        made
    }};
}

impl Driver {
    /// A copy where nothing is initialised.
    pub(crate) fn cold() -> Self {
        let loopback = Loopback::new().unwrap();
        // SAFETY: the loopback library has no initialisation routines.
        let library = unsafe { Library::new(loopback.path()) }.unwrap();
        Self { loopback, library, contexts: Vec::new() }
    }

    pub(crate) fn with_devices(devices: c_int) -> Self {
        let mut driver = Self::cold();
        assert!(driver.loopback.set("DEVICES", devices.unsigned_abs().into()).unwrap());
        assert!(driver.loopback.set("MEMORY_BYTES", 64 << 20).unwrap());
        assert_eq!(driver.cuInit(0), 0);
        for device in 0..devices {
            let context = made!(driver.cuDevicePrimaryCtxRetain(device));
            driver.contexts.push(context);
        }
        assert_eq!(driver.cuCtxPushCurrent_v2(driver.contexts[0]), 0);
        driver
    }

    pub(crate) fn new() -> Self {
        Self::with_devices(1)
    }

    /// A stream without an implicit order, of the current context.
    pub(crate) fn stream(&self) -> Handle {
        made!(self.cuStreamCreate(1))
    }

    pub(crate) fn event(&self) -> Handle {
        made!(self.cuEventCreate(0))
    }

    /// A pool of a device that keeps everything.
    pub(crate) fn pool(&self, device: c_int) -> Handle {
        let mut properties = [0; 22];
        (properties[0], properties[2], properties[3]) = (1, 1, device);
        let pool = made!(self.cuMemPoolCreate(&properties));
        assert_eq!(self.cuMemPoolSetAttribute(pool, 4, &mut { u64::MAX }), 0);
        pool
    }

    /// The bytes of a range, by a copy to host memory behind the work of a stream.
    pub(crate) fn read(&self, address: u64, len_bytes: usize, stream: Handle) -> Vec<u8> {
        let mut bytes = vec![0; len_bytes];
        assert_eq!(self.cuMemcpyAsync(bytes.as_mut_ptr() as u64, address, len_bytes, stream), 0);
        bytes
    }

    /// The one fault so far, which is taken back.
    pub(crate) fn the_fault(&self) -> String {
        let faults = self.loopback.faults();
        assert_eq!(faults.len(), 1, "{faults:?}");
        self.loopback.reset();
        faults[0].clone()
    }

    /// The memory type, whether managed, the device, the start, and the length of an address.
    pub(crate) fn describe(&self, address: u64) -> (u32, u32, i32, u64, u64) {
        let (mut kind, mut managed, mut device, mut start, mut len) = (77, 77, 77, 77, 77);
        let values = [
            (&raw mut kind).cast::<c_void>(),
            (&raw mut managed).cast(),
            (&raw mut device).cast(),
            (&raw mut start).cast(),
            (&raw mut len).cast(),
        ];
        assert_eq!(self.cuPointerGetAttributes(5, [2, 8, 9, 11, 12].as_ptr(), values.as_ptr(), address), 0);
        (kind, managed, device, start, len)
    }
}
