//! Device memory of the host backend faults under host code, in a child process that dies of it.
#![allow(clippy::unwrap_used)]

mod common;

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use usm_core::UsmKind;

const ROLE: &str = "USM_TEST_TOUCH";
const SIGSEGV: i32 = 11;

/// In the child: touches the first byte of a block. Returns only when that did not fault.
fn touch(role: &str) {
    let queue = common::host_queue();
    let kind = if role.ends_with("shared") { UsmKind::Shared } else { UsmKind::Device };
    let block = queue.allocate(kind, 4096).unwrap();
    // SAFETY: not sound for device memory, which is what this test is about: the child dies here.
    unsafe { queue.memset(block.as_ptr().as_ptr(), 1, 4096, &[]) }.unwrap().wait().unwrap();
    if role.starts_with("read") {
        // SAFETY: as above.
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
    let run = |role: &str| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "host_code_cannot_touch_device_memory"]).env(ROLE, role);
        child.output().unwrap().status
    };
    assert_eq!(run("read device").signal(), Some(SIGSEGV));
    assert_eq!(run("write device").signal(), Some(SIGSEGV));
    assert!(run("read shared").success(), "the same code, on memory that host code may touch");
    assert!(run("write shared").success());
}
