//! Linux: files cross by Unix sockets.
//!
//! | file | job |
//! |---|---|
//! | `server.rs` | the thread that answers other processes |
//! | `hand_over.rs` | memory that a process leaves to another one when it ends |
//! | `client.rs` | the question to another process |
//! | `message.rs` | what they say to each other, with the files |

mod client;
mod hand_over;
mod message;
mod server;

use usm_core::backend::SharedFile;

use crate::Result;

pub(super) use self::client::ask;
pub use self::hand_over::{hand_over, keep};
#[cfg(feature = "testing")]
pub use self::message::reread_answer;
pub(super) use self::server::{num_offers, offer, offer_once, own, withdraw, withdraw_unkept};

/// What tells a file from all others of the machine: its device and number.
pub(super) fn identity(file: &SharedFile) -> Result<(u64, u64)> {
    let known = rustix::fs::fstat(file).map(|known| (known.st_dev, known.st_ino));
    known.map_err(|error| usm_core::Error::SharedMemory { call: "fstat", text: error.to_string() }.into())
}
