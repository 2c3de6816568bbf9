//! Backends for tests (feature `testing`): decorators over any other backend that fail, delay or record its calls.
//!
//! | decorator | for |
//! |---|---|
//! | [`FaultyBackend`] | failing call 1, 2, … of a scenario: every error path is walked, and must leave nothing behind |
//! | [`DelayedBackend`] | operations that end late and in another order: memory that goes away too early shows |
//! | [`RecordingBackend`] | which calls were made, with what, in which order |
//!
//! Host code takes no short cut to device memory behind them ([`Device::host_reachable`](crate::Device::host_reachable) is false), so
//! that every operation on it passes through.
//!
//! [`forks`] forks children beside busy threads. [`queues()`] finds the queues to test on.
//!
//! They stack, and plug in through [`Runtime::with_backend`](crate::Runtime::with_backend):
//!
//! ```
//! use std::sync::Arc;
//!
//! use usm_core::backend::host::HostBackend;
//! use usm_core::testing::{Fault, FaultyBackend, Method, RecordingBackend};
//! use usm_core::{Error, Runtime, UsmKind};
//!
//! # fn main() -> usm_core::Result<()> {
//! let recording = Arc::new(RecordingBackend::new(Arc::new(HostBackend::new())));
//! let faulty = Arc::new(FaultyBackend::new(recording.clone()));
//! let runtime = Runtime::with_backend(faulty.clone())?;
//! let queue = runtime.default_queue(&runtime.default_device())?;
//!
//! faulty.arm(Fault::at(2).of(Method::Allocate));
//! let first = queue.allocate(UsmKind::Shared, 64)?;
//! assert!(matches!(queue.allocate(UsmKind::Shared, 64), Err(Error::OutOfMemory { .. })));
//! drop(first);
//! assert_eq!(recording.count(Method::Allocate), 1, "the second one never came through");
//! assert_eq!(recording.count(Method::Free), 1);
//! # Ok(())
//! # }
//! ```

#[macro_use]
mod forward;

mod answer;
mod call;
mod delayed;
mod faulty;
pub mod forks;
mod queues;
mod recording;
mod text;

pub use answer::Answer;
pub use call::{Call, Method};
pub use delayed::{DelayedBackend, PrematureFree};
pub use faulty::{Fault, FaultyBackend};
pub use queues::{host_queue, queues, sycl_queue};
pub use recording::{Record, RecordingBackend};
