//! USM allocations: memory that host code reaches, known by its bytes to one context.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr;

use super::export;
use crate::arena::Arena;
use crate::state::{Alignment, Backing, Block, Handle, State};

pub(super) const DEVICE: u32 = 1;
const SHARED: u32 = 2;
const HOST: u32 = 3;

/// The alignment of allocations that ask for none.
const DEFAULT_ALIGNMENT: usize = 64;

fn allocate(
    state: &mut State,
    usm_type: u32,
    alignment: usize,
    size_bytes: usize,
    queue: Handle,
) -> Option<Handle> {
    let queue = state.queue(queue)?;
    let limit = state.facts(queue.device)?.max_alloc_bytes;
    if size_bytes == 0 || size_bytes as u64 > limit {
        return None;
    }
    let asked = if alignment == 0 { DEFAULT_ALIGNMENT } else { alignment };
    let (alignment_bytes, lead_bytes) = match state.alignment {
        Alignment::UpTo(most) if asked > most => return None,
        // As far off every larger alignment as it can be.
        Alignment::NoMoreThan(most) if asked > most => (2 * most, most),
        _ => (asked, 0),
    };
    let has_handles = usm_type == DEVICE && state.facts(queue.device)?.has_ipc_memory();
    let (start, backing) = if has_handles {
        if state.arena.is_none() {
            state.arena = Arena::new().ok();
        }
        let (start, range) = state.arena.as_mut()?.take(size_bytes, alignment_bytes, lead_bytes)?;
        (start, Backing::Arena(range))
    } else {
        let layout = Layout::from_size_align(lead_bytes + size_bytes, alignment_bytes).ok()?;
        // SAFETY: the layout has a size above zero.
        let pointer = unsafe { alloc(layout) };
        if pointer.is_null() {
            return None;
        }
        (pointer.expose_provenance() + lead_bytes, Backing::Heap { alignment_bytes, lead_bytes })
    };
    let block =
        Block { size_bytes, backing, usm_type, context: queue.context.identity, device: queue.device };
    state.blocks.insert(start, block);
    Some(ptr::with_exposed_provenance_mut(start))
}

/// Frees the block of a context that starts here; NULL is allowed.
fn free(state: &mut State, usm: Handle, context: usize) -> Option<()> {
    if usm.is_null() {
        return None;
    }
    let is_own = |block: &Block| block.context == context && !matches!(block.backing, Backing::Opened(_));
    let known = state.blocks.get(&usm.addr()).is_some_and(is_own);
    state.expect(known)?;
    let block = state.blocks.remove(&usm.addr())?;
    let pointer = ptr::with_exposed_provenance_mut::<u8>(usm.addr());
    // So that a read after the free is noticed while the allocator keeps the page.
    // SAFETY: `allocate` made a block of this size here, and it is removed above, so this is its last use but one.
    unsafe { pointer.write_bytes(0xDD, block.size_bytes) };
    match block.backing {
        Backing::Heap { alignment_bytes, lead_bytes } => {
            let layout = Layout::from_size_align(lead_bytes + block.size_bytes, alignment_bytes).ok()?;
            let start = pointer.wrapping_sub(lead_bytes);
            // SAFETY: allocated with this layout by `allocate`, and freed once, since it was in the table until now.
            unsafe { dealloc(start, layout) };
        }
        Backing::Arena(range) => state.arena.as_mut()?.give_back(usm.addr(), range),
        Backing::Opened(_) => {}
    }
    Some(())
}

/// The block that contains a byte, whatever its context, with its address.
pub(super) fn block_of(state: &State, address: usize) -> Option<(usize, Block)> {
    let (&start, block) = state.blocks.range(..=address).next_back()?;
    (address - start < block.size_bytes).then(|| (start, block.clone()))
}

macro_rules! allocations {
    ($($plain:ident, $aligned:ident = $usm_type:ident;)*) => {
        export! {$(
            fn $plain(state, size_bytes: usize, queue: Handle) -> Handle {
                allocate(state, $usm_type, 0, size_bytes, queue)
            }

            fn $aligned(state, alignment: usize, size_bytes: usize, queue: Handle) -> Handle {
                allocate(state, $usm_type, alignment, size_bytes, queue)
            }
        )*}
    };
}
allocations! {
    DPCTLmalloc_shared, DPCTLaligned_alloc_shared = SHARED;
    DPCTLmalloc_host, DPCTLaligned_alloc_host = HOST;
    DPCTLmalloc_device, DPCTLaligned_alloc_device = DEVICE;
}

export! {
    fn DPCTLfree_with_queue(state, usm: Handle, queue: Handle) {
        let context = state.queue(queue)?.context.identity;
        free(state, usm, context)
    }

    fn DPCTLfree_with_context(state, usm: Handle, context: Handle) {
        let context = state.context(context)?.identity;
        free(state, usm, context)
    }

    fn DPCTLUSM_GetPointerType(state, usm: Handle, context: Handle) -> u32 {
        let context = state.context(context)?.identity;
        let (_, block) = block_of(state, usm.addr())?;
        (block.context == context).then_some(block.usm_type)
    }

    // The real library ends the process for an unknown pointer; here it is a fault.
    fn DPCTLUSM_GetPointerDevice(state, usm: Handle, context: Handle) -> Handle {
        let context = state.context(context)?.identity;
        let block = block_of(state, usm.addr()).map(|(_, block)| block).filter(|block| block.context == context);
        state.expect(block.is_some())?;
        Some(state.create(crate::state::Object::Device(block?.device)))
    }
}
