//! Device memory of the host backend beside memory of the C library.

use usm_array::UsmArray;
use usm_array::usm_core::{Queue, UsmKind};
use usm_memory::UsmBuffer;

use super::stage::{Case, Contender, OURS};

fn host_queue() -> Queue {
    usm_bench::queues().into_iter().find(|(name, _)| *name == "host").unwrap().1
}

/// Device memory, and what makes it comparable: shared memory, which has no guard, and the C library.
fn allocating<T: 'static>(
    label: &str,
    way: &str,
    bytes: usize,
    allocate: fn(&Queue, UsmKind, usize) -> T,
) -> Case {
    Case::new(format!("protected/allocate {label}, {way}"), move || {
        let ours = |name, kind| {
            let queue = host_queue();
            Contender::timed(name, move || allocate(&queue, kind, bytes))
        };
        let malloc = move || unsafe { libc::free(std::hint::black_box(libc::malloc(bytes))) };
        vec![
            ours(OURS, UsmKind::Device),
            ours("shared memory", UsmKind::Shared),
            Contender::timed("malloc", malloc),
        ]
    })
}

pub(crate) fn cases() -> Vec<Case> {
    let sizes = [("64 B", 64), ("4 KiB", 4096), ("1 MiB", 1 << 20), ("64 MiB", 64_usize << 20)];
    let of_size = |(label, bytes)| {
        // A buffer of the default queue is one of the pool of the process.
        let pooled = |queue: &Queue, kind, bytes| UsmBuffer::allocate(queue, kind, bytes).unwrap();
        // Of the backend itself, which keeps freed blocks.
        let direct = |queue: &Queue, kind, bytes| queue.allocate(kind, bytes).unwrap();
        [
            allocating(label, "pool", bytes, pooled).over_processes(),
            allocating(label, "direct", bytes, direct),
        ]
    };
    let copies = Case::new("protected/copy 64 MiB", || {
        let copy = |name, kind| {
            let [from, to] =
                [(); 2].map(|()| UsmArray::full(&host_queue(), kind, &[64 << 20], 1_u8).unwrap());
            Contender::timed(name, move || to.assign(&from).unwrap())
        };
        vec![copy(OURS, UsmKind::Device), copy("shared memory", UsmKind::Shared)]
    });
    sizes.into_iter().flat_map(of_size).chain([copies]).collect()
}
