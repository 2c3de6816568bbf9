//! Queues: streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::capture::{Capture, check_together};
use super::context::CudaContext;
use super::device::{CudaDevice, Current};
use super::driver::{Code, ContextHandle, STREAM_NON_BLOCKING, Stream};
use super::event::Clock;
use crate::backend::QueueProperties;
use crate::{Error, Result};

/// A stream of one device within a context.
#[derive(Debug)]
pub(super) struct CudaQueue {
    pub(super) context: Arc<CudaContext>,
    pub(super) device: Arc<CudaDevice>,
    pub(super) properties: QueueProperties,
    /// Invariant CQ1: a stream of the device's primary context, live as long as this value.
    pub(super) stream: Stream,
    /// Whether the stream is destroyed with this value.
    is_owned: bool,
    /// Whether other code knows the stream, and may capture it.
    is_known: AtomicBool,
    /// The start of the times of a queue with profiling.
    pub(super) clock: Option<Arc<Clock>>,
}

impl CudaQueue {
    pub(super) fn new(
        context: Arc<CudaContext>,
        device: Arc<CudaDevice>,
        properties: QueueProperties,
    ) -> Result<Self> {
        let stream = {
            let current = device.enter()?;
            let mut stream = Stream::NULL;
            // SAFETY: DR1; the pointer is writable, and the context is current.
            let code = unsafe { (current.cuStreamCreate)(&raw mut stream, STREAM_NON_BLOCKING) };
            current.check("cuStreamCreate", code)?;
            stream
        };
        let mut queue = Self {
            context,
            device,
            properties,
            stream,
            is_owned: true,
            is_known: AtomicBool::new(false),
            clock: None,
        };
        if properties.profiling {
            queue.clock = Some(Arc::new(Clock::new(&queue.device, stream)?));
        }
        Ok(queue)
    }

    /// A queue on a stream of another library.
    ///
    /// # Safety
    /// 1. `stream` is a live `CUstream` of the device's primary context, or the number of a default stream, and stays live as long
    ///    as the queue.
    pub(super) unsafe fn on_stream(
        context: Arc<CudaContext>,
        device: Arc<CudaDevice>,
        stream: usize,
    ) -> Result<Self> {
        let stream = Stream(std::ptr::with_exposed_provenance_mut(stream));
        // SAFETY: the caller's promise 1.
        unsafe { check_context(&device.enter()?, stream) }?;
        Ok(Self {
            context,
            device,
            properties: QueueProperties::IN_ORDER,
            stream,
            is_owned: false,
            is_known: AtomicBool::new(true),
            clock: None,
        })
    }

    /// Lets later work of this queue start after all that was submitted to a stream of the device.
    ///
    /// # Safety
    /// 1. `stream` is a live `CUstream`, or the number of a default stream.
    pub(super) unsafe fn order_after(&self, stream: usize) -> Result<()> {
        let stream = Stream(std::ptr::with_exposed_provenance_mut(stream));
        if stream == self.stream {
            return Ok(());
        }
        let current = self.device.enter()?;
        // SAFETY: the caller's promise 1.
        let other = match unsafe { Capture::of(&current, stream) } {
            Err(Error::Driver { .. }) => None, // the calls below find the reason
            found => found?,
        };
        check_together(self.capture(&current)?, other)?;
        let event = current.take_event(false)?;
        // SAFETY: DR1; an event that no operation uses, and a live stream (1). The driver refuses a stream of another context.
        let mut code = unsafe { (current.cuEventRecord)(event, stream) };
        let mut call = "cuEventRecord";
        if code == Code::SUCCESS {
            call = "cuStreamWaitEvent";
            // SAFETY: DR1; CQ1; the event that was just recorded; the flags must be 0.
            code = unsafe { (current.cuStreamWaitEvent)(self.stream, event, 0) };
        }
        current.device().return_event(event, false);
        if code == Code::SUCCESS {
            return Ok(());
        }
        // SAFETY: the caller's promise 1.
        unsafe { check_context(&current, stream) }?;
        current.check(call, code)
    }

    /// Whether the stream has no work. `None` while it is captured, since the question would end the capture; after an error; and for a
    /// stream of another library: an event of that may wait for work of other streams, too, by the rules of the default stream.
    pub(super) fn is_idle(&self) -> Option<bool> {
        if !self.is_owned {
            return None;
        }
        let current = self.device.enter().ok()?;
        let mut capture = 0;
        // SAFETY: DR1; CQ1; the pointer is writable.
        let code = unsafe { (current.cuStreamIsCapturing)(self.stream, &raw mut capture) };
        if code != Code::SUCCESS || capture != 0 {
            return None;
        }
        // SAFETY: DR1; CQ1.
        match unsafe { (current.cuStreamQuery)(self.stream) } {
            Code::SUCCESS => Some(true),
            Code::NOT_READY => Some(false),
            _ => None,
        }
    }

    /// The capture of the stream. One that no other code knows is in none: no operation of ours lets it come after captured work.
    pub(super) fn capture(&self, current: &Current<'_>) -> Result<Option<Capture>> {
        if !self.is_known.load(Ordering::Acquire) {
            return Ok(None);
        }
        // SAFETY: CQ1.
        unsafe { Capture::of(current, self.stream) }
    }

    /// As [`capture`](Self::capture), without a current context where none is needed.
    pub(super) fn capture_now(&self) -> Result<Option<Capture>> {
        if !self.is_owned {
            return self.capture(&self.device.enter()?);
        }
        if !self.is_known.load(Ordering::Acquire) {
            return Ok(None);
        }
        let driver = self.device.platform.entry.enter()?;
        // SAFETY: CQ1: a stream of our own.
        unsafe { Capture::of(&driver, self.stream) }
    }

    pub(super) fn device(&self) -> &Arc<CudaDevice> {
        &self.device
    }

    /// The stream for other code.
    pub(super) fn stream_address(&self) -> usize {
        self.is_known.store(true, Ordering::Release);
        self.stream.0.expose_provenance()
    }
}

impl Drop for CudaQueue {
    fn drop(&mut self) {
        if self.is_owned
            && let Ok(current) = self.device.enter()
        {
            // SAFETY: DR1; our own stream (CQ1), used no more. The driver completes its work first, without a wait here.
            let _ = unsafe { (current.cuStreamDestroy_v2)(self.stream) };
        }
    }
}

/// Refuses a stream of another context than the current one.
///
/// # Safety
/// 1. `stream` is a live `CUstream`, or the number of a default stream.
unsafe fn check_context(current: &Current<'_>, stream: Stream) -> Result<()> {
    let mut of_stream = ContextHandle::NULL;
    // SAFETY: DR1; the pointer is writable, and the stream is live (1).
    let code = unsafe { (current.cuStreamGetCtx)(stream, &raw mut of_stream) };
    current.check("cuStreamGetCtx", code)?;
    if of_stream == current.context() {
        return Ok(());
    }
    let device = current.device().filter_string();
    let reason = format!("the stream does not belong to the primary context of {device}");
    Err(Error::InvalidExternalHandle { what: "CUDA stream", reason })
}
