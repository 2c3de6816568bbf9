//! Files by which processes share memory.
//!
//! | file | job |
//! |---|---|
//! | `linux.rs` | files in memory (`memfd`): made, opened anew, locked |
//! | `lease.rs` | files of other processes that are held: Linux alone |
//! | `windows.rs` | the same functions, which refuse |

#[cfg(all(not(windows), any(feature = "sycl", feature = "cuda")))]
mod lease;
#[cfg(not(windows))]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
use linux as system;
#[cfg(windows)]
use windows as system;

#[cfg(all(not(windows), any(feature = "sycl", feature = "cuda")))]
pub(super) use lease::Lease;
#[cfg(all(windows, any(feature = "sycl", feature = "cuda")))]
pub(super) use system::Lease;
pub use system::SharedFile;
pub(super) use system::hold;
#[cfg(windows)]
pub use system::no_sharing;
#[cfg(any(feature = "sycl", feature = "cuda"))]
pub(super) use system::open_anew;
#[cfg(feature = "cuda")]
pub(super) use system::{adopt_with_name, number};
#[cfg(not(windows))]
pub(super) use system::{check_len, error};
#[cfg(any(not(windows), feature = "sycl", feature = "cuda"))]
pub(super) use system::{create, is_held};
