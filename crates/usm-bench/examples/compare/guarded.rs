//! Device memory of the host backend beside memory of the C library.

use std::hint::black_box;

use usm_array::UsmArray;
use usm_array::usm_core::UsmKind;
use usm_memory::UsmBuffer;

use super::contender::{Case, Contender, OURS, Stage};
use super::serve::Server;

pub(crate) fn all(stage: &Server) {
    let (_, queue) = usm_bench::queues().into_iter().find(|(name, _)| *name == "host").unwrap();
    for (label, bytes) in [("64 B", 64), ("4 KiB", 4096), ("1 MiB", 1 << 20), ("64 MiB", 64_usize << 20)] {
        let malloc =
            || Contender::timed("malloc", move || unsafe { libc::free(black_box(libc::malloc(bytes))) });
        // A buffer of the default queue is one of the pool of the process.
        stage.case(&Case::new(&format!("guarded/allocate {label}, pool"), bytes).over_processes(), || {
            let allocate = |kind| {
                let queue = &queue;
                move || drop(black_box(UsmBuffer::allocate(queue, kind, bytes).unwrap()))
            };
            vec![
                Contender::timed(OURS, allocate(UsmKind::Device)),
                Contender::timed("shared memory", allocate(UsmKind::Shared)),
                malloc(),
            ]
        });
        stage.case(&Case::new(&format!("guarded/allocate {label}, direct"), bytes), || {
            let allocate = |kind| {
                let queue = &queue;
                move || drop(black_box(queue.allocate(kind, bytes).unwrap()))
            };
            vec![
                Contender::timed(OURS, allocate(UsmKind::Device)),
                Contender::timed("shared memory", allocate(UsmKind::Shared)),
                malloc(),
            ]
        });
    }
    let bytes = 64 << 20;
    stage.case(&Case::new("guarded/copy 64 MiB", bytes), || {
        let copy = |kind| {
            let array = |()| UsmArray::full(&queue, kind, &[bytes], 1_u8).unwrap();
            let [from, to] = [(); 2].map(array);
            move || to.assign(&from).unwrap()
        };
        vec![
            Contender::timed(OURS, copy(UsmKind::Device)),
            Contender::timed("shared memory", copy(UsmKind::Shared)),
        ]
    });
}
