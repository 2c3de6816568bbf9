//! Repeated forks beside busy threads, to show that no child hangs.

use std::hint;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::campaign;

/// Number of checks before a child counts as hung, one per millisecond after the first ones. A count stops on a machine that stops
/// all programs for a while; a clock would not.
const LOOKS: usize = 30_000;
/// Checks without a pause.
const QUICK_LOOKS: usize = 200;

/// Number of children that a test forks beside one kind of activity: `USM_TEST_FORKS` in the environment, or `default`.
#[must_use]
pub fn number(default: usize) -> usize {
    campaign::number("USM_TEST_FORKS", default)
}

/// Forks `forks` children, one after the other, while one thread per function of `busy` runs it over and over. Each child runs
/// `child`, which returns `true` on success, and exits without handlers. The slowest child is told as a
/// [figure](campaign::figure), under the name of the test.
///
/// # Errors
/// The first child that failed or hung. A hanging child is killed.
pub fn fork_beside(
    forks: usize,
    busy: &[&(dyn Fn() + Sync)],
    child: &dyn Fn() -> bool,
) -> Result<(), String> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for busy in busy {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    busy();
                }
            });
        }
        let mut slowest = Duration::ZERO;
        let outcome = (0..forks).try_for_each(|number| {
            let start = Instant::now();
            let ended = one(child).map_err(|reason| format!("child {number} of {forks} {reason}"));
            slowest = slowest.max(start.elapsed());
            ended
        });
        // The scope waits for its threads.
        stop.store(true, Ordering::Relaxed);
        outcome?;
        let thread = thread::current();
        let name = thread.name().unwrap_or("other threads").replace('_', " ");
        let slowest_s = slowest.as_secs_f64();
        campaign::figure(&format!("{forks} forks {name}, 0 hung, the slowest child took {slowest_s:.2} s"))
            .map_err(|error| error.to_string())
    })
}

/// Forks one child and waits for its end.
///
/// Invariant FK1: the child calls only functions that this library supports in a child, and exits without handlers. Its parent alone
/// waits for it.
///
/// # Errors
/// The status of a child that failed.
pub fn one(child: &dyn Fn() -> bool) -> Result<(), String> {
    // SAFETY: FK1.
    match unsafe { libc::fork() } {
        0 => {
            let is_well = catch_unwind(AssertUnwindSafe(child)).unwrap_or_else(|payload| {
                // Test runners capture the output of macros, and the child exits before it is shown.
                let text = payload.downcast_ref::<String>().cloned();
                let text = text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string));
                let _ = writeln!(io::stderr(), "in a forked child: {}", text.unwrap_or_default());
                false
            });
            // SAFETY: LC1; ends the child.
            unsafe { libc::_exit(i32::from(!is_well)) }
        }
        id if id > 0 => wait(id),
        _ => Err("could not be made".to_owned()),
    }
}

fn wait(id: libc::pid_t) -> Result<(), String> {
    let mut status = 0;
    for look in 0..LOOKS {
        // SAFETY: waits for our own child (FK1).
        match unsafe { libc::waitpid(id, &raw mut status, libc::WNOHANG) } {
            0 if look < QUICK_LOOKS => {
                hint::spin_loop();
                thread::yield_now();
            }
            0 => thread::sleep(Duration::from_millis(1)),
            _ if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 => return Ok(()),
            _ => return Err(format!("failed with status {status:#x}")),
        }
    }
    // SAFETY: LC1; ends our own child, which was not waited for.
    unsafe { libc::kill(id, libc::SIGKILL) };
    // SAFETY: waits for our own child (FK1).
    unsafe { libc::waitpid(id, &raw mut status, 0) };
    Err("hung".to_owned())
}
