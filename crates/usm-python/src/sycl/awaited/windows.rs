//! Windows: no event loop watches a pipe, so there is no signal, and the task looks again after a pause.

use std::io;
use std::sync::Arc;
use std::task::Wake;

/// Nothing.
pub(super) struct Signal;

impl Signal {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self)
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {}
}
