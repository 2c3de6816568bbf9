//! What a job does to memory, with addresses that are resolved already.

use std::sync::Arc;

use crate::backend::HostTask;
use crate::copy_bytes;

/// Longest piece that a fill copies at once, so that it is read from a near cache.
const FILL_STEP_BYTES: usize = 16 * 1024;

/// Memory that a job uses: where its bytes are, and, for USM, the sign that keeps the block from being reused meanwhile.
#[derive(Debug)]
pub(super) struct Operand {
    pub(super) bytes: *mut u8,
    pub(super) _in_use: Option<Arc<()>>,
}

/// The work of a job.
#[derive(Debug)]
pub(super) enum Work {
    /// None: a barrier or a hint, of which only the order matters.
    Nothing,
    /// Invariant J1: both ranges of `len_bytes` bytes are valid, for writing and reading, until the job has ended.
    Copy { dst: Operand, src: Operand, len_bytes: usize },
    /// Invariant J2: the range of `count * len` bytes is valid for writing until the job has ended; `len` is 1 to 16.
    Fill { dst: Operand, pattern: [u8; 16], len: usize, count: usize },
    /// Invariant J3: each operand is valid for what the task does with it until the job has ended.
    Task { memory: Vec<Operand>, len_bytes: usize, task: HostTask },
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
                unsafe { copy_bytes(dst.bytes, src.bytes, len_bytes) };
            }
            Self::Fill { dst, pattern, len, count } => {
                // SAFETY: J2.
                unsafe { fill(dst.bytes, &pattern[..len], count) };
            }
            Self::Task { memory, task, .. } => {
                let addresses: Vec<_> = memory.iter().map(|operand| operand.bytes).collect();
                return task.run(&addresses);
            }
        }
        Ok(())
    }
}

/// # Safety
/// 1. The range of `count * pattern.len()` bytes at `start` is valid for writing.
unsafe fn fill(start: *mut u8, pattern: &[u8], count: usize) {
    let len_bytes = pattern.len() * count;
    let first = pattern.len().min(len_bytes);
    // SAFETY: the caller's promise 1; the pattern is borrowed, so no part of the range.
    unsafe { std::ptr::copy_nonoverlapping(pattern.as_ptr(), start, first) };
    // What is written doubles at each step up to a limit; `done` stays a multiple of the pattern's length.
    let limit = FILL_STEP_BYTES / first.max(1) * first;
    let mut done = first;
    while done < len_bytes {
        let step = done.min(limit).min(len_bytes - done);
        // SAFETY: `done` is below the length of the range (promise 1).
        let next = unsafe { start.add(done) };
        // SAFETY: the two parts of the range (promise 1) do not overlap, since `step` is at most `done`.
        unsafe { std::ptr::copy_nonoverlapping(start, next, step) };
        done += step;
    }
}
