//! Backends for tests (feature `testing`): decorators over any other backend that fail, delay or record its calls.
//!
//! | decorator | for |
//! |---|---|
//! | [`FaultyBackend`] | failing call 1, 2, … of a scenario, so that each error path runs and its leaks show |
//! | [`DelayedBackend`] | operations that complete late and in another order, so that memory that is freed too early shows |
//! | [`RecordingBackend`] | a list of all calls with their arguments, in order |
//!
//! Behind a decorator host code does not reach device memory ([`Device::host_reachable`](crate::Device::host_reachable) is false), so
//! that each operation on it is a call of the decorator.
//!
//! [`forks`] forks children beside busy threads. [`queues()`] finds the queues to test on. [`Random`] makes numbers from a seed.
//! [`campaign`] says how much a test tries, and takes what it counted. [`parsers`] are for fuzzers.
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
//! let queue = runtime.default_queue(&runtime.default_device()?)?;
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
mod call;

mod answer;
pub mod campaign;
mod delayed;
mod faulty;
#[cfg(not(windows))]
pub mod forks;
pub mod parsers;
mod queues;
mod random;
mod recording;
mod text;

pub use answer::Answer;
pub use call::{Call, Method};
pub use delayed::{DelayedBackend, EarlyRelease, Released};
pub use faulty::{Fault, FaultyBackend};
pub use queues::{cuda_queue, host_queue, queues, strict_queue, sycl_queue};
pub use random::Random;
pub use recording::{Record, RecordingBackend};
