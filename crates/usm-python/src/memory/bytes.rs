//! The content of memory as Python's bytes.

use std::ptr;
use std::slice;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use usm_array::usm_memory::UsmBuffer;

use crate::errors::OrRaise;

/// Bytes copied at a time. A thread that may outlast a call cannot use Python's bytes: Ctrl-C comes between pieces.
const PIECE_BYTES: usize = 16 << 20;

/// The content of the buffer. New pages are touched piece by piece, too, which takes longer than the copy.
pub(super) fn content<'py>(py: Python<'py>, buffer: &UsmBuffer) -> PyResult<Bound<'py, PyBytes>> {
    let len_bytes = buffer.len_bytes();
    // SAFETY: PY2: asks for a new object, whose bytes are not looked at before they are written.
    let object = unsafe { ffi::PyBytes_FromStringAndSize(ptr::null(), len_bytes.cast_signed()) };
    // SAFETY: PY2: ours, or null with an exception set.
    let bytes = unsafe { Bound::from_owned_ptr_or_err(py, object) }?;
    // SAFETY: PY1: a bytes object.
    let start = unsafe { ffi::PyBytes_AsString(bytes.as_ptr()) }.cast::<u8>();
    for offset_bytes in (0..len_bytes).step_by(PIECE_BYTES) {
        let piece_bytes = PIECE_BYTES.min(len_bytes - offset_bytes);
        let piece = start.wrapping_add(offset_bytes);
        // SAFETY: PY1: within the object, which nobody else has.
        unsafe { ptr::write_bytes(piece, 0, piece_bytes) };
        // SAFETY: PY1: within the object, which nobody else has, and written now.
        let piece = unsafe { slice::from_raw_parts_mut(piece, piece_bytes) };
        py.detach(|| buffer.copy_to_host(piece, offset_bytes)).or_raise()?;
        py.check_signals()?;
    }
    Ok(bytes.cast_into()?)
}
