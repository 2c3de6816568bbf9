//! Bytes of Python objects with the buffer protocol.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::errors::type_name;

/// A C-contiguous buffer, held while it is used.
pub(crate) struct HostBytes {
    /// Invariant P1: contiguous, so that `buf_ptr` leads to `len_bytes` bytes as long as the buffer is held.
    buffer: PyUntypedBuffer,
}

impl HostBytes {
    pub(crate) fn readable(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(object).map_err(|error| {
            PyTypeError::new_err(format!(
                "{name}: found {}, allowed is an object with the buffer protocol ({error})",
                type_name(object)
            ))
        })?;
        if !buffer.is_c_contiguous() {
            return Err(PyValueError::new_err(format!(
                "{name}: found a strided buffer, allowed is a C-contiguous one"
            )));
        }
        Ok(Self { buffer })
    }

    pub(crate) fn writable(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bytes = Self::readable(name, object)?;
        if bytes.buffer.readonly() {
            return Err(PyValueError::new_err(format!(
                "{name}: found a read-only buffer, allowed is a writable one"
            )));
        }
        Ok(bytes)
    }

    pub(crate) fn len(&self) -> usize {
        self.buffer.len_bytes()
    }

    pub(crate) fn check_len(&self, name: &str, least: usize) -> PyResult<()> {
        if self.len() < least {
            let message = format!("{name}: found {} bytes, allowed are at least {least}", self.len());
            return Err(PyValueError::new_err(message));
        }
        Ok(())
    }

    /// Runs `job` on the bytes, with other Python threads running meanwhile.
    pub(crate) fn with<T: Send>(&self, py: Python<'_>, job: impl FnOnce(&[u8]) -> T + Send) -> T {
        let (start, len) = (self.buffer.buf_ptr().cast::<u8>().cast_const(), self.len());
        let bytes: &[u8] = if len == 0 {
            &[]
        } else {
            // SAFETY: P1. That no other thread writes the bytes meanwhile is up to the Python program, as for every consumer of
            // the buffer protocol.
            unsafe { std::slice::from_raw_parts(start, len) }
        };
        py.detach(|| job(bytes))
    }

    /// As `with`, for writing.
    pub(crate) fn with_mut<T: Send>(&mut self, py: Python<'_>, job: impl FnOnce(&mut [u8]) -> T + Send) -> T {
        let (start, len) = (self.buffer.buf_ptr().cast::<u8>(), self.len());
        let bytes: &mut [u8] = if len == 0 {
            &mut []
        } else {
            // SAFETY: P1, of a buffer that said it is writable; else as in `with`.
            unsafe { std::slice::from_raw_parts_mut(start, len) }
        };
        py.detach(|| job(bytes))
    }
}
