//! The methods of `Backend`, written once for all decorators.

/// The types in the methods' signatures, which a file that uses `forward!` imports.
pub(super) mod signatures {
    pub(in crate::testing) use std::ffi::{CStr, c_void};
    pub(in crate::testing) use std::ptr::NonNull;

    pub(in crate::testing) use crate::backend::{
        Backend, BackendId, Composites, DeviceInfo, EventStatus, ExternalKind, HostTask, MemoryFigures,
        Partition, PeerAccess, PlatformInfo, PointerInfo, ProfilingTimes, QueueProperties, RawBundle,
        RawContext, RawDevice, RawEvent, RawHandle, RawKernel, RawPlatform, RawQueue, TaskMemory,
    };
    pub(in crate::testing) use crate::{
        ExecutionRange, KernelArgument, KernelCode, KernelInfo, Result, UsmKind,
    };
}

/// Methods of an `unsafe impl Backend` that hand the call to `self.inner` with the same arguments, through
/// `self.around(call, run)`, which decides when to run it, if at all. `all` stands for every method but
/// `runs_host_tasks`, which is no call, and `most` for all of these but `device_info`.
macro_rules! forward {
    (all) => {
        forward!(most);
        forward!(device_info);
    };
    (most) => {
        forward!(
            id, root_devices, default_context, create_context, context_id, context_devices, create_queue,
            queue_parts, same, hash, release, allocate, free, pointer_info, pointer_device, memcpy, fill, prefetch,
            mem_advise, barrier, wait, event_status, event_times, event_dependencies, import_external,
            export_external, delete_external, create_bundle, bundle_kernel, kernel_info, submit_kernel, platforms,
            platform_info, platform_devices, device_platform, composites, parent_device, sub_devices, can_access_peer,
            set_peer_access, host_reachable, host_task, facts,
        );
    };
    ($($method:ident),+ $(,)?) => {
        $(forward!(@ $method);)+
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
    (@ root_devices) => {
        fn root_devices(&self) -> Result<Vec<RawDevice>> {
            self.around(Call::RootDevices, || self.inner.root_devices())
        }
    };
    (@ device_info) => {
        forward!(@ device_info(device: RawDevice) -> DeviceInfo, DeviceInfo { device });
    };
    (@ default_context) => {
        forward!(@ default_context(device: RawDevice) -> Result<RawContext>,
            DefaultContext { device });
    };
    (@ create_context) => {
        forward!(@ create_context(devices: &[RawDevice]) -> Result<RawContext>,
            CreateContext { devices: devices.to_vec() });
    };
    (@ context_id) => {
        forward!(@ context_id(context: RawContext) -> u64, ContextId { context });
    };
    (@ context_devices) => {
        forward!(@ context_devices(context: RawContext) -> Result<Vec<RawDevice>>,
            ContextDevices { context });
    };
    (@ create_queue) => {
        forward!(@ create_queue(context: RawContext, device: RawDevice, properties: QueueProperties)
            -> Result<RawQueue>,
            CreateQueue { context, device, properties });
    };
    (@ queue_parts) => {
        forward!(@ queue_parts(queue: RawQueue)
            -> Result<(RawContext, RawDevice, QueueProperties)>,
            QueueParts { queue });
    };
    (@ same) => {
        forward!(@ same(a: RawHandle, b: RawHandle) -> bool, Same { a, b });
    };
    (@ hash) => {
        forward!(@ hash(handle: RawHandle) -> u64, Hash { handle });
    };
    (@ release) => {
        forward!(@ release(handle: RawHandle) -> (), Release { handle });
    };
    (@ allocate) => {
        forward!(@ allocate(queue: RawQueue, kind: UsmKind, len_bytes: usize, align_bytes: usize)
            -> Option<NonNull<u8>>,
            Allocate { queue, kind, len_bytes, align_bytes });
    };
    (@ free) => {
        forward!(@ free(context: RawContext, block: NonNull<u8>) -> (),
            Free { context, block: block.addr().get() });
    };
    (@ pointer_info) => {
        forward!(@ pointer_info(context: RawContext, address: usize) -> Option<PointerInfo>,
            PointerInfo { context, address });
    };
    (@ pointer_device) => {
        forward!(@ pointer_device(context: RawContext, address: usize)
            -> Result<RawDevice>,
            PointerDevice { context, address });
    };
    (@ memcpy) => {
        forward!(@ memcpy(
                queue: RawQueue, dst: *mut u8, src: *const u8, len_bytes: usize, dependencies: &[RawEvent]
            ) -> Result<RawEvent>,
            Memcpy {
                queue, dst: dst.addr(), src: src.addr(), len_bytes, dependencies: dependencies.to_vec(),
            });
    };
    (@ fill) => {
        forward!(@ fill(
                queue: RawQueue, dst: *mut u8, pattern: &[u8], count: usize, dependencies: &[RawEvent]
            ) -> Result<RawEvent>,
            Fill {
                queue, dst: dst.addr(), pattern: pattern.to_vec(), count, dependencies: dependencies.to_vec(),
            });
    };
    (@ prefetch) => {
        forward!(@ prefetch(queue: RawQueue, address: usize, len_bytes: usize, dependencies: &[RawEvent])
            -> Result<RawEvent>,
            Prefetch { queue, address, len_bytes, dependencies: dependencies.to_vec() });
    };
    (@ mem_advise) => {
        forward!(@ mem_advise(
                queue: RawQueue, address: usize, len_bytes: usize, advice: i32, dependencies: &[RawEvent]
            ) -> Result<RawEvent>,
            MemAdvise { queue, address, len_bytes, advice, dependencies: dependencies.to_vec() });
    };
    (@ barrier) => {
        forward!(@ barrier(queue: RawQueue, events: &[RawEvent]) -> Result<RawEvent>,
            Barrier { queue, events: events.to_vec() });
    };
    (@ host_task) => {
        forward!(@ host_task(queue: RawQueue, memory: &[TaskMemory], task: HostTask, dependencies: &[RawEvent])
            -> Result<RawEvent>,
            HostTask {
                queue, memory: memory.iter().map(|range| (range.start.addr(), range.len_bytes)).collect(),
                dependencies: dependencies.to_vec(),
            });
    };
    (@ wait) => {
        forward!(@ wait(event: RawEvent) -> Result<()>, Wait { event });
    };
    (@ event_status) => {
        forward!(@ event_status(event: RawEvent) -> EventStatus, EventStatus { event });
    };
    (@ event_times) => {
        forward!(@ event_times(event: RawEvent) -> Result<ProfilingTimes>, EventTimes { event });
    };
    (@ event_dependencies) => {
        forward!(@ event_dependencies(event: RawEvent) -> Result<Vec<RawEvent>>, EventDependencies { event });
    };
    (@ import_external) => {
        forward!(@ import_external(kind: ExternalKind, pointer: *mut c_void)
            -> Result<RawHandle>,
            ImportExternal { kind, pointer: pointer.addr() });
    };
    (@ export_external) => {
        forward!(@ export_external(handle: RawHandle) -> Result<NonNull<c_void>>,
            ExportExternal { handle });
    };
    (@ delete_external) => {
        forward!(@ delete_external(kind: ExternalKind, pointer: NonNull<c_void>) -> (),
            DeleteExternal { kind, pointer: pointer.addr().get() });
    };
    (@ create_bundle) => {
        forward!(@ create_bundle(
                context: RawContext, device: RawDevice, code: KernelCode<'_>, options: &CStr
            ) -> Result<RawBundle>,
            CreateBundle {
                context, device, language: code.language(), code: code.as_bytes().to_vec(),
                options: options.to_owned(),
            });
    };
    (@ bundle_kernel) => {
        forward!(@ bundle_kernel(bundle: RawBundle, name: &CStr) -> Option<RawKernel>,
            BundleKernel { bundle, name: name.to_owned() });
    };
    (@ kernel_info) => {
        forward!(@ kernel_info(kernel: RawKernel, device: RawDevice) -> Result<KernelInfo>,
            KernelInfo { kernel, device });
    };
    (@ submit_kernel) => {
        forward!(@ submit_kernel(
                queue: RawQueue, kernel: RawKernel, arguments: &[KernelArgument], range: &ExecutionRange,
                dependencies: &[RawEvent]
            ) -> Result<RawEvent>,
            SubmitKernel {
                queue, kernel, arguments: arguments.to_vec(), range: *range,
                dependencies: dependencies.to_vec(),
            });
    };
    (@ platforms) => {
        fn platforms(&self) -> Result<Vec<RawPlatform>> {
            self.around(Call::Platforms, || self.inner.platforms())
        }
    };
    (@ platform_info) => {
        forward!(@ platform_info(platform: RawPlatform) -> PlatformInfo, PlatformInfo { platform });
    };
    (@ platform_devices) => {
        forward!(@ platform_devices(platform: RawPlatform) -> Result<Vec<RawDevice>>,
            PlatformDevices { platform });
    };
    (@ device_platform) => {
        forward!(@ device_platform(device: RawDevice) -> Result<RawPlatform>, DevicePlatform { device });
    };
    (@ composites) => {
        forward!(@ composites(asked: Composites) -> Result<Vec<RawDevice>>, Composites { asked });
    };
    (@ parent_device) => {
        forward!(@ parent_device(device: RawDevice) -> Result<Option<RawDevice>>, ParentDevice { device });
    };
    (@ sub_devices) => {
        forward!(@ sub_devices(device: RawDevice, partition: &Partition) -> Result<Vec<RawDevice>>,
            SubDevices { device, partition: partition.clone() });
    };
    (@ host_reachable) => {
        // Whatever happens to device memory is to pass through here.
        unsafe fn host_reachable(&self, _device: RawDevice, kind: UsmKind) -> bool {
            kind.is_host_accessible()
        }
    };
    // Facts about the machine, which no decorator changes.
    (@ facts) => {
        fn check_process(&self) -> Result<()> {
            self.inner.check_process()
        }

        fn queue_properties(&self, asked: QueueProperties) -> QueueProperties {
            self.inner.queue_properties(asked)
        }

        unsafe fn memory_figures(&self, device: RawDevice) -> Option<MemoryFigures> {
            // SAFETY: the caller's promise; the handle is `inner`'s own.
            unsafe { self.inner.memory_figures(device) }
        }

        unsafe fn check_device(&self, device: RawDevice) -> Result<()> {
            // SAFETY: the caller's promise; the handle is `inner`'s own.
            unsafe { self.inner.check_device(device) }
        }

        unsafe fn native_stream(&self, queue: RawQueue) -> Option<usize> {
            // SAFETY: the caller's promise; the handle is `inner`'s own.
            unsafe { self.inner.native_stream(queue) }
        }

        unsafe fn queue_on_stream(&self, device: RawDevice, stream: usize) -> Result<RawQueue> {
            // SAFETY: the caller's promises; the handle is `inner`'s own.
            unsafe { self.inner.queue_on_stream(device, stream) }
        }
    };
    (@ can_access_peer) => {
        forward!(@ can_access_peer(device: RawDevice, peer: RawDevice, access: PeerAccess) -> bool,
            CanAccessPeer { device, peer, access });
    };
    (@ set_peer_access) => {
        forward!(@ set_peer_access(device: RawDevice, peer: RawDevice, enabled: bool) -> Result<bool>,
            SetPeerAccess { device, peer, enabled });
    };
    (@ $method:ident($($argument:ident: $kind:ty),+) -> $answer:ty, $($call:tt)+) => {
        unsafe fn $method(&self, $($argument: $kind),+) -> $answer {
            self.around(Call::$($call)+, || {
                // SAFETY: the caller promises for its arguments what `inner` asks for; the handles among them are
                // `inner`'s own.
                unsafe { self.inner.$method($($argument),+) }
            })
        }
    };
}
