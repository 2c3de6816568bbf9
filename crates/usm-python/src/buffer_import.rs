//! Memory of Python objects with the buffer protocol (PEP 3118).

use std::ffi::CStr;

use pyo3::exceptions::{PyBufferError, PyException, PyMemoryError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;

use usm_array::usm_core::{Queue, UsmKind, bulk};
use usm_array::usm_memory::UsmBuffer;
use usm_array::{Dtype, Layout, UsmArray, Work};

use crate::called;
use crate::errors::{OrRaise, in_place_of, is_refusal, type_name, wrong_type};
use crate::held::give_back;
use crate::interrupt;

/// The most axes of a buffer: `PyBUF_MAX_NDIM`.
const MAX_NDIM: usize = 64;

/// A buffer, held as long as this lives.
pub(crate) struct HostBuffer {
    /// Invariant P1: filled by `PyObject_GetBuffer` and not released. In a box, since exporters may keep the view's address.
    view: Box<ffi::Py_buffer>,
}

// SAFETY: P1; the view is only read, and released with the interpreter attached.
unsafe impl Send for HostBuffer {}
// SAFETY: P1, as for Send.
unsafe impl Sync for HostBuffer {}

impl HostBuffer {
    /// Takes the object's buffer with everything it says about itself; read-only ones, too. A refusal is a `TypeError`; other exceptions
    /// of the object's code stay as they are.
    pub(crate) fn get(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: PY1: an object, and a view to fill.
        let call = || unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *view, ffi::PyBUF_FULL_RO) };
        let status = called::python(object.py(), call);
        if status == 0 {
            let buffer = Self { view };
            return if buffer.is_consistent() {
                Ok(buffer)
            } else {
                Err(value_error!(
                    "{name}: found a buffer whose length is not that of the items of its shape, allowed is one with {} bytes \
                     in all its items",
                    buffer.view.len
                ))
            };
        }
        let error = PyErr::fetch(object.py());
        if !is_refusal(&error, object.py()) {
            return Err(error);
        }
        Err(type_error!(
            "{name}: found {}, allowed is an object with the buffer protocol ({error})",
            type_name(object)
        ))
    }

    /// Whether the length is that of the items, as PEP 3118 says. Python itself trusts both.
    fn is_consistent(&self) -> bool {
        let (Ok(len_bytes), Ok(itemsize_bytes)) =
            (usize::try_from(self.view.len), usize::try_from(self.view.itemsize))
        else {
            return false;
        };
        let ndim = usize::try_from(self.view.ndim).unwrap_or(usize::MAX);
        if ndim > MAX_NDIM {
            return false;
        }
        if self.view.shape.is_null() {
            return true; // one axis of all items, or none
        }
        // SAFETY: P1: as many sizes as there are axes.
        let shape = unsafe { std::slice::from_raw_parts(self.view.shape, ndim) };
        let is_empty = shape.contains(&0);
        let in_shape = shape.iter().try_fold(itemsize_bytes, |bytes, &size| match usize::try_from(size) {
            Ok(_) if is_empty => Some(0),
            Ok(size) => bytes.checked_mul(size),
            Err(_) => None,
        });
        in_shape == Some(len_bytes)
    }

    pub(crate) fn address(&self) -> usize {
        self.view.buf.addr()
    }

    pub(crate) fn len_bytes(&self) -> usize {
        usize::try_from(self.view.len).unwrap_or(0)
    }

    pub(crate) fn itemsize_bytes(&self) -> usize {
        usize::try_from(self.view.itemsize).unwrap_or(0)
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.view.readonly != 0
    }

    pub(crate) fn is_c_contiguous(&self) -> bool {
        // SAFETY: P1.
        unsafe { ffi::PyBuffer_IsContiguous(&raw const *self.view, b'C' as _) != 0 }
    }

    /// The format of an item; bytes when the exporter names none.
    pub(crate) fn format(&self) -> String {
        if self.view.format.is_null() {
            return "B".to_owned();
        }
        // SAFETY: P1: a string that lives as long as the view.
        unsafe { CStr::from_ptr(self.view.format) }.to_string_lossy().into_owned()
    }

    /// Items along each axis. An exporter that names none has no axis, or one of all its items.
    pub(crate) fn shape(&self) -> Vec<usize> {
        let ndim = usize::try_from(self.view.ndim).unwrap_or(0);
        if ndim == 0 {
            return Vec::new();
        }
        if self.view.shape.is_null() {
            return vec![self.len_bytes().checked_div(self.itemsize_bytes()).unwrap_or(0)];
        }
        // SAFETY: P1: as many sizes as there are axes.
        let shape = unsafe { std::slice::from_raw_parts(self.view.shape, ndim) };
        shape.iter().map(|&size| usize::try_from(size).unwrap_or(0)).collect()
    }

    /// Items from one index to the next along each axis: of an exporter that names no strides `Some(None)`, which is row-major.
    /// `None` where strides are no whole items, or items are behind pointers.
    pub(crate) fn strides_in_items(&self) -> Option<Option<Vec<isize>>> {
        if !self.view.suboffsets.is_null() {
            return None;
        }
        let ndim = usize::try_from(self.view.ndim).unwrap_or(0);
        if self.view.strides.is_null() || self.view.shape.is_null() || ndim == 0 {
            return Some(None);
        }
        // SAFETY: P1: as many strides as there are axes.
        let strides_bytes = unsafe { std::slice::from_raw_parts(self.view.strides, ndim) };
        let itemsize_bytes = self.view.itemsize.max(1);
        let whole = |&stride: &isize| (stride % itemsize_bytes == 0).then_some(stride / itemsize_bytes);
        strides_bytes.iter().map(whole).collect::<Option<Vec<isize>>>().map(Some)
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        // SAFETY: P1; released once, with the interpreter.
        give_back(|| unsafe { ffi::PyBuffer_Release(&raw mut *self.view) });
    }
}

/// The bytes of a C-contiguous buffer.
pub(crate) struct HostBytes {
    /// Invariant P2: C-contiguous, so that its address leads to `len_bytes` bytes.
    buffer: HostBuffer,
}

impl HostBytes {
    pub(crate) fn readable(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::of(name, HostBuffer::get(name, object)?)
    }

    /// The bytes of a buffer that was taken already.
    pub(crate) fn of(name: &str, buffer: HostBuffer) -> PyResult<Self> {
        if buffer.is_c_contiguous() {
            return Ok(Self { buffer });
        }
        Err(value_error!("{name}: found a strided buffer, allowed is a C-contiguous one"))
    }

    /// The bytes of an operand that is no USM memory.
    pub(crate) fn source(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::readable(name, object).map_err(|error| no_operand(name, object, error))
    }

    /// As `source`, of a buffer that is writable.
    pub(crate) fn target(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::writable(name, object).map_err(|error| no_operand(name, object, error))
    }

    pub(crate) fn writable(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bytes = Self::readable(name, object)?;
        if bytes.buffer.is_read_only() {
            return Err(PyBufferError::new_err(format!(
                "{name}: found a read-only buffer, allowed is a writable one"
            )));
        }
        Ok(bytes)
    }

    pub(crate) fn len(&self) -> usize {
        self.buffer.len_bytes()
    }

    /// The bytes as USM of that kind, without a copy, which keeps the buffer; the buffer where that is not possible.
    pub(crate) fn into_usm(self, queue: &Queue, kind: UsmKind) -> Result<UsmBuffer, Self> {
        let (address, len_bytes, writable) = (self.buffer.address(), self.len(), !self.buffer.is_read_only());
        // SAFETY: 1. P1, P2. 2. That no other thread writes the bytes meanwhile is up to the Python program, as for every consumer of the
        // buffer protocol.
        unsafe { UsmBuffer::borrow_host_memory(queue, kind, address, len_bytes, writable, self) }
    }

    /// The first byte; to be written only if the buffer is writable, and used only while this lives.
    pub(crate) fn start(&self) -> *mut u8 {
        self.buffer.view.buf.cast()
    }

    pub(crate) fn check_len(&self, name: &str, least: usize) -> PyResult<()> {
        if self.len() < least {
            return Err(value_error!("{name}: found {} bytes, allowed are at least {least}", self.len()));
        }
        Ok(())
    }

    /// The first `count` bytes, which the buffer has. No reference leads to them: other threads of the Python program, and what a copy
    /// writes, may reach the same memory.
    fn first(&self, count: usize) -> *mut [u8] {
        std::ptr::slice_from_raw_parts_mut(self.start(), count.min(self.len()))
    }

    /// Copies the first `count` bytes to the start of a buffer.
    pub(crate) fn copy_to_buffer(self, py: Python<'_>, target: &UsmBuffer, count: usize) -> PyResult<()> {
        let to = target.clone();
        // SAFETY: 1. P1, P2. 2. That no other thread writes the bytes meanwhile is up to the Python program, as for every consumer of the
        // buffer protocol.
        let job = move |this: &Self| unsafe { to.copy_from_host_memory(this.first(count), 0) };
        interrupt::run_on(py, Work::of_bytes(count, &[target]), self, job)?.or_raise()
    }

    /// Copies as many bytes from the start of a buffer to the first ones here, which are writable.
    pub(crate) fn copy_from_buffer(self, py: Python<'_>, source: &UsmBuffer, count: usize) -> PyResult<()> {
        let from = source.clone();
        // SAFETY: 1. P1, P2, of a buffer that said it is writable. 2. That no other thread uses the bytes meanwhile is up to the Python
        // program.
        let job = move |this: &Self| unsafe { from.copy_to_host_memory(this.first(count), 0) };
        interrupt::run_on(py, Work::of_bytes(count, &[source]), self, job)?.or_raise()
    }

    /// Copies all bytes, elements in row-major order, to an array.
    pub(crate) fn copy_to_array(self, py: Python<'_>, target: &UsmArray) -> PyResult<()> {
        let to = target.clone();
        // SAFETY: P1, as for a buffer.
        let job = move |this: &Self| unsafe { to.copy_from_host_memory_contiguous(this.first(this.len())) };
        interrupt::run_on(py, Work::of_elements(target), self, job)?.or_raise()
    }

    /// Copies all elements of an array, in row-major order, to the bytes, which are writable.
    pub(crate) fn copy_from_array(self, py: Python<'_>, source: &UsmArray) -> PyResult<()> {
        let from = source.clone();
        // SAFETY: P1, as for a buffer.
        let job = move |this: &Self| unsafe { from.copy_to_host_memory_contiguous(this.first(this.len())) };
        interrupt::run_on(py, Work::of_elements(source), self, job)?.or_raise()
    }

    /// A copy of the bytes.
    fn copied(&self) -> PyResult<Vec<u8>> {
        let mut copy = Vec::new();
        let none = |_| PyMemoryError::new_err(format!("no host memory for a copy of {} bytes", self.len()));
        copy.try_reserve_exact(self.len()).map_err(none)?;
        copy.resize(self.len(), 0);
        // SAFETY: P1, P2, and fresh memory of that length. That no other thread writes the bytes meanwhile is up to the Python program.
        unsafe { std::ptr::copy_nonoverlapping(self.start().cast_const(), copy.as_mut_ptr(), self.len()) };
        Ok(copy)
    }

    /// Copies the first `count` bytes, which both have, to bytes that are writable. The two may overlap.
    pub(crate) fn copy_to(self, py: Python<'_>, target: Self, count: usize) -> PyResult<()> {
        let job = move || {
            let (from, to) = (self.first(count), target.first(count));
            // SAFETY: P1, P2, of a buffer that said it is writable; that no other thread uses the bytes meanwhile is up to the Python
            // program, as for every consumer of the buffer protocol.
            unsafe { bulk::copy(to.cast(), from.cast_const().cast(), count) };
        };
        interrupt::run(py, Work::through(count), job)
    }

    pub(crate) fn overlaps(&self, other: &UsmBuffer) -> bool {
        let start = self.buffer.address();
        start < other.address() + other.len_bytes() && other.address() < start + self.len()
    }
}

/// A number of another library, by the buffer protocol: as NumPy and ctypes have them.
pub(crate) struct HostNumber {
    /// The letter of the module `struct`.
    kind: char,
    bytes: Vec<u8>,
}

impl HostNumber {
    /// `None` for objects that are no number in the byte order of this machine. An error is that of a signal handler.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        match HostBuffer::get("number", object) {
            Ok(buffer) => Ok(Self::in_buffer(buffer)),
            Err(error) if error.is_instance_of::<PyException>(object.py()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn in_buffer(buffer: HostBuffer) -> Option<Self> {
        let format = buffer.format();
        let order = if cfg!(target_endian = "little") { '<' } else { '>' };
        let letters = format.strip_prefix(['@', '=', '|', order]).unwrap_or(&format);
        let (mut letters, is_scalar) = (letters.chars(), buffer.shape().is_empty());
        let (kind, rest) = (letters.next()?, letters.next());
        if !is_scalar || rest.is_some() {
            return None;
        }
        let bytes = HostBytes::of("number", buffer).ok()?.copied().ok()?;
        Some(Self { kind, bytes })
    }

    pub(crate) fn kind(&self) -> char {
        self.kind
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn no_operand(name: &str, object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let allowed = "are USM memory (such as usm.memory._Memory) and objects with the buffer protocol";
    in_place_of::<PyTypeError>(object.py(), |_| wrong_type(name, object, allowed))(error)
}

/// The bytes from the lowest to the highest item of a buffer, gaps included.
pub(crate) struct HostSpan {
    /// Invariant P3: from `start` on, `len_bytes` bytes belong to the buffer.
    buffer: HostBuffer,
    start: usize,
    len_bytes: usize,
}

impl HostSpan {
    /// The span of a buffer whose items, of so many bytes, a layout describes, counted from the lowest one.
    pub(crate) fn of(buffer: HostBuffer, layout: &Layout, itemsize_bytes: usize) -> Self {
        // P3: the exporter's address is that of the first item, `offset` items above the lowest.
        let below = layout.offset().unsigned_abs() * itemsize_bytes;
        let len_bytes = layout.extent().map_or(0, |extent| extent.len() * itemsize_bytes);
        Self { start: buffer.address().wrapping_sub(below), len_bytes, buffer }
    }

    /// The lowest byte, to be used only while this lives.
    fn start(&self) -> *const u8 {
        self.buffer.view.buf.cast::<u8>().with_addr(self.start).cast_const()
    }

    /// Copies the elements of a layout, counted from the lowest byte, to an array.
    pub(crate) fn copy_to(&self, array: &UsmArray, dtype: Dtype, layout: &Layout) -> usm_array::Result<()> {
        // SAFETY: P1, P3: bytes of a buffer that is held as long as this. That no other thread writes the elements meanwhile is up
        // to the Python program, as for every consumer of the buffer protocol; the bytes between them may change.
        unsafe { array.copy_from_host_memory(self.start(), self.len_bytes, dtype, layout) }
    }
}
