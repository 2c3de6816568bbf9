//! Numbers at equal distances.

use pyo3::prelude::*;
use usm_array::{CreateOptions, Scalar, Work};

use super::create::{create, size};
use super::operands;
use crate::objects::UsmNdarray;

/// arange(start, /, stop=None, step=1, *, dtype=None, device=None, usm_type=None, sycl_queue=None)
///
/// The numbers `start + i * step` from `start` to before `stop`; with one argument those from 0 to before it. Without a dtype
/// integers, if all three are, else real numbers. The other arguments as of empty.
///
/// Raises ZeroDivisionError for a step of 0, ValueError for complex numbers, OverflowError for integers that the dtype does not hold.
///
/// >>> import usm.tensor as ut
/// >>> ut.arange(3, device="host").tolist(), ut.arange(5, 0, -2, dtype="f4", device="host").tolist()
/// ([0, 1, 2], [5.0, 3.0, 1.0])
#[pyfunction]
#[pyo3(signature = (start, /, stop=None, step=None, *, dtype=None, device=None, usm_type=None, sycl_queue=None),
    text_signature = "(start, /, stop=None, step=1, *, dtype=None, device=None, usm_type=None, sycl_queue=None)")]
#[expect(clippy::too_many_arguments, reason = "dpctl's arguments")]
pub(crate) fn arange(
    py: Python<'_>,
    start: &Bound<'_, PyAny>,
    stop: Option<&Bound<'_, PyAny>>,
    step: Option<&Bound<'_, PyAny>>,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
    usm_type: Option<&str>,
    sycl_queue: Option<&Bound<'_, PyAny>>,
) -> PyResult<UsmNdarray> {
    let first = operands::number("start", start)?;
    let (start, stop) = match stop {
        Some(stop) => (first, operands::number("stop", stop)?),
        None => (Scalar::Int(0), first),
    };
    let step = step.map_or(Ok(Scalar::Int(1)), |step| operands::number("step", step))?;
    let work = |new: &CreateOptions<'_>| Work::of_arange(new, start, stop, step);
    create(py, (device, sycl_queue, usm_type), dtype, "C", work, move |new| new.arange(start, stop, step))
}

/// linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True, usm_type=None, sycl_queue=None)
///
/// `num` numbers at equal distances from `start` to `stop`, which is the last one with `endpoint` and would be the next one
/// without: by default real numbers, or complex ones if one of the ends is. The other arguments as of empty.
///
/// Raises ValueError for a negative number of them, OverflowError for ends that an integer dtype does not hold.
///
/// >>> import usm.tensor as ut
/// >>> ut.linspace(0, 1, 5, device="host").tolist()
/// [0.0, 0.25, 0.5, 0.75, 1.0]
#[pyfunction]
#[pyo3(signature = (start, stop, /, num, *, dtype=None, device=None, endpoint=true, usm_type=None, sycl_queue=None))]
#[expect(clippy::too_many_arguments, reason = "dpctl's arguments")]
pub(crate) fn linspace(
    py: Python<'_>,
    start: &Bound<'_, PyAny>,
    stop: &Bound<'_, PyAny>,
    num: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
    endpoint: bool,
    usm_type: Option<&str>,
    sycl_queue: Option<&Bound<'_, PyAny>>,
) -> PyResult<UsmNdarray> {
    let (start, stop) = (operands::number("start", start)?, operands::number("stop", stop)?);
    let num = size("num", num)?;
    let work = |new: &CreateOptions<'_>| Work::of_new(new, num);
    create(py, (device, sycl_queue, usm_type), dtype, "C", work, move |new| {
        new.linspace(start, stop, num, endpoint)
    })
}
