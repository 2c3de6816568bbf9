//! Memory that several processes of a user have: the same bytes, without a copy.
//!
//! [`UsmBuffer::share`](crate::UsmBuffer::share) gives what another process opens with [`UsmBuffer::open_shared`](crate::UsmBuffer::open_shared). The files in it cross by a Unix socket. Programs
//! that have no socket between them use handles: bytes that stand for the memory and cross in whatever way. [`Handle::new`] keeps
//! the memory until the handle drops, and [`open`] asks the process of the handle for it.
//!
//! The kernel counts the processes that have the memory. It is freed after the last of them, whoever that is and however it ends. No messages
//! keep it, and no file with a name. A process that waits in `open` for another one gives up when that one has ended, and after ten
//! seconds without a word of it.
//!
//! A handle comes after the operations that write to its memory at the moment. Memory of a GPU is not waited for when the handle is made:
//! the process of the handle answers who opens it when these operations are complete. Nothing else orders the accesses of several
//! processes, and guards know those of their own process alone. Whoever shares memory tells the other process when it may read what is
//! written later: by another handle, by a lock, by the end of a task.
//!
//! | file | job |
//! |---|---|
//! | `share.rs` | memory of a buffer for another process, and back; memory that is open once |
//! | `handle.rs` | handles: bytes that stand for memory, as long as somebody keeps them |
//! | `reference.rs` | what the bytes of a handle say |
//! | `linux/` | the question to another process, and the answer |
//! | `windows.rs` | the same functions, which refuse |

use std::sync::{Mutex, MutexGuard, PoisonError};

mod handle;
#[cfg(not(windows))]
mod linux;
mod reference;
mod share;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
use self::linux as system;
#[cfg(windows)]
use self::windows as system;

pub use self::handle::{Handle, bytes_for_one, open, open_on, pending_handles, release_handles, withdraw};
pub use self::reference::LEN_BYTES;
pub use self::share::{SharedBuffer, held_for_others, opened};
#[cfg(all(feature = "testing", not(windows)))]
#[doc(hidden)]
pub use self::system::reread_answer;
pub use self::system::{hand_over, keep};

/// Memory on offer: who drops it holds no lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
