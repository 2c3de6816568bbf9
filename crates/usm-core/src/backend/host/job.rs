//! What a job does to memory, with addresses that are resolved already.

use std::sync::Arc;

use crate::backend::HostTask;
use crate::bulk;

/// Memory that a job uses: where its bytes are, and, for USM, the sign that keeps the block from being reused meanwhile.
#[derive(Debug)]
pub(super) struct JobMemory {
    pub(super) bytes: *mut u8,
    pub(super) _in_use: Option<Arc<()>>,
}

/// The work of a job.
#[derive(Debug)]
pub(super) enum Work {
    /// None: a barrier or a hint, of which only the order matters.
    Nothing,
    /// Invariant J1: both ranges of `len_bytes` bytes are valid, for writing and reading, until the job is complete.
    Copy { dst: JobMemory, src: JobMemory, len_bytes: usize },
    /// Invariant J2: the range of `count * len` bytes is valid for writing until the job is complete; `len` is 1 to 16.
    Fill { dst: JobMemory, pattern: [u8; 16], len: usize, count: usize },
    /// Invariant J3: each operand is valid for what the task does with it until the job is complete.
    Task { memory: Vec<JobMemory>, len_bytes: usize, task: HostTask },
}

// SAFETY: J1 to J3 hold on every thread: the submitter promises valid memory until the end, wherever the job runs.
unsafe impl Send for Work {}

impl Work {
    /// Bytes that are written, or about as many, which tells how long it takes.
    pub(super) fn len_bytes(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Copy { len_bytes, .. } | Self::Task { len_bytes, .. } => *len_bytes,
            Self::Fill { len, count, .. } => len * count,
        }
    }

    /// Does it. The signs of use end with it.
    ///
    /// # Errors
    /// Why a task failed.
    pub(super) fn run(self) -> Result<(), String> {
        match self {
            Self::Nothing => {}
            Self::Copy { dst, src, len_bytes } => {
                // SAFETY: J1.
                unsafe { bulk::copy(dst.bytes, src.bytes, len_bytes) };
            }
            Self::Fill { dst, pattern, len, count } => {
                // SAFETY: J2.
                unsafe { bulk::fill(dst.bytes, &pattern[..len], len * count) };
            }
            Self::Task { memory, task, .. } => {
                let addresses: Vec<_> = memory.iter().map(|operand| operand.bytes).collect();
                return task.run(&addresses);
            }
        }
        Ok(())
    }
}
