//! The methods of `Backend`, listed once: calls as data, and the forwarding of all decorators.

use std::ffi::CString;
use std::fmt;

use self::signatures::*;

/// The types in the methods' signatures, which a file that uses `forward!` imports.
pub(super) mod signatures {
    pub(in crate::testing) use std::any::Any;
    pub(in crate::testing) use std::ffi::{CStr, c_void};
    pub(in crate::testing) use std::ptr::NonNull;

    pub(in crate::testing) use crate::backend::{
        Backend, BackendId, Composites, DeviceInfo, EventStatus, ExternalObject, HostTask, MemoryFigures,
        Partition, PeerAccess, PlatformInfo, PointerInfo, ProfilingTimes, QueueProperties, RawBundle,
        RawContext, RawDevice, RawEvent, RawHandle, RawKernel, RawPlatform, RawQueue, TaskMemory,
    };
    pub(in crate::testing) use crate::{
        ExecutionRange, KernelArgument, KernelCode, KernelInfo, Result, UsmKind,
    };
}

/// Each line is a variant, whether the method can return a failure, the method, and the fields of the variant with their values. The
/// first token is a dollar sign, for the macro that this macro defines.
macro_rules! methods {
    ($d:tt $(
        $variant:ident $fallible:literal $([$safety:ident])? $name:ident($($argument:ident: $type:ty),*) -> $answer:ty
        $({ $($field:ident: $kind:ty = $value:expr),+ $(,)? })?;
    )+) => {
        /// A method of [`Backend`] that decorators count. Facts, streams, captures, `host_reachable`, `runs_host_tasks` and `id` have no
        /// variant.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Method {
            $(#[doc = concat!("`Backend::", stringify!($name), "`.")] $variant,)+
        }

        impl Method {
            /// All methods.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Name of the method.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($name),)+
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

        /// One call of a backend. Memory is named by its address, a range of it by address and length in bytes. A call keeps no object
        /// alive.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "variants and fields have the names of `Backend`'s methods and arguments")]
        #[non_exhaustive]
        pub enum Call {
            $($variant $({ $($field: $kind),+ })?,)+
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

        /// Methods of an `unsafe impl Backend` that hand the call to `self.inner` with the same arguments, through
        /// `self.around(call, run)`, which decides when to run it, if at all. `all` stands for every method, and `most` for all but
        /// `device_info` and `runs_host_tasks`. Methods after `held_back:` hand the call to `self.submit` instead.
        ///
        /// The groups `facts`, `streams` and `captures` hand calls on without a count. The group `strict` answers them itself.
        macro_rules! forward {
            (all) => {
                forward!(most, device_info, runs_host_tasks);
            };
            (held_back: $d($d method:ident),+) => {
                $d(forward!(@ held_back $d method);)+
            };
            ($d($d method:ident),+ $d(,)?) => {
                $d(forward!(@ $d method);)+
            };
            (@ most) => {
                forward!(
                    id, root_devices, default_context, create_context, context_id, context_devices, create_queue,
                    queue_parts, same, hash, release, allocate, free, pointer_info, pointer_device, memcpy, fill,
                    prefetch, mem_advise, barrier, wait, event_status, event_times, event_dependencies,
                    import_external, export_external, delete_external, create_bundle, bundle_kernel, kernel_info,
                    submit_kernel, platforms, platform_info, platform_devices, device_platform, composites,
                    parent_device, sub_devices, can_access_peer, set_peer_access, host_task, facts, strict, streams,
                    captures, processes,
                );
            };
            (@ id) => {
                fn id(&self) -> BackendId {
                    self.inner.id()
                }
            };
            (@ runs_host_tasks) => {
                fn runs_host_tasks(&self) -> bool {
                    self.inner.runs_host_tasks()
                }
            };
            // What no decorator changes: facts about the machine, and memory that nothing uses.
            (@ facts) => {
                fn check_process(&self) -> Result<()> {
                    self.inner.check_process()
                }

                fn queue_properties(&self, asked: QueueProperties) -> QueueProperties {
                    self.inner.queue_properties(asked)
                }

                unsafe fn memory_figures(&self, device: RawDevice) -> Option<MemoryFigures> {
                    // SAFETY: promise 1 of the method of `Backend`; the handle is `inner`'s own.
                    unsafe { self.inner.memory_figures(device) }
                }

                unsafe fn trim(&self, queue: RawQueue, kind: UsmKind) -> bool {
                    // SAFETY: promise 1 of the method of `Backend`; the handle is `inner`'s own.
                    unsafe { self.inner.trim(queue, kind) }
                }

                fn trim_all(&self) {
                    self.inner.trim_all();
                }

                unsafe fn check_device(&self, device: RawDevice) -> Result<()> {
                    // SAFETY: promise 1 of the method of `Backend`; the handle is `inner`'s own.
                    unsafe { self.inner.check_device(device) }
                }
            };
            // Work on a stream comes after the operations that the decorator has handed on.
            (@ streams) => {
                unsafe fn native_stream(&self, queue: RawQueue) -> Option<usize> {
                    // SAFETY: promise 1 of the method of `Backend`; the handle is `inner`'s own.
                    unsafe { self.inner.native_stream(queue) }
                }

                unsafe fn queue_on_stream(&self, device: RawDevice, stream: usize) -> Result<RawQueue> {
                    // SAFETY: promises 1 and 2 of the method of `Backend`; the handle is `inner`'s own.
                    unsafe { self.inner.queue_on_stream(device, stream) }
                }

                unsafe fn order_after_stream(&self, queue: RawQueue, stream: usize) -> Result<()> {
                    // SAFETY: promises 1 and 2 of the method of `Backend`; the handle is `inner`'s own.
                    unsafe { self.inner.order_after_stream(queue, stream) }
                }
            };
            // The events of a decorator with events of its own are of no capture.
            (@ captures) => {
                unsafe fn capture(&self, queue: RawQueue) -> Result<Option<u64>> {
                    // SAFETY: promise 1 of the method of `Backend`; the handle is `inner`'s own.
                    unsafe { self.inner.capture(queue) }
                }

                unsafe fn keep_in_graph(&self, queue: RawQueue, value: Box<dyn Any + Send>) -> Result<RawEvent> {
                    // SAFETY: promise 1 of the method of `Backend`; the handle is `inner`'s own.
                    unsafe { self.inner.keep_in_graph(queue, value) }
                }

                unsafe fn event_capture(&self, event: RawEvent) -> Option<u64> {
                    // SAFETY: promise 1 of the method of `Backend`; the handle is `inner`'s own.
                    unsafe { self.inner.event_capture(event) }
                }
            };
            // Memory of several processes, and of other code, is the same under a decorator.
            (@ processes) => {
                unsafe fn shares_in_place(&self, queue: RawQueue, kind: UsmKind) -> bool {
                    // SAFETY: promise 1 of the method of `Backend`; the handle is `inner`'s own.
                    unsafe { self.inner.shares_in_place(queue, kind) }
                }

                unsafe fn share(
                    &self,
                    queue: RawQueue,
                    kind: UsmKind,
                    start: NonNull<u8>,
                    len_bytes: usize,
                    range: $crate::SharedRange,
                ) -> Result<$crate::SharedMemory> {
                    // SAFETY: promises 1 and 2 of the method of `Backend`; the handle is `inner`'s own.
                    unsafe { self.inner.share(queue, kind, start, len_bytes, range) }
                }

                unsafe fn open_shared(
                    &self,
                    queue: RawQueue,
                    memory: &$crate::SharedMemory,
                    can_write: bool,
                ) -> Result<NonNull<u8>> {
                    // SAFETY: promise 1 of the method of `Backend`; the handle is `inner`'s own.
                    unsafe { self.inner.open_shared(queue, memory, can_write) }
                }

                unsafe fn make_writable(
                    &self,
                    queue: RawQueue,
                    start: NonNull<u8>,
                    memory: &$crate::SharedMemory,
                ) -> Result<()> {
                    // SAFETY: promise 1 of the method of `Backend`; the handle is `inner`'s own.
                    unsafe { self.inner.make_writable(queue, start, memory) }
                }

                unsafe fn register_host_memory(
                    &self,
                    queue: RawQueue,
                    kind: UsmKind,
                    start: NonNull<u8>,
                    len_bytes: usize,
                ) -> bool {
                    // SAFETY: promises 1 and 2 of the method of `Backend`; the handle is `inner`'s own.
                    unsafe { self.inner.register_host_memory(queue, kind, start, len_bytes) }
                }

                unsafe fn unshare(&self, queue: RawQueue, start: NonNull<u8>) -> bool {
                    // SAFETY: promises 1 and 2 of the method of `Backend`; the handle is `inner`'s own.
                    unsafe { self.inner.unshare(queue, start) }
                }

                unsafe fn is_open_elsewhere(&self, queue: RawQueue, start: NonNull<u8>) -> bool {
                    // SAFETY: promise 1 of the method of `Backend`; the handle is `inner`'s own.
                    unsafe { self.inner.is_open_elsewhere(queue, start) }
                }
            };
            // Whatever happens to device memory, to handles and to waits is to pass through here.
            (@ strict) => {
                unsafe fn host_reachable(&self, _device: RawDevice, kind: UsmKind) -> bool {
                    kind.is_host_accessible()
                }

                unsafe fn is_in_process(&self, _device: RawDevice, kind: UsmKind) -> bool {
                    kind.is_host_accessible()
                }

                fn keeps_released(&self) -> bool {
                    false
                }

                unsafe fn is_stream_idle(&self, _queue: RawQueue) -> Option<bool> {
                    None
                }
            };
            $((@ $name) => {
                #[allow(unused_unsafe, reason = "two methods are safe")]
                $($safety)? fn $name(&self, $($argument: $type),*) -> $answer {
                    self.around(Call::$variant $({ $($field: $value),+ })?, || {
                        // SAFETY: the caller gives the promises 1 to 4 of the method of `Backend`, as far as there are so many; the handles among them are
                        // `inner`'s own.
                        unsafe { self.inner.$name($($argument),*) }
                    })
                }
            };)+
            $((@ held_back $name) => {
                unsafe fn $name(&self, $($argument: $type),*) -> $answer {
                    // SAFETY: the promises 1 to 4 of the method of `Backend`, as far as there are so many.
                    unsafe { self.submit(Call::$variant $({ $($field: $value),+ })?, None) }
                }
            };)+
        }
    };
}

methods!($
    RootDevices true root_devices() -> Result<Vec<RawDevice>>;
    DeviceInfo false [unsafe] device_info(device: RawDevice) -> DeviceInfo { device: RawDevice = device };
    DefaultContext true [unsafe] default_context(device: RawDevice) -> Result<RawContext>
        { device: RawDevice = device };
    CreateContext true [unsafe] create_context(devices: &[RawDevice]) -> Result<RawContext>
        { devices: Vec<RawDevice> = devices.to_vec() };
    ContextId false [unsafe] context_id(context: RawContext) -> u64 { context: RawContext = context };
    ContextDevices true [unsafe] context_devices(context: RawContext) -> Result<Vec<RawDevice>>
        { context: RawContext = context };
    CreateQueue true [unsafe] create_queue(context: RawContext, device: RawDevice, properties: QueueProperties)
        -> Result<RawQueue>
        { context: RawContext = context, device: RawDevice = device, properties: QueueProperties = properties };
    QueueParts true [unsafe] queue_parts(queue: RawQueue) -> Result<(RawContext, RawDevice, QueueProperties)>
        { queue: RawQueue = queue };
    Same false [unsafe] same(a: RawHandle, b: RawHandle) -> bool { a: RawHandle = a, b: RawHandle = b };
    Hash false [unsafe] hash(handle: RawHandle) -> u64 { handle: RawHandle = handle };
    Release false [unsafe] release(handle: RawHandle) -> () { handle: RawHandle = handle };
    Allocate true [unsafe] allocate(queue: RawQueue, kind: UsmKind, len_bytes: usize, align_bytes: usize)
        -> Option<NonNull<u8>>
        { queue: RawQueue = queue, kind: UsmKind = kind, len_bytes: usize = len_bytes, align_bytes: usize = align_bytes };
    Free false [unsafe] free(context: RawContext, block: NonNull<u8>) -> ()
        { context: RawContext = context, block: usize = block.addr().get() };
    PointerInfo false [unsafe] pointer_info(context: RawContext, address: usize) -> Option<PointerInfo>
        { context: RawContext = context, address: usize = address };
    PointerDevice true [unsafe] pointer_device(context: RawContext, address: usize) -> Result<RawDevice>
        { context: RawContext = context, address: usize = address };
    Memcpy true [unsafe] memcpy(
        queue: RawQueue, dst: *mut u8, src: *const u8, len_bytes: usize, dependencies: &[RawEvent]
    ) -> Result<RawEvent> {
        queue: RawQueue = queue, dst: usize = dst.expose_provenance(), src: usize = src.expose_provenance(), len_bytes: usize = len_bytes,
        dependencies: Vec<RawEvent> = dependencies.to_vec(),
    };
    Fill true [unsafe] fill(
        queue: RawQueue, dst: *mut u8, pattern: &[u8], count: usize, dependencies: &[RawEvent]
    ) -> Result<RawEvent> {
        queue: RawQueue = queue, dst: usize = dst.expose_provenance(), pattern: Vec<u8> = pattern.to_vec(), count: usize = count,
        dependencies: Vec<RawEvent> = dependencies.to_vec(),
    };
    Prefetch true [unsafe] prefetch(queue: RawQueue, address: usize, len_bytes: usize, dependencies: &[RawEvent])
        -> Result<RawEvent> {
        queue: RawQueue = queue, address: usize = address, len_bytes: usize = len_bytes,
        dependencies: Vec<RawEvent> = dependencies.to_vec(),
    };
    MemAdvise true [unsafe] mem_advise(
        queue: RawQueue, address: usize, len_bytes: usize, advice: i32, dependencies: &[RawEvent]
    ) -> Result<RawEvent> {
        queue: RawQueue = queue, address: usize = address, len_bytes: usize = len_bytes, advice: i32 = advice,
        dependencies: Vec<RawEvent> = dependencies.to_vec(),
    };
    Barrier true [unsafe] barrier(queue: RawQueue, events: &[RawEvent]) -> Result<RawEvent>
        { queue: RawQueue = queue, events: Vec<RawEvent> = events.to_vec() };
    HostTask true [unsafe] host_task(queue: RawQueue, memory: &[TaskMemory], task: HostTask, dependencies: &[RawEvent])
        -> Result<RawEvent> {
        queue: RawQueue = queue,
        memory: Vec<(usize, usize)> = memory.iter().map(|range| (range.start.expose_provenance(), range.len_bytes)).collect(),
        dependencies: Vec<RawEvent> = dependencies.to_vec(),
    };
    Wait true [unsafe] wait(event: RawEvent) -> Result<()> { event: RawEvent = event };
    EventStatus false [unsafe] event_status(event: RawEvent) -> EventStatus { event: RawEvent = event };
    EventTimes true [unsafe] event_times(event: RawEvent) -> Result<ProfilingTimes> { event: RawEvent = event };
    EventDependencies true [unsafe] event_dependencies(event: RawEvent) -> Result<Vec<RawEvent>>
        { event: RawEvent = event };
    ImportExternal true [unsafe] import_external(kind: ExternalObject, pointer: *mut c_void) -> Result<RawHandle>
        { kind: ExternalObject = kind, pointer: usize = pointer.addr() };
    ExportExternal true [unsafe] export_external(handle: RawHandle) -> Result<NonNull<c_void>>
        { handle: RawHandle = handle };
    DeleteExternal false [unsafe] delete_external(kind: ExternalObject, pointer: NonNull<c_void>) -> ()
        { kind: ExternalObject = kind, pointer: usize = pointer.addr().get() };
    CreateBundle true [unsafe] create_bundle(
        context: RawContext, device: RawDevice, code: KernelCode<'_>, options: &CStr
    ) -> Result<RawBundle> {
        context: RawContext = context, device: RawDevice = device, language: &'static str = code.language(),
        code: Vec<u8> = code.as_bytes().to_vec(), options: CString = options.to_owned(),
    };
    BundleKernel true [unsafe] bundle_kernel(bundle: RawBundle, name: &CStr) -> Result<Option<RawKernel>>
        { bundle: RawBundle = bundle, name: CString = name.to_owned() };
    KernelInfo true [unsafe] kernel_info(kernel: RawKernel, device: RawDevice) -> Result<KernelInfo>
        { kernel: RawKernel = kernel, device: RawDevice = device };
    SubmitKernel true [unsafe] submit_kernel(
        queue: RawQueue, kernel: RawKernel, arguments: &[KernelArgument], range: &ExecutionRange,
        dependencies: &[RawEvent]
    ) -> Result<RawEvent> {
        queue: RawQueue = queue, kernel: RawKernel = kernel, arguments: Vec<KernelArgument> = arguments.to_vec(),
        range: ExecutionRange = *range, dependencies: Vec<RawEvent> = dependencies.to_vec(),
    };

    Platforms true platforms() -> Result<Vec<RawPlatform>>;
    PlatformInfo false [unsafe] platform_info(platform: RawPlatform) -> PlatformInfo
        { platform: RawPlatform = platform };
    PlatformDevices true [unsafe] platform_devices(platform: RawPlatform) -> Result<Vec<RawDevice>>
        { platform: RawPlatform = platform };
    DevicePlatform true [unsafe] device_platform(device: RawDevice) -> Result<RawPlatform>
        { device: RawDevice = device };
    Composites true [unsafe] composites(asked: Composites) -> Result<Vec<RawDevice>> { asked: Composites = asked };
    ParentDevice true [unsafe] parent_device(device: RawDevice) -> Result<Option<RawDevice>>
        { device: RawDevice = device };
    SubDevices true [unsafe] sub_devices(device: RawDevice, partition: &Partition) -> Result<Vec<RawDevice>>
        { device: RawDevice = device, partition: Partition = partition.clone() };
    CanAccessPeer false [unsafe] can_access_peer(device: RawDevice, peer: RawDevice, access: PeerAccess) -> bool
        { device: RawDevice = device, peer: RawDevice = peer, access: PeerAccess = access };
    SetPeerAccess true [unsafe] set_peer_access(device: RawDevice, peer: RawDevice, enabled: bool) -> Result<bool>
        { device: RawDevice = device, peer: RawDevice = peer, enabled: bool = enabled };
);

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
