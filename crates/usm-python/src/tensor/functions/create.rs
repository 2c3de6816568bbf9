//! New arrays of one value, or of ones on a diagonal.

use pyo3::prelude::*;
use usm_array::usm_core::UsmKind;
use usm_array::{Axes, Casting, CreateOptions, LikeOptions, UsmArray, Work, default_dtypes};

use super::super::arguments;
use super::super::construct::in_new_memory;
use super::super::operand::NumberOrArray;
use super::operands::{self, Diagonal};
use super::{new_memory, results};
use crate::errors::OrRaise;
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
    let dtype = match dtype {
        Some(dtype) => arguments::explicit_dtype(dtype, &|| default_dtypes(queue.device()))?,
        None => default_dtypes(queue.device()).real_floating,
    };
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
    match operands::value("fill_value", fill_value, None, target)? {
        NumberOrArray::Scalar(value) => {
            let value = target.map_or(Ok(value), |dtype| value.for_dtype(dtype)).or_raise()?;
            let place = (device, sycl_queue, usm_type);
            let len = Work::len_of(&shape);
            let work = |new: &CreateOptions<'_>| Work::of_fill(new, len);
            create(py, place, dtype, order, work, move |new| new.full(&shape, value))
        }
        NumberOrArray::Array(values) => {
            let queue = new_memory::named_queue(py, sycl_queue, device)?;
            let queue = queue.unwrap_or_else(|| values.queue().clone());
            let kind = new_memory::kind(usm_type)?.unwrap_or(values.kind());
            let dtype = target.unwrap_or(values.dtype());
            let order = arguments::order(order)?;
            let like = LikeOptions { shape: Some(&shape), dtype: Some(dtype), ..LikeOptions::default() };
            results::array(py, Work::of_like(&values, &like), move || {
                let new = CreateOptions::new(&queue, kind).dtype(dtype).order(order);
                let array = new.empty(&shape)?;
                array.assign_cast(&values, Casting::Unsafe)?;
                Ok(array)
            })
        }
    }
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
    let dtype = dtype
        .map(|dtype| arguments::explicit_dtype(dtype, &|| default_dtypes(queue.device())))
        .transpose()?;
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
