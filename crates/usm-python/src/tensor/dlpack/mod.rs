//! DLPack 1.3 with Python: capsules, and the C exchange API.
//!
//! | file | job |
//! |---|---|
//! | `export.rs` | `__dlpack__`, `__dlpack_device__` |
//! | `import.rs` | `from_dlpack` |
//! | `caller.rs` | which devices the calling library can use |
//! | `capsule.rs` | tensors in capsules, exactly one owner each |
//! | `device.rs` | devices as pairs of numbers |
//! | `c_api.rs` | `__dlpack_c_exchange_api__` |
//! | `c_import.rs` | the same of other libraries |

mod c_api;
mod c_import;
mod caller;
mod capsule;
mod device;
mod export;
mod import;

pub(super) use c_api::exchange_api;
pub(super) use device::device_of;
pub(crate) use device::{dldevice_to_sycl_device, sycl_device_to_dldevice};
pub(super) use export::export;
pub(crate) use import::from_dlpack;
pub(super) use import::import;
