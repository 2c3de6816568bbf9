//! The operating system: a module for each, with the same functions.
//!
//! | file | job |
//! |---|---|
//! | `linux.rs` | Linux |
//! | `windows.rs` | Windows |
//!
//! `backend/pages/`, `backend/files/` and `backend/host/fault/` have the same division for their own topics.

#[cfg(not(windows))]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
use linux as system;
#[cfg(windows)]
use windows as system;

#[cfg(feature = "sycl")]
pub(crate) use system::OwnMemory;
pub(crate) use system::{
    allocate_aligned, at_fork, commit, current_cpu, discard, free_aligned, page_bytes, physical_bytes,
    prefer_huge_pages, release, reserve,
};
#[cfg(any(feature = "sycl", feature = "cuda"))]
pub(crate) use system::{at_exit, has_lost_threads, is_main_thread, this_thread};
