//! SYCL devices, contexts, queues, events and unified shared memory (USM), allocated and freed per kind.
//!
//! Two backends stand behind one seam ([`backend::Backend`]): the real SYCL runtime, found and loaded at run time
//! (feature `sycl`, on by default), and an embedded host backend that needs nothing. Which of them exist, and why one is
//! missing, is a value: [`Runtime::status`].
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

#[macro_use]
mod macros;

mod allocation;
pub mod backend;
mod context;
mod device;
mod error;
mod event;
mod filter;
mod kind;
mod live;
mod queue;
mod runtime;

pub use allocation::Allocation;
pub use backend::host::HostDevice;
pub use backend::{BackendId, DeviceInfo, DeviceType, PointerInfo, QueueProperties};
pub use context::Context;
pub use device::Device;
pub use error::{Error, Result};
pub use event::Event;
pub use filter::FilterSelector;
pub use kind::UsmKind;
pub use live::{LiveAllocations, live_allocations};
pub use queue::{ForeignHandle, Queue};
pub use runtime::{BackendState, BackendStatus, Runtime, RuntimeOptions};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
