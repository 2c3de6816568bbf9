//! Benchmarks of the usm crates: `cargo xtask bench`. The library part keeps the examples of the project's README compiled.

use usm_array::usm_core::{Queue, Runtime, UsmKind};

/// The queues to measure on: one for each backend of this machine, with the name of the backend.
#[must_use]
pub fn queues() -> Vec<(String, Queue)> {
    let runtime = Runtime::global();
    let mut found: Vec<(String, Queue)> = Vec::new();
    for device in runtime.devices() {
        let name = device.backend_id().to_string();
        if let Ok(queue) = runtime.default_queue(&device)
            && found.iter().all(|(other, _)| *other != name)
        {
            found.push((name, queue));
        }
    }
    found
}

/// All places to measure: each kind on each queue, with the name of the case.
#[must_use]
pub fn places() -> Vec<(String, Queue, UsmKind)> {
    let of_queue = |(name, queue): (String, Queue)| {
        UsmKind::ALL.map(|kind| (format!("{name}/{kind}"), queue.clone(), kind))
    };
    queues().into_iter().flat_map(of_queue).collect()
}

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../guide/start/rust.md")]
pub struct GuideOfRust;

#[cfg(doctest)]
#[doc = include_str!("../../../guide/concepts/conflicts.md")]
pub struct GuideOfConflicts;

#[cfg(doctest)]
#[doc = include_str!("../../../guide/howto/testing.md")]
pub struct GuideOfTesting;
