//! What the table of borrows knows of the thread that calls it.

use std::cell::Cell;

use usm_core::HostTask;

/// How host code uses addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// A view that a user holds. It may last for ever, and may move to another thread.
    View,
    /// An operation of the thread that entered it. The thread may enter further ranges, and only reads these.
    Open,
    /// As `Open`, but the operation needs no further range to come to its end.
    Closed,
}

/// The entries of operations that a thread has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    pub(crate) open: u32,
    pub(crate) closed: u32,
}

thread_local! {
    static HELD: Cell<Held> = const { Cell::new(Held { open: 0, closed: 0 }) };
    /// Its address is the name of the thread.
    static THREAD: Cell<u8> = const { Cell::new(0) };
}

/// The entries of this thread. A thread at its end has none that others may wait for. A host task counts as one: somebody may wait for its
/// event who has entries.
pub(crate) fn held() -> Held {
    let held = HELD.try_with(Cell::get).unwrap_or_default();
    if HostTask::is_running() { held.changed(Use::Closed, |number| number + 1) } else { held }
}

pub(crate) fn this_thread() -> usize {
    THREAD.try_with(|place| std::ptr::from_ref(place).addr()).unwrap_or(0)
}

/// Changes the number of entries of this thread.
pub(crate) fn count(kind: Use, change: impl Fn(u32) -> u32) {
    // A thread at its end holds entries only while it waits for nothing.
    let _ = HELD.try_with(|held| held.set(held.get().changed(kind, change)));
}

impl Held {
    pub(crate) fn is_none(self) -> bool {
        self.open == 0 && self.closed == 0
    }

    pub(crate) fn changed(mut self, kind: Use, change: impl Fn(u32) -> u32) -> Self {
        match kind {
            Use::View => {}
            Use::Open => self.open = change(self.open),
            Use::Closed => self.closed = change(self.closed),
        }
        self
    }
}
