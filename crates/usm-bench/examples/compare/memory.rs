//! Copies and fills of memory objects: ours, and the best loop on one thread and two.

use std::hint::black_box;

use usm_array::usm_core::UsmKind;
use usm_memory::UsmBuffer;

use super::contender::{Case, Contender, OURS, Stage, limit, queue};
use super::copies::contiguous;
use super::limit;
use super::serve::Server;

/// The sizes of `python/memory.py`, too.
const MIB: [usize; 6] = [1, 4, 16, 64, 256, 1024];

/// The candidates for one byte everywhere.
fn same<'a>(to: usize, len_bytes: usize) -> Vec<Box<dyn Fn() + 'a>> {
    let mut loops: Vec<Box<dyn Fn()>> = vec![];
    for threads in [1, 2] {
        loops.push(Box::new(move || {
            limit::split(threads, len_bytes, |first, last| unsafe {
                ((to + first) as *mut u8).write_bytes(7, last - first);
            });
        }));
        loops.push(Box::new(move || limit::set(threads, to, 1.0, len_bytes / 8)));
    }
    loops
}

pub(crate) fn all(stage: &Server) {
    let queue = queue();
    for mib in MIB {
        let len_bytes = mib << 20;
        let buffer = || {
            let buffer = UsmBuffer::allocate(&queue, UsmKind::Shared, len_bytes).unwrap();
            buffer.fill(&[1]).unwrap();
            buffer
        };
        let case = |way: &str, set_up: &dyn Fn(&Case<'_>)| {
            let name = format!("memory/{way}, {mib} MiB");
            let case = Case::new(&name, len_bytes).long_if(mib > 64);
            if stage.announce(&case) {
                set_up(&case);
            }
        };
        case("copy_from_host", &|case| {
            let (to, host) = (buffer(), vec![1_u8; len_bytes]);
            let best = limit(contiguous(to.address(), host.as_ptr() as usize, len_bytes));
            stage.perform(case, vec![Contender::timed(OURS, || to.copy_from_host(&host, 0).unwrap()), best]);
        });
        case("copy_to_host", &|case| {
            let (from, mut host) = (buffer(), vec![1_u8; len_bytes]);
            let best = limit(contiguous(host.as_mut_ptr() as usize, from.address(), len_bytes));
            let ours = || from.copy_to_host(black_box(&mut host), 0).unwrap();
            stage.perform(case, vec![Contender::timed(OURS, ours), best]);
        });
        case("copy_from_device", &|case| {
            let (to, from) = (buffer(), buffer());
            let best = limit(contiguous(to.address(), from.address(), len_bytes));
            stage.perform(case, vec![Contender::timed(OURS, || to.copy_from(&from).unwrap()), best]);
        });
        case("memset", &|case| {
            let to = buffer();
            let best = limit(same(to.address(), len_bytes));
            stage.perform(case, vec![Contender::timed(OURS, || to.fill(&[7]).unwrap()), best]);
        });
    }
}
