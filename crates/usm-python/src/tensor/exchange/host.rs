//! Elements in the buffer of an object, in any layout.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use usm_array::HostElements as _;
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{CopyOrder, Dtype, Layout, Order, UsmArray, Work};

use crate::buffer_import::{HostBuffer, HostSpan};
use crate::errors::{OrRaise, type_name};
use crate::imported;
use crate::interrupt;
use crate::tensor::arguments::narrow_dtype_of;
use crate::tensor::construct::in_new_memory;

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
        let refusal = || unsupported_dtype(name, object);
        let buffer = match HostBuffer::get(name, object) {
            Ok(buffer) => buffer,
            // Not a refusal, and lost where the questions below raise.
            Err(error) if !error.is_instance_of::<PyTypeError>(object.py()) => return Err(error),
            Err(error) => match narrow_dtype_of(object)? {
                // NumPy has no buffer of them.
                Some(dtype) => return Self::of_bits(name, object, dtype),
                None => return Err(refusal().unwrap_or(error)),
            },
        };
        let wrong = |why: String| {
            let found = match numpy_dtype(object) {
                Ok(Some((_, dtype))) => format!("{} of {dtype}", type_name(object)),
                Ok(None) => type_name(object),
                Err(raised) => return raised,
            };
            type_error!("{name}: found a buffer of {found}: {why}")
        };
        let dtype = Dtype::from_buffer_format(&buffer.format())
            .map_err(|error| refusal().unwrap_or_else(|| wrong(error.to_string())))?;
        // NumPy's times are bytes in their buffer.
        if dtype == Dtype::U8
            && let Some(error) = refusal()
        {
            return Err(error);
        }
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
        let view = imported::import(object.py(), intern!(object.py(), "builtins"))?
            .getattr("memoryview")?
            .call1((object,))?;
        let layout = Layout::contiguous(&shape, Order::C).or_raise()?;
        let buffer = HostBuffer::get(name, &view.call_method0("tobytes")?)?;
        Ok(Self { dtype, span: HostSpan::of(buffer, &layout, dtype.itemsize_bytes()), layout })
    }

    /// The elements of an array or a number of NumPy with a dtype of ml_dtypes, by way of their bits.
    fn of_bits(name: &str, object: &Bound<'_, PyAny>, dtype: Dtype) -> PyResult<Self> {
        let bits = dtype.narrow_bits().map(Dtype::name);
        let bits = object.call_method1(intern!(object.py(), "view"), (bits,))?;
        Ok(Self { dtype, ..Self::of(name, &bits)? })
    }

    /// A new array of the elements.
    pub(super) fn into_array(
        self,
        py: Python<'_>,
        queue: &Queue,
        kind: UsmKind,
        dtype: Dtype,
        order: CopyOrder,
    ) -> PyResult<Box<UsmArray>> {
        let packed = self.layout.packed(order).or_raise()?;
        let builder = UsmArray::builder(packed.shape(), dtype).strides(packed.strides());
        let array = in_new_memory(py, builder, kind, queue)?;
        let (target, work) = (UsmArray::clone(&array), Work::of_elements(&array));
        let job = move |elements: &Self| elements.copy_to(&target);
        interrupt::run_on(py, work, self, job)?.or_raise()?;
        Ok(array)
    }
}

impl usm_array::HostElements for HostElements {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    fn copy_to(&self, target: &UsmArray) -> usm_array::Result<()> {
        self.span.copy_to(target, self.dtype, &self.layout)
    }
}

/// The kind and the name of the dtype of an array or number of NumPy.
fn numpy_dtype(object: &Bound<'_, PyAny>) -> PyResult<Option<(char, String)>> {
    let py = object.py();
    let Some(dtype) = object.getattr_opt(intern!(py, "dtype"))? else { return Ok(None) };
    let Some(kind) = dtype.getattr_opt(intern!(py, "kind"))? else { return Ok(None) };
    let Ok(kind) = kind.extract::<char>() else { return Ok(None) };
    Ok(Some((kind, dtype.str()?.to_string_lossy().into_owned())))
}

/// The refusal of elements that are no numbers, with the name that NumPy gives them.
fn unsupported_dtype(name: &str, object: &Bound<'_, PyAny>) -> Option<PyErr> {
    let (kind, dtype) = match numpy_dtype(object) {
        Ok(found) => found.filter(|(kind, _)| !"biufc".contains(*kind))?,
        Err(raised) => return Some(raised),
    };
    let hint = if "mM".contains(kind) { "; x.view(\"int64\") has the counts of time units" } else { "" };
    Some(type_error!(
        "{name}: found elements of {dtype}, allowed are booleans, integers, real and complex numbers{hint}"
    ))
}
