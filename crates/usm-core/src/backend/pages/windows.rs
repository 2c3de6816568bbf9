//! Windows: no pages of this process are mapped by others.

use std::sync::Arc;

use crate::Result;
use crate::backend::SharedRange;
use crate::backend::files::{SharedFile, no_sharing};

/// An error: no file gets behind pages.
///
/// # Safety
/// 1. The pages from `start` on are mapped, readable, writable, and belong to one live block alone, until [`unshare`].
/// 2. Nobody writes to them during the call.
pub(crate) unsafe fn share(
    _start: *mut u8,
    _len_bytes: usize,
    _range: SharedRange,
) -> Result<Arc<SharedFile>> {
    Err(no_sharing())
}

/// Checks the file of another process. There is none.
pub(super) fn check_len(file: &SharedFile, _len_bytes: usize) -> Result<()> {
    match *file {}
}

/// Puts the file of another process behind pages. There is none.
///
/// # Safety
/// 1. The pages from `start` on are mapped, and belong to one live block alone, until [`unshare`]. Nobody uses them yet.
/// 2. The file has so many bytes, and keeps them: [`check_len`].
pub(crate) unsafe fn map(
    _start: *mut u8,
    _len_bytes: usize,
    file: &SharedFile,
    _can_write: bool,
) -> Result<()> {
    match *file {}
}

/// As [`map`].
///
/// # Safety
/// 1. The pages from `start` on are mapped, and belong to one live block.
pub(crate) unsafe fn make_writable(_start: *mut u8, file: &SharedFile) -> Result<()> {
    match *file {}
}

/// Nothing: all pages are anonymous.
///
/// # Safety
/// 1. The pages belong to one live block, which nobody uses any more.
pub(crate) unsafe fn unshare(_start: *mut u8) -> bool {
    true
}

/// Whether another process has the pages of a file that this process made. None has.
pub(crate) fn is_held_elsewhere(_start: usize) -> bool {
    false
}
