//! Calls of a backend as data: the method and its arguments.

use std::ffi::CString;
use std::fmt;

use crate::backend::{
    Composites, ExternalKind, Partition, PeerAccess, QueueProperties, RawBundle, RawContext, RawDevice,
    RawEvent, RawHandle, RawKernel, RawPlatform, RawQueue,
};
use crate::{ExecutionRange, KernelArgument, UsmKind};

macro_rules! methods {
    ($($variant:ident, $name:literal, $fallible:literal;)+) => {
        /// A method of [`Backend`](crate::backend::Backend), except `id`, which calls no runtime.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Method {
            $(#[doc = concat!("`Backend::", $name, "`.")] $variant,)+
        }

        impl Method {
            /// All methods.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Name of the method.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// Whether the method can return a failure.
            #[must_use]
            pub const fn is_fallible(self) -> bool {
                match self {
                    $(Self::$variant => $fallible,)+
                }
            }
        }

        impl Call {
            /// The method that was called.
            #[must_use]
            pub const fn method(&self) -> Method {
                match self {
                    $(Self::$variant { .. } => Method::$variant,)+
                }
            }
        }
    };
}

methods!(
    RootDevices, "root_devices", true;
    DeviceInfo, "device_info", false;
    DefaultContext, "default_context", true;
    CreateContext, "create_context", true;
    ContextId, "context_id", false;
    ContextDevices, "context_devices", true;
    CreateQueue, "create_queue", true;
    QueueParts, "queue_parts", true;
    Same, "same", false;
    Hash, "hash", false;
    Release, "release", false;
    Allocate, "allocate", true;
    Free, "free", false;
    PointerInfo, "pointer_info", false;
    PointerDevice, "pointer_device", true;
    Memcpy, "memcpy", true;
    Fill, "fill", true;
    Prefetch, "prefetch", true;
    MemAdvise, "mem_advise", true;
    Barrier, "barrier", true;
    HostTask, "host_task", true;
    Wait, "wait", true;
    EventStatus, "event_status", false;
    EventTimes, "event_times", true;
    EventDependencies, "event_dependencies", true;
    ImportExternal, "import_external", true;
    ExportExternal, "export_external", true;
    DeleteExternal, "delete_external", false;
    CreateBundle, "create_bundle", true;
    BundleKernel, "bundle_kernel", true;
    KernelInfo, "kernel_info", true;
    SubmitKernel, "submit_kernel", true;

    Platforms, "platforms", true;
    PlatformInfo, "platform_info", false;
    PlatformDevices, "platform_devices", true;
    DevicePlatform, "device_platform", true;
    Composites, "composites", true;
    ParentDevice, "parent_device", true;
    SubDevices, "sub_devices", true;
    CanAccessPeer, "can_access_peer", false;
    SetPeerAccess, "set_peer_access", true;
);

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One call of a backend. Memory is named by its address. A call keeps no object alive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "variants and fields have the names of `Backend`'s methods and arguments")]
#[non_exhaustive]
// One line a variant, as long as it fits.
#[rustfmt::skip]
pub enum Call {
    RootDevices,
    DeviceInfo { device: RawDevice },
    DefaultContext { device: RawDevice },
    CreateContext { devices: Vec<RawDevice> },
    ContextId { context: RawContext },
    ContextDevices { context: RawContext },
    CreateQueue { context: RawContext, device: RawDevice, properties: QueueProperties },
    QueueParts { queue: RawQueue },
    Same { a: RawHandle, b: RawHandle },
    Hash { handle: RawHandle },
    Release { handle: RawHandle },
    Allocate { queue: RawQueue, kind: UsmKind, len_bytes: usize, align_bytes: usize },
    Free { context: RawContext, block: usize },
    PointerInfo { context: RawContext, address: usize },
    PointerDevice { context: RawContext, address: usize },
    Memcpy { queue: RawQueue, dst: usize, src: usize, len_bytes: usize, dependencies: Vec<RawEvent> },
    Fill { queue: RawQueue, dst: usize, pattern: Vec<u8>, count: usize, dependencies: Vec<RawEvent> },
    Prefetch { queue: RawQueue, address: usize, len_bytes: usize, dependencies: Vec<RawEvent> },
    MemAdvise { queue: RawQueue, address: usize, len_bytes: usize, advice: i32, dependencies: Vec<RawEvent> },
    Barrier { queue: RawQueue, events: Vec<RawEvent> },
    /// Each range of memory as its address and length in bytes.
    HostTask { queue: RawQueue, memory: Vec<(usize, usize)>, dependencies: Vec<RawEvent> },
    Wait { event: RawEvent },
    EventStatus { event: RawEvent },
    EventTimes { event: RawEvent },
    EventDependencies { event: RawEvent },
    ImportExternal { kind: ExternalKind, pointer: usize },
    ExportExternal { handle: RawHandle },
    DeleteExternal { kind: ExternalKind, pointer: usize },
    CreateBundle {
        context: RawContext, device: RawDevice, language: &'static str, code: Vec<u8>, options: CString,
    },
    BundleKernel { bundle: RawBundle, name: CString },
    KernelInfo { kernel: RawKernel, device: RawDevice },
    SubmitKernel {
        queue: RawQueue, kernel: RawKernel, arguments: Vec<KernelArgument>, range: ExecutionRange,
        dependencies: Vec<RawEvent>,
    },

    Platforms,
    PlatformInfo { platform: RawPlatform },
    PlatformDevices { platform: RawPlatform },
    DevicePlatform { device: RawDevice },
    Composites { asked: Composites },
    ParentDevice { device: RawDevice },
    SubDevices { device: RawDevice, partition: Partition },
    CanAccessPeer { device: RawDevice, peer: RawDevice, access: PeerAccess },
    SetPeerAccess { device: RawDevice, peer: RawDevice, enabled: bool },
}
