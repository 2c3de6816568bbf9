//! The means of threads that the table of borrows is made of. The model of the tracker (`tests/loom`) has others in their place.

pub(super) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
pub(super) use std::time::Duration;
