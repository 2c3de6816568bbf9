//! Device memory of the host backend faults under host code, in a child process that dies of it: on Windows.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};

use usm_core::UsmKind;
use windows_sys::Win32::Foundation::{EXCEPTION_ACCESS_VIOLATION, EXCEPTION_STACK_OVERFLOW};
use windows_sys::Win32::System::Diagnostics::Debug::{EXCEPTION_POINTERS, SetUnhandledExceptionFilter};

use crate::common;

const ROLE: &str = "USM_TEST_TOUCH";
const MESSAGE: &str = "usm: host code touched device USM at 0x";
const EXECUTE_HANDLER: i32 = 1;

/// How a child ended that runs the test of that name in a role, and what it printed on stderr.
fn child(test: &str, role: &str, environment: &[(&str, &str)]) -> (ExitStatus, String) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env_remove("USM_FAULT_MESSAGE").env(ROLE, role);
    let output = child.envs(environment.iter().copied()).output().unwrap();
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
}

/// In the child: touches the first byte of a block. Returns only when that did not fault.
fn touch(role: &str) {
    let queue = common::host_queue();
    let kind = if role.ends_with("shared") { UsmKind::Shared } else { UsmKind::Device };
    let block = queue.allocate(kind, 4096).unwrap();
    // SAFETY: within the block; waited for.
    unsafe { queue.memset(block.as_ptr().as_ptr(), 1, 4096, &[]) }.unwrap().wait().unwrap();
    if role.starts_with("read") {
        // SAFETY: not sound for device memory, which is what this test is about: the child dies here.
        assert_eq!(unsafe { block.as_ptr().read_volatile() }, 1);
    } else {
        // SAFETY: as above.
        unsafe { block.as_ptr().write_volatile(2) };
    }
}

#[test]
fn host_code_cannot_touch_device_memory() {
    if let Ok(role) = std::env::var(ROLE) {
        touch(&role);
        return;
    }
    let test = "protected_on_windows::host_code_cannot_touch_device_memory";
    for role in ["read device", "write device"] {
        let (status, text) = child(test, role, &[]);
        assert_eq!(status.code(), Some(EXCEPTION_ACCESS_VIOLATION), "{role}: {text}");
        assert_eq!(text.matches(MESSAGE).count(), 1, "{role}: {text}");
        assert!(text.contains("allocate host or shared USM instead\n"), "{text}");
        let (status, text) = child(test, role, &[("USM_FAULT_MESSAGE", "0")]);
        let expected = (Some(EXCEPTION_ACCESS_VIOLATION), false);
        assert_eq!((status.code(), text.contains(MESSAGE)), expected, "{role}: {text}");
    }
    for role in ["read shared", "write shared"] {
        let (status, text) = child(test, role, &[]);
        assert!(status.success(), "{role}, on memory that host code may touch: {text}");
    }
}

static WAS_CALLED: AtomicBool = AtomicBool::new(false);

/// Another filter, which ends the process.
unsafe extern "system" fn other_filter(_: *const EXCEPTION_POINTERS) -> i32 {
    eprintln!("the other filter, called before: {}", WAS_CALLED.swap(true, Ordering::Relaxed));
    EXECUTE_HANDLER
}

fn act(role: &str) {
    let reserve = || common::host_queue().allocate(UsmKind::Device, 64).unwrap();
    let touch_nothing = || {
        // SAFETY: not sound: the child dies here.
        unsafe { black_box(std::ptr::without_provenance::<u8>(8)).read_volatile() };
    };
    match role {
        "fault elsewhere" => {
            let _block = reserve();
            touch_nothing();
        }
        "stack overflow" => {
            let _block = reserve();
            black_box(overflow(0));
        }
        "filter before" | "filter before, elsewhere" => {
            // SAFETY: a function of this signature.
            unsafe { SetUnhandledExceptionFilter(Some(other_filter)) };
            let block = reserve();
            if role.ends_with("elsewhere") {
                touch_nothing();
            } else {
                // SAFETY: not sound: the child dies here.
                unsafe { block.as_ptr().read_volatile() };
            }
        }
        _ => unreachable!("{role}"),
    }
}

/// Uses more stack than there is.
fn overflow(depth: usize) -> usize {
    let frame = black_box([depth; 1024]);
    if depth == usize::MAX { 0 } else { overflow(depth + 1) + frame[depth % 1024] }
}

#[test]
fn other_faults_and_other_filters_are_as_without_the_message() {
    if let Ok(role) = std::env::var(ROLE) {
        return act(&role);
    }
    let test = "protected_on_windows::other_faults_and_other_filters_are_as_without_the_message";
    let cases = [
        ("fault elsewhere", EXCEPTION_ACCESS_VIOLATION, false, ""),
        ("stack overflow", EXCEPTION_STACK_OVERFLOW, false, "has overflowed its stack"),
        ("filter before", EXCEPTION_ACCESS_VIOLATION, true, "the other filter, called before: false"),
        (
            "filter before, elsewhere",
            EXCEPTION_ACCESS_VIOLATION,
            false,
            "the other filter, called before: false",
        ),
    ];
    for (role, expected, has_message, expected_text) in cases {
        let (status, text) = child(test, role, &[]);
        assert_eq!(status.code(), Some(expected), "{role}: {text}");
        assert_eq!(text.contains(MESSAGE), has_message, "{role}: {text}");
        assert!(text.contains(expected_text), "{role}: {text}");
    }
}
