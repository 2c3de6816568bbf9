//! Streams that are captured into a graph: what may be recorded, and what the graph keeps.
//!
//! While work is captured, the driver refuses many calls, and most of them *invalidate* the capture, so that the user's graph is lost.
//! So [`Current`](super::device::Current) puts the thread into the mode that permits all calls but those about captured work, and this
//! backend asks whether a stream is captured before each call about it.
//!
//! A graph may run an operation at any time until its last executable form is gone, so it keeps what the operation uses as a *user
//! object* of the driver. The driver destroys that on a thread of its own, which must call no function of the driver: the value goes to a
//! list, and host code lets it go.

use std::any::Any;
use std::ffi::{c_int, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use super::device::Current;
use super::driver::{
    Code, Driver, GRAPH_USER_OBJECT_MOVE, Graph, Stream, USER_OBJECT_NO_DESTRUCTOR_SYNC, UserObject,
};
use crate::fork::ForkMutex;
use crate::unwind::contained;
use crate::{Error, Result};

/// The text of the error for what cannot be recorded.
pub(super) const NOT_RECORDED: &str = "this cannot be recorded: it waits, allocates, uses host memory, or is no operation of a queue \
                                       alone; recorded are copies, casts, fills and kernels between arrays in device memory; do \
                                       this before the capture begins or after it ends";
pub(super) const OUTSIDE: &str = "what is recorded cannot come after work outside of the capture, and work outside cannot come after what is \
                       recorded; complete the other work before the capture begins, or do this after it ends";
const LEGACY: &str = "the legacy default stream would wait for the captured stream; do this before the capture begins or after it ends";
const INVALIDATED: &str =
    "an earlier call, maybe of another library, has invalidated the capture; end it, and begin a new one";
const OLD_DRIVER: &str =
    "the driver is too old to keep the memory of a graph; a driver for CUDA 11.3 or newer is needed";

/// The error for what cannot be done because of a capture.
pub(super) fn refused(reason: &'static str) -> Error {
    Error::StreamCapture { reason }
}

/// A capture that goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capture {
    /// Of no other capture of the process.
    pub(super) id: u64,
    graph: Graph,
}

/// A value that a graph keeps.
pub(super) type Kept = Box<dyn Any + Send>;

/// What graphs have let go.
static RELEASED: ForkMutex<Vec<Kept>> = ForkMutex::new(Vec::new());

/// Whether there is some, for a look without the lock.
static HAS_RELEASED: AtomicBool = AtomicBool::new(false);

/// Lets go what graphs kept that are gone.
pub(crate) fn let_go() {
    if HAS_RELEASED.load(Ordering::Relaxed) && HAS_RELEASED.swap(false, Ordering::AcqRel) {
        // Dropped without the lock.
        let _released = mem::take(&mut *RELEASED.lock());
    }
}

/// The destructor of a user object.
///
/// # Safety
/// 1. `value` is from [`Capture::keep`], and comes once.
unsafe extern "C" fn release(value: *mut c_void) {
    _ = contained("destructor of a graph", || {
        // SAFETY: `keep` made the box (promise 1).
        let kept = unsafe { Box::from_raw(value.cast::<Kept>()) };
        RELEASED.lock().push(*kept);
        HAS_RELEASED.store(true, Ordering::Release);
    });
}

impl Capture {
    /// The capture of a stream; `None` when it is not captured. The question changes nothing.
    ///
    /// # Safety
    /// 1. `stream` is live, or the number of a default stream, which needs a current context.
    pub(super) unsafe fn of(driver: &Driver, stream: Stream) -> Result<Option<Self>> {
        const NONE: c_int = 0;
        const ACTIVE: c_int = 1;
        let (mut status, mut id, mut graph) = (NONE, 0, Graph::NULL);
        let (call, code) = match driver.cuStreamGetCaptureInfo_v2 {
            Some(info) => ("cuStreamGetCaptureInfo", {
                // SAFETY: DR1; a live stream (1); the first three pointers are writable, and the others may be null.
                unsafe {
                    info(
                        stream,
                        &raw mut status,
                        &raw mut id,
                        &raw mut graph,
                        ptr::null_mut(),
                        ptr::null_mut(),
                    )
                }
            }),
            None => ("cuStreamIsCapturing", {
                // SAFETY: DR1; a live stream (1); the pointer is writable.
                unsafe { (driver.cuStreamIsCapturing)(stream, &raw mut status) }
            }),
        };
        if code == Code::CAPTURE_IMPLICIT {
            return Err(refused(LEGACY));
        }
        driver.check(call, code)?;
        match status {
            NONE => Ok(None),
            ACTIVE if graph != Graph::NULL => Ok(Some(Self { id, graph })),
            ACTIVE => Err(refused(OLD_DRIVER)),
            _ => Err(refused(INVALIDATED)),
        }
    }

    /// Lets the graph keep a value until it and all graphs made of it are gone, and their launches are complete.
    pub(super) fn keep(&self, current: &Current<'_>, value: Kept) -> Result<()> {
        let (Some(create), Some(retain), Some(drop_reference)) =
            (current.cuUserObjectCreate, current.cuGraphRetainUserObject, current.cuUserObjectRelease)
        else {
            return Err(refused(OLD_DRIVER));
        };
        let (mut object, value) = (UserObject::NULL, Box::into_raw(Box::new(value)));
        // SAFETY: DR1; the pointer is writable; `release` takes the value once.
        let code = unsafe {
            create(&raw mut object, value.cast(), Some(release), 1, USER_OBJECT_NO_DESTRUCTOR_SYNC)
        };
        if code != Code::SUCCESS {
            // SAFETY: the box of above, which no object has: the driver failed (DR1).
            drop(unsafe { Box::from_raw(value) });
            return current.check("cuUserObjectCreate", code);
        }
        // SAFETY: DR1; the graph of a capture that goes on; the graph takes the one reference.
        let code = unsafe { retain(self.graph, object, 1, GRAPH_USER_OBJECT_MOVE) };
        if code != Code::SUCCESS {
            // SAFETY: DR1; the graph has not taken the reference, and nobody uses the object.
            let _ = unsafe { drop_reference(object, 1) };
        }
        current.check("cuGraphRetainUserObject", code)
    }
}

/// Whether two streams can be ordered after each other: both are in one capture, or none is.
pub(super) fn check_together(a: Option<Capture>, b: Option<Capture>) -> Result<()> {
    let [a, b] = [a, b].map(|capture| capture.map(|capture| capture.id));
    if a == b { Ok(()) } else { Err(refused(OUTSIDE)) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Kept, let_go, release};
    use crate::unwind::{is_armed, panic_in};

    #[test]
    fn a_panic_in_a_destructor_of_the_driver_keeps_the_value() {
        let value = Arc::new(7);
        let kept = || Box::into_raw(Box::new(Box::new(Arc::clone(&value)) as Kept)).cast();
        let first = kept();
        panic_in("destructor of a graph");
        // SAFETY: 1. As of `keep`; the call does nothing with it.
        unsafe { release(first) };
        let_go();
        assert!(!is_armed());
        assert_eq!(Arc::strong_count(&value), 2);
        // SAFETY: 1. As of `keep`.
        unsafe { release(first) };
        let_go();
        assert_eq!(Arc::strong_count(&value), 1);
    }
}
