//! Memory of Python objects, lent to jobs that take long: Ctrl-C ends the waiting for the job, which keeps the memory.

use std::slice;

use pyo3::prelude::*;
use usm_array::usm_memory::UsmBuffer;

use crate::buffer_import::HostBytes;
use crate::interrupt::{self, Pass};

impl HostBytes {
    /// Runs `job`, which is a pass that writes `target`, on the bytes; as `with`, and a long one on a thread of its own.
    pub(crate) fn lend<T: Send + 'static>(
        self,
        py: Python<'_>,
        target: &UsmBuffer,
        pass: Pass,
        job: impl FnOnce(&[u8]) -> T + Send + 'static,
    ) -> PyResult<T> {
        if !pass.is_long(target.is_host_reachable()) || self.overlaps(target) {
            return self.with(py, target, job);
        }
        interrupt::run(py, self.len(), move || {
            // SAFETY: P1, P2 of the buffer, which this job owns; it is not empty. That no other thread writes the bytes meanwhile
            // is up to the Python program, as for every consumer of the buffer protocol.
            let bytes = unsafe { slice::from_raw_parts(self.start().cast_const(), self.len()) };
            job(bytes)
        })
    }

    /// As `lend`, for a pass that reads `source` and writes the bytes.
    pub(crate) fn lend_mut<T: Send + 'static>(
        mut self,
        py: Python<'_>,
        source: &UsmBuffer,
        pass: Pass,
        job: impl FnOnce(&mut [u8]) -> T + Send + 'static,
    ) -> PyResult<T> {
        if !pass.is_long(source.is_host_reachable()) || self.overlaps(source) {
            return self.with_mut(py, source, job);
        }
        interrupt::run(py, self.len(), move || {
            // SAFETY: as in `lend`, of a buffer that said it is writable.
            let bytes = unsafe { slice::from_raw_parts_mut(self.start(), self.len()) };
            job(bytes)
        })
    }
}
