//! The means of threads that the owner of access is made of. Its model, `tests/loom.rs`, has others in their place.

pub(super) use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
pub(super) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
pub(super) use std::time::Duration;

pub(super) use usm_core::fork::ForkMutex;
