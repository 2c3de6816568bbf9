//! Arrays as pickles, which keep kind, device, the order of the axes in memory, and read-only.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use usm_array::{Dtype, UsmArray, Work};

use super::construct::in_new_memory;
use crate::buffer_import::HostBytes;
use crate::errors::{OrRaise, OrValueError};
use crate::interrupt;
use crate::memory::{kind_argument, pickle};
use crate::objects::UsmNdarray;
use crate::sycl::pickled_queue;
use crate::tensor::exchange::bits_of;

/// What makes the array again, and its arguments. Dense arrays that host code reaches go beside the pickle without a copy.
pub(super) fn reduce<'py>(
    py: Python<'py>,
    array: &UsmArray,
    protocol: i32,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
    let device = pickle::device_name("an array on", array.device())?;
    let axes = array.layout().memory_order();
    let ordered = array.permute(&axes).or_raise()?;
    // The buffer protocol has no narrow dtypes.
    let ordered = bits_of(&ordered)?.unwrap_or(ordered);
    let data = if pickle::is_beside(array.buffer(), protocol) {
        let dense = match ordered.is_c_contiguous() {
            true => ordered.clone(),
            false => {
                let source = ordered.clone();
                interrupt::run(py, Work::of_copy(&ordered), move || source.copy())?.or_raise()?
            }
        };
        UsmNdarray::object(py, dense)?
    } else {
        let source = ordered.clone();
        let bytes = interrupt::run(py, Work::of_elements(&ordered), move || source.to_bytes())?.or_raise()?;
        PyBytes::new(py, &bytes).into_any()
    };
    let data = pickle::content(data, protocol)?;
    let state = (
        array.kind().as_str(),
        device,
        !array.is_writable(),
        array.dtype().name(),
        PyTuple::new(py, ordered.shape())?,
        PyTuple::new(py, &axes[..])?,
        data,
    );
    Ok((py.import("usm._usm")?.getattr("_array_from_pickle")?, state.into_pyobject(py)?))
}

/// _array_from_pickle(usm_type, device, readonly, dtype, shape, axes, data)
///
/// A new array of that kind on the default queue of that device, with the elements of `data`: how pickles are read. `shape` and
/// `data` are in the order of memory, and `axes` says which axis of the array each of `shape` is.
///
/// >>> from usm._usm import _array_from_pickle
/// >>> _array_from_pickle("shared", "host:cpu:0", False, "uint8", (2, 3), (1, 0), b"abcdef").tolist()
/// [[97, 100], [98, 101], [99, 102]]
#[pyfunction]
#[pyo3(name = "_array_from_pickle")]
#[expect(clippy::too_many_arguments, reason = "the parts of an array")]
pub(crate) fn array_from_pickle(
    py: Python<'_>,
    usm_type: &str,
    device: &Bound<'_, PyString>,
    readonly: bool,
    dtype: &str,
    shape: Vec<usize>,
    axes: Vec<isize>,
    data: &Bound<'_, PyAny>,
) -> PyResult<UsmNdarray> {
    let kind = kind_argument("usm_type", usm_type)?;
    let queue = pickled_queue(device, "usm.tensor.asnumpy(array)")?;
    let dtype: Dtype = dtype.parse().or_value_error("dtype")?;
    let bytes = HostBytes::readable("data", data)?;
    let array = in_new_memory(py, UsmArray::builder(&shape, dtype), kind, &queue)?;
    bytes.copy_to_array(py, &array)?;
    let all: Vec<isize> = (0..array.ndim().cast_signed()).collect();
    let array = array
        .moveaxis(&all, &axes)
        .map_err(|_| value_error!("axes: found {axes:?}, allowed is each axis exactly once"))?;
    Ok(UsmNdarray::from_array(if readonly { array.read_only() } else { array }))
}
