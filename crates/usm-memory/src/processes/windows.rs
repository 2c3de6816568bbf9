//! Windows: processes do not share memory, and a copy is the way.

use std::ffi::c_int;

use usm_core::backend::{SharedFile, no_sharing};

use super::SharedBuffer;
use super::reference::Reference;
use crate::{Result, UsmBuffer};

/// What tells a file from all others of the machine.
pub(super) fn identity(file: &SharedFile) -> Result<(u64, u64)> {
    match *file {}
}

/// An error: nothing is offered.
pub(super) fn offer(_buffer: &UsmBuffer) -> Result<Reference> {
    Err(no_sharing().into())
}

/// An error: nothing is offered.
pub(super) fn offer_once(_buffer: &UsmBuffer, _may_end: bool) -> Result<Reference> {
    Err(no_sharing().into())
}

/// An error: no other process can be asked.
pub(super) fn ask<T>(_reference: &Reference, _open: impl FnOnce(&SharedBuffer) -> Result<T>) -> Result<T> {
    Err(no_sharing().into())
}

/// The buffer of a handle of this process. No handle is.
pub(super) fn own(_reference: &Reference) -> Option<Result<UsmBuffer>> {
    None
}

/// Ends an offer. There was none.
pub(super) fn withdraw(_reference: &Reference) -> bool {
    false
}

/// The number of offers.
pub(super) fn num_offers() -> usize {
    0
}

/// Ends the offers that nobody keeps.
pub(super) fn withdraw_unkept() -> usize {
    0
}

/// The files by which another process goes on for this one when it ends: none, since this process answers nobody.
///
/// # Errors
/// None on this system.
pub fn hand_over() -> Result<Option<Vec<SharedFile>>> {
    Ok(None)
}

/// An error: no process leaves anything to another one.
///
/// # Safety
/// None on this system.
///
/// # Errors
/// [`NotShareable`](usm_core::Error::NotShareable).
pub unsafe fn keep(_listener: c_int, _state: c_int, _parent: u32) -> Result<()> {
    Err(no_sharing().into())
}
