//! Ends a test program that takes too long, with the stacks of all its threads: see README.md.
#![cfg(all(target_os = "linux", not(miri)))]

use std::backtrace::Backtrace;
use std::ffi::c_int;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// The limit of a test that has a process of its own, shorter than the one of `.config/nextest.toml`.
const LIMIT_S: u64 = 100;
/// The time that a thread has to print its stack.
const PATIENCE: Duration = Duration::from_secs(3);
/// The exit status of a program that took too long, as of `timeout`.
const STATUS: c_int = 124;

/// The thread that has to print its stack next, or 0.
static ASKED: AtomicI32 = AtomicI32::new(0);

// SAFETY: the loader calls the functions of this section, which have this signature, before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = start_timer;

/// The signal of the timer. The runtimes under test use none of the real-time signals.
fn time_is_up() -> c_int {
    libc::SIGRTMIN() + 7
}

/// The signal that asks a thread for its stack.
fn show_stack() -> c_int {
    libc::SIGRTMIN() + 8
}

fn limit() -> Option<u64> {
    let asked = env::var("USM_TEST_LIMIT_S").ok().and_then(|text| text.parse().ok());
    let of_nextest = || env::var_os("NEXTEST").map(|_| LIMIT_S);
    asked.or_else(of_nextest).filter(|&seconds| seconds > 0)
}

extern "C" fn start_timer() {
    let Some(seconds) = limit() else { return };
    handle(time_is_up(), on_time_up);
    handle(show_stack(), on_show_stack);
    // SAFETY: a struct of integers and pointers, for which zeros are values.
    let mut event: libc::sigevent = unsafe { mem::zeroed() };
    (event.sigev_notify, event.sigev_signo) = (libc::SIGEV_SIGNAL, time_is_up());
    let mut timer = ptr::null_mut();
    // SAFETY: both pointers are good for the call.
    if unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) } != 0 {
        return;
    }
    let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let end = libc::timespec { tv_sec: seconds.try_into().unwrap_or(libc::time_t::MAX), tv_nsec: 0 };
    let once = libc::itimerspec { it_interval: never, it_value: end };
    // SAFETY: a live timer of this process.
    unsafe { libc::timer_settime(timer, 0, &raw const once, ptr::null_mut()) };
}

fn handle(signal: c_int, handler: extern "C" fn(c_int)) {
    // SAFETY: a struct of integers and pointers, for which zeros are values.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    (action.sa_sigaction, action.sa_flags) = (handler as libc::sighandler_t, libc::SA_RESTART);
    // SAFETY: the handler is a function of this program; nobody else has a handler for the signal.
    unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
}

extern "C" fn on_time_up(_: c_int) {
    say("\nthe test program takes too long; the stacks of its threads:\n");
    // SAFETY: has no conditions.
    let process = unsafe { libc::getpid() };
    for thread in threads() {
        ASKED.store(thread, Ordering::SeqCst);
        // SAFETY: a thread that is gone is an error, without another effect.
        if unsafe { libc::syscall(libc::SYS_tgkill, process, thread, show_stack()) } != 0 {
            continue;
        }
        let end = Instant::now() + PATIENCE;
        while ASKED.load(Ordering::SeqCst) != 0 && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
        if ASKED.swap(0, Ordering::SeqCst) != 0 {
            say(&format!("thread {thread}: does not answer\n"));
        }
    }
    // SAFETY: ends the process without its destructors, which might hang, too.
    unsafe { libc::_exit(STATUS) }
}

fn threads() -> Vec<i32> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

extern "C" fn on_show_stack(_: c_int) {
    // SAFETY: has no conditions.
    let me = unsafe { libc::gettid() };
    let name = fs::read_to_string(format!("/proc/self/task/{me}/comm")).unwrap_or_default();
    say(&format!("thread {me} {}:\n{}\n", name.trim_end(), Backtrace::force_capture()));
    // A late answer is for nobody.
    let _ = ASKED.compare_exchange(me, 0, Ordering::SeqCst, Ordering::SeqCst);
}

/// Writes to stderr itself, which a test may have replaced for its thread.
fn say(text: &str) {
    // SAFETY: the bytes are good for the call.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}
