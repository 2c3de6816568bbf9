//! Threads that do something for another one, which waits for them.

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
/// use usm_memory::Errand;
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
