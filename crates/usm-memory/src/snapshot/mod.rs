//! What memory is live now.

mod clock;
mod registry;
mod tag;

use usm_core::{Queue, UsmKind};

pub(crate) use self::clock::Moment;
pub(crate) use self::registry::{Registration, add_lender};
pub use self::tag::Tag;
pub(crate) use self::tag::TagId;
use crate::Ownership;
use crate::buffer::Block;

/// Who frees memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// A buffer does: memory of the runtime.
    Owned,
    /// A foreign owner does.
    Borrowed,
    /// A memory resource does: part of memory that is owned or borrowed by the resource, and listed, too.
    Leased,
}

/// What is known of live memory.
pub(crate) struct Facts {
    pub(crate) address: usize,
    pub(crate) len_bytes: usize,
    pub(crate) kind: UsmKind,
    pub(crate) holder: Holder,
    pub(crate) queue: Queue,
    pub(crate) born: Moment,
    pub(crate) tag: TagId,
}

impl Facts {
    fn of_block(block: &Block, born: Moment, tag: TagId) -> Self {
        let holder = match block.ownership() {
            Ownership::Owned(_) => Holder::Owned,
            Ownership::Borrowed(_) => Holder::Borrowed,
            Ownership::Leased(_) => Holder::Leased,
        };
        let (len_bytes, kind, queue) = (block.len_bytes(), block.kind(), block.queue().clone());
        Self { address: block.pointer_at(0).addr().get(), len_bytes, kind, holder, queue, born, tag }
    }
}

/// Who knows of live memory that is not in the list of blocks.
pub(crate) trait Lender: Send + Sync {
    /// Adds what is lent at the moment.
    fn report(&self, facts: &mut Vec<Facts>);
}
