//! The means of threads that the owner of access is made of. The model in `crates/access-model` has others in their place.

pub(crate) use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
pub(crate) use std::time::{Duration, Instant};

pub(crate) use usm_core::fork::ForkMutex;
