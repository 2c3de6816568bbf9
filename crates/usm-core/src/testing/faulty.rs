//! A backend whose n-th call fails.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::answer::MethodReturn;
use super::call::signatures::*;
use super::{Call, Method};
use crate::Error;

/// The call that fails: a position among the fallible calls of all methods or of one, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    at: usize,
    method: Option<Method>,
    persistent: bool,
    abandons: bool,
}

impl Fault {
    /// The `n`-th fallible call from now fails, and no other. 1 is the next one; 0 is none.
    #[must_use]
    pub const fn at(n: usize) -> Self {
        Self { at: n, method: None, persistent: false, abandons: false }
    }

    /// The `n`-th fallible call from now fails, and all after it. 1 is the next one; 0 is none.
    #[must_use]
    pub const fn from(n: usize) -> Self {
        Self { at: n, method: None, persistent: true, abandons: false }
    }

    /// The same, counting the calls of one method only. A method that is not [fallible](Method::is_fallible) never fails.
    #[must_use]
    pub const fn of(mut self, method: Method) -> Self {
        self.method = Some(method);
        self
    }

    /// The same, but a failing wait does not wait: its operation goes on, as one that is recorded into a CUDA graph.
    ///
    /// # Safety
    /// 1. The operands of such an operation stay, which promise 4 of [`Backend`] would make unnecessary.
    #[must_use]
    pub const unsafe fn abandoning(mut self) -> Self {
        self.abandons = true;
        self
    }

    const fn hits(&self, count: usize) -> bool {
        self.at != 0 && (count == self.at || self.persistent && count > self.at)
    }
}

#[derive(Debug, Default)]
struct State {
    fault: Option<Fault>,
    calls: HashMap<Method, usize>,
    failures: usize,
    failed: Option<Method>,
}

/// A backend that fails at calls that a test selects, and passes all other calls to the backend below.
///
/// A failing call does not reach the backend below, except [`wait`](Backend::wait), which waits before it fails. Failing calls
/// return [`Error::Backend`] with the method's name; `allocate` returns `None`.
///
/// Run a scenario with [`Fault::at`] 1, 2, … until [`failures`](Self::failures) stays 0. All its calls have failed once then.
#[derive(Debug)]
pub struct FaultyBackend {
    inner: Arc<dyn Backend>,
    state: Mutex<State>,
}

impl FaultyBackend {
    /// No call fails before [`arm`](Self::arm).
    #[must_use]
    pub fn new(inner: Arc<dyn Backend>) -> Self {
        Self { inner, state: Mutex::default() }
    }

    /// Lets a call fail, in place of the armed one. All counts start again.
    pub fn arm(&self, fault: Fault) {
        *self.state() = State { fault: Some(fault), ..State::default() };
    }

    /// Lets no call fail any more. Counts go on.
    pub fn disarm(&self) {
        self.state().fault = None;
    }

    /// Number of fallible calls since the last [`arm`](Self::arm), the failed ones included.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.state().calls.values().sum()
    }

    /// Number of these calls that were calls of one method.
    #[must_use]
    pub fn calls_of(&self, method: Method) -> usize {
        self.state().calls.get(&method).copied().unwrap_or(0)
    }

    /// Number of calls that failed by this backend since the last [`arm`](Self::arm).
    #[must_use]
    pub fn failures(&self) -> usize {
        self.state().failures
    }

    /// The method whose call failed last since the last [`arm`](Self::arm).
    #[must_use]
    pub fn failed(&self) -> Option<Method> {
        self.state().failed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole at any panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call and says whether it fails.
    fn fails(&self, method: Method) -> bool {
        if !method.is_fallible() {
            return false;
        }
        let mut state = self.state();
        let of_method = state.calls.entry(method).or_default();
        *of_method += 1;
        let of_method = *of_method;
        let fails = state.fault.is_some_and(|fault| match fault.method {
            Some(only) => only == method && fault.hits(of_method),
            None => fault.hits(state.calls.values().sum()),
        });
        if fails {
            state.failures += 1;
            state.failed = Some(method);
        }
        fails
    }

    fn around<R: MethodReturn>(&self, call: Call, run: impl FnOnce() -> R) -> R {
        let method = call.method();
        if !self.fails(method) {
            return run();
        }
        let error = Error::Backend { backend: self.inner.id(), call: method.name() };
        match R::failure(error) {
            Some(failure) if method == Method::Wait => {
                // Promise 4 holds for a failing wait, too.
                if !self.state().fault.is_some_and(|fault| fault.abandons) {
                    drop(run());
                }
                failure
            }
            Some(failure) => failure,
            None => run(),
        }
    }
}

// SAFETY: every answer but a failure is `inner`'s, which keeps all promises. A failure gives out no handle and no memory
// (promises 1 and 2) and touches nothing, since `inner` was not called; a failing wait has waited in `inner` (promise 4),
// unless a test has promised instead of it that the operands stay.
// `pointer_info` always comes from `inner` (promise 3). Counting does not panic (promise 5).
#[deny(clippy::missing_trait_methods, reason = "a default would hide the method of the backend below")]
unsafe impl Backend for FaultyBackend {
    forward!(all);
}
