//! One host backend for several copies of this library in a process, through a table of C functions.
//!
//! A Python extension that links this library has a copy of its own, with statics of its own. Two host backends would not know each
//! other's memory, so the copy that came first [offers a table](HostBackend::table), and the others work on its backend through a
//! [`HostOfOtherCopy`] (`client.rs`). All that passes between them has a C layout (`c_form.rs`): the copies may come from different
//! compilers and different builds of the same [`VERSION`]. Queues that the copies hand to each other are looked up (`queues.rs`).
//!
//! Copies and fills complete before their function returns. So no event, no dependency and no closure passes between the copies.

mod c_form;
mod client;
mod queues;

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use self::c_form::{AfterPanic, CForm};
pub use self::client::HostOfOtherCopy;
pub(super) use self::queues::Queues;
use super::device::DeviceFacts;
use super::{
    Backend, HostBackend, HostPlatform, HostQueue, QueueProperties, RawContext, RawDevice, RawEvent,
    RawHandle, RawPlatform, RawQueue, SimulatedDevice,
};
use crate::backend::objects::Handle;
use crate::unwind::contained;
use crate::{DeviceType, PointerInfo, Result, UsmKind};

/// Version of [`HostTable`]. Any change of a function in this file, or of the layout of a type in its signature, makes it another one.
pub const VERSION: u32 = 6;

/// Passes the functions of the table to a macro. Each calls the method of [`HostBackend`] with its name. `methods` are also the
/// methods of [`Backend`] for [`HostOfOtherCopy`]; `others` have other signatures there.
macro_rules! functions {
    ($then:ident) => {
        $then! {
            methods {
                platform_devices(platform: RawPlatform) -> Result<Vec<RawDevice>>;
                device_platform(device: RawDevice) -> Result<RawPlatform>;
                parent_device(device: RawDevice) -> Result<Option<RawDevice>>;
                default_context(device: RawDevice) -> Result<RawContext>;
                create_context(devices: &[RawDevice]) -> Result<RawContext>;
                context_id(context: RawContext) -> u64;
                context_devices(context: RawContext) -> Result<Vec<RawDevice>>;
                create_queue(context: RawContext, device: RawDevice, properties: QueueProperties) -> Result<RawQueue>;
                queue_parts(queue: RawQueue) -> Result<(RawContext, RawDevice, QueueProperties)>;
                allocate(queue: RawQueue, kind: UsmKind, len_bytes: usize, align_bytes: usize) -> Option<NonNull<u8>>;
                free(context: RawContext, block: NonNull<u8>) -> ();
                pointer_info(context: RawContext, address: usize) -> Option<PointerInfo>;
                pointer_device(context: RawContext, address: usize) -> Result<RawDevice>;
            }
            others {
                root_devices() -> Result<Vec<RawDevice>>;
                platforms() -> Result<Vec<RawPlatform>>;
                device_facts(device: RawDevice) -> DeviceFacts;
                platform_type(platform: RawPlatform) -> DeviceType;
                find_queue(address: usize) -> Option<RawQueue>;
                release(handle: RawHandle) -> ();
                copy(queue: RawQueue, dst: *mut u8, src: *const u8, len_bytes: usize) -> Result<()>;
                fill_all(queue: RawQueue, dst: *mut u8, pattern: &[u8], count: usize) -> Result<()>;
                finish(queue: RawQueue) -> Result<()>;
            }
        }
    };
}
use functions;

macro_rules! table {
    (methods { $($methods:tt)* } others { $($others:tt)* }) => {
        table! { $($methods)* $($others)* }
    };
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)+) => {
        /// The functions of a host backend, with the C calling convention. Another copy of this library calls them.
        ///
        /// The first two fields stay what they are in every version.
        #[repr(C)]
        #[derive(Debug)]
        pub struct HostTable {
            /// [`VERSION`] of the copy that made it.
            version: u32,
            size_bytes: u32,
            /// Invariant HT1: the backend that all functions of this table take, which lives as long as the process.
            server: *const c_void,
            /// The flag that lets one thread at a time wait inside the OpenCL driver; null where there is no SYCL backend.
            waits: *const AtomicBool,
            $($name: unsafe extern "C" fn(
                *const c_void, $(<$type as CForm>::C),*
            ) -> <$answer as CForm>::C,)+
        }

        impl HostBackend {
            /// The table by which other copies of this library in the process work on this backend, which lives on from now on.
            #[must_use]
            pub fn table(self: &Arc<Self>) -> HostTable {
                $(#[allow(unused_unsafe, reason = "some methods are safe")]
                unsafe extern "C" fn $name(
                    server: *const c_void, $($argument: <$type as CForm>::C),*
                ) -> <$answer as CForm>::C {
                    // SAFETY: HT1, and `client.rs` passes the server of the table.
                    let backend = unsafe { &*server.cast::<HostBackend>() };
                    $(
                        // SAFETY: promise 1 of `CForm::from_c`: `client.rs` passes the C form of a value, once, and of a slice that lives through the call.
                        let $argument = unsafe { <$type as CForm>::from_c($argument) };
                    )*
                    // SAFETY: promises 1 to 3 of the method of `Backend`: `client.rs` calls it for its own caller.
                    let answer = contained(stringify!($name), || unsafe { backend.$name($($argument),*) });
                    answer.unwrap_or_else(AfterPanic::after_panic).into_c()
                })+
                HostTable {
                    version: VERSION,
                    size_bytes: u32::try_from(size_of::<HostTable>()).unwrap_or(0),
                    server: Arc::into_raw(Arc::clone(self)).cast(), // HT1: this count is never given back
                    waits: flag(),
                    $($name,)+
                }
            }
        }
    };
}
functions!(table);

// SAFETY: HT1: the backend can be used from any thread (promise 1 of `Backend`), and the rest is numbers and functions.
unsafe impl Send for HostTable {}
// SAFETY: HT1: as for Send.
unsafe impl Sync for HostTable {}

#[cfg(feature = "sycl")]
fn flag() -> *const AtomicBool {
    crate::backend::sycl::one_waits::flag()
}

#[cfg(not(feature = "sycl"))]
fn flag() -> *const AtomicBool {
    std::ptr::null()
}

impl HostBackend {
    /// # Safety
    /// 1. `device` is live.
    unsafe fn device_facts(&self, device: RawDevice) -> DeviceFacts {
        // SAFETY: O1: the handle is live (1).
        unsafe { SimulatedDevice::clone_raw(device) }.facts
    }

    /// # Safety
    /// 1. `platform` is live.
    unsafe fn platform_type(&self, platform: RawPlatform) -> DeviceType {
        // SAFETY: O1: the handle is live (1).
        unsafe { HostPlatform::clone_raw(platform) }.device.facts.device_type
    }

    /// A handle of its own to the live queue at an address, which may be any; `None` where there is none.
    pub(crate) fn find_queue(&self, address: usize) -> Option<RawQueue> {
        self.queues.lock().find(address).map(HostQueue::into_raw)
    }

    /// [`memcpy`](Backend::memcpy) that is complete when it returns.
    ///
    /// # Safety
    /// 1. As for `memcpy`.
    unsafe fn copy(&self, queue: RawQueue, dst: *mut u8, src: *const u8, len_bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise 1.
        self.complete(unsafe { self.memcpy(queue, dst, src, len_bytes, &[]) }?)
    }

    /// [`fill`](Backend::fill) that is complete when it returns.
    ///
    /// # Safety
    /// 1. As for `fill`.
    unsafe fn fill_all(&self, queue: RawQueue, dst: *mut u8, pattern: &[u8], count: usize) -> Result<()> {
        // SAFETY: the caller's promise 1.
        self.complete(unsafe { self.fill(queue, dst, pattern, count, &[]) }?)
    }

    /// Waits for all operations of a queue.
    ///
    /// # Safety
    /// 1. `queue` is live.
    unsafe fn finish(&self, queue: RawQueue) -> Result<()> {
        // SAFETY: the caller's promise 1.
        self.complete(unsafe { self.barrier(queue, &[]) }?)
    }

    /// Waits for the operation of a fresh event of this backend, and releases it.
    fn complete(&self, event: RawEvent) -> Result<()> {
        // SAFETY: O1: a fresh event of this backend.
        let completed = unsafe { self.wait(event) };
        // SAFETY: O1: its count, which goes nowhere else.
        unsafe { self.release(RawHandle::Event(event)) };
        completed
    }
}
