//! A file of another process that is held: its process sees that somebody has the memory of the file.

use std::collections::BTreeSet;
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd, RawFd};

use super::linux::{open_anew, share_lock};
use crate::fork::{self, ForkHooks, ForkMutex};
use crate::{Error, Result};

/// A file of another process that is [held](super::hold) until this is dropped. A forked child does not hold it.
#[derive(Debug)]
pub(crate) struct Lease(RawFd);

/// The files of all leases.
static LEASES: ForkMutex<BTreeSet<RawFd>> = ForkMutex::new(BTreeSet::new());

/// A child has no use for the memory behind a lease, which it would keep.
const HOOKS: ForkHooks = ForkHooks {
    before: || {},
    after: || {},
    in_child: || {
        let mut leases = LEASES.lock();
        // SAFETY: FL1: files of leases, which find that they are not in the list any more.
        leases.iter().for_each(|&file| drop(unsafe { OwnedFd::from_raw_fd(file) }));
        leases.clear();
    },
};

impl Lease {
    pub(crate) fn new(file: &OwnedFd) -> Result<Self> {
        fork::set_hooks_of_leases(HOOKS);
        // No child is forked that has the file and does not know its number.
        let lease = fork::hold_off(|| {
            let file = open_anew(file, false)?.into_raw_fd();
            LEASES.lock().insert(file);
            Ok::<_, Error>(Self(file))
        })?;
        share_lock(lease.0)?;
        Ok(lease)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A child has closed the file.
        if LEASES.lock().remove(&self.0) {
            // SAFETY: FL1: our own file, which was in the list.
            drop(unsafe { OwnedFd::from_raw_fd(self.0) });
        }
    }
}
