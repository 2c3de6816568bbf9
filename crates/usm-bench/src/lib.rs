//! Benchmarks of the usm crates: `cargo xtask bench`. The library part keeps the examples of the project's README compiled.

use usm_array::usm_core::{BackendId, Queue, Runtime, UsmKind};

/// The queues to measure on: one a backend that this machine has, with a short name.
#[must_use]
pub fn queues() -> Vec<(&'static str, Queue)> {
    let runtime = Runtime::global();
    let mut found: Vec<(&'static str, Queue)> = Vec::new();
    for device in runtime.devices() {
        let name = if device.backend_id() == BackendId::Host { "host" } else { "sycl" };
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
    let of_queue = |(name, queue): (&str, Queue)| {
        UsmKind::ALL.map(|kind| (format!("{name}/{kind}"), queue.clone(), kind))
    };
    queues().into_iter().flat_map(of_queue).collect()
}

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
