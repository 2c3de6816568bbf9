//! Arrays on other devices and queues, and otherwise converted.

use pyo3::prelude::*;
use usm_array::{Conversion, UsmArray, Work};

use crate::errors::{OrRaise, wrong_type};
use crate::interrupt;
use crate::objects::UsmNdarray;
use crate::sycl::{SyclQueue, queue_argument, queue_of};

/// The array itself where it is there already, a view for another queue of its context, otherwise a copy.
pub(super) fn to_device<'py>(
    array: &Bound<'py, UsmNdarray>,
    target: &Bound<'py, PyAny>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, UsmNdarray>> {
    let py = array.py();
    let ours = array.get().array();
    if let Some(stream) = stream {
        wait_for(py, ours, stream)?;
    }
    let queue = queue_argument(py, "target_device", Some(target))?;
    if queue == *ours.queue() {
        return Ok(array.clone());
    }
    let (work, ours) = (Work::of_move(ours, &queue), ours.clone());
    let there = interrupt::run(py, work, move || ours.to_queue(&queue))?;
    Bound::new(py, UsmNdarray::from_array(there.or_raise()?))
}

/// [`UsmArray::converted`], so that Ctrl-C gets through.
pub(super) fn converted(py: Python<'_>, array: &UsmArray, wanted: &Conversion<'_>) -> PyResult<UsmArray> {
    if array.is_as(wanted) {
        return Ok(array.clone());
    }
    let (work, array) = (Work::of_conversion(array, wanted), array.clone());
    let (queue, wanted) = (wanted.queue.cloned(), Conversion { queue: None, ..*wanted });
    let convert = move || array.converted(&Conversion { queue: queue.as_ref(), ..wanted });
    interrupt::run(py, work, convert)?.or_raise()
}

/// What was submitted to the stream is complete before the array is handed on.
fn wait_for(py: Python<'_>, array: &UsmArray, stream: &Bound<'_, PyAny>) -> PyResult<()> {
    let is_queue = queue_of(stream)?.is_some() || stream.hasattr("_get_capsule")?;
    if !is_queue {
        return Err(wrong_type("stream", stream, "are a SyclQueue and None"));
    }
    let queue = queue_argument(py, "stream", Some(stream))?;
    if queue == *array.queue() {
        return Ok(());
    }
    SyclQueue::from_queue(queue).wait(py)
}
