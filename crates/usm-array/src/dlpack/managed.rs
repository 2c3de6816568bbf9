//! A tensor that is owned until its deleter has run

use std::mem;
use std::ptr::NonNull;

use crate::abi::{
    DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, FLAG_READ_ONLY, VERSION,
};
use crate::error::DlpackError;

/// The pointer that a capsule holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawTensor {
    /// The struct of a capsule called `dltensor_versioned`
    Versioned(NonNull<DLManagedTensorVersioned>),
    /// The struct of a capsule called `dltensor`
    Legacy(NonNull<DLManagedTensor>),
}

/// A tensor whose deleter runs when this value is dropped, or later if it has been given away by
/// [`into_raw`](ManagedTensor::into_raw): exactly once in any case.
#[derive(Debug)]
pub struct ManagedTensor {
    // Invariant M1: The struct is live and ours; its deleter has not run. Of a struct of another major version only the version, the flags
    //     and the deleter exist.
    // Invariant M2: The struct stays as it is, and all of it may be used from any thread.
    raw: RawTensor,
}

// SAFETY: M2.
unsafe impl Send for ManagedTensor {}
// SAFETY: M2; there are only reads through a shared reference.
unsafe impl Sync for ManagedTensor {}

impl ManagedTensor {
    /// Takes a tensor over: its deleter runs when this value is dropped.
    ///
    /// # Safety
    /// 1. The pointer is to a live struct of its type, or of another major version of DLPack, which the caller gives away. Where
    ///    pointers of it are aligned and not null, they lead to `ndim` numbers each.
    /// 2. No code changes the struct, and its deleter may be called on any thread.
    /// 3. The deleter returns, and may be null.
    pub const unsafe fn from_raw(raw: RawTensor) -> Self {
        Self { raw } // M1 and M2 by the promises
    }

    /// Gives the tensor away. The receiver of the pointer calls its deleter.
    #[must_use = "the deleter must be called by whoever gets the pointer"]
    pub const fn into_raw(self) -> RawTensor {
        let raw = self.raw;
        mem::forget(self);
        raw
    }

    /// The version of the struct; a legacy tensor has none.
    #[must_use]
    pub const fn version(&self) -> Option<DLPackVersion> {
        match self.raw {
            // SAFETY: M1; the version is the first field in every version.
            RawTensor::Versioned(tensor) => Some(unsafe { (*tensor.as_ptr()).version }),
            RawTensor::Legacy(_) => None,
        }
    }

    /// The flags; a legacy tensor has none.
    #[must_use]
    pub const fn flags(&self) -> Option<u64> {
        match self.raw {
            // SAFETY: M1; every version has the flags in this place.
            RawTensor::Versioned(tensor) => Some(unsafe { (*tensor.as_ptr()).flags }),
            RawTensor::Legacy(_) => None,
        }
    }

    /// Whether the memory must not be written. A legacy tensor cannot say, so it counts as read-only, as in NumPy: arrays that
    /// never change come that way too.
    #[must_use]
    pub const fn is_read_only(&self) -> bool {
        match self.flags() {
            Some(flags) => flags & FLAG_READ_ONLY != 0,
            None => true,
        }
    }

    /// The producer's description of the elements.
    ///
    /// # Errors
    /// [`DlpackError::Version`]: a struct of another major version, in which this is somewhere else
    pub fn tensor(&self) -> Result<&DLTensor, DlpackError> {
        match (self.raw, self.version()) {
            (_, Some(found)) if found.major != VERSION.major => Err(DlpackError::Version { found }),
            // SAFETY: M1, and M2 for the time of the borrow; the version is ours.
            (RawTensor::Versioned(tensor), _) => Ok(unsafe { &(*tensor.as_ptr()).dl_tensor }),
            // SAFETY: M1, and M2 for the time of the borrow.
            (RawTensor::Legacy(tensor), _) => Ok(unsafe { &(*tensor.as_ptr()).dl_tensor }),
        }
    }
}

impl Drop for ManagedTensor {
    fn drop(&mut self) {
        match self.raw {
            RawTensor::Versioned(tensor) => {
                // SAFETY: M1; every version has the deleter in this place.
                if let Some(deleter) = unsafe { (*tensor.as_ptr()).deleter } {
                    // SAFETY: M1: it has not run, and no code uses the struct after this; M2 for the thread.
                    unsafe { deleter(tensor.as_ptr()) };
                }
            }
            RawTensor::Legacy(tensor) => {
                // SAFETY: M1.
                if let Some(deleter) = unsafe { (*tensor.as_ptr()).deleter } {
                    // SAFETY: M1: it has not run, and no code uses the struct after this; M2 for the thread.
                    unsafe { deleter(tensor.as_ptr()) };
                }
            }
        }
    }
}
