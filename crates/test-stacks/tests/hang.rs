//! A test that hangs is ended, and all its threads are shown.
#![allow(clippy::unwrap_used)]

use test_stacks as _;

use std::env;
use std::process::Command;
use std::thread;
use std::time::Duration;

const ROLE: &str = "TEST_STACKS_CHILD";

#[inline(never)]
fn a_function_that_hangs() {
    loop {
        thread::sleep(Duration::from_secs(1));
    }
}

#[test]
fn a_test_that_hangs_shows_its_threads_and_fails() {
    if env::var_os(ROLE).is_some() {
        let _other = thread::Builder::new().name("the other one".to_owned()).spawn(a_function_that_hangs);
        a_function_that_hangs();
    }
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "a_test_that_hangs_shows_its_threads_and_fails"]);
    let output = child.env(ROLE, "1").env("USM_TEST_LIMIT_S", "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(124), "{text}");
    assert_eq!(text.matches("::a_function_that_hangs").count(), 2, "{text}");
    assert!(text.contains("the other one:"), "{text}");
}
