//! One host backend for several copies of this library in a process, through a table of C functions.
//!
//! A Python extension that links this library has a copy of its own, with statics of its own. Two host backends would not know each
//! other's memory, so the copy that came first [offers a table](super::HostBackend::table), and the others work on its backend
//! through a [`SharedHost`]. All that passes between them has a C layout: the copies may come from different compilers and
//! different builds of the same [`VERSION`].
//!
//! | file | job |
//! |---|---|
//! | `table.rs` | the table and the plain structs that its functions exchange |
//! | `serve.rs` | the functions, on the side of the backend |
//! | `client.rs` | a `Backend` whose methods call them |
//! | `client_events.rs` | the same, operations and events |
//! | `tasks.rs` | host code of one copy that the other runs |

mod client;
mod client_events;
mod serve;
mod table;
mod tasks;

pub use client::SharedHost;
pub use table::{HostTable, VERSION};
