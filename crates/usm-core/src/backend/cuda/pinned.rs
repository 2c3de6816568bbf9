//! Pinned host memory: blocks that stay pinned after they were freed, for later requests.
//!
//! The system pins 64 MiB in about 20 ms and unpins them in 5, so freed blocks of [`MIN_KEPT_BYTES`] and more are kept, up to a part of
//! the machine's memory. They are released when memory is short (`Backend::trim`).

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::driver::{Code, Driver, HOSTALLOC_PORTABLE_MAPPED};

/// Smaller blocks cost the driver about a microsecond.
const MIN_KEPT_BYTES: usize = 1 << 20;
/// Freed blocks keep at most this part of the machine's memory.
const KEPT_PART: u64 = 16;

/// The pinned blocks of a process. Its methods need a current context.
#[derive(Debug, Default)]
pub(super) struct PinnedBlocks(Mutex<Blocks>);

#[derive(Debug, Default)]
struct Blocks {
    /// Length and pinned length, in bytes, of each live block by its first address.
    live: BTreeMap<usize, (usize, usize)>,
    /// First address and pinned length of freed blocks. The newest is the last.
    ///
    /// Invariant PB1: pinned, and used by nobody.
    kept: Vec<(NonNull<u8>, usize)>,
}

// SAFETY: PB1: the blocks in the list are this value's alone, and any thread may free them.
unsafe impl Send for Blocks {}

impl PinnedBlocks {
    fn lock(&self) -> MutexGuard<'_, Blocks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn allocate(&self, driver: &Driver, len_bytes: usize) -> Option<NonNull<u8>> {
        let pinned_bytes = pinned_len(len_bytes)?;
        let mut blocks = self.lock();
        let kept = blocks.take(pinned_bytes);
        drop(blocks);
        let (block, pinned_bytes) = match kept {
            Some(kept) => kept,
            None => (pin(driver, pinned_bytes)?, pinned_bytes),
        };
        self.lock().live.insert(block.addr().get(), (len_bytes, pinned_bytes));
        Some(block)
    }

    /// Frees a block, if it is one of these.
    ///
    /// # Safety
    /// 1. No pending operation uses the block, and nobody uses it later.
    pub(super) unsafe fn free(&self, driver: &Driver, block: NonNull<u8>) -> bool {
        let mut blocks = self.lock();
        let Some((_, pinned_bytes)) = blocks.live.remove(&block.addr().get()) else { return false };
        if pinned_bytes < MIN_KEPT_BYTES {
            drop(blocks);
            unpin(driver, block);
            return true;
        }
        blocks.kept.push((block, pinned_bytes)); // PB1 (1)
        drop(blocks);
        self.release(driver, max_kept_bytes());
        true
    }

    /// Unpins the oldest freed blocks, so that at most so many bytes are kept. Returns whether there were any.
    pub(super) fn release(&self, driver: &Driver, keep_bytes: usize) -> bool {
        let mut blocks = self.lock();
        let mut kept_bytes: usize = blocks.kept.iter().map(|(_, len)| len).sum();
        let is_surplus = |(_, len): &&(NonNull<u8>, usize)| {
            let is_surplus = kept_bytes > keep_bytes;
            kept_bytes = kept_bytes.saturating_sub(*len);
            is_surplus
        };
        let count = blocks.kept.iter().take_while(is_surplus).count();
        let surplus: Vec<_> = blocks.kept.drain(..count).collect();
        drop(blocks);
        surplus.iter().for_each(|(block, _)| unpin(driver, *block));
        !surplus.is_empty()
    }

    /// The allocation around an address of pinned memory: of this library, or else the driver's answer. `None` in a freed block.
    pub(super) fn block(
        &self,
        address: usize,
        of_driver: Option<(usize, usize)>,
    ) -> Option<Option<(usize, usize)>> {
        let blocks = self.lock();
        if let Some((&start, &(len_bytes, pinned_bytes))) = blocks.live.range(..=address).next_back()
            && address - start < pinned_bytes
        {
            return (address - start < len_bytes).then_some(Some((start, len_bytes)));
        }
        let is_freed = blocks
            .kept
            .iter()
            .any(|(block, len)| (block.addr().get()..block.addr().get() + len).contains(&address));
        (!is_freed).then_some(of_driver)
    }
}

impl Blocks {
    /// The smallest kept block of that length, or of up to a quarter more.
    fn take(&mut self, pinned_bytes: usize) -> Option<(NonNull<u8>, usize)> {
        let fits = |len: usize| (pinned_bytes..=pinned_bytes + pinned_bytes / 4).contains(&len);
        let kept = self.kept.iter().enumerate().filter(|(_, (_, len))| fits(*len));
        let (position, _) = kept.min_by_key(|(_, (_, len))| *len)?;
        Some(self.kept.remove(position))
    }
}

/// Lengths in steps of an eighth of their power of two, so that freed blocks fit more requests.
fn pinned_len(len_bytes: usize) -> Option<usize> {
    if len_bytes < MIN_KEPT_BYTES {
        return Some(len_bytes);
    }
    let step = 1 << (len_bytes.ilog2() - 3);
    len_bytes.checked_next_multiple_of(step)
}

fn max_kept_bytes() -> usize {
    usize::try_from(crate::backend::host::physical_bytes() / KEPT_PART).unwrap_or(usize::MAX)
}

fn pin(driver: &Driver, len_bytes: usize) -> Option<NonNull<u8>> {
    let mut pointer = std::ptr::null_mut();
    // SAFETY: DR1; the pointer is writable. The caller has made a context current.
    let code = unsafe { (driver.cuMemHostAlloc)(&raw mut pointer, len_bytes, HOSTALLOC_PORTABLE_MAPPED) };
    if code == Code::SUCCESS { NonNull::new(pointer.cast()) } else { None }
}

fn unpin(driver: &Driver, block: NonNull<u8>) {
    // SAFETY: DR1; from `cuMemHostAlloc`, and used by nobody (PB1). The driver keeps memory that it cannot free.
    let _ = unsafe { (driver.cuMemFreeHost)(block.as_ptr().cast()) };
}

#[cfg(test)]
mod tests {
    use super::pinned_len;

    #[test]
    fn lengths_grow_by_at_most_an_eighth() {
        assert_eq!(pinned_len(100), Some(100));
        assert_eq!(pinned_len((1 << 20) + 1), Some((1 << 20) + (1 << 17)));
        assert_eq!(pinned_len(64 << 20), Some(64 << 20));
        assert_eq!(pinned_len(usize::MAX), None);
    }
}
