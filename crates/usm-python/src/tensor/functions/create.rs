//! New arrays of one value, or of ones on a diagonal.

use pyo3::prelude::*;
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{Axes, CreateOptions, Dtype, UsmArray, Work};

use super::super::arguments;
use super::super::construct::in_new_memory;
use super::operands::{self, Diagonal};
use super::{new_memory, results};
use crate::number::index;
use crate::objects::UsmNdarray;

/// empty(shape, dtype=None, order="C", *, device=None, usm_type=None, sycl_queue=None)
///
/// A new array whose elements have no particular value.
///
/// `shape` is an integer or a tuple of integers, `dtype` by default the widest real type of the device, `order` ``"C"`` or
/// ``"F"``. `device` is a filter string, a device or a queue, and says where; so does `sycl_queue`.
///
/// Raises USMAllocationError when the memory cannot be allocated, TypeError when `device` and `sycl_queue` name two queues.
///
/// >>> import usm.tensor as ut
/// >>> ut.empty((2, 3), dtype="i4", usm_type="shared", device="host").nbytes
/// 24
#[pyfunction]
#[pyo3(signature = (shape, dtype=None, order="C", *, device=None, usm_type=None, sycl_queue=None))]
pub(crate) fn empty(
    py: Python<'_>,
    shape: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    order: &str,
    device: Option<&Bound<'_, PyAny>>,
    usm_type: Option<&str>,
    sycl_queue: Option<&Bound<'_, PyAny>>,
) -> PyResult<UsmNdarray> {
    let mut sizes = Axes::new();
    arguments::read_shape(shape, &mut sizes)?;
    let order = arguments::order(order)?;
    let kind = new_memory::new_kind(usm_type, device)?;
    let queue = new_memory::queue(py, sycl_queue, device)?;
    let dtype = arguments::dtype(dtype, || queue.device())?;
    let builder = UsmArray::builder(&sizes, dtype).order(order);
    in_new_memory(py, builder, kind, &queue).map(UsmNdarray::from_array)
}

/// Functions of a shape with their documentation.
macro_rules! creations {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[pyfunction]
        #[pyo3(signature = (shape, dtype=None, order="C", *, device=None, usm_type=None, sycl_queue=None))]
        pub(crate) fn $name(
            py: Python<'_>,
            shape: &Bound<'_, PyAny>,
            dtype: Option<&Bound<'_, PyAny>>,
            order: &str,
            device: Option<&Bound<'_, PyAny>>,
            usm_type: Option<&str>,
            sycl_queue: Option<&Bound<'_, PyAny>>,
        ) -> PyResult<UsmNdarray> {
            let shape = arguments::shape(shape)?;
            let len = Work::len_of(&shape);
            let work = |new: &CreateOptions<'_>| Work::of_fill(new, len);
            create(py, (device, sycl_queue, usm_type), dtype, order, work, move |new| new.$name(&shape))
        }
    )*};
}

creations! {
    /// zeros(shape, dtype=None, order="C", *, device=None, usm_type=None, sycl_queue=None)
    ///
    /// A new array of zeros. Arguments as of empty.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.zeros(3, dtype="i4", device="host").tolist()
    /// [0, 0, 0]
    zeros;

    /// ones(shape, dtype=None, order="C", *, device=None, usm_type=None, sycl_queue=None)
    ///
    /// A new array of ones. Arguments as of empty.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.ones((1, 2), dtype="f4", device="host").tolist()
    /// [[1.0, 1.0]]
    ones;
}

/// full(shape, fill_value, dtype=None, order="C", *, device=None, usm_type=None, sycl_queue=None)
///
/// A new array of one value: a number, or an array or a sequence that broadcasts to the shape. Without a dtype that of the value:
/// of a Python number the default one of its kind. Without a place that of an array, else as of empty.
///
/// Raises OverflowError for a number that the dtype does not hold, ValueError for NaN in integers and for an array that does not
/// broadcast, TypeError for a complex number in real ones.
///
/// >>> import usm.tensor as ut
/// >>> ut.full(2, 7, device="host").tolist(), ut.full((1, 2), 0.5, dtype="f4", device="host").tolist()
/// ([7, 7], [[0.5, 0.5]])
#[pyfunction]
#[pyo3(signature = (shape, fill_value, dtype=None, order="C", *, device=None, usm_type=None, sycl_queue=None))]
#[expect(clippy::too_many_arguments, reason = "dpctl's arguments")]
pub(crate) fn full(
    py: Python<'_>,
    shape: &Bound<'_, PyAny>,
    fill_value: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    order: &str,
    device: Option<&Bound<'_, PyAny>>,
    usm_type: Option<&str>,
    sycl_queue: Option<&Bound<'_, PyAny>>,
) -> PyResult<UsmNdarray> {
    let shape = arguments::shape(shape)?;
    let target = operands::dtype("dtype", dtype)?;
    let value = operands::value("fill_value", fill_value, None, target)?;
    let (queue, kind) = match value.array() {
        None => (new_memory::queue(py, sycl_queue, device)?, new_memory::new_kind(usm_type, device)?),
        Some(values) => (
            new_memory::named_queue(py, sycl_queue, device)?.unwrap_or_else(|| values.queue().clone()),
            new_memory::kind(usm_type)?.unwrap_or(values.kind()),
        ),
    };
    let (order, dtype) = (arguments::order(order)?, new_dtype(dtype, &queue)?);
    let value = match dtype {
        Some(dtype) => value.for_dtype(dtype)?,
        None => value,
    };
    let new = arguments::of_dtype(CreateOptions::new(&queue, kind), dtype);
    let work = Work::of_full(&new, Work::len_of(&shape), &value);
    results::array(py, work, move || {
        arguments::of_dtype(CreateOptions::new(&queue, kind).order(order), dtype).full(&shape, &value)
    })
}

/// eye(n_rows, n_cols=None, /, *, k=0, dtype=None, order="C", device=None, usm_type=None, sycl_queue=None)
///
/// A matrix of zeros with ones on the diagonal that is `k` elements to the right of the main one, or to the left if negative;
/// square without `n_cols`. The other arguments as of empty.
///
/// >>> import usm.tensor as ut
/// >>> ut.eye(2, 3, k=1, dtype="u1", device="host").tolist()
/// [[0, 1, 0], [0, 0, 1]]
#[pyfunction]
#[pyo3(signature = (
    n_rows, n_cols=None, /, *, k=Diagonal::MAIN, dtype=None, order="C", device=None, usm_type=None, sycl_queue=None
), text_signature = "(n_rows, n_cols=None, /, *, k=0, dtype=None, order='C', device=None, usm_type=None, sycl_queue=None)")]
#[expect(clippy::too_many_arguments, reason = "dpctl's arguments")]
pub(crate) fn eye(
    py: Python<'_>,
    n_rows: &Bound<'_, PyAny>,
    n_cols: Option<&Bound<'_, PyAny>>,
    k: Diagonal,
    dtype: Option<&Bound<'_, PyAny>>,
    order: &str,
    device: Option<&Bound<'_, PyAny>>,
    usm_type: Option<&str>,
    sycl_queue: Option<&Bound<'_, PyAny>>,
) -> PyResult<UsmNdarray> {
    let rows = size("n_rows", n_rows)?;
    let columns = n_cols.map(|columns| size("n_cols", columns)).transpose()?;
    let len = Work::len_of(&[rows, columns.unwrap_or(rows)]);
    let work = |new: &CreateOptions<'_>| Work::of_fill(new, len);
    create(py, (device, sycl_queue, usm_type), dtype, order, work, move |new| new.eye(rows, columns, k.0))
}

/// `device`, `sycl_queue` and `usm_type`.
pub(super) type Placement<'a, 'py> =
    (Option<&'a Bound<'py, PyAny>>, Option<&'a Bound<'py, PyAny>>, Option<&'a str>);

/// A new array, with the arguments that all functions have.
pub(super) fn create(
    py: Python<'_>,
    (device, sycl_queue, usm_type): Placement<'_, '_>,
    dtype: Option<&Bound<'_, PyAny>>,
    order: &str,
    work: impl FnOnce(&CreateOptions<'_>) -> Work,
    function: impl FnOnce(CreateOptions<'_>) -> usm_array::Result<UsmArray> + Send + 'static,
) -> PyResult<UsmNdarray> {
    let order = arguments::order(order)?;
    let kind: UsmKind = new_memory::new_kind(usm_type, device)?;
    let queue = new_memory::queue(py, sycl_queue, device)?;
    let dtype = new_dtype(dtype, &queue)?;
    let work = work(&arguments::of_dtype(CreateOptions::new(&queue, kind), dtype));
    results::array(py, work, move || {
        function(arguments::of_dtype(CreateOptions::new(&queue, kind).order(order), dtype))
    })
}

/// A number of rows, columns or elements.
pub(super) fn size(name: &str, object: &Bound<'_, PyAny>) -> PyResult<usize> {
    let size: isize = index(name, object)?;
    usize::try_from(size).map_err(|_| value_error!("{name}: found {size}, allowed are 0 and more"))
}

/// The dtype of a new array, or `None` to leave it to the function.
fn new_dtype(dtype: Option<&Bound<'_, PyAny>>, queue: &Queue) -> PyResult<Option<Dtype>> {
    dtype.map(|dtype| arguments::dtype(Some(dtype), || queue.device())).transpose()
}
