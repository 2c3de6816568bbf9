//! Kernels on a queue: from Python's arguments to operations under way.

use pyo3::prelude::*;
use usm_array::usm_core::{Event, ExecutionRange, NdRange, Queue, Range};
use usm_array::usm_memory::{Argument, flight, submit_kernel};

use super::operations::asked_events;
use crate::errors::{OrRaise, wrong_type};
use crate::number::{index_sequence, sequence};
use crate::program::{SyclKernel, argument};
use crate::sycl::event::SyclEvent;

/// What a kernel runs over: all work-items, and those of a work-group.
type Sizes<'a, 'py> = (&'a Bound<'py, PyAny>, Option<&'a Bound<'py, PyAny>>);

/// Submits a kernel after the events, after all earlier operations of an in-order queue, and after operations on the same memory.
pub(super) fn submit(
    queue: &Queue,
    kernel: &Bound<'_, PyAny>,
    args: &Bound<'_, PyAny>,
    (global, local): Sizes<'_, '_>,
    events: Option<&Bound<'_, PyAny>>,
) -> PyResult<SyclEvent> {
    let py = kernel.py();
    let Ok(kernel) = kernel.cast::<SyclKernel>() else {
        return Err(wrong_type("kernel", kernel, "is a SyclKernel of usm.program"));
    };
    let arguments = sequence("args", args)?;
    let arguments = arguments.iter().enumerate().map(|(position, object)| argument(position, object));
    let arguments: Vec<Argument> = arguments.collect::<PyResult<_>>()?;
    let range = execution_range(global, local)?;
    let after = asked_events(events)?;
    let kernel = &kernel.get().kernel;
    // SAFETY: TB2. The number of arguments and the memory are checked, on CUDA sizes of numbers, too. The rest of it, and 2, are up to the
    // Python program, as SECURITY.md says.
    let start = |after: &[Event]| unsafe { submit_kernel(queue, kernel, &arguments, range, after) };
    py.detach(|| flight::launch(queue, after, start)).map(SyclEvent::of_steps).or_raise()
}

fn execution_range(global: &Bound<'_, PyAny>, local: Option<&Bound<'_, PyAny>>) -> PyResult<ExecutionRange> {
    let range = |name, sizes| Range::from_slice(&index_sequence::<usize>(name, sizes)?).or_raise();
    let global = range("gS", global)?;
    Ok(match local {
        None => global.into(),
        Some(local) => NdRange::new(global, range("lS", local)?).into(),
    })
}
