//! The process that loaded the runtime: a forked child has no threads of it, and maybe locks that nobody opens.

use super::SyclBackend;
use crate::backend::host::fork;
use crate::{Error, Result};

/// The process that made a backend, as far as forks go.
#[derive(Debug)]
pub(super) struct Process {
    generation: u64,
}

impl Process {
    pub(super) fn this() -> Self {
        Self { generation: fork::generation() }
    }
}

impl SyclBackend {
    /// In a forked child nothing of the runtime is called.
    pub(super) fn is_forked(&self) -> bool {
        fork::generation() != self.process.generation
    }

    pub(super) fn check_not_forked(&self) -> Result<()> {
        if self.is_forked() { Err(Error::ForkedRuntime) } else { Ok(()) }
    }
}
