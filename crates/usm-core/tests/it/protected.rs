//! Device memory of the host backend faults under host code, in a child process that dies of it.
#![allow(clippy::unwrap_used)]

use crate::common;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use usm_core::{HostTask, TaskMemory, UsmKind};

const ROLE: &str = "USM_TEST_TOUCH";
const SIGSEGV: i32 = 11;

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

#[test]
fn host_code_cannot_touch_device_memory() {
    if let Ok(role) = std::env::var(ROLE) {
        touch(&role);
        return;
    }
    let run = |role: &str| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "protected::host_code_cannot_touch_device_memory"]).env(ROLE, role);
        child.output().unwrap().status
    };
    assert_eq!(run("read device").signal(), Some(SIGSEGV));
    assert_eq!(run("write device").signal(), Some(SIGSEGV));
    assert_eq!(run("task device").signal(), Some(SIGSEGV));
    assert!(run("task shared").success());
    assert!(run("read shared").success(), "the same code, on memory that host code may touch");
    assert!(run("write shared").success());
}
