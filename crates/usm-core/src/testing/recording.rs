//! A backend that writes down every call.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::answer::Outcome;
use super::forward::signatures::*;
use super::text::Names;
use super::{Answer, Call, Method};
use crate::backend::Aspects;

/// One call and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// The call.
    pub call: Call,
    /// What it answered.
    pub answer: Answer,
}

/// A backend that does what the one below does and records each call, in the order in which they returned.
///
/// `Display` lists the calls, one a line. Handles are numbered there as they first appear (a runtime may use the value of
/// a released handle again, which keeps its number); memory has its address.
///
/// ```
/// use std::sync::Arc;
///
/// use usm_core::backend::host::HostBackend;
/// use usm_core::testing::RecordingBackend;
/// use usm_core::{Runtime, UsmKind};
///
/// # fn main() -> usm_core::Result<()> {
/// let recording = Arc::new(RecordingBackend::new(Arc::new(HostBackend::new())));
/// let runtime = Runtime::with_backend(recording.clone())?;
/// let queue = runtime.default_queue(&runtime.default_device())?;
/// recording.clear();
/// queue.wait()?;
/// assert_eq!(recording.to_string(), "\
/// barrier(queue#0, after []) -> event#1
/// wait(event#1) -> done
/// ");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RecordingBackend {
    inner: Arc<dyn Backend>,
    records: Mutex<Vec<Record>>,
    hides_host_tasks: bool,
    hidden_aspects: Aspects,
    observer: Observer,
}

/// What runs after each call.
struct Observer(Box<dyn Fn(&Call) + Send + Sync>);

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

impl RecordingBackend {
    /// Records the calls of `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn Backend>) -> Self {
        Self {
            inner,
            records: Mutex::default(),
            hides_host_tasks: false,
            hidden_aspects: Aspects::empty(),
            observer: Observer(Box::new(|_| ())),
        }
    }

    /// The same, with `observer` run after each call, on its thread, before the caller gets the answer. A test that holds a
    /// thread there makes a schedule of its own.
    #[must_use]
    pub fn with_observer(self, observer: impl Fn(&Call) + Send + Sync + 'static) -> Self {
        Self { observer: Observer(Box::new(observer)), ..self }
    }

    /// The same, as if `inner` ran no host tasks: what is built on queues then has to do without.
    #[must_use]
    pub fn without_host_tasks(self) -> Self {
        Self { hides_host_tasks: true, ..self }
    }

    /// The same, as if the devices of `inner` had none of these aspects.
    #[must_use]
    pub fn without_aspects(self, aspects: Aspects) -> Self {
        Self { hidden_aspects: aspects, ..self }
    }

    /// All calls so far.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        self.lock().clone()
    }

    /// How many calls of a method there were so far.
    #[must_use]
    pub fn count(&self, method: Method) -> usize {
        self.lock().iter().filter(|record| record.call.method() == method).count()
    }

    /// Forgets all calls so far.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Record>> {
        // Nothing is half done while the lock is held.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn around<R: Outcome>(&self, call: Call, run: impl FnOnce() -> R) -> R {
        let outcome = run();
        self.lock().push(Record { call: call.clone(), answer: outcome.answer() });
        (self.observer.0)(&call);
        outcome
    }
}

impl fmt::Display for RecordingBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = Names::default();
        self.lock().iter().try_for_each(|record| names.write(f, record))
    }
}

// SAFETY: every call goes to `inner` and every answer comes from it unchanged, so that its promises hold here, but for aspects that
// are missing, of which nothing is promised; a record
// holds no reference and frees nothing, and writing it down does not panic (promise 5).
unsafe impl Backend for RecordingBackend {
    forward!(most);

    unsafe fn device_info(&self, device: RawDevice) -> DeviceInfo {
        // SAFETY: the caller's promises.
        let mut info = self.around(Call::DeviceInfo { device }, || unsafe { self.inner.device_info(device) });
        info.aspects.remove(self.hidden_aspects);
        info
    }

    fn runs_host_tasks(&self) -> bool {
        !self.hides_host_tasks && self.inner.runs_host_tasks()
    }
}
