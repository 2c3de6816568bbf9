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

pub use context::SyclContext;
pub use device::SyclDevice;
pub(crate) use device::device_objects;
pub(crate) use dpctl::{
    default_queue, device_object, known_default_queue, own_device, plain_device_object, queue_context,
    queue_device, queue_object, queue_of,
};
pub(crate) use enums::Selection;
pub use event::SyclEvent;
pub(crate) use flight::events_under_way;
pub(crate) use listing::{platform as describe_platform, print, verbosity};
pub use platform::SyclPlatform;
pub use queue::SyclQueue;
pub(crate) use resolve::{Place, Target, cached_queue, pickled_queue, place_of, queue_argument, target};
