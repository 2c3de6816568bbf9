//! Devices, contexts and queues, and the objects that stand for them.

mod capsule;
mod context;
mod device;
mod queue;
mod resolve;

pub use context::SyclContext;
pub use device::SyclDevice;
pub use queue::SyclQueue;
pub(crate) use resolve::{place_of, queue_argument};
