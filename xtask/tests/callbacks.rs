//! No panic goes into C: each function that C calls has a guard, or a reason to have none.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;

use common::{library, sources};

const LIBRARIES: [&str; 5] = ["sycl-sys", "usm-core", "usm-memory", "usm-array", "usm-python"];

/// Calls in which a panic ends: the guard of `usm-core/src/unwind.rs`, that of the standard library where the guard is not known, and
/// `answer` of the exchange functions, which uses it.
const GUARDS: [&str; 3] = ["contained(", "catch_unwind(", "answer("];

/// Functions without a guard. A panic in one ends the process, as the compiler does it for functions of C.
const UNGUARDED: [(&str, &[&str]); 3] = [
    // What a fork has prepared by half leaves a lock closed for ever in the child.
    ("usm-core/src/fork.rs", &["before", "in_child", "in_parent"]),
    // Handlers of faults allocate nothing and index with masks: nothing in them can panic.
    ("usm-core/src/backend/host/fault/linux.rs", &["on_fault"]),
    ("usm-core/src/backend/host/fault/windows.rs", &["on_exception"]),
];

/// The functions with the calling convention of C or of the system that a file defines, with their bodies.
fn callbacks(content: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = library(content).lines().collect();
    let begins = |line: &str| {
        let (before, name) =
            ["extern \"C\" fn ", "extern \"system\" fn "].iter().find_map(|words| line.split_once(words))?;
        // A type of a function has no name, and something before it.
        let is_item = before.split_whitespace().all(|word| word == "unsafe" || word.starts_with("pub"));
        let name = name.split(['(', '<']).next().unwrap().trim();
        (is_item && !name.is_empty()).then(|| name.to_owned())
    };
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        if let Some(name) = begins(line.trim_start().trim_start_matches("$(")) {
            let indentation = line.len() - line.trim_start().len();
            let end = format!("{}}}", " ".repeat(indentation));
            let body: Vec<&str> =
                lines[number..].iter().take_while(|line| !line.starts_with(&end)).copied().collect();
            found.push((name, body.join("\n")));
        }
    }
    found
}

#[test]
fn each_function_that_c_calls_ends_its_panics() {
    let mut unguarded = BTreeSet::new();
    let mut guarded = BTreeSet::new();
    for name in LIBRARIES {
        for (path, content) in sources(&format!("crates/{name}/src")) {
            let path = path.strip_prefix("crates/").unwrap();
            for (function, body) in callbacks(&content) {
                let is_guarded = GUARDS.iter().any(|guard| body.contains(guard));
                let set = if is_guarded { &mut guarded } else { &mut unguarded };
                set.insert(format!("{path}::{function}"));
            }
        }
    }
    let expected: BTreeSet<_> = UNGUARDED
        .iter()
        .flat_map(|(path, functions)| functions.iter().map(move |function| format!("{path}::{function}")))
        .collect();
    assert_eq!(unguarded, expected);
    // The search finds what is there: those of each crate, in macros and with parameters of types, too.
    for function in [
        "sycl-sys/src/dl/linux.rs::collect",
        "usm-core/src/backend/cuda/capture.rs::release",
        "usm-core/src/backend/entry.rs::close",
        "usm-core/src/backend/host/across_copies/c_form.rs::free",
        "usm-core/src/backend/host/across_copies/mod.rs::$name",
        "usm-core/src/backend/sycl/async_errors.rs::handler",
        "usm-memory/src/tracker/across_copies.rs::enter",
        "usm-array/src/dlpack/export.rs::delete",
        "usm-python/src/sycl/capsule.rs::drop_owner",
        "usm-python/src/tensor/dlpack/c_api.rs::allocate",
        "usm-python/src/tensor/dlpack/c_api.rs::borrow",
        "usm-python/src/tensor/dlpack/capsule.rs::delete",
    ] {
        assert!(guarded.contains(function), "{function} is not among {guarded:#?}");
    }
}
