//! The operations of a queue: from Python's operands to operations under way.

use pyo3::prelude::*;
use usm_array::usm_core::{Event, Queue};
use usm_array::usm_memory::flight::{self, Flight};
use usm_array::usm_memory::{self, Completion, HostMemory, HostMemoryMut, UsmBuffer};

use crate::buffer_import::HostBytes;
use crate::errors::{OrRaise, wrong_type};
use crate::interface::import::array_if_usm;
use crate::interrupt;
use crate::memory::copy_host_bytes;
use crate::sycl::event::{self, SyclEvent};

/// Bytes of a Python buffer that a transfer keeps.
struct KeptBytes {
    /// Invariant Q1: of at least `count` bytes, which overlap no USM of the transfer.
    bytes: HostBytes,
    count: usize,
}

// SAFETY: 1. The buffer is held as long as this lives (P1, P2, Q1). 2. The Python program has to keep other code from writing the
// bytes, as for every consumer of the buffer protocol.
unsafe impl HostMemory for KeptBytes {
    fn start(&self) -> *const u8 {
        self.bytes.start().cast_const()
    }

    fn len_bytes(&self) -> usize {
        self.count
    }
}

/// As `KeptBytes`. Invariant Q2: the buffer said that it is writable.
struct KeptTarget(KeptBytes);

// SAFETY: 1. The buffer is held as long as this lives (P1, P2, Q1). 2. The Python program has to keep other code from the bytes, as for
// every consumer of the buffer protocol.
unsafe impl HostMemory for KeptTarget {
    fn start(&self) -> *const u8 {
        self.0.start()
    }

    fn len_bytes(&self) -> usize {
        self.0.count
    }
}

// SAFETY: 1. The buffer is writable (Q2). 2. The Python program has to keep other code from the bytes.
unsafe impl HostMemoryMut for KeptTarget {
    fn start_mut(&mut self) -> *mut u8 {
        self.0.bytes.start()
    }
}

/// The memory of an object with the interface, to be used through `queue` where that is of its context; `None` for other objects.
fn usm_memory(name: &str, object: &Bound<'_, PyAny>, queue: &Queue) -> PyResult<Option<UsmBuffer>> {
    let Some(array) = array_if_usm(object)? else { return Ok(None) };
    if !array.is_c_contiguous() {
        return Err(value_error!("{name}: found a strided array, allowed is contiguous memory"));
    }
    let (bytes, _) = array.span().or_raise()?;
    Ok(Some(bytes.on_queue(queue).unwrap_or(bytes)))
}

/// As `usm_memory`, for an object that must have the interface.
fn only_usm(name: &str, object: &Bound<'_, PyAny>, queue: &Queue) -> PyResult<UsmBuffer> {
    usm_memory(name, object, queue)?.ok_or_else(|| wrong_type(name, object, "is USM memory"))
}

fn first(name: &str, buffer: &UsmBuffer, count: usize) -> PyResult<UsmBuffer> {
    buffer.sub_buffer(0, count).map_err(|_| {
        let found = buffer.len_bytes();
        value_error!("{name}: found {found} bytes, allowed are at least {count}")
    })
}

fn kept(name: &str, bytes: HostBytes, count: usize, other: &UsmBuffer) -> PyResult<KeptBytes> {
    bytes.check_len(name, count)?;
    if bytes.overlaps(other) {
        return Err(value_error!(
            "{name}: found a buffer over the memory on the other side, allowed is that memory itself"
        ));
    }
    Ok(KeptBytes { bytes, count })
}

/// The argument `dEvents`.
pub(super) fn asked_events(asked: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Event>> {
    asked.map_or(Ok(Vec::new()), |asked| event::events("dEvents", asked))
}

/// Submits an operation after the given events, and in an in-order queue after all earlier operations.
fn submit<H: Send + 'static>(
    py: Python<'_>,
    queue: &Queue,
    asked: Option<&Bound<'_, PyAny>>,
    start: impl FnOnce(&[Event]) -> usm_memory::Result<Completion<H>> + Send,
) -> PyResult<SyclEvent> {
    let after = asked_events(asked)?;
    py.detach(|| Flight::launch(queue, after, start)).map(SyclEvent::of_flight).or_raise()
}

/// Copies the first `count` bytes; without a count all of both sides, which have as many.
pub(super) fn memcpy(
    queue: &Queue,
    dest: &Bound<'_, PyAny>,
    src: &Bound<'_, PyAny>,
    count: Option<usize>,
    events: Option<&Bound<'_, PyAny>>,
) -> PyResult<SyclEvent> {
    let py = dest.py();
    let (to, from) = (usm_memory("dest", dest, queue)?, usm_memory("src", src, queue)?);
    let count = match count {
        Some(count) => count,
        None => equal_length((dest, to.as_ref()), (src, from.as_ref()))?,
    };
    match (to, from) {
        (Some(to), Some(from)) => {
            let (to, from) = (first("dest", &to, count)?, first("src", &from, count)?);
            submit(py, queue, events, |after| to.copy_from_async(&from, after))
        }
        (Some(to), None) => {
            let to = first("dest", &to, count)?;
            let bytes = kept("src", HostBytes::source("src", src)?, count, &to)?;
            submit(py, queue, events, |after| Ok(to.copy_from_owned_async(bytes, 0, after)?))
        }
        (None, Some(from)) => {
            let from = first("src", &from, count)?;
            let bytes = KeptTarget(kept("dest", HostBytes::target("dest", dest)?, count, &from)?);
            submit(py, queue, events, |after| Ok(from.copy_to_owned_async(bytes, 0, after)?))
        }
        (None, None) => {
            let asked = asked_events(events)?;
            let before = py.detach(|| flight::before_host_code(queue, asked)).or_raise()?;
            interrupt::wait_all(py, &before)?;
            py.detach(flight::sweep);
            copy_host_bytes(dest, src, count)?;
            Ok(SyclEvent::complete())
        }
    }
}

/// An object and its memory, if it is USM.
type Side<'a, 'py> = (&'a Bound<'py, PyAny>, Option<&'a UsmBuffer>);

/// The number of bytes of both sides of a copy.
fn equal_length(dest: Side<'_, '_>, src: Side<'_, '_>) -> PyResult<usize> {
    let length = |name: &str, (object, buffer): Side<'_, '_>| match buffer {
        Some(buffer) => Ok(buffer.len_bytes()),
        None => HostBytes::source(name, object).map(|bytes| bytes.len()),
    };
    let (to, from) = (length("dest", dest)?, length("src", src)?);
    if to == from {
        return Ok(to);
    }
    Err(value_error!("src: found {from} bytes, allowed are {to}, as many as dest has"))
}

/// Repeats `pattern` `count` times; without a count as often as it fits.
pub(super) fn fill(
    queue: &Queue,
    dest: &Bound<'_, PyAny>,
    pattern: &[u8],
    count: Option<usize>,
    events: Option<&Bound<'_, PyAny>>,
) -> PyResult<SyclEvent> {
    let mut to = only_usm("dest", dest, queue)?;
    if let Some(count) = count {
        to = first("dest", &to, count.saturating_mul(pattern.len()))?;
    }
    submit(dest.py(), queue, events, |after| to.fill_async(pattern, after))
}

/// The bytes that a hint is about: the first `count`, or all when that is 0 or more than there are.
fn hinted(mem: &Bound<'_, PyAny>, queue: &Queue, count: usize) -> PyResult<UsmBuffer> {
    let memory = only_usm("mem", mem, queue)?;
    let all = memory.len_bytes();
    first("mem", &memory, if count == 0 { all } else { count.min(all) })
}

/// Hints that the queue's device will soon use the memory.
pub(super) fn prefetch(
    queue: &Queue,
    mem: &Bound<'_, PyAny>,
    count: usize,
    events: Option<&Bound<'_, PyAny>>,
) -> PyResult<SyclEvent> {
    let memory = hinted(mem, queue, count)?;
    submit(mem.py(), queue, events, |after| memory.prefetch_async(after))
}

/// Says how the memory will be used.
pub(super) fn mem_advise(
    queue: &Queue,
    mem: &Bound<'_, PyAny>,
    count: usize,
    advice: i32,
    events: Option<&Bound<'_, PyAny>>,
) -> PyResult<SyclEvent> {
    let memory = hinted(mem, queue, count)?;
    submit(mem.py(), queue, events, |after| memory.mem_advise_async(advice, after))
}
