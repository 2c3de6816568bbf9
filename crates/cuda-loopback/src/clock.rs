//! The order of operations: which ones are surely complete before others start, whatever the delays.

use std::collections::BTreeMap;

/// An operation: the number of its stream, and its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) stream: u32,
    pub(crate) position: u64,
}

/// A set of operations: of each stream all up to a position.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(BTreeMap<u32, u64>);

impl Clock {
    pub(crate) fn covers(&self, point: Point) -> bool {
        self.0.get(&point.stream).is_some_and(|&position| point.position <= position)
    }

    pub(crate) fn add(&mut self, point: Point) {
        let position = self.0.entry(point.stream).or_default();
        *position = point.position.max(*position);
    }

    pub(crate) fn join(&mut self, other: &Self) {
        for point in other.points() {
            self.add(point);
        }
    }

    /// The last operation of each stream.
    pub(crate) fn points(&self) -> impl Iterator<Item = Point> {
        self.0.iter().map(|(&stream, &position)| Point { stream, position })
    }

    /// Forgets a stream that is gone.
    pub(crate) fn forget(&mut self, stream: u32) {
        self.0.remove(&stream);
    }
}
