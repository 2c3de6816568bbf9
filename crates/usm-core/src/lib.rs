//! SYCL devices, contexts, queues, events and unified shared memory (USM), allocated and freed per kind.
//!
//! Three backends implement one trait ([`backend::Backend`]): the real SYCL runtime (feature `sycl`, on by default) and NVIDIA's driver
//! (feature `cuda`, on by default), both found and loaded at run time, and an embedded host backend that needs nothing. Which of them exist, and why one is
//! missing, is a value: [`Runtime::status`]. Backends that fail, delay or record calls, for tests, come with the
//! feature `testing`.
//!
//! | SYCL 2020 | here |
//! |---|---|
//! | the implementation | [`Runtime`]; which backend: [`BackendId`], [`BackendStatus`] |
//! | `platform`, `info::platform` | [`Platform`], [`PlatformInfo`]; all of them with their devices: [`Runtime::tree`] |
//! | `device`, `info::device` | [`Device`], [`DeviceInfo`], [`DeviceType`] |
//! | `aspect` | [`Aspects`], a set |
//! | `create_sub_devices`, `info::partition_property` | [`Device::create_sub_devices`], [`Partition`], [`AffinityDomain`] |
//! | a device for another process | [`Device::location`], [`Runtime::device_at`] |
//! | peer access | [`Device::can_access_peer`], [`Device::enable_peer_access`] |
//! | device selector | [`Runtime::default_device`], [`Runtime::select_with`], [`Runtime::select_with_aspects`] |
//! | `filter_selector` | [`FilterSelector`] through [`Runtime::select`] |
//! | `context` | [`Context`]; a platform's default one: [`Device::default_context`] |
//! | `queue`, `property::queue` | [`Queue`], [`QueueProperties`] |
//! | `event`, `info::event` | [`Event`], [`EventStatus`], [`ProfilingTimes`]; as a future: [`Completion`] |
//! | `usm::alloc`; its value *unknown* | [`UsmKind`]; `None` |
//! | `malloc_host`, `malloc_device`, `malloc_shared` | [`Queue::allocate`] |
//! | `aligned_alloc_host`, `…_device`, `…_shared` | [`Queue::allocate_aligned`] |
//! | `free` | drop of an [`Allocation`] |
//! | `get_pointer_type`, `get_pointer_device` | [`Context::pointer_info`], [`Context::pointer_device`] |
//! | `queue::memcpy`, `fill`, `memset`, `wait_and_throw` | [`Queue::memcpy`], [`Queue::fill`], [`Queue::memset`], [`Queue::wait`] |
//! | `queue::prefetch`, `mem_advise`, `ext_oneapi_submit_barrier` | [`Queue::prefetch`], [`Queue::mem_advise`], [`Queue::barrier`] |
//! | `exception`, asynchronous errors | [`Error`], [`Error::Asynchronous`] out of the next wait |
//! | `kernel_bundle`, interoperability with OpenCL | [`KernelBundle`] from SPIR-V, OpenCL C, PTX or CUDA C, [`KernelCode`] |
//! | `kernel`, `info::kernel_device_specific` | [`Kernel`], [`KernelInfo`] |
//! | `range`, `nd_range` | [`Range`], [`NdRange`]; either: [`ExecutionRange`] |
//! | `handler::set_arg`, `local_accessor`, `parallel_for` | [`KernelArgument`], [`Queue::submit_kernel`] |
//! | a type that is *device copyable* | [`DeviceCopyable`], with a derive |
//! | an object of another library | [`ExternalHandle`], [`Queue::from_external`], [`Context::from_external`] |
//!
//! ```
//! use usm_core::{Runtime, UsmKind};
//!
//! # fn main() -> usm_core::Result<()> {
//! let runtime = Runtime::global();
//! let queue = runtime.default_queue(runtime.host_device())?;
//! let block = queue.allocate(UsmKind::Device, 1024)?;
//! assert_eq!(queue.context().pointer_info(block.address()).map(|p| p.kind), Some(UsmKind::Device));
//! # Ok(())
//! # }
//! ```

#[cfg(test)]
use test_stacks as _;

#[macro_use]
mod macros;

mod allocation;
// What unsafe code relies on outside of this library. SAFETY comments name these facts.
// Invariant LC1: a function of libc without pointers among its arguments accepts every argument.
// Invariant LC2: a handler that we register for the life of the process does not unwind, and its code is never unloaded.
// Invariant PR1: code with an instruction that not every processor has runs only where the processor has it.
// Invariant IN1: the owner of the machine, or the application, chose the libraries of drivers and runtimes (SECURITY.md).

pub mod backend;
pub mod bulk;
mod byte_count;
mod capture;
mod completion;
mod context;
mod device;
#[doc(hidden)]
pub mod drops;
mod error;
mod event;
mod filter;
#[doc(hidden)]
pub mod fork;
mod kernel;
mod kind;
mod live;
mod os;
mod pending;
mod platform;
mod processes;
mod queue;
mod retired;
mod runtime;
#[cfg(feature = "testing")]
pub mod testing;
mod unclaimed;
#[doc(hidden)]
pub mod unwind;

pub use allocation::Allocation;
pub use backend::host::HostDevice;
pub use backend::{
    AffinityDomain, Aspects, CacheType, CudaVersions, ImageLimits, Partition, PeerAccess, PlatformInfo,
    VectorWidths,
};
pub use backend::{
    BackendId, DeviceInfo, DeviceType, EventStatus, HostTask, MemoryFigures, PointerInfo, ProfilingTimes,
    QueueProperties, SharedFile, SharedMemory, SharedRange, TaskMemory,
};
pub use byte_count::ByteCount;
pub use capture::release_from_graphs;
pub use completion::Completion;
pub use context::Context;
pub use device::{Device, DeviceLocation};
pub use error::{Error, Result};
pub use event::Event;
pub use filter::{Filter, FilterSelector};
#[cfg(feature = "cuda")]
pub use kernel::Nvrtc;
pub use kernel::{
    ArgumentKind, DeviceCopyable, ExecutionRange, Kernel, KernelArgument, KernelBundle, KernelCode,
    KernelInfo, NdRange, Range,
};
pub use kind::UsmKind;
pub use live::{LiveAllocations, live_allocations};
pub use platform::Platform;
pub use queue::{ExternalHandle, Queue};
pub use runtime::{
    BackendState, BackendStatus, DefaultQueue, DeviceTree, PlatformBranch, Runtime, RuntimeOptions,
};
pub use runtime::{DoctorReport, Problem, ProblemKind, ReportedDevice, SearchedPlace, SyclLibrary, Variable};

pub use usm_derive::DeviceCopyable;

#[doc(hidden)]
pub use unclaimed::Unclaimed;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
