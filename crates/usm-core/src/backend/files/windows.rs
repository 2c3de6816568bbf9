//! Windows: no files of other processes.

#[cfg(feature = "cuda")]
use std::ffi::c_int;

use crate::Error;
#[cfg(any(feature = "sycl", feature = "cuda"))]
use crate::Result;

/// A file that crosses to other processes. There is none on this system.
#[derive(Debug)]
pub enum SharedFile {}

/// The error of all that would share memory with another process.
pub fn no_sharing() -> Error {
    let reason = "processes do not share memory on Windows; a copy works, as by usm.tensor.copy or a pickle";
    Error::NotShareable { reason: reason.to_owned() }
}

/// An error: no file is made.
#[cfg(any(feature = "sycl", feature = "cuda"))]
pub(crate) fn create(_len_bytes: usize) -> Result<SharedFile> {
    Err(no_sharing())
}

/// Whether somebody holds a file of this process.
#[cfg(any(feature = "sycl", feature = "cuda"))]
pub(crate) fn is_held(file: &SharedFile) -> bool {
    match *file {}
}

/// The file with a hold of its own.
pub(crate) fn hold(file: &SharedFile, _can_write: bool) -> Result<SharedFile> {
    match *file {}
}

/// The file with a description of its own.
#[cfg(any(feature = "sycl", feature = "cuda"))]
pub(crate) fn open_anew(file: &SharedFile, _can_write: bool) -> Result<SharedFile> {
    match *file {}
}

/// An error: the driver has no files on this system.
///
/// # Safety
/// 1. The file is open, and nobody else has it.
#[cfg(feature = "cuda")]
pub(crate) unsafe fn adopt_with_name<const N: usize>(_file: c_int) -> Result<([u8; N], SharedFile)> {
    Err(no_sharing())
}

/// The number by which other libraries know a file.
#[cfg(feature = "cuda")]
pub(crate) fn number(file: &SharedFile) -> usize {
    match *file {}
}

/// A file of another process that is held.
#[cfg(any(feature = "sycl", feature = "cuda"))]
#[derive(Debug)]
pub(crate) enum Lease {}

#[cfg(any(feature = "sycl", feature = "cuda"))]
impl Lease {
    pub(crate) fn new(file: &SharedFile) -> Result<Self> {
        match *file {}
    }
}
