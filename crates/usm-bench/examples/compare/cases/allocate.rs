//! Device memory of the host backend beside memory of the C library.

use std::hint::black_box;

use usm_array::UsmArray;
use usm_array::usm_core::{Queue, UsmKind};
use usm_memory::UsmBuffer;

use super::stage::{Case, Contender, OURS, Stage};

/// Device memory, and what makes it comparable: shared memory, which has no guard, and the C library.
fn allocating<T: 'static>(bytes: usize, allocate: impl Fn(UsmKind) -> T + Copy + 'static) -> Vec<Contender> {
    vec![
        Contender::timed(OURS, move || drop(black_box(allocate(UsmKind::Device)))),
        Contender::timed("shared memory", move || drop(black_box(allocate(UsmKind::Shared)))),
        Contender::timed("malloc", move || unsafe { libc::free(black_box(libc::malloc(bytes))) }),
    ]
}

pub(crate) fn all(stage: &Stage) {
    let (_, queue) = usm_bench::queues().into_iter().find(|(name, _)| *name == "host").unwrap();
    // As long as the program runs.
    let queue: &'static Queue = Box::leak(Box::new(queue));
    for (label, bytes) in [("64 B", 64), ("4 KiB", 4096), ("1 MiB", 1 << 20), ("64 MiB", 64_usize << 20)] {
        // A buffer of the default queue is one of the pool of the process.
        stage.case(Case::new(format!("protected/allocate {label}, pool")).over_processes(), || {
            allocating(bytes, move |kind| UsmBuffer::allocate(queue, kind, bytes).unwrap())
        });
        // Of the backend itself, which keeps freed blocks.
        stage.case(Case::new(format!("protected/allocate {label}, direct")), || {
            allocating(bytes, move |kind| queue.allocate(kind, bytes).unwrap())
        });
    }
    stage.case(Case::new("protected/copy 64 MiB"), || {
        let copy = |name, kind| {
            let [from, to] = [(); 2].map(|()| UsmArray::full(queue, kind, &[64 << 20], 1_u8).unwrap());
            Contender::timed(name, move || to.assign(&from).unwrap())
        };
        vec![copy(OURS, UsmKind::Device), copy("shared memory", UsmKind::Shared)]
    });
}
