//! Files in memory (`memfd`) by which processes share: made, opened anew, locked.
//!
//! The kernel counts who has a file open. A process that [holds](hold) the file of another one has opened it anew and has a shared lock of it
//! (`flock`), which lasts until the file is closed and unmapped. The process that made the file asks for the lock ([`is_held`]).

// Invariant FL1: the system gets pointers to values that outlive its call, and what it opens for us is nobody else's.

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Error, Result};

/// A file that crosses to other processes.
pub type SharedFile = OwnedFd;

/// The longest wait for the lock of a file, which others hold for a moment only.
const LONGEST_LOCK: Duration = Duration::from_secs(1);
/// What keeps a file as long as it is: nobody makes it shorter or longer, nor removes these seals.
const SEALS: c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// The error of a call of the system.
pub(crate) fn error(call: &'static str) -> Error {
    Error::SharedMemory { call, text: io::Error::last_os_error().to_string() }
}

/// Calls a function of the system again where a signal interrupted it.
fn retry(call: &'static str, mut function: impl FnMut() -> c_int) -> Result<c_int> {
    loop {
        match function() {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(error(call)),
            done => return Ok(done),
        }
    }
}

/// A file in memory, which keeps its length.
pub(crate) fn create(len_bytes: usize) -> Result<OwnedFd> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: FL1: a name with a final 0.
    let file = retry("memfd_create", || unsafe { libc::memfd_create(c"usm".as_ptr(), flags) })?;
    // SAFETY: FL1: the file was just opened, and nobody else has it.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    let len = i64::try_from(len_bytes).map_err(|_| Error::SharedMemory {
        call: "ftruncate",
        text: format!("{len_bytes} bytes are too many"),
    })?;
    // SAFETY: LC1.
    retry("ftruncate", || unsafe { libc::ftruncate(file.as_raw_fd(), len) })?;
    // SAFETY: LC1.
    retry("fcntl", || unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS) })?;
    Ok(file)
}

/// A file of another process, opened anew and locked: its process sees that somebody has it, until the file is closed and unmapped.
pub(crate) fn hold(file: &OwnedFd, can_write: bool) -> Result<OwnedFd> {
    let own = open_anew(file, can_write)?;
    share_lock(own.as_raw_fd())?;
    Ok(own)
}

/// A file of another process with a description of its own, which has a lock of its own.
pub(crate) fn open_anew(file: &OwnedFd, can_write: bool) -> Result<OwnedFd> {
    let access = if can_write { libc::O_RDWR } else { libc::O_RDONLY };
    let path = format!("/proc/self/fd/{}\0", file.as_raw_fd());
    // SAFETY: FL1: a path with a final 0.
    let own = retry("open", || unsafe { libc::open(path.as_ptr().cast(), access | libc::O_CLOEXEC) })?;
    // SAFETY: FL1: the file was just opened, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(own) })
}

/// Takes the shared lock of a file.
pub(super) fn share_lock(file: RawFd) -> Result<()> {
    let started = Instant::now();
    while !lock(file, libc::LOCK_SH)? {
        if started.elapsed() > LONGEST_LOCK {
            return Err(Error::SharedMemory { call: "flock", text: "another process has it".to_owned() });
        }
        thread::yield_now();
    }
    Ok(())
}

/// Takes the lock of a file, or changes it. False where others have one that excludes it.
fn lock(file: RawFd, operation: c_int) -> Result<bool> {
    loop {
        // SAFETY: LC1.
        if unsafe { libc::flock(file, operation | libc::LOCK_NB) } == 0 {
            return Ok(true);
        }
        match io::Error::last_os_error().kind() {
            io::ErrorKind::Interrupted => {}
            io::ErrorKind::WouldBlock => return Ok(false),
            _ => return Err(error("flock")),
        }
    }
}

/// Checks that a file has so many bytes, and keeps them.
pub(crate) fn check_len(file: &OwnedFd, len_bytes: usize) -> Result<()> {
    let invalid = |text: String| Err(Error::SharedMemory { call: "fstat", text });
    // SAFETY: LC1.
    let seals = retry("fcntl", || unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) })?;
    if seals & SEALS != SEALS {
        return invalid("found a file that others can make shorter, allowed are sealed files".to_owned());
    }
    let mut facts = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: FL1: a value for the facts.
    retry("fstat", || unsafe { libc::fstat(file.as_raw_fd(), facts.as_mut_ptr()) })?;
    // SAFETY: FL1: the call wrote the facts.
    let found = unsafe { facts.assume_init() }.st_size;
    match i64::try_from(len_bytes) {
        Ok(len) if len <= found => Ok(()),
        _ => invalid(format!("found a file of {found} bytes for memory of {len_bytes} bytes")),
    }
}

/// Whether somebody [holds](hold) a file of this process.
pub(crate) fn is_held(file: &OwnedFd) -> bool {
    // A failure says nothing, so that the memory stays.
    let file = file.as_raw_fd();
    !(matches!(lock(file, libc::LOCK_EX), Ok(true)) && lock(file, libc::LOCK_UN).is_ok())
}

/// A file that another library opened, and random bytes that no other file has as its name.
///
/// # Safety
/// 1. The file is open, and nobody else has it.
#[cfg(feature = "cuda")]
pub(crate) unsafe fn adopt_with_name<const N: usize>(file: c_int) -> Result<([u8; N], OwnedFd)> {
    // SAFETY: FL1, by promise 1.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    let mut bytes = [0; N];
    // SAFETY: FL1: the length of the array, for which the kernel gives all bytes or none.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if usize::try_from(got) == Ok(bytes.len()) { Ok((bytes, file)) } else { Err(error("getrandom")) }
}

/// The number by which other libraries know a file.
#[cfg(feature = "cuda")]
pub(crate) fn number(file: &OwnedFd) -> usize {
    usize::try_from(file.as_raw_fd()).unwrap_or_default()
}
