//! What the table of borrows knows of the thread that calls it.

use std::cell::Cell;

use super::table::Use;

/// The entries of operations that a thread has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    pub(super) open: u32,
    pub(super) closed: u32,
}

thread_local! {
    static HELD: Cell<Held> = const { Cell::new(Held { open: 0, closed: 0 }) };
    /// Its address is the name of the thread.
    static THREAD: Cell<u8> = const { Cell::new(0) };
}

/// The entries of this thread. A thread at its end has none that others may wait for.
pub(super) fn held() -> Held {
    HELD.try_with(Cell::get).unwrap_or_default()
}

pub(super) fn this_thread() -> usize {
    THREAD.try_with(|place| std::ptr::from_ref(place).addr()).unwrap_or(0)
}

/// Changes the number of entries of this thread.
pub(super) fn count(kind: Use, change: impl Fn(u32) -> u32) {
    // A thread at its end holds entries only while it waits for nothing.
    let _ = HELD.try_with(|held| held.set(held.get().changed(kind, change)));
}

impl Held {
    pub(super) fn is_none(self) -> bool {
        self.open == 0 && self.closed == 0
    }

    pub(super) fn changed(mut self, kind: Use, change: impl Fn(u32) -> u32) -> Self {
        match kind {
            Use::View => {}
            Use::Open => self.open = change(self.open),
            Use::Closed => self.closed = change(self.closed),
        }
        self
    }
}
