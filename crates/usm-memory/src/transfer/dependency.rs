//! What a transfer comes after.

use usm_core::Event;

/// What a transfer comes after: an event of anybody, or another transfer ([`Transfer::dependency`](crate::Transfer::dependency)).
///
/// A dependency on a transfer goes on to all that the transfer came after.
#[derive(Clone, Debug, Default)]
pub struct Dependency {
    pub(super) events: Vec<Event>,
    /// Invariant O1: borrows of transfers that are complete when the events are.
    pub(super) borrows: Vec<u64>,
}

impl Dependency {
    /// One for several.
    pub(super) fn all(dependencies: &[Self]) -> Self {
        let mut all = Self::default();
        for one in dependencies {
            all.events.extend_from_slice(&one.events);
            all.borrows.extend_from_slice(&one.borrows);
        }
        all
    }
}

impl From<Event> for Dependency {
    fn from(event: Event) -> Self {
        Self { events: vec![event], borrows: Vec::new() }
    }
}
