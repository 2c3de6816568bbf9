//! The bare C calls below the calls from Python.

use std::ffi::c_void;

use sycl_sys::locate::SearchOptions;
use sycl_sys::{Api, DPCTLSyclQueueRef, DPCTLSyclUSMRef};

use super::stage::{Case, Contender};

const C: &str = "C";
/// `DPCTL_IN_ORDER` of the header.
const IN_ORDER: i32 = 2;

/// A queue, and a block of device memory.
struct Runtime {
    api: Api,
    queue: DPCTLSyclQueueRef,
    block: DPCTLSyclUSMRef,
}

impl Runtime {
    fn new(bytes: usize) -> Result<Self, String> {
        // Looks for the driver first.
        drop(usm_bench::queues());
        let loaded = unsafe { sycl_sys::load(&SearchOptions::new()) }.map_err(|error| error.to_string())?;
        let api = loaded.api;
        unsafe {
            let create = api.DPCTLDefaultSelector_Create.ok_or("the library has no default selector")?;
            let selector = create();
            let device = (api.DPCTLDevice_CreateFromSelector)(selector);
            (api.DPCTLDeviceSelector_Delete)(selector);
            if device.is_null() {
                return Err("there is no SYCL device".to_owned());
            }
            let queue = (api.DPCTLQueue_CreateForDevice)(device, None, IN_ORDER);
            (api.DPCTLDevice_Delete)(device);
            let block = (api.DPCTLmalloc_device)(bytes, queue);
            let runtime = Self { api, queue, block };
            if block.is_null() { Err(format!("no {bytes} bytes of device memory")) } else { Ok(runtime) }
        }
    }

    fn copy(&self, to: *mut c_void, from: *const c_void, bytes: usize) {
        unsafe {
            let event = (self.api.DPCTLQueue_Memcpy)(self.queue, to, from, bytes);
            (self.api.DPCTLEvent_Wait)(event);
            (self.api.DPCTLEvent_Delete)(event);
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        unsafe {
            if !self.block.is_null() {
                (self.api.DPCTLfree_with_queue)(self.block, self.queue);
            }
            (self.api.DPCTLQueue_Delete)(self.queue);
        }
    }
}

/// Gets device memory and host memory of `bytes` bytes.
type Call = fn(&Runtime, *mut c_void, *mut c_void, usize);

/// Each case has one contender: the others are in Python.
fn case(name: String, bytes: usize, call: Call) -> Case {
    Case::new(name, move || match Runtime::new(bytes) {
        Err(reason) => vec![Contender::missing(C, reason)],
        Ok(runtime) => {
            let mut host = vec![0_u8; bytes];
            vec![Contender::timed(C, move || {
                call(&runtime, runtime.block.cast(), host.as_mut_ptr().cast(), bytes);
            })]
        }
    })
}

pub(crate) fn cases() -> Vec<Case> {
    let allocate: Call = |runtime, _, _, bytes| unsafe {
        let block = (runtime.api.DPCTLmalloc_shared)(bytes, runtime.queue);
        (runtime.api.DPCTLfree_with_queue)(block, runtime.queue);
    };
    let wait: Call = |runtime, _, _, _| unsafe { (runtime.api.DPCTLQueue_Wait)(runtime.queue) };
    let read: Call = |runtime, device, host, bytes| runtime.copy(host, device, bytes);
    let write: Call = |runtime, device, host, bytes| runtime.copy(device, host, bytes);
    let copy: Call = |runtime, device, _, bytes| unsafe {
        let block = (runtime.api.DPCTLmalloc_device)(bytes, runtime.queue);
        runtime.copy(block.cast(), device, bytes);
        (runtime.api.DPCTLfree_with_queue)(block, runtime.queue);
    };
    let sizes = [("64 B", 64), ("4 KiB", 4096), ("1 MiB", 1 << 20), ("64 MiB", 64_usize << 20)];
    let allocations = sizes.into_iter().flat_map(|(label, bytes)| {
        ["direct", "pool"].map(|way| case(format!("allocate/{label}, {way}"), bytes, allocate))
    });
    let access = ["float(a[3, 4])", "a[0, 0] = 1.0", "copy_from_host, 4 KiB", "copy_to_host, 4 KiB"];
    // Each access to memory that others know has to wait for a queue that is idle.
    let waits = access.into_iter().chain(["__dlpack__", "memoryview"]);
    let waits = waits.map(|name| case(format!("exported/{name}, queue of others"), 8, wait));
    let queued = access.into_iter().zip([(8, read), (8, write), (4096, write), (4096, read)]);
    let queued = queued.chain([("asnumpy(a)", (128, read)), ("copy(a)", (128, copy))]);
    let queued = queued.map(|(name, (bytes, call))| case(format!("queue/{name}"), bytes, call));
    allocations.chain(waits).chain(queued).collect()
}
