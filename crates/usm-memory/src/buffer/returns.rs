//! Memory of this process that others may have open. It may come back from them, and has one address here all the same.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use usm_core::UsmKind;
use usm_core::fork::PerProcess;

use super::{Block, BlockRef, UsmBuffer};
use crate::Result;

/// What says that memory is the same, in whichever process: device and number of its first file, and what the runtime knows it by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub(crate) file: Option<(u64, u64)>,
    pub(crate) data: Vec<u8>,
    pub(crate) kind: UsmKind,
}

/// A block, and where it is in the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SharedBlock {
    start_bytes: usize,
    end_bytes: usize,
    /// Invariant RT1: the block is there until [`forget`] takes it out, which its last holder does before anything else.
    block: NonNull<Block>,
}

// SAFETY: RT1: a block may be used on any thread.
unsafe impl Send for SharedBlock {}

#[derive(Default)]
struct SharedBlocks {
    by_memory: HashMap<Identity, BTreeSet<SharedBlock>>,
    /// By the address of the block.
    by_block: BTreeMap<usize, (Identity, SharedBlock)>,
}

/// A forked child opens memory for itself.
static BLOCKS: PerProcess<Mutex<Option<SharedBlocks>>> = PerProcess::new(Mutex::new(None));

fn blocks() -> MutexGuard<'static, Option<SharedBlocks>> {
    // No code unwinds while it holds the lock half done.
    BLOCKS.get().lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers a block that others open `start_bytes` behind the start of the memory.
pub(crate) fn remember(block: &BlockRef, identity: &Identity, start_bytes: usize) {
    let (block, end_bytes) = (NonNull::from(&**block), start_bytes + block.len_bytes());
    let mut blocks = blocks();
    let blocks = blocks.get_or_insert_default();
    blocks.by_block.entry(block.addr().get()).or_insert_with(|| {
        let shared = SharedBlock { start_bytes, end_bytes, block };
        blocks.by_memory.entry(identity.clone()).or_default().insert(shared);
        (identity.clone(), shared)
    });
}

/// Forgets a block whose last holder has gone.
#[cold]
pub(super) fn forget(block: &Block) {
    let mut blocks = blocks();
    let Some(blocks) = &mut *blocks else { return };
    let Some((identity, shared)) = blocks.by_block.remove(&NonNull::from(block).addr().get()) else { return };
    if let Some(known) = blocks.by_memory.get_mut(&identity) {
        known.remove(&shared);
        if known.is_empty() {
            blocks.by_memory.remove(&identity);
        }
    }
}

/// The buffer of this process over a range of memory, where it has one.
pub(crate) fn find(identity: &Identity, range: &Range<usize>) -> Result<Option<UsmBuffer>> {
    let found = {
        let blocks = blocks();
        let known = blocks.as_ref().and_then(|blocks| blocks.by_memory.get(identity));
        let behind = range.start.saturating_add(1);
        let behind = SharedBlock { start_bytes: behind, end_bytes: 0, block: NonNull::dangling() };
        // Mostly the one that begins last.
        known.into_iter().flat_map(|known| known.range(..behind).rev()).find_map(|shared| {
            let has_all = range.end <= shared.end_bytes;
            // SAFETY: RT1: under the lock, without which nothing is taken out.
            let block = has_all.then(|| unsafe { BlockRef::of_live(shared.block) })??;
            Some((block, shared.start_bytes))
        })
    };
    let part =
        |(block, start_bytes)| UsmBuffer::over_all(block).sub_buffer(range.start - start_bytes, range.len());
    found.map(part).transpose()
}
