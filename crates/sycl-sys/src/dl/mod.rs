//! The dynamic loader: opening a file for good, asking for one that is loaded already, and where it lies.
//!
//! A library is never unloaded: SYCL has static state and threads of its own. So the type is [`Kept`], which has no drop.

use std::mem::ManuallyDrop;

/// A library that stays open for the life of the process.
///
/// Invariant KL1: it is never closed, so that no termination routine of it runs.
pub(crate) type Kept = ManuallyDrop<libloading::Library>;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(any(target_os = "linux", windows)))]
mod other;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux::{loaded_files, open, resident};
#[cfg(not(any(target_os = "linux", windows)))]
pub(crate) use other::{loaded_files, open, resident};
#[cfg(windows)]
pub(crate) use windows::{loaded_files, open, resident};
