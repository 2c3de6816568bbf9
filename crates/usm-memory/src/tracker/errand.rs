//! Threads that do something for another one, which waits for them, and threads that run code of the user in a wait.

use std::marker::PhantomData;

use super::process::borrows;
use super::thread::{as_thread, new_number, this_thread};

/// Something that another thread does while this one waits for it, and does nothing else but what interrupts a wait.
///
/// Code of the user for a signal may run in a wait of an operation. When such code has another thread do its work, the work could wait for the
/// operation, which waits for the code. This tells the owner of access who works for whom, so that the work gets
/// [`Error::BorrowConflict`](crate::Error::BorrowConflict) in place of such a wait. A copy of this library that uses the table of another
/// copy tells nobody.
///
/// ```
/// use usm_memory::interpreter::Errand;
///
/// let (errand, worker) = Errand::begin();
/// let thread = std::thread::spawn(|| worker.run(|| 6 * 7));
/// assert_eq!(thread.join().unwrap(), 42);
/// drop(errand); // nobody waits any more
/// ```
#[derive(Debug)]
#[must_use = "the errand ends when this is dropped"]
pub struct Errand {
    working: u64,
}

/// What the thread has that works for another one.
#[derive(Debug)]
#[must_use = "the thread that works runs its job with this"]
pub struct Worker {
    waiting: u64,
    working: u64,
}

impl Errand {
    /// From now on this thread waits, until the errand is dropped, for a job that another thread [runs](Worker::run).
    pub fn begin() -> (Self, Worker) {
        let (waiting, working) = (this_thread(), new_number());
        borrows().begin_errand(waiting, working);
        (Self { working }, Worker { waiting, working })
    }
}

impl Drop for Errand {
    fn drop(&mut self) {
        borrows().end_errand(self.working);
    }
}

impl Worker {
    /// Does the job. On the thread that began the errand it is a job like any other.
    pub fn run<T>(self, job: impl FnOnce() -> T) -> T {
        if this_thread() == self.waiting { job() } else { as_thread(self.working, job) }
    }
}

/// Code of the user that this thread runs in a wait, until the value is dropped: for a signal, or a finalizer.
///
/// The thread may use memory at the moment, and the code may wait in its own way for another thread, which waits for that memory. The owner
/// of access cannot see such a circle. After some seconds it lets the other thread have [`Error::BorrowConflict`](crate::Error::BorrowConflict)
/// in place of its wait. A copy of this library that uses the table of another copy tells nobody.
///
/// ```
/// let interlude = usm_memory::interpreter::Interlude::begin();
/// // run the code
/// drop(interlude);
/// ```
#[derive(Debug)]
#[must_use = "the interlude ends when this is dropped"]
pub struct Interlude {
    _of_thread: PhantomData<*const ()>,
}

impl Interlude {
    /// From now on this thread runs code of the user.
    pub fn begin() -> Self {
        borrows().begin_interlude();
        Self { _of_thread: PhantomData }
    }
}

impl Drop for Interlude {
    fn drop(&mut self) {
        borrows().end_interlude();
    }
}
