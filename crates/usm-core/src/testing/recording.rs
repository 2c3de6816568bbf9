//! A backend that records every call.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::answer::MethodReturn;
use super::call::signatures::*;
use super::text::Names;
use super::{Answer, Call, Method};
use crate::backend::Aspects;

/// One call and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// The call.
    pub call: Call,
    /// The answer.
    pub answer: Answer,
}

/// A backend that passes each call to the backend below and records it, in the order of the returns.
///
/// `Display` lists the calls, one per line. It numbers handles in the order of their first appearance (a runtime may reuse the
/// value of a released handle, which keeps its number), and names memory by its address.
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
/// let queue = runtime.default_queue(&runtime.default_device()?)?;
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

/// A function that runs after each call.
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

    /// The same, with `observer` run after each call, on its thread, before the caller gets the answer. A test can hold a thread there
    /// to make a schedule of its own.
    #[must_use]
    pub fn with_observer(self, observer: impl Fn(&Call) + Send + Sync + 'static) -> Self {
        Self { observer: Observer(Box::new(observer)), ..self }
    }

    /// The same, as if `inner` ran no host tasks, for tests of code that has to do without.
    #[must_use]
    pub fn without_host_tasks(self) -> Self {
        Self { hides_host_tasks: true, ..self }
    }

    /// The same, as if the devices of `inner` had none of the `aspects`.
    #[must_use]
    pub fn without_aspects(self, aspects: Aspects) -> Self {
        Self { hidden_aspects: aspects, ..self }
    }

    /// All calls so far.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        self.lock().clone()
    }

    /// Number of calls of a method so far.
    #[must_use]
    pub fn count(&self, method: Method) -> usize {
        self.lock().iter().filter(|record| record.call.method() == method).count()
    }

    /// Removes all calls so far.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Record>> {
        // The records are whole at any panic.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn around<R: MethodReturn>(&self, call: Call, run: impl FnOnce() -> R) -> R {
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

// SAFETY: promises 1 to 4: every call goes to `inner`, and every answer comes from it unchanged, except for hidden aspects, about which
// there is no promise. A record holds no reference and frees nothing. Promise 5: no record panics.
#[deny(clippy::missing_trait_methods, reason = "a default would hide the method of the backend below")]
unsafe impl Backend for RecordingBackend {
    forward!(most);

    unsafe fn device_info(&self, device: RawDevice) -> DeviceInfo {
        // SAFETY: the caller's promise 1.
        let mut info = self.around(Call::DeviceInfo { device }, || unsafe { self.inner.device_info(device) });
        info.aspects.remove(self.hidden_aspects);
        info
    }

    fn runs_host_tasks(&self) -> bool {
        !self.hides_host_tasks && self.inner.runs_host_tasks()
    }
}
