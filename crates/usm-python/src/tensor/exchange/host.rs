//! Elements in the buffer of an object, in any layout.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{BufferSource, CopyOrder, Dtype, Layout, Order, UsmArray};

use crate::buffer_import::{HostBuffer, HostSpan};
use crate::errors::{OrRaise, type_name};

/// Elements in host memory of another object, which is held.
pub(super) struct HostElements {
    pub(super) dtype: Dtype,
    /// From the first byte of the span on.
    layout: Layout,
    span: HostSpan,
}

impl HostElements {
    /// The elements of an object with the buffer protocol; `name` is what messages call it.
    pub(super) fn of(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = HostBuffer::get(name, object)?;
        let wrong = |why: String| {
            PyTypeError::new_err(format!("{name}: found a buffer of {}: {why}", type_name(object)))
        };
        let dtype = Dtype::from_buffer_format(&buffer.format()).map_err(|error| wrong(error.to_string()))?;
        if buffer.itemsize_bytes() != dtype.itemsize_bytes() {
            return Err(wrong(format!(
                "items of {} bytes, allowed for {dtype} are {}",
                buffer.itemsize_bytes(),
                dtype.itemsize_bytes()
            )));
        }
        let shape = buffer.shape();
        if let Some(strides) = buffer.strides_in_items() {
            let layout = Layout::with_automatic_offset(&shape, strides.as_deref(), Order::C).or_raise()?;
            return Ok(Self { dtype, span: HostSpan::of(buffer, &layout, dtype.itemsize_bytes()), layout });
        }
        // Items that are no whole number of items apart, or behind pointers: Python puts them side by side.
        let view = object.py().import("builtins")?.getattr("memoryview")?.call1((object,))?;
        let layout = Layout::contiguous(&shape, Order::C).or_raise()?;
        let buffer = HostBuffer::get(name, &view.call_method0("tobytes")?)?;
        Ok(Self { dtype, span: HostSpan::of(buffer, &layout, dtype.itemsize_bytes()), layout })
    }

    pub(super) fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Copies the elements to an array of their shape, cast to its dtype.
    pub(super) fn copy_to(&self, py: Python<'_>, array: &UsmArray) -> PyResult<()> {
        let job = |bytes: &[u8]| array.copy_from_host_strided(bytes, self.dtype, &self.layout);
        self.span.with(py, array.buffer(), job)?.or_raise()
    }

    /// A new array of the elements.
    pub(super) fn into_array(
        self,
        py: Python<'_>,
        queue: &Queue,
        kind: UsmKind,
        dtype: Dtype,
        order: CopyOrder,
    ) -> PyResult<UsmArray> {
        let packed = self.layout.packed(order).or_raise()?;
        let builder = UsmArray::builder(packed.shape(), dtype).strides(Some(packed.strides()));
        let array = py.detach(|| builder.build(BufferSource::Allocate { kind, queue })).or_raise()?;
        let Self { dtype, span, layout } = self;
        let target = array.clone();
        let job = move |bytes: &[u8]| target.copy_from_host_strided(bytes, dtype, &layout);
        span.lend(py, array.buffer(), job)?.or_raise()?;
        Ok(array)
    }
}
