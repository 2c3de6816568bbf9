//! Asynchronous errors that a wait has returned to nobody: the next wait on any queue returns them.
//!
//! The runtime of SYCL reports such an error once. All other errors of an operation come out of each wait for it.

use crate::Error;
#[cfg(feature = "sycl")]
use crate::backend::sycl::async_errors;

/// The result of a job of another thread, for a caller that may be gone when it is there. Dropped before it is [claimed](Self::claim), it
/// lets the next wait on any queue return the asynchronous error that a wait of the job has returned.
#[doc(hidden)]
#[derive(Debug)]
pub struct Unclaimed<T> {
    result: T,
    error: Returned,
}

/// The code of an asynchronous error that a wait of the job has returned.
#[derive(Debug)]
struct Returned(Option<i32>);

impl<T> Unclaimed<T> {
    /// Runs the job.
    pub fn of(job: impl FnOnce() -> T) -> Self {
        // This may be a part of another job, whose waits have returned something.
        let before = Returned::take();
        let result = job();
        let error = Returned::take();
        before.claim();
        Self { result, error }
    }

    /// The result, for the thread that takes the place of the other one.
    pub fn claim(self) -> T {
        let Self { result, error } = self;
        error.claim();
        result
    }
}

// Not inlined: there are dozens of kinds of jobs, and each runs for milliseconds.
impl Returned {
    /// What the last wait of this thread has returned.
    #[inline(never)]
    fn take() -> Self {
        #[cfg(feature = "sycl")]
        return Self(async_errors::take_noted());
        #[cfg(not(feature = "sycl"))]
        Self(None)
    }

    #[inline(never)]
    fn claim(mut self) {
        if let Some(_code) = self.0.take() {
            // This thread may run a job itself whose result nobody claims.
            #[cfg(feature = "sycl")]
            async_errors::note(_code);
        }
    }
}

impl Drop for Returned {
    #[inline(never)]
    fn drop(&mut self) {
        if let Some(_code) = self.0 {
            #[cfg(feature = "sycl")]
            async_errors::defer(_code);
        }
    }
}

/// Leaves an error of a wait to others.
pub(crate) fn defer(error: &Error) {
    if let Error::Asynchronous { code, .. } = error {
        drop(Returned(Some(*code)));
    }
}
