//! Linux: event loops watch files, so a pipe is the signal.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::task::Wake;

/// A pipe that has a byte from the first wake on. The thread that wakes calls no Python, so the end of the interpreter or of a loop
/// does not concern it. It keeps both ends: a write to a pipe without a reader could end the process.
pub(super) struct Signal {
    reader: PipeReader,
    writer: PipeWriter,
}

impl Signal {
    pub(super) fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self { reader, writer })
    }

    /// The descriptor that becomes readable.
    pub(super) fn fileno(&self) -> i32 {
        self.reader.as_raw_fd()
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        // A full pipe would be readable, too.
        drop((&self.writer).write(&[1]));
    }
}
