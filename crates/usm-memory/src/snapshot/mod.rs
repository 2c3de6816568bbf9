//! Which memory is live now, and what happened to memory over time, as data and, with the feature `svg`, as drawings.
//!
//! [`snapshot()`](crate::snapshot()) lists all live memory, with the labels that [`Tag`] and
//! [`UsmBuffer::set_tag`](crate::UsmBuffer::set_tag) gave it. A [`Timeline`] is what was recorded between two points in time.
//!
//! | PyTorch | here |
//! |---|---|
//! | `torch.cuda.memory_snapshot` | [`snapshot()`](crate::snapshot()) |
//! | `torch.cuda.memory._record_memory_history` | [`Timeline::record`] |
//! | `memory_viz` | `Timeline::to_html`, `Snapshot::to_html` (feature `svg`) |

mod clock;
mod list;
mod registry;
#[cfg(feature = "svg")]
mod svg;
mod tag;
mod timeline;

use usm_core::{Queue, UsmKind};

pub(crate) use self::clock::{Moment, Timestamp};
pub use self::list::{LiveMemory, Snapshot, Totals, snapshot};
pub(crate) use self::registry::{Registration, add_pool, pooled_address};
pub use self::tag::Tag;
pub(crate) use self::tag::TagId;
pub use self::timeline::{Bar, Recording, Timeline};
pub(crate) use self::timeline::{is_recording, record};

/// Most bars in a drawing: more make it slow to show.
const MAX_BARS: usize = 2000;

/// Who frees memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// A buffer does: memory of the runtime.
    Owned,
    /// An external owner does.
    Borrowed,
    /// A memory resource does: part of memory that is owned or borrowed by the resource, and listed, too.
    Leased,
}

usm_core::texts!(Holder, "holder": Owned = "owned", Borrowed = "borrowed", Leased = "leased");

/// What is known of live memory.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) address: usize,
    pub(crate) len_bytes: usize,
    pub(crate) kind: UsmKind,
    pub(crate) holder: Holder,
    pub(crate) queue: Queue,
    pub(crate) born: Moment,
    pub(crate) tag: TagId,
}

/// A pool: it knows the live memory in its slabs.
pub(crate) trait PooledMemory: Send + Sync {
    /// Adds the buffers of the moment.
    fn report(&self, facts: &mut Vec<Facts>);

    /// What is known of an address: `None` where it is in no memory of this pool.
    fn address(&self, address: usize) -> Option<PooledAddress>;
}

/// Memory of a pool around an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PooledAddress {
    /// Of a buffer: first address and length in bytes.
    Allocated(usize, usize),
    /// Of no buffer at the moment.
    Free,
}
