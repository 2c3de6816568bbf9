//! The results of functions as Python objects, or in the array that the caller gave for them.

use pyo3::prelude::*;
use usm_array::{ArrayOrScalar, UsmArray, Work, check_queues};

use super::operands;
use crate::errors::OrRaise;
use crate::interrupt;
use crate::objects::UsmNdarray;

/// As [`interrupt::run`], for a job that may fail. It owns its operands, since it may go on when Ctrl-C ends the waiting for a long one.
pub(super) fn run<T: Send + 'static>(
    py: Python<'_>,
    work: Work,
    job: impl FnOnce() -> usm_array::Result<T> + Send + 'static,
) -> PyResult<T> {
    interrupt::run(py, work, job)?.or_raise()
}

/// The arrays among the operands of a function.
pub(super) fn arrays<const N: usize>(operands: [Option<&UsmArray>; N]) -> Vec<&UsmArray> {
    operands.into_iter().flatten().collect()
}

/// As [`run`], for a function that gives one array.
pub(in crate::tensor) fn array(
    py: Python<'_>,
    work: Work,
    job: impl FnOnce() -> usm_array::Result<UsmArray> + Send + 'static,
) -> PyResult<UsmNdarray> {
    run(py, work, job).map(UsmNdarray::from_array)
}

/// A tuple of arrays.
pub(super) fn tuple<'py>(
    py: Python<'py>,
    arrays: impl IntoIterator<Item = UsmArray, IntoIter: ExactSizeIterator>,
) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
    let arrays: Vec<_> = arrays.into_iter().map(UsmNdarray::from_array).collect();
    pyo3::types::PyTuple::new(py, arrays)
}

/// Where the result of operands goes: into a new array, or into `out`.
pub(super) struct ResultTarget<'a, 'py> {
    pub(super) out: Option<(&'a Bound<'py, PyAny>, UsmArray)>,
    pub(super) work: Work,
}

impl<'a, 'py> ResultTarget<'a, 'py> {
    /// The target for operands, which have names for messages. What is wrong with the queues or with `out`, of which `check` knows more, is
    /// found here, before the work.
    pub(super) fn new(
        out: Option<&'a Bound<'py, PyAny>>,
        operands: &[(&str, ArrayOrScalar<'_>)],
        check: impl FnOnce(&UsmArray) -> usm_array::Result<()>,
    ) -> PyResult<Self> {
        let out = out.map(|out| Ok::<_, PyErr>((out, operands::array("out", out)?))).transpose()?;
        let target = out.as_ref().map(|(_, target)| target);
        let all = operands.iter().copied().chain(target.map(|target| ("out", target.into())));
        check_queues(all.clone()).or_raise()?;
        target.map_or(Ok(()), check).or_raise()?;
        let work = Work::of_operands(all.filter_map(|(_, operand)| operand.array()));
        Ok(Self { out, work })
    }

    /// The result, or `out` with the elements of it.
    pub(super) fn give(
        self,
        py: Python<'py>,
        job: impl FnOnce() -> usm_array::Result<UsmArray> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.out {
            None => UsmNdarray::object(py, run(py, self.work, job)?),
            Some((out, target)) => {
                run(py, self.work, move || job()?.give_to(&target))?;
                Ok(out.clone())
            }
        }
    }
}
