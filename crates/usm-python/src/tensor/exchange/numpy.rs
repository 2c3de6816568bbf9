//! NumPy arrays from ours and back; NumPy is imported when one of these is called.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use usm_array::{Conversion, CopyOrder, UsmArray, Work};

use super::host::HostElements;
use super::source::numpy_array;
use super::wanted::Wanted;
use crate::buffer_import::HostBytes;
use crate::errors::{OrRaise, without_numpy};
use crate::imported;
use crate::interface::import::array_of;
use crate::new_numpy;
use crate::objects::UsmNdarray;
use crate::tensor::{dtype, transfer};

/// asnumpy(usm_ary)
///
/// A NumPy array with a copy of the elements of an array, or of any object with ``__sycl_usm_array_interface__``, in USM of any kind.
/// A column-major array stays one. More than 4 MiB of a CPU device are copied to host memory from the pool, whose pages are there
/// already; then the result is a view of that, and has no ``resize``.
///
/// Raises TypeError for other objects, ModuleNotFoundError without NumPy. ``numpy.asarray(array)`` views host and shared memory without a
/// copy.
///
/// >>> import usm.tensor as ut
/// >>> array = ut.asarray([[1, 2], [3, 4]], "int16")
/// >>> ut.asnumpy(array).T.tolist()
/// [[1, 3], [2, 4]]
#[pyfunction]
pub(crate) fn asnumpy<'py>(usm_ary: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = usm_ary.py();
    numpy_copy(py, &*array_of(usm_ary)?).map_err(|error| without_numpy(py, error))
}

/// to_numpy(usm_ary, /)
///
/// As asnumpy.
///
/// >>> import usm.tensor as ut
/// >>> ut.to_numpy(ut.asarray(2.5)).item()
/// 2.5
#[pyfunction]
#[pyo3(signature = (usm_ary, /))]
pub(crate) fn to_numpy<'py>(usm_ary: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    asnumpy(usm_ary)
}

/// from_numpy(np_ary, /, *, device=None, usm_type=None, sycl_queue=None)
///
/// A new array with the shape, dtype, elements and order of a NumPy array, or of anything that ``numpy.asarray`` takes.
///
/// Raises TypeError for elements without a dtype, ImportError for other objects than buffers without NumPy, USMAllocationError.
///
/// >>> import numpy, usm.tensor as ut
/// >>> array = ut.from_numpy(numpy.ones((2, 3), "f4", order="F"), usm_type="shared")
/// >>> array.shape, array.strides, array.usm_type
/// ((2, 3), (1, 2), 'shared')
#[pyfunction]
#[pyo3(signature = (np_ary, /, *, device=None, usm_type=None, sycl_queue=None))]
pub(crate) fn from_numpy<'py>(
    np_ary: &Bound<'py, PyAny>,
    device: Option<&Bound<'py, PyAny>>,
    usm_type: Option<&str>,
    sycl_queue: Option<&Bound<'py, PyAny>>,
) -> PyResult<UsmNdarray> {
    let py = np_ary.py();
    let wanted = Wanted::parse(py, None, device, None, usm_type, sycl_queue, "K")?;
    let elements = match HostElements::of("np_ary", np_ary) {
        Ok(elements) => elements,
        Err(_) => HostElements::of("np_ary", &numpy_array(np_ary)?)?,
    };
    let (queue, dtype) = (wanted.queue_or_default(py)?, elements.dtype);
    let kind = wanted.kind_or_default();
    elements.into_array(py, &queue, kind, dtype, CopyOrder::Keep).map(UsmNdarray::from_array)
}

fn numpy_copy<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyAny>> {
    if let Some(bits) = bits_of(array)? {
        let dtype = dtype::of_numpy(py, array.dtype())?;
        return numpy_copy(py, &bits)?.call_method1(intern!(py, "view"), (dtype,));
    }
    if let Some(conversion) = array.pooled_host_copy() {
        return pooled_copy(py, array, &conversion);
    }
    // Column-major elements are the row-major ones of the transposed array.
    if array.layout().is_f_contiguous_only() {
        return numpy_copy(py, &array.transpose())?.getattr(intern!(py, "T"));
    }
    let (wanted, work) = ((array.dtype(), array.shape()), Work::of_elements(array));
    let copied = new_numpy::filled(py, wanted, work, |bytes| array.copy_to_host_contiguous(bytes));
    if let Some(result) = copied? {
        return Ok(result);
    }
    let wanted = (PyTuple::new(py, array.shape())?, dtype::object(py, array.dtype())?);
    let result = imported::import(py, intern!(py, "numpy"))?.call_method1(intern!(py, "empty"), wanted)?;
    HostBytes::writable("numpy.empty", &result)?.copy_from_array(py, array)?;
    Ok(result)
}

/// The elements of a narrow dtype as unsigned integers: neither the buffer protocol nor NumPy's DLPack have them. `None` for others.
pub(in crate::tensor) fn bits_of(array: &UsmArray) -> PyResult<Option<UsmArray>> {
    array.dtype().narrow_bits().map(|bits| array.reinterpret(bits)).transpose().or_raise()
}

/// A NumPy array over the memory of an array of a narrow dtype, which host code reaches.
pub(in crate::tensor) fn narrow_view<'py>(
    py: Python<'py>,
    array: &UsmArray,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(bits) = bits_of(array)? else { return Ok(None) };
    let dtype = dtype::of_numpy(py, array.dtype())?;
    let bits = Bound::new(py, UsmNdarray::from_array(bits))?;
    numpy_array(bits.as_any())?.call_method1(intern!(py, "view"), (dtype,)).map(Some)
}

/// A view of a copy in host memory from the pool.
fn pooled_copy<'py>(
    py: Python<'py>,
    array: &UsmArray,
    conversion: &Conversion<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let copy = Bound::new(py, UsmNdarray::from_array(transfer::converted(py, array, conversion)?))?;
    numpy_array(copy.as_any())
}
