//! Arrays from other objects, and NumPy arrays from ours.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use usm_array::usm_core::UsmKind;
use usm_array::{BufferSource, Dtype, UsmArray};

use super::UsmNdarray;
use crate::buffer_import::{HostBuffer, HostBytes};
use crate::errors::{OrRaise, OrValueError};
use crate::interface::import::{import_array, interface_of};
use crate::memory::{Memory, kind_argument};
use crate::sycl::queue_argument;

/// asarray(obj, *, usm_type=None, sycl_queue=None)
///
/// An array over the memory of an object with ``__sycl_usm_array_interface__``, without a copy, unless `usm_type` or
/// `sycl_queue` ask for another place. From an object with the buffer protocol a copy in USM: of kind "device" on the default
/// queue unless said otherwise.
///
/// Raises TypeError or ValueError that starts with the key of the interface that is wrong.
#[pyfunction]
#[pyo3(signature = (obj, *, usm_type=None, sycl_queue=None))]
pub(crate) fn asarray<'py>(
    obj: &Bound<'py, PyAny>,
    usm_type: Option<&str>,
    sycl_queue: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = obj.py();
    let kind = usm_type.map(|text| kind_argument("usm_type", text)).transpose()?;
    let has_interface = obj.is_instance_of::<UsmNdarray>() || obj.is_instance_of::<Memory>();
    let array = if has_interface || interface_of(obj)?.is_some() {
        let array = import_array(obj)?;
        let queue = sycl_queue.map(|queue| queue_argument(py, "sycl_queue", Some(queue))).transpose()?;
        let stays = kind.is_none_or(|kind| kind == array.kind())
            && queue.as_ref().is_none_or(|queue| queue == array.queue());
        if stays && obj.is_instance_of::<UsmNdarray>() {
            return Ok(obj.clone());
        }
        if stays {
            array
        } else {
            let (queue, kind) = (queue.as_ref().unwrap_or(array.queue()), kind.unwrap_or(array.kind()));
            py.detach(|| array.copy_to(queue, kind)).or_raise()?
        }
    } else {
        let queue = queue_argument(py, "sycl_queue", sycl_queue)?;
        from_buffer(obj, kind.unwrap_or(UsmKind::Device), &queue)?
    };
    Ok(Bound::new(py, UsmNdarray::from_array(array))?.into_any())
}

fn from_buffer(
    obj: &Bound<'_, PyAny>,
    kind: UsmKind,
    queue: &usm_array::usm_core::Queue,
) -> PyResult<UsmArray> {
    let buffer = HostBuffer::get("obj", obj)?;
    let dtype = Dtype::from_buffer_format(&buffer.format()).or_value_error("obj")?;
    if buffer.itemsize_bytes() != dtype.itemsize_bytes() {
        return Err(PyValueError::new_err(format!(
            "obj: found items of {} bytes in a buffer of {dtype}, allowed are {}",
            buffer.itemsize_bytes(),
            dtype.itemsize_bytes()
        )));
    }
    let shape = buffer.shape();
    let array = UsmArray::builder(&shape, dtype).build(BufferSource::Allocate { kind, queue }).or_raise()?;
    let bytes = contiguous(obj, buffer)?;
    bytes.with(obj.py(), array.buffer(), |bytes| array.copy_from_host_contiguous(bytes))?.or_raise()?;
    Ok(array)
}

/// The buffer itself when it is C-contiguous, else a contiguous copy of it by Python's own means.
fn contiguous(obj: &Bound<'_, PyAny>, buffer: HostBuffer) -> PyResult<HostBytes> {
    if buffer.is_c_contiguous() {
        return HostBytes::of("obj", buffer);
    }
    let view = obj.py().import("builtins")?.getattr("memoryview")?.call1((obj,))?;
    HostBytes::readable("obj", &view.call_method0("tobytes")?)
}

/// asnumpy(a)
///
/// A NumPy array with a copy of the elements, from USM of any kind.
///
/// Raises ImportError without NumPy.
#[pyfunction]
pub(crate) fn asnumpy<'py>(a: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    to_numpy(a.py(), &import_array(a)?)
}

pub(super) fn to_numpy<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyAny>> {
    let shape = PyTuple::new(py, array.shape())?;
    let result = py.import("numpy")?.call_method1("empty", (shape, array.dtype().to_string()))?;
    let mut bytes = HostBytes::writable("numpy.empty", &result)?;
    bytes.with_mut(py, array.buffer(), |bytes| array.copy_to_host_contiguous(bytes))?.or_raise()?;
    Ok(result)
}
