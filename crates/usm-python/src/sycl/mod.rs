//! Platforms, devices, contexts, queues and events, and the objects that stand for them.

mod capsule;
mod context;
mod device;
mod dpctl;
mod enums;
mod event;
mod flight;
mod listing;
mod operations;
mod partition;
mod platform;
mod queue;
mod resolve;

use std::hash::{DefaultHasher, Hash, Hasher};

pub use context::SyclContext;
pub use device::SyclDevice;
pub(crate) use dpctl::queue_object;
pub(crate) use enums::Selection;
pub use event::SyclEvent;
pub(crate) use flight::events_under_way;
pub(crate) use listing::{platform as describe_platform, print, verbosity};
pub use platform::SyclPlatform;
pub use queue::SyclQueue;
pub(crate) use resolve::{Place, Target, cached_queue, place_of, queue_argument, target};

/// The same for equal values, in one process.
fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
