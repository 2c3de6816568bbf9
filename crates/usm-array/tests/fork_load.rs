//! Children that are forked while other threads copy arrays: copies on several threads work there, and nothing hangs.
#![cfg(not(windows))] // no process is forked there
#![allow(clippy::unwrap_used)]

use test_stacks as _;

use std::{hint, thread};

use usm_array::usm_core::{Queue, Runtime, RuntimeOptions, UsmKind};
use usm_array::{Dtype, UsmArray, num_threads};
use usm_core::testing::forks::{self, fork_beside};

/// `cargo xtask verify` forks 1,000.
fn count() -> usize {
    forks::number(50)
}

/// Enough for several threads, in large elements, since unoptimised loops take so long for each.
const LEN: usize = 5 << 16;

fn queue() -> Queue {
    let runtime = Runtime::init_global(|| RuntimeOptions::new().host_only());
    runtime.default_queue(runtime.host_device()).unwrap()
}

/// Copies on several threads. Looks at some elements only, since unoptimised loops over all of them take longest.
fn copies(source: &UsmArray) -> bool {
    let copy = source.copy().unwrap();
    let mut ends = [1_u8; 2];
    copy.buffer().copy_to_host(&mut ends[..1], 0).unwrap();
    copy.buffer().copy_to_host(&mut ends[1..], copy.size_bytes() - 1).unwrap();
    ends == [0; 2] && num_threads() > 0
}

fn zeros(kind: UsmKind) -> UsmArray {
    UsmArray::zeros(&queue(), kind, &[LEN], Dtype::C128).unwrap()
}

#[test]
fn beside_copies() {
    let [host, shared] = [UsmKind::Host, UsmKind::Shared].map(zeros);
    let busy: [&(dyn Fn() + Sync); 3] =
        [&|| assert!(copies(&host)), &|| assert!(copies(&shared)), &|| assert!(copies(&shared))];
    fork_beside(count(), &busy, &|| copies(&shared) && copies(&zeros(UsmKind::Device))).unwrap();
}

/// Each round is a process in which nothing was used yet.
#[test]
fn beside_first_copies_in_a_process() {
    for round in 0..count() {
        let fresh = || {
            let first = thread::spawn(|| copies(&zeros(UsmKind::Shared)));
            (0..(round % 50) * 4000).for_each(|_| hint::spin_loop());
            let outcome = forks::one(&|| copies(&zeros(UsmKind::Shared)));
            let outcome = outcome.inspect_err(|reason| eprintln!("its child {reason}"));
            first.join().is_ok_and(|well| well) && outcome.is_ok()
        };
        forks::one(&fresh).unwrap();
    }
}
