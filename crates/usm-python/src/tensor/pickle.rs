//! Arrays as pickles, which keep kind, device, the order of the axes in memory, and read-only.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{Dtype, Layout, Order, UsmArray, Work};

use super::construct::in_new_memory;
use crate::buffer_import::HostBytes;
use crate::errors::{OrRaise, OrValueError};
use crate::imported;
use crate::interrupt;
use crate::memory::{kind_argument, pickle};
use crate::number::index_sequence;
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
    let is_beside = pickle::is_beside(array.buffer(), protocol);
    let data = if is_beside {
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
    let function = if is_beside { "_array_over_buffer" } else { "_array_from_pickle" };
    Ok((imported::import(py, intern!(py, "usm._usm"))?.getattr(function)?, state.into_pyobject(py)?))
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
    shape: &Bound<'_, PyAny>,
    axes: &Bound<'_, PyAny>,
    data: &Bound<'_, PyAny>,
) -> PyResult<UsmNdarray> {
    let (shape, axes) = (index_sequence("shape", shape)?, index_sequence("axes", axes)?);
    let content = ArrayContent::of(usm_type, device, dtype, &shape, data)?;
    finished(&content.copied(py)?, &axes, readonly)
}

/// _array_over_buffer(usm_type, device, readonly, dtype, shape, axes, data)
///
/// An array over the bytes of `data`, read-only where these are, on the host backend and where they are memory of that kind; elsewhere as
/// _array_from_pickle. How pickles with buffers beside them are read.
///
/// >>> from usm._usm import _array_over_buffer
/// >>> data = bytearray(b"abcdef")
/// >>> array = _array_over_buffer("shared", "host:cpu:0", False, "uint8", (2, 3), (0, 1), data)
/// >>> data[0] = 7
/// >>> array.tolist()
/// [[7, 98, 99], [100, 101, 102]]
#[pyfunction]
#[pyo3(name = "_array_over_buffer")]
#[expect(clippy::too_many_arguments, reason = "the parts of an array")]
pub(crate) fn array_over_buffer(
    py: Python<'_>,
    usm_type: &str,
    device: &Bound<'_, PyString>,
    readonly: bool,
    dtype: &str,
    shape: &Bound<'_, PyAny>,
    axes: &Bound<'_, PyAny>,
    data: &Bound<'_, PyAny>,
) -> PyResult<UsmNdarray> {
    let (shape, axes) = (index_sequence("shape", shape)?, index_sequence("axes", axes)?);
    let content = ArrayContent::of(usm_type, device, dtype, &shape, data)?;
    let array = match content.over()? {
        Ok(array) => array,
        Err(content) => content.copied(py)?,
    };
    finished(&array, &axes, readonly)
}

/// What a pickle of an array says, in the order of memory.
struct ArrayContent<'a> {
    kind: UsmKind,
    queue: Queue,
    dtype: Dtype,
    shape: &'a [usize],
    bytes: HostBytes,
}

impl<'a> ArrayContent<'a> {
    fn of(
        usm_type: &str,
        device: &Bound<'_, PyString>,
        dtype: &str,
        shape: &'a [usize],
        data: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let kind = kind_argument("usm_type", usm_type)?;
        let queue = pickled_queue(device, "usm.tensor.asnumpy(array)")?;
        let dtype: Dtype = dtype.parse().or_value_error("dtype")?;
        Ok(Self { kind, queue, dtype, shape, bytes: HostBytes::readable("data", data)? })
    }

    /// A new array with the bytes.
    fn copied(self, py: Python<'_>) -> PyResult<UsmArray> {
        let array = in_new_memory(py, UsmArray::builder(self.shape, self.dtype), self.kind, &self.queue)?;
        self.bytes.copy_to_array(py, &array)?;
        Ok(*array)
    }

    /// An array over the bytes; all of this where they cannot be memory of an array.
    fn over(self) -> PyResult<Result<UsmArray, Self>> {
        let Self { kind, queue, dtype, shape, bytes } = self;
        let layout = Layout::new(shape, None, 0, Order::C).or_value_error("shape")?;
        let len_bytes = layout.size_bytes(dtype);
        let is_aligned = bytes.start().addr().is_multiple_of(dtype.align_bytes());
        if len_bytes != Some(bytes.len()) || !is_aligned {
            return Ok(Err(Self { kind, queue, dtype, shape, bytes }));
        }
        match bytes.into_usm(&queue, kind) {
            Ok(buffer) => Ok(Ok(UsmArray::from_parts(buffer, dtype, layout, 0).or_raise()?)),
            Err(bytes) => Ok(Err(Self { kind, queue, dtype, shape, bytes })),
        }
    }
}

/// The array with its axes in their order.
fn finished(array: &UsmArray, axes: &[isize], readonly: bool) -> PyResult<UsmNdarray> {
    let all: Vec<isize> = (0..array.ndim().cast_signed()).collect();
    let array = array
        .moveaxis(&all, axes)
        .map_err(|_| value_error!("axes: found {axes:?}, allowed is each axis exactly once"))?;
    Ok(UsmNdarray::from_array(if readonly { array.read_only() } else { array }))
}
