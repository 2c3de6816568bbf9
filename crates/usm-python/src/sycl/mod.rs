//! Platforms, devices, contexts and events, the objects that stand for them and for queues, and the runtime they come from.
//!
//! | file | job |
//! |---|---|
//! | `classes.rs` | what the objects hold |
//! | `platform.rs`, `device.rs`, `context.rs`, `event.rs` | their methods; those of queues are in `queue/` |
//! | `resolve.rs`, `capsule.rs` | from `syclobj` to a queue or context |
//! | `runtime.rs`, `dpctl.rs` | the one runtime of the process; objects of dpctl |
//! | `awaited/`, `pickle.rs` | events that a loop awaits; pickles of devices, contexts and queues |
//! | `enums.rs`, `partition.rs`, `listing.rs` | words of enumerations; the argument `partition`; lists as text |

mod awaited;
pub(crate) mod capsule;
mod classes;
mod context;
mod device;
pub(crate) mod dpctl;
pub(crate) mod enums;
pub(crate) mod event;
pub(crate) mod listing;
mod partition;
pub(crate) mod pickle;
mod platform;
pub(crate) mod resolve;
pub(crate) mod runtime;

pub(crate) use capsule::QueueOrContext;
pub(crate) use classes::{SyclContext, SyclDevice, SyclPlatform, SyclQueue};
pub(crate) use device::_strict_device;
pub(crate) use dpctl::{
    device_object, own_device, plain_device_object, queue_context, queue_device, queue_object,
};
pub(crate) use enums::Selection;
pub(crate) use event::SyclEvent;
pub(crate) use listing::{platform as describe_platform, print, verbosity};
pub(crate) use resolve::{
    Target, cached_queue, device_objects, pickled_queue, queue_argument, queue_for, queue_of,
    queue_or_context, target, unpickle_on,
};
