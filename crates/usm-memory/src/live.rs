//! How much memory live buffers own.

use usm_core::LiveAllocations;

use crate::resource;

/// Memory that live buffers own: what they have of the [pool of the process](crate::resource::process_pool), and all other allocations.
///
/// [`usm_core::live_allocations`] counts the slabs of that pool instead of the buffers in them.
#[must_use]
pub fn live_allocations() -> LiveAllocations {
    usm_core::release_from_graphs();
    let [slabs, pooled] = resource::live();
    let all = usm_core::live_allocations();
    // Of what other threads allocate meanwhile one number may know and another not.
    LiveAllocations {
        count: (all.count + pooled.count).saturating_sub(slabs.count),
        bytes: (all.bytes + pooled.bytes).saturating_sub(slabs.bytes),
    }
}
