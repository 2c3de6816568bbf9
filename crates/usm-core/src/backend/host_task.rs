//! Host code as an operation of a queue, with the memory it works on.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::mem;
use std::panic::{self, AssertUnwindSafe};

/// A range of memory that a host task works on: USM of the queue's context, or host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskMemory {
    /// First byte.
    pub start: *mut u8,
    /// Length in bytes.
    pub len_bytes: usize,
}

type Run = dyn FnOnce(&[*mut u8]) -> Result<(), String> + Send;

thread_local! {
    /// How many host tasks this thread runs: one that waits runs others meanwhile.
    static RUNNING: Cell<u32> = const { Cell::new(0) };
}

/// Host code that a queue runs once, or never if the backend is dropped first.
///
/// It gets the native address of each [`TaskMemory`] of its submission. Host code reaches the bytes there while the task runs. It
/// may return an error message.
pub struct HostTask(Box<Run>);

impl HostTask {
    /// A task that calls `run`.
    #[must_use]
    pub fn new(run: impl FnOnce(&[*mut u8]) -> Result<(), String> + Send + 'static) -> Self {
        Self(Box::new(run))
    }

    /// Whether this thread runs a host task at the moment. Somebody may wait for the task who has locks that others wait for, so the task
    /// must wait for nobody.
    #[must_use]
    pub fn is_running() -> bool {
        RUNNING.try_with(Cell::get).unwrap_or(0) > 0
    }

    /// Runs it. For backends.
    ///
    /// # Errors
    /// The result of the task, or the message of its panic. No panic leaves this function.
    pub fn run(self, addresses: &[*mut u8]) -> Result<(), String> {
        let count =
            |change: fn(u32) -> u32| _ = RUNNING.try_with(|running| running.set(change(running.get())));
        count(|running| running + 1);
        let result = panic::catch_unwind(AssertUnwindSafe(|| (self.0)(addresses)));
        count(|running| running.saturating_sub(1));
        match result {
            Ok(result) => result,
            Err(payload) => {
                let reason = format!("it panicked: {}", message(&*payload));
                // Dropping it may panic, too.
                mem::forget(payload);
                Err(reason)
            }
        }
    }
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a text")
}

impl fmt::Debug for HostTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostTask")
    }
}

#[cfg(test)]
mod tests {
    use super::HostTask;

    #[test]
    fn panics_are_failures() {
        assert_eq!(HostTask::new(|_| Ok(())).run(&[]), Ok(()));
        assert_eq!(HostTask::new(|_| Err("no".to_owned())).run(&[]), Err("no".to_owned()));
        let failed = HostTask::new(|addresses| panic!("{} addresses", addresses.len())).run(&[]);
        assert_eq!(failed, Err("it panicked: 0 addresses".to_owned()));
        let failed = HostTask::new(|_| std::panic::panic_any(7)).run(&[]);
        assert_eq!(failed, Err("it panicked: without a text".to_owned()));
    }
}
