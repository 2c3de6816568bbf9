//! The operations of a queue: from Python's operands to operations under way.

use pyo3::prelude::*;
use usm_array::usm_core::{Event, Queue};
use usm_array::usm_memory::{self, Completion, HostMemory, HostMemoryMut, UsmBuffer, flight};

use crate::buffer_import::HostBytes;
use crate::errors::{OrRaise, wrong_type};
use crate::interface::import::array_if_usm;
use crate::interrupt;
use crate::memory;
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

/// Both ends of a copy: the target, and the source. Each end has at least as many bytes as are copied, USM exactly as many.
enum Ends {
    Usm(UsmBuffer, UsmBuffer),
    Upload(UsmBuffer, HostBytes),
    Download(HostBytes, UsmBuffer),
    Host(HostBytes, HostBytes),
}

impl Ends {
    /// For a copy of the first `count` bytes, or of all bytes of both ends, which have as many then. Returns the number, too.
    fn of(
        queue: &Queue,
        dest: &Bound<'_, PyAny>,
        src: &Bound<'_, PyAny>,
        count: Option<usize>,
    ) -> PyResult<(Self, usize)> {
        let ends = match (usm_memory("dest", dest, queue)?, usm_memory("src", src, queue)?) {
            (Some(to), Some(from)) => Self::Usm(to, from),
            (Some(to), None) => Self::Upload(to, HostBytes::source("src", src)?),
            (None, Some(from)) => Self::Download(HostBytes::target("dest", dest)?, from),
            (None, None) => Self::Host(HostBytes::target("dest", dest)?, HostBytes::source("src", src)?),
        };
        let (to, from) = match &ends {
            Self::Usm(to, from) => (to.len_bytes(), from.len_bytes()),
            Self::Upload(to, from) => (to.len_bytes(), from.len()),
            Self::Download(to, from) => (to.len(), from.len_bytes()),
            Self::Host(to, from) => (to.len(), from.len()),
        };
        let count = match count {
            Some(count) => count,
            None if to == from => to,
            None => {
                return Err(value_error!("src: found {from} bytes, allowed are {to}, as many as dest has"));
            }
        };
        let ends = match ends {
            Self::Usm(to, from) => Self::Usm(first("dest", &to, count)?, first("src", &from, count)?),
            Self::Upload(to, from) => {
                let to = first("dest", &to, count)?;
                from.check_len("src", count)?;
                Self::Upload(to, from)
            }
            Self::Download(to, from) => {
                let from = first("src", &from, count)?;
                to.check_len("dest", count)?;
                Self::Download(to, from)
            }
            Self::Host(to, from) => {
                to.check_len("dest", count)?;
                from.check_len("src", count)?;
                Self::Host(to, from)
            }
        };
        Ok((ends, count))
    }
}

fn kept(name: &str, bytes: HostBytes, count: usize, other: &UsmBuffer) -> PyResult<KeptBytes> {
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
    py.detach(|| flight::launch(queue, after, start)).map(SyclEvent::of_steps).or_raise()
}

/// Copies the first `count` bytes; without a count all of both sides, which have as many.
pub(super) fn memcpy_async(
    queue: &Queue,
    dest: &Bound<'_, PyAny>,
    src: &Bound<'_, PyAny>,
    count: Option<usize>,
    events: Option<&Bound<'_, PyAny>>,
) -> PyResult<SyclEvent> {
    let py = dest.py();
    let (ends, count) = Ends::of(queue, dest, src, count)?;
    match ends {
        Ends::Usm(to, from) => submit(py, queue, events, |after| to.copy_from_async(&from, after)),
        Ends::Upload(to, from) => {
            let bytes = kept("src", from, count, &to)?;
            submit(py, queue, events, |after| Ok(to.copy_from_owned_async(bytes, 0, after)?))
        }
        Ends::Download(to, from) => {
            let bytes = KeptTarget(kept("dest", to, count, &from)?);
            submit(py, queue, events, |after| Ok(from.copy_to_owned_async(bytes, 0, after)?))
        }
        Ends::Host(to, from) => {
            interrupt::wait_all(py, &asked_events(events)?)?;
            wait_in_order(py, queue)?;
            from.copy_to(py, to, count)?;
            Ok(SyclEvent::complete())
        }
    }
}

/// As `memcpy_async`, and waits.
pub(super) fn memcpy(
    queue: &Queue,
    dest: &Bound<'_, PyAny>,
    src: &Bound<'_, PyAny>,
    count: usize,
) -> PyResult<()> {
    let py = dest.py();
    let (ends, count) = Ends::of(queue, dest, src, Some(count))?;
    wait_in_order(py, queue)?;
    match ends {
        Ends::Usm(to, from) => memory::copy(py, to, from),
        Ends::Upload(to, from) => from.copy_to_buffer(py, &to, count),
        Ends::Download(to, from) => to.copy_from_buffer(py, &from, count),
        Ends::Host(to, from) => from.copy_to(py, to, count),
    }
}

/// Lets host code come after all that was submitted to an in-order queue.
fn wait_in_order(py: Python<'_>, queue: &Queue) -> PyResult<()> {
    if queue.properties().in_order {
        return py.detach(|| flight::wait(queue)).or_raise();
    }
    py.detach(flight::sweep);
    Ok(())
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
