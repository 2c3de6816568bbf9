//! Pages of this process that other processes map: a file in memory (`memfd`) in place of anonymous pages.
//!
//! [`share`] puts a file behind the pages of a block, with the same content at the same addresses. [`map`] puts the file of another
//! process behind the pages of a block of this one, and [`make_writable`] does so once more. [`unshare`] makes the pages anonymous again.
//!
//! The kernel counts who has the pages of a file, and frees them after the last process, however that ends. [`map`] also
//! [holds](crate::backend::files::hold) the file, so that [`is_held_elsewhere`] finds it in use. The files are sealed, so that nobody makes them
//! shorter under the mapping of another.
//!
//! A forked child has copies of shared pages up to [`MOST_PRIVATE_BYTES`], as it has of all other memory, and its parent waits for
//! them. A copy of more would take too long: a child shares them.

// Invariant PG3: the system gets pointers to values that outlive its call, and what it opens or maps for us is nobody else's.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{FEWEST_BYTES, page_bytes};
use crate::backend::SharedRange;
pub(super) use crate::backend::files::check_len;
use crate::backend::files::{create, error, hold, is_held};
use crate::bulk::copy_bytes;
use crate::fork::{self, ForkHooks, ForkMutex, PerProcess};
use crate::{Error, Result};

/// A forked child has copies of shared blocks up to this length.
const MOST_PRIVATE_BYTES: usize = 2 << 20;
/// The longest wait of a parent for these copies.
const LONGEST_COPY: Duration = Duration::from_secs(10);

/// Pages with a file behind them.
#[derive(Debug)]
struct SharedPages {
    len_bytes: usize,
    file: Arc<OwnedFd>,
    /// Another process made the file.
    is_external: bool,
    /// The block has a file from the start, and its owner shares parts of it without a wait for the others.
    keeps_file: bool,
}

/// All shared pages of this process.
///
/// Invariant PG1: a key is the first address of mapped pages, so many as the value says, which belong to a live block and have a file
/// behind them.
static SHARED: ForkMutex<BTreeMap<usize, SharedPages>> = ForkMutex::new(BTreeMap::new());

/// How many there are, at most: a free asks for it first. A child counts some of its copies still.
static NUM_SHARED: AtomicUsize = AtomicUsize::new(0);

/// Held while pages get a file, so that they get one.
static SHARING: PerProcess<Mutex<()>> = PerProcess::new(Mutex::new(()));

/// Lets `change` put a file behind pages, and remembers it. No child is forked between the two, which would not know of it.
fn insert(start: *mut u8, pages: SharedPages, change: impl FnOnce() -> Result<()>) -> Result<()> {
    fork::set_hooks_of_pages(HOOKS);
    let mut shared = SHARED.lock();
    change()?;
    NUM_SHARED.fetch_add(1, Ordering::Relaxed);
    shared.insert(start.addr(), pages);
    Ok(())
}

/// Puts a file behind pages, unless there is one, and returns it.
///
/// # Safety
/// 1. The pages from `start` on are mapped, readable, writable, and belong to one live block alone, until [`unshare`].
/// 2. Nobody writes to them during the call.
pub(crate) unsafe fn share(start: *mut u8, len_bytes: usize, range: SharedRange) -> Result<Arc<OwnedFd>> {
    let is_whole = len_bytes >= FEWEST_BYTES && len_bytes.is_multiple_of(page_bytes());
    if cfg!(miri) || !is_whole || !start.addr().is_multiple_of(page_bytes()) {
        let reason =
            "it has no pages of its own; arrays from 32 KiB on have, and all memory of a shareable pool"
                .to_owned();
        return Err(Error::NotShareable { reason });
    }
    let _alone = SHARING.get().lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = SHARED.lock().get(&start.addr()) {
        return Ok(Arc::clone(&known.file));
    }
    let file = Arc::new(create(len_bytes)?);
    let flags = libc::MAP_SHARED;
    // SAFETY: PG3: new pages at an address of the kernel's choice.
    let new = unsafe {
        libc::mmap(ptr::null_mut(), len_bytes, libc::PROT_READ | libc::PROT_WRITE, flags, file.as_raw_fd(), 0)
    };
    if new == libc::MAP_FAILED {
        return Err(error("mmap"));
    }
    if range != SharedRange::NewBlock {
        // SAFETY: P2: new pages, and those of the caller (1, 2).
        unsafe { copy_bytes(new.cast(), start, len_bytes) };
    }
    let pages = SharedPages {
        len_bytes,
        file: Arc::clone(&file),
        is_external: false,
        keeps_file: range == SharedRange::NewBlock,
    };
    // SAFETY: PG2: the new pages take the place of the caller's, with the same content (1, 2).
    insert(start, pages, || unsafe { replace(start, new.cast(), len_bytes) })?;
    Ok(file)
}

/// Moves new pages to where others are. A failure leaves these, and frees the new ones.
///
/// # Safety
/// 1. Invariant PG2: both are pages of this process, so many, that do not overlap. The new ones are the caller's alone. The others belong to one
///    block, whose owner wants their content replaced.
unsafe fn replace(start: *mut u8, new: *mut u8, len_bytes: usize) -> Result<()> {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: PG2. Other threads find the old pages or the new ones: the kernel holds the lock of the mappings. It looks at its limits
    // before it takes the old pages away.
    let moved =
        unsafe { libc::mremap(new.cast(), len_bytes, len_bytes, flags, start.cast::<libc::c_void>()) };
    if moved == libc::MAP_FAILED {
        let error = error("mremap");
        // SAFETY: PG2: the caller's own pages.
        unsafe { libc::munmap(new.cast(), len_bytes) };
        return Err(error);
    }
    Ok(())
}

/// Puts the file of another process behind pages. `can_write` says whether this process may write to them.
///
/// # Safety
/// 1. The pages from `start` on are mapped, and belong to one live block alone, until [`unshare`]. Nobody uses them yet.
/// 2. The file has so many bytes, and keeps them: [`check_len`].
pub(crate) unsafe fn map(start: *mut u8, len_bytes: usize, file: &OwnedFd, can_write: bool) -> Result<()> {
    if !start.addr().is_multiple_of(page_bytes()) || !len_bytes.is_multiple_of(page_bytes()) {
        let reason = "the runtime gave a block that does not begin and end at pages".to_owned();
        return Err(Error::NotShareable { reason });
    }
    let file = hold(file, can_write)?;
    let protection = if can_write { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
    let flags = libc::MAP_SHARED | libc::MAP_FIXED;
    let number = file.as_raw_fd();
    insert(
        start,
        SharedPages { len_bytes, file: Arc::new(file), is_external: true, keeps_file: false },
        || {
            // SAFETY: PG3: pages that nobody uses (1) get a file that is as long, and that nobody can make shorter (2).
            match unsafe { libc::mmap(start.cast(), len_bytes, protection, flags, number, 0) } {
                libc::MAP_FAILED => Err(error("mmap")),
                _ => Ok(()),
            }
        },
    )
}

/// Lets this process write to pages that it [maps](map) only to read: the same file by a descriptor that allows it.
///
/// # Safety
/// 1. The pages from `start` on are mapped, and belong to one live block.
pub(crate) unsafe fn make_writable(start: *mut u8, file: &OwnedFd) -> Result<()> {
    let mut shared = SHARED.lock();
    let Some(pages) = shared.get_mut(&start.addr()) else { return Ok(()) };
    let file = hold(file, true)?;
    check_len(&file, pages.len_bytes)?;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: PG3: new pages at an address of the kernel's choice.
    let new = unsafe {
        libc::mmap(ptr::null_mut(), pages.len_bytes, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
    };
    if new == libc::MAP_FAILED {
        return Err(error("mmap"));
    }
    // SAFETY: PG2: pages of the same file take the place of those of PG1.
    unsafe { replace(start, new.cast(), pages.len_bytes) }?;
    pages.file = Arc::new(file);
    Ok(())
}

/// Makes pages anonymous again. Other processes keep the file that was behind them. Nothing happens to pages without a file. False where
/// the system refuses: the pages must not be used any more then, for whatever.
///
/// # Safety
/// 1. The pages belong to one live block, which nobody uses any more.
pub(crate) unsafe fn unshare(start: *mut u8) -> bool {
    if NUM_SHARED.load(Ordering::Relaxed) == 0 {
        return true;
    }
    let mut shared = SHARED.lock();
    let Some(pages) = shared.get(&start.addr()) else { return true };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: PG1: pages that nobody uses (1).
    let mapped = unsafe {
        libc::mmap(start.cast(), pages.len_bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    };
    if mapped == libc::MAP_FAILED {
        return false;
    }
    shared.remove(&start.addr());
    NUM_SHARED.fetch_sub(1, Ordering::Relaxed);
    true
}

/// Whether another process has the pages of a file that this process made.
pub(crate) fn is_held_elsewhere(start: usize) -> bool {
    let shared = SHARED.lock();
    shared.get(&start).is_some_and(|pages| !pages.is_external && is_held(&pages.file))
}

thread_local! {
    /// The two ends of the pipe of a fork that this thread does, by which the child tells that it has its copies.
    static PIPE: Cell<Option<[OwnedFd; 2]>> = const { Cell::new(None) };
}

/// What happens at forks from the first shared pages on.
const HOOKS: ForkHooks = ForkHooks { before: before_fork, after: after_fork, in_child };

fn before_fork() {
    let mut ends: [RawFd; 2] = [-1; 2];
    // SAFETY: PG3: an array of two numbers.
    let is_open = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } == 0;
    // SAFETY: PG3: both were just opened, and nobody else has them.
    PIPE.set(is_open.then(|| ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) })));
}

/// In the parent: waits until the child has its copies, or has ended. The child has no pipe any more.
fn after_fork() {
    let Some([read, write]) = PIPE.take() else { return };
    drop(write);
    let started = Instant::now();
    while let Some(left) = LONGEST_COPY.checked_sub(started.elapsed()) {
        let mut poll = libc::pollfd { fd: read.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let left = c_int::try_from(left.as_millis()).unwrap_or(c_int::MAX);
        // SAFETY: PG3: one entry.
        if unsafe { libc::poll(&raw mut poll, 1, left) } != -1
            || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted
        {
            return;
        }
    }
}

/// In the child, which has one thread: makes copies of what is short enough.
fn in_child() {
    let pipe = PIPE.take();
    let mut shared = SHARED.lock();
    shared.retain(|&start, pages| {
        let len_bytes = pages.len_bytes;
        if len_bytes > MOST_PRIVATE_BYTES {
            return true;
        }
        let file = pages.keeps_file.then(|| create(len_bytes));
        let (flags, number) = match &file {
            Some(Ok(file)) => (libc::MAP_SHARED, file.as_raw_fd()),
            Some(Err(_)) => return true,
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1),
        };
        // SAFETY: PG3: new pages at an address of the kernel's choice.
        let new = unsafe {
            libc::mmap(ptr::null_mut(), len_bytes, libc::PROT_READ | libc::PROT_WRITE, flags, number, 0)
        };
        if new == libc::MAP_FAILED {
            return true;
        }
        let old = ptr::with_exposed_provenance_mut::<u8>(start);
        // SAFETY: P2: new pages, and readable ones (PG1).
        unsafe { copy_bytes(new.cast(), old, len_bytes) };
        // SAFETY: PG2: new pages take the place of those of PG1, with the same content.
        let replaced = unsafe { replace(old, new.cast(), len_bytes) };
        match (replaced, file) {
            (Ok(()), Some(Ok(file))) => {
                pages.file = Arc::new(file);
                true
            }
            (replaced, _) => replaced.is_err(),
        }
    });
    if let Some([_, write]) = pipe {
        // A word and not the end: children that other threads fork at the moment have the pipe, too.
        let _ = File::from(write).write_all(&[1]);
    }
}
