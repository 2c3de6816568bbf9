//! The locks that pools are made of. The model in `crates/pool-model` has others in their place.

pub(super) use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
