//! Hooks for a binding to a language with an interpreter lock, with the feature `interpreter`.
//!
//! Pending work may need that lock, and signals reach the user's program only while the interpreter runs. A binding sets each hook
//! once for the process: how host code waits ([`wait_for_others_with`]), and what a drop does around its wait
//! ([`around_waits_in_drops`]). It reports threads that work for another thread ([`Errand`]) and code of the user that runs in a
//! wait ([`Interlude`]). No other program needs this module.

pub use usm_core::drops::around_waits_in_drops;

pub use crate::tracker::errand::{Errand, Interlude, Worker};
pub use crate::tracker::waits::{ends_soon, wait_for_others_with};
