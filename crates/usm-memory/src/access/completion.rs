//! The value that stands for an operation under way.

use std::any::Any;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::{fmt, mem};

use usm_core::{Completion as EventCompletion, Event, drops};

use crate::{Error, Result};

/// An operation under way, and the host memory `H` that it uses. The USM that it uses remembers the operation itself: later operations come
/// after it, guards wait for it, and the memory is not released before.
///
/// [`wait`](Self::wait) returns the result, and so does `.await`. A value without host memory may be dropped: the operation goes on, and its
/// error comes out of the next wait for memory that it writes. A drop waits with host memory, and after a copy through host USM. After an error the content of the
/// destination is undefined. Should a wait fail while the operation goes on, the host memory is kept for ever.
///
/// ```
/// use usm_memory::UsmBuffer;
/// use usm_memory::usm_core::{Runtime, UsmKind};
///
/// # fn main() -> usm_memory::Result<()> {
/// # let runtime = Runtime::global();
/// # let queue = runtime.default_queue(runtime.host_device())?;
/// let a = UsmBuffer::allocate(&queue, UsmKind::Device, 4)?;
/// let b = UsmBuffer::allocate(&queue, UsmKind::Device, 4)?;
///
/// // Each operation comes after those before it on the same memory, and the host waits once.
/// let upload = a.copy_from_vec_async(vec![1, 2, 3, 4], 0, &[])?;
/// b.copy_from_async(&a, &[])?;
/// let download = b.to_vec_async(&[])?;
/// assert_eq!(download.wait()?, [1, 2, 3, 4]);
/// # upload.wait()?;
/// # Ok(())
/// # }
/// ```
///
/// With the executor of a program, or one as in the example of [`usm_core::Completion`](EventCompletion):
///
/// ```
/// # use std::pin::pin;
/// # use std::sync::Arc;
/// # use std::task::{Context, Poll, Wake};
/// # use std::thread::{self, Thread};
/// # struct Unpark(Thread);
/// # impl Wake for Unpark {
/// #     fn wake(self: Arc<Self>) {
/// #         self.0.unpark();
/// #     }
/// # }
/// # fn block_on<F: Future>(future: F) -> F::Output {
/// #     let (waker, mut future) = (Arc::new(Unpark(thread::current())).into(), pin!(future));
/// #     loop {
/// #         match future.as_mut().poll(&mut Context::from_waker(&waker)) {
/// #             Poll::Ready(output) => return output,
/// #             Poll::Pending => thread::park(),
/// #         }
/// #     }
/// # }
/// use usm_memory::UsmBuffer;
/// use usm_memory::usm_core::{Runtime, UsmKind};
///
/// async fn there_and_back(buffer: &UsmBuffer) -> usm_memory::Result<Vec<u8>> {
///     buffer.copy_from_vec_async(vec![1, 2, 3, 4], 0, &[])?.await?;
///     buffer.to_vec_async(&[])?.await
/// }
///
/// # fn main() -> usm_memory::Result<()> {
/// let runtime = Runtime::global();
/// let queue = runtime.default_queue(runtime.host_device())?;
/// let buffer = UsmBuffer::allocate(&queue, UsmKind::Device, 4)?;
/// assert_eq!(block_on(there_and_back(&buffer))?, [1, 2, 3, 4]);
/// # Ok(())
/// # }
/// ```
pub struct Completion<H = ()> {
    /// Invariant X2: the operation is complete when these are. Nothing is under way of what was recorded in a graph.
    events: Vec<Event>,
    /// Earlier steps of the operation, whose errors are errors of it.
    steps: Vec<Event>,
    /// Invariant X1: nothing reads, writes or drops it before the operation is complete. `None` from the end of a wait on.
    host: Option<Kept<H>>,
    /// The event that a task waits for.
    polled: Option<EventCompletion>,
}

/// What only this value keeps for an operation.
pub(crate) struct Kept<H> {
    host: H,
    /// Memory that is not the caller's.
    _more: Option<Box<dyn Any + Send + Sync>>,
    /// Whether the operation uses some of this.
    is_used: bool,
}

impl Kept<()> {
    /// Nothing.
    pub(crate) const NONE: Self = Self { host: (), _more: None, is_used: false };

    /// Memory that the operation uses, and that nothing else keeps.
    pub(crate) fn memory(memory: impl Any + Send + Sync) -> Self {
        Self { host: (), _more: Some(Box::new(memory)), is_used: true }
    }
}

impl<H> Kept<H> {
    /// Memory of the host that the operation uses, to be given back.
    pub(crate) fn host(host: H) -> Self {
        Self { host, _more: None, is_used: true }
    }
}

impl<H> Completion<H> {
    /// Of an operation that is complete when the events are.
    pub(crate) fn new(events: Vec<Event>, host: Kept<H>) -> Self {
        Self { events, steps: Vec::new(), host: Some(host), polled: None }
    }

    /// Of an operation in several steps, of which the last one comes after all others.
    pub(crate) fn of_steps(mut steps: Vec<Event>, host: Kept<H>) -> Self {
        let events = steps.pop().into_iter().collect();
        Self { events, steps, host: Some(host), polled: None }
    }

    fn under_way(&self) -> impl Iterator<Item = &Event> {
        self.steps.iter().chain(&self.events).filter(|event| event.capture().is_none())
    }

    /// Waits for the end and gives the host memory back.
    ///
    /// # Errors
    /// [`Error::Core`] when the operation failed; the host memory is gone then.
    pub fn wait(mut self) -> Result<H> {
        Event::wait_all(self.under_way())?;
        self.finish()
    }

    /// The host memory of an operation that is complete.
    fn finish(&mut self) -> Result<H> {
        (self.events, self.steps) = (Vec::new(), Vec::new());
        self.host.take().map(|kept| kept.host).ok_or(Error::AlreadyTaken)
    }

    /// Whether the operation is complete, without waiting.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.under_way().all(Event::is_complete)
    }

    /// The events after which the operation is complete: one, or those that it was to come after where there was nothing to do.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The events of all steps, the last one first.
    pub(crate) fn all_events(&self) -> Vec<Event> {
        self.events.iter().chain(&self.steps).cloned().collect()
    }

    /// Waits in a drop. `false` where that failed and the operation may go on for ever.
    fn settle(&mut self) -> bool {
        let is_used = self.host.as_ref().is_some_and(|kept| kept.is_used);
        !is_used || drops::settle(&mem::take(&mut self.events))
    }
}

/// X1: the host memory is never pinned.
impl<H> Unpin for Completion<H> {}

/// The result, as that of [`wait`](Self::wait).
impl<H> Future for Completion<H> {
    type Output = Result<H>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<H>> {
        let this = &mut *self;
        while let Some(event) = this.steps.last().or(this.events.last()) {
            if event.capture().is_some() {
                break;
            }
            let polled = this.polled.get_or_insert_with(|| event.completion());
            match Pin::new(polled).poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                Poll::Ready(Ok(())) => {
                    this.polled = None;
                    let _complete = this.steps.pop().or_else(|| this.events.pop());
                }
            }
        }
        Poll::Ready(this.finish())
    }
}

impl<H> Drop for Completion<H> {
    fn drop(&mut self) {
        if !self.settle() {
            mem::forget(self.host.take()); // X1
        }
    }
}

impl<H> fmt::Debug for Completion<H> {
    // X1: the host memory cannot be shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completion").field("events", &self.events).finish_non_exhaustive()
    }
}

/// An operation that did not start, with the host memory that was meant for it. The operator `?` makes an [`Error`] of it.
#[derive(thiserror::Error)]
#[error("{error}")]
pub struct Refused<H> {
    /// Why.
    pub error: Error,
    /// The memory, as it was given unless the operation failed half way: then its content is undefined if it was the destination.
    pub host: H,
}

/// As of the error: its sentence, since `main` prints the error that it returns with `Debug`, or its fields with `{:#?}`.
impl<H> fmt::Debug for Refused<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.error, f)
    }
}

impl<H> From<Refused<H>> for Error {
    fn from(refused: Refused<H>) -> Self {
        refused.error
    }
}
