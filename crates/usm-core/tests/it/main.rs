//! Tests of the safe objects and of the backends, one module per topic. What changes the process has a program of its own
//! beside this folder.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use test_stacks as _;

#[path = "../bases/mod.rs"]
mod bases;

#[path = "../common/mod.rs"]
mod common;

#[path = "../host/mod.rs"]
mod host;

#[path = "../spirv/mod.rs"]
mod spirv;

mod callbacks;
mod completion;
mod cuda;
#[cfg(feature = "testing")]
mod decorators;
mod devices;
mod doctor;
mod events;
mod external;
mod host_across_copies;
mod host_lifetimes;
mod host_queues;
mod host_reachable;
mod host_tasks;
mod kernels;
mod loopback;
mod loopback_kernels;
mod loopback_sweep;
mod nvrtc;
#[cfg(feature = "testing")]
mod peers;
#[cfg(all(feature = "testing", not(windows)))]
mod processes;
#[cfg(not(windows))]
mod protected;
#[cfg(windows)]
mod protected_on_windows;
mod registered;
#[cfg(feature = "testing")]
mod retired;
mod runtime;
mod simulated;
mod surface;
#[cfg(not(windows))]
mod sycl_processes;
mod texts;
mod usm;
#[cfg(windows)]
mod without_sharing;
