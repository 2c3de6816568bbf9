//! Buffers of SYCL unified shared memory: owned or borrowed, bound to their context, cut into parts without a copy.
//!
//! A [`UsmBuffer`] is a byte range of an allocation. Clones and sub-buffers share the memory, which is freed (or the foreign
//! owner let go) with the last of them, in the context it came from. Access goes through run-time borrow guards: a conflict is
//! an `Err`, never a wait.
//!
//! ```
//! use usm_memory::UsmBuffer;
//! use usm_memory::usm_core::{Runtime, UsmKind};
//!
//! # fn main() -> usm_memory::Result<()> {
//! let runtime = Runtime::global();
//! let queue = runtime.default_queue(runtime.host_device())?;
//! let buffer = UsmBuffer::allocate(&queue, UsmKind::Device, 8)?;
//! buffer.copy_from_host(&[1, 2, 3, 4, 5, 6, 7, 8], 0)?;
//!
//! let tail = buffer.sub_buffer(4, 4)?;
//! let mut bytes = [0; 4];
//! tail.copy_to_host(&mut bytes, 0)?;
//! assert_eq!(bytes, [5, 6, 7, 8]);
//! # Ok(())
//! # }
//! ```

mod buffer;
mod error;
mod guard;
mod live;
mod transfer;

pub use usm_core;

pub use buffer::{Ownership, UsmBuffer};
pub use error::{Error, Result};
pub use guard::{ReadGuard, WriteGuard};
pub use live::live_borrows;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
