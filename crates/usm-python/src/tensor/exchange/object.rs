//! `asarray`: the array that was asked for, of any object.

use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use usm_array::usm_core::UsmKind;
use usm_array::{CopyMode, CreateOptions, Dtype, UsmArray};

use super::source::{Source, no_elements};
use super::wanted::Wanted;
use super::{nested, numbers};
use crate::errors::in_place_of;
use crate::interface::cuda;
use crate::objects::UsmNdarray;
use crate::sycl::runtime;
use crate::tensor::{arguments, dlpack};

/// asarray(obj, /, dtype=None, *, device=None, copy=None, usm_type=None, sycl_queue=None, order="K")
///
/// An array of the elements of almost any object.
///
/// `obj` is, looked at in this order: an array or memory of this package, or any object with
/// ``__sycl_usm_array_interface__``, whose memory is used without a copy; a Python number; a list, tuple or range of any of
/// these, to any depth; an object with the buffer protocol (NumPy arrays, bytes, ``memoryview``), which is copied; an object with
/// DLPack, whose memory is used where it is USM and copied where not; an object with ``__cuda_array_interface__``, whose memory is
/// used without a copy after the work of its stream; an object that ``numpy.asarray`` takes.
///
/// `dtype` is that of the elements unless given; Python numbers have the default dtypes of the device. `usm_type`, and
/// `sycl_queue` or `device`, say where the array is; by default where the memory is, else "device" on the default queue. An array on
/// the `device` stays where it is, whatever its queue. `order` "C" or "F" asks for that order in memory, "A" for one of them, "K"
/// keeps what there is. `copy` True copies in any case, None where it is needed, False never.
///
/// Raises ValueError when `copy` is False and a copy is needed, TypeError for objects without elements and elements without a
/// dtype, TypeError or ValueError that starts with the key of the interface that is wrong, ExecutionPlacementError for a sequence of
/// arrays of several queues without a place, and USMAllocationError.
///
/// >>> import usm.tensor as ut
/// >>> array = ut.asarray([[1, 2.5], (3, 4)], usm_type="shared")
/// >>> array.shape, array.usm_type, array.tolist()
/// ((2, 2), 'shared', [[1.0, 2.5], [3.0, 4.0]])
/// >>> ut.asarray(array) is array
/// True
/// >>> ut.asarray(array, dtype="int8", order="F").strides
/// (1, 2)
#[pyfunction]
#[pyo3(signature = (obj, /, dtype=None, *, device=None, copy=None, usm_type=None, sycl_queue=None, order="K"))]
pub(crate) fn asarray<'py>(
    obj: &Bound<'py, PyAny>,
    dtype: Option<&Bound<'py, PyAny>>,
    device: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
    usm_type: Option<&str>,
    sycl_queue: Option<&Bound<'py, PyAny>>,
    order: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let py = obj.py();
    let array = obj.cast::<UsmNdarray>();
    let asks_nothing =
        matches!((dtype, device, copy, usm_type, sycl_queue, order), (None, None, None, None, None, "K"));
    if asks_nothing && array.is_ok() {
        return Ok(obj.clone());
    }
    let wanted = Wanted::parse(py, dtype, device, copy, usm_type, sycl_queue, order)?;
    if let Ok(array) = array {
        let changed = wanted.changed(py, array.get().array())?;
        return changed.map_or_else(|| Ok(obj.clone()), |array| UsmNdarray::object(py, array));
    }
    UsmNdarray::object(py, array_from(obj, Source::of_array(obj)?, wanted)?)
}

/// The array that was asked for, of an object of that source.
pub(in crate::tensor) fn array_from<'py>(
    object: &Bound<'py, PyAny>,
    source: Source<'_, 'py>,
    wanted: Wanted<'_, 'py>,
) -> PyResult<Box<UsmArray>> {
    let py = object.py();
    match source {
        Source::Array(array) => wanted.convert(py, array.into_boxed()),
        Source::Sequence => {
            wanted.check_copy_allowed("a sequence")?;
            nested::array(object, wanted).map(Box::new)
        }
        Source::Dlpack(method) => {
            let kind = wanted.kind_or_default();
            let array = dlpack::import(object, method, wanted.queue(), kind, wanted.copy);
            // Here it is an argument that does not allow the copy.
            let refused = in_place_of::<PyBufferError>(py, PyValueError::new_err);
            let array = array.map(Box::new).map_err(refused)?;
            match wanted.copy {
                CopyMode::Never => wanted.convert(py, array),
                _ => wanted.convert_own(py, array), // what has to be copied has been
            }
        }
        Source::Cuda(dict) => wanted.convert(py, Box::new(cuda::import(object, &dict)?)),
        Source::Number(number) => {
            wanted.check_copy_allowed("a number")?;
            let queue = wanted.queue_or_default(py)?;
            let new = CreateOptions::new(&queue, wanted.kind_or_default());
            let new = wanted.dtype_on(queue.device())?.map_or(new, |dtype| new.dtype(dtype));
            let made = py.detach(|| new.numbers(&[], &[number]));
            made.map(Box::new).map_err(|error| numbers::number_error(&error, &[]))
        }
        Source::Host(host) => {
            // A number of NumPy that is to be of another dtype is a number as Python's are.
            if wanted.has_dtype()
                && let Some(number) = arguments::numpy_number(object)?
            {
                return array_from(object, Source::Number(number), wanted);
            }
            let elements = host.elements("obj", object)?;
            wanted.check_copy_allowed("host memory")?;
            let queue = wanted.queue_or_default(py)?;
            let dtype = wanted.dtype_on(queue.device())?.unwrap_or(elements.dtype);
            let kind = wanted.kind_or_default();
            elements.into_array(py, &queue, kind, dtype, wanted.order)
        }
        Source::Other => Err(no_elements("obj", object)),
    }
}

/// A copy of any object of the host, or of a sequence, in memory that is always there and that host code reaches. USM stays where it
/// is. The numbers of a sequence must fit the dtype, if there is one.
pub(in crate::tensor) fn on_host<'py>(
    object: &Bound<'py, PyAny>,
    source: Source<'_, 'py>,
    dtype: Option<Dtype>,
) -> PyResult<Box<UsmArray>> {
    if let Source::Array(array) = source {
        return Ok(array.into_boxed());
    }
    let dtype = dtype.filter(|_| matches!(source, Source::Sequence));
    let wanted = Wanted::at(runtime::host_queue(object.py())?, UsmKind::Host).of_dtype(dtype);
    array_from(object, source, wanted)
}
