//! Device memory of the host backend faults under host code, in a child process that dies of it.
#![allow(clippy::unwrap_used)]

use crate::common;
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use usm_core::{HostTask, TaskMemory, UsmKind};

const ROLE: &str = "USM_TEST_TOUCH";
const SIGSEGV: i32 = 11;
const SIGABRT: i32 = 6;
const MESSAGE: &str = "usm: host code touched device USM at 0x";

/// In the child: touches the first byte of a block. Returns only when that did not fault.
fn touch(role: &str) {
    let queue = common::host_queue();
    let kind = if role.ends_with("shared") { UsmKind::Shared } else { UsmKind::Device };
    let block = queue.allocate(kind, 4096).unwrap();
    // SAFETY: not sound for device memory, which is what this test is about: the child dies here.
    unsafe { queue.memset(block.as_ptr().as_ptr(), 1, 4096, &[]) }.unwrap().wait().unwrap();
    if role.starts_with("task") {
        // At its public address, though a task may look at it elsewhere.
        let (start, memory) =
            (block.address(), TaskMemory { start: block.as_ptr().as_ptr(), len_bytes: 4096 });
        let task = HostTask::new(move |_| {
            // SAFETY: as above.
            unsafe { std::ptr::with_exposed_provenance::<u8>(start).read_volatile() };
            Ok(())
        });
        // SAFETY: as above.
        unsafe { queue.host_task(&[memory], task, &[]) }.unwrap().wait().unwrap();
    } else if role.starts_with("read") {
        // SAFETY: as above.
        assert_eq!(unsafe { block.as_ptr().read_volatile() }, 1);
    } else {
        // SAFETY: as above.
        unsafe { block.as_ptr().write_volatile(2) };
    }
}

/// How a child ended that runs the test of that name in a role, and what it printed on stderr.
fn child(test: &str, role: &str, environment: &[(&str, &str)]) -> (ExitStatus, String) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env_remove("USM_FAULT_MESSAGE").env(ROLE, role);
    let output = child.envs(environment.iter().copied()).output().unwrap();
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn host_code_cannot_touch_device_memory() {
    if let Ok(role) = std::env::var(ROLE) {
        touch(&role);
        return;
    }
    let test = "protected::host_code_cannot_touch_device_memory";
    for role in ["read device", "write device", "task device"] {
        let (status, text) = child(test, role, &[]);
        assert_eq!(status.signal(), Some(SIGSEGV), "{role}");
        assert_eq!(text.matches(MESSAGE).count(), 1, "{role}: {text}");
        assert!(text.contains("allocate host or shared USM instead\n"), "{text}");
        let (status, text) = child(test, role, &[("USM_FAULT_MESSAGE", "0")]);
        assert_eq!((status.signal(), text.contains(MESSAGE)), (Some(SIGSEGV), false), "{role}: {text}");
    }
    for role in ["task shared", "read shared", "write shared"] {
        let (status, text) = child(test, role, &[]);
        assert!(status.success(), "{role}, on memory that host code may touch: {text}");
    }
}

/// Reserves device memory, and with it the handler.
fn reserve() -> usm_core::Allocation {
    common::host_queue().allocate(UsmKind::Device, 64).unwrap()
}

/// Reads an address that nothing is mapped to.
fn touch_nothing() {
    // SAFETY: not sound: the child dies here.
    unsafe { black_box(std::ptr::without_provenance::<u8>(8)).read_volatile() };
}

/// Installs a handler of `SIGSEGV`; its address, and whether it takes what is known of the signal.
fn handle_by(handler: *const (), flags: i32) {
    // SAFETY: a struct of integers and pointers, for which zeros are values.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    (action.sa_sigaction, action.sa_flags) = (handler as libc::sighandler_t, flags);
    // SAFETY: the handlers below, with the flag that their signature demands.
    unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut()) };
}

fn say(text: &str) {
    // SAFETY: the text lives through the call.
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
}

/// As Python's `faulthandler`: reports, and leaves the end to the action that was there before.
extern "C" fn report_and_raise(signal: libc::c_int) {
    say("the other handler\n");
    handle_by(std::ptr::null(), 0);
    // SAFETY: has no conditions.
    unsafe { libc::raise(signal) };
}

/// As a virtual machine, which expects some faults: tells the address, and ends.
extern "C" fn end_with_the_address(
    _: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut std::ffi::c_void,
) {
    // SAFETY: what the system passes.
    let known = unsafe { &*info };
    // SAFETY: the signal is a fault.
    let is_expected = unsafe { known.si_addr() }.addr() == 8 && !context.is_null();
    // SAFETY: has no conditions.
    unsafe { libc::_exit(if is_expected { 43 } else { 44 }) };
}

/// Uses more stack than there is.
fn overflow(depth: usize) -> usize {
    let frame = black_box([depth; 1024]);
    if depth == usize::MAX { 0 } else { overflow(depth + 1) + frame[depth % 1024] }
}

fn act(role: &str) {
    match role {
        "fault elsewhere" => {
            let _block = reserve();
            touch_nothing();
        }
        "sent" => {
            // The handler of the standard library lets the first one go.
            handle_by(std::ptr::null(), 0);
            let _block = reserve();
            // SAFETY: has no conditions.
            unsafe { libc::raise(libc::SIGSEGV) };
        }
        "stack overflow" => {
            let _block = reserve();
            black_box(overflow(0));
        }
        "handler before" | "handler before, elsewhere" => {
            handle_by(report_and_raise as *const (), 0);
            let block = reserve();
            if role.ends_with("elsewhere") { touch_nothing() } else { read(&block) }
        }
        "handler with the address" => {
            handle_by(end_with_the_address as *const (), libc::SA_SIGINFO);
            let _block = reserve();
            touch_nothing();
        }
        "handler after" => {
            let block = reserve();
            handle_by(report_and_raise as *const (), 0);
            read(&block);
        }
        "ignored" => {
            handle_by(libc::SIG_IGN as *const (), 0);
            let _block = reserve();
            // SAFETY: has no conditions.
            unsafe { libc::raise(libc::SIGSEGV) };
            say("still here\n");
            read(&reserve());
        }
        _ => unreachable!("{role}"),
    }
}

fn read(block: &usm_core::Allocation) {
    // SAFETY: not sound: the child dies here.
    unsafe { block.as_ptr().read_volatile() };
}

#[test]
fn other_faults_and_other_handlers_are_as_without_the_message() {
    if let Ok(role) = std::env::var(ROLE) {
        return act(&role);
    }
    let test = "protected::other_faults_and_other_handlers_are_as_without_the_message";
    let (dies, ends) = (|signal| (Some(signal), None), |code| (None, Some(code)));
    let other = "the other handler\n";
    let cases: [(&str, _, bool, &str); 8] = [
        ("fault elsewhere", dies(SIGSEGV), false, ""),
        ("sent", dies(SIGSEGV), false, ""),
        // What the standard library prints, and how it ends the process.
        ("stack overflow", dies(SIGABRT), false, "has overflowed its stack"),
        ("handler before", dies(SIGSEGV), true, other),
        ("handler before, elsewhere", dies(SIGSEGV), false, other),
        ("handler with the address", ends(43), false, ""),
        // It has replaced ours, as any handler may.
        ("handler after", dies(SIGSEGV), false, other),
        ("ignored", dies(SIGSEGV), true, "still here\n"),
    ];
    for (role, expected, has_message, expected_text) in cases {
        let (status, text) = child(test, role, &[]);
        assert_eq!((status.signal(), status.code()), expected, "{role}: {text}");
        assert_eq!(text.contains(MESSAGE), has_message, "{role}: {text}");
        assert!(text.contains(expected_text), "{role}: {text}");
        assert!(text.matches(other).count() <= 1, "{role}: {text}");
    }
}
