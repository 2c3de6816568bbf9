//! Pages of this process that other processes map.
//!
//! | file | job |
//! |---|---|
//! | `linux.rs` | a file in memory behind the pages of a block |
//! | `windows.rs` | the same functions, which refuse |

use std::sync::atomic::{AtomicUsize, Ordering};

use super::files::SharedFile;
use super::{SharedRange, not_ours};
use crate::{Error, Result, SharedMemory, os};

#[cfg(not(windows))]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
use linux as system;
#[cfg(windows)]
use windows as system;

pub(crate) use system::{is_held_elsewhere, make_writable, map, share, unshare};

/// Blocks of at least so many bytes begin and end at pages on backends that share pages.
pub(crate) const FEWEST_BYTES: usize = 8192;

/// Bytes of a page.
pub(crate) fn page_bytes() -> usize {
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    match KNOWN.load(Ordering::Relaxed) {
        0 => {
            let bytes = os::page_bytes().unwrap_or(FEWEST_BYTES / 2);
            KNOWN.store(bytes, Ordering::Relaxed);
            bytes
        }
        known => known,
    }
}

/// The length and alignment of a block that is asked for with these, so that no other block is in its pages, as far as it is long enough.
pub(crate) fn in_pages(len_bytes: usize, align_bytes: usize) -> (usize, usize) {
    if len_bytes < FEWEST_BYTES || cfg!(miri) {
        return (len_bytes, align_bytes);
    }
    let whole = len_bytes.checked_next_multiple_of(page_bytes());
    whole.map_or((len_bytes, align_bytes), |whole| (whole, align_bytes.max(page_bytes())))
}

/// Bytes of the pages of memory that is shared.
pub(crate) fn len_of(range: SharedRange, len_bytes: usize) -> Result<usize> {
    match range {
        SharedRange::Block | SharedRange::NewBlock => Ok(in_pages(len_bytes, 0).0),
        SharedRange::Part => Ok(len_bytes),
        SharedRange::External => Err(not_ours()),
    }
}

/// The file that is behind memory of another process, and the length of its pages, which the file has and keeps. No memory is allocated for
/// a length that another process only says.
pub(crate) fn file_of(memory: &SharedMemory) -> Result<(&SharedFile, usize)> {
    match &memory.files[..] {
        [file] if memory.data.is_empty() => {
            let len_bytes = in_pages(memory.len_bytes.max(FEWEST_BYTES), 0).0;
            system::check_len(file, len_bytes)?;
            Ok((file, len_bytes))
        }
        _ => Err(Error::NotShareable { reason: "it is not memory of a host or of a CPU".to_owned() }),
    }
}
