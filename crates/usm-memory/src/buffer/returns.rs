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
struct Place {
    start_bytes: usize,
    end_bytes: usize,
    /// Invariant RT1: the block is there until [`forget`] takes it out, which its last holder does before anything else.
    block: NonNull<Block>,
}

// SAFETY: RT1: a block may be used on any thread.
unsafe impl Send for Place {}

#[derive(Default)]
struct Places {
    by_memory: HashMap<Identity, BTreeSet<Place>>,
    /// By the address of the block.
    by_block: BTreeMap<usize, (Identity, Place)>,
}

/// A forked child opens memory for itself.
static PLACES: PerProcess<Mutex<Option<Places>>> = PerProcess::new(Mutex::new(None));

fn places() -> MutexGuard<'static, Option<Places>> {
    // No code unwinds while it holds the lock half done.
    PLACES.get().lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers a block that others open `start_bytes` behind the start of the memory.
pub(crate) fn remember(block: &BlockRef, identity: &Identity, start_bytes: usize) {
    let block = NonNull::from(&**block);
    let mut places = places();
    let places = places.get_or_insert_default();
    places.by_block.entry(block.addr().get()).or_insert_with(|| {
        // SAFETY: H1: the caller has a holder.
        let end_bytes = start_bytes + unsafe { block.as_ref() }.len_bytes();
        let place = Place { start_bytes, end_bytes, block };
        places.by_memory.entry(identity.clone()).or_default().insert(place);
        (identity.clone(), place)
    });
}

/// Forgets a block whose last holder has gone.
#[cold]
pub(super) fn forget(block: &Block) {
    let mut places = places();
    let Some(places) = &mut *places else { return };
    let Some((identity, place)) = places.by_block.remove(&NonNull::from(block).addr().get()) else { return };
    if let Some(known) = places.by_memory.get_mut(&identity) {
        known.remove(&place);
        if known.is_empty() {
            places.by_memory.remove(&identity);
        }
    }
}

/// The buffer of this process over a range of memory, where it has one.
pub(crate) fn find(identity: &Identity, range: &Range<usize>) -> Result<Option<UsmBuffer>> {
    let found = {
        let places = places();
        let known = places.as_ref().and_then(|places| places.by_memory.get(identity));
        let mut known = known.into_iter().flatten();
        known.find_map(|place| {
            let is_inside = place.start_bytes <= range.start && range.end <= place.end_bytes;
            // SAFETY: RT1: under the lock, without which nothing is taken out.
            let block = is_inside.then(|| unsafe { BlockRef::of_live(place.block) })??;
            Some((block, place.start_bytes))
        })
    };
    let part =
        |(block, start_bytes)| UsmBuffer::over_all(block).sub_buffer(range.start - start_bytes, range.len());
    found.map(part).transpose()
}
