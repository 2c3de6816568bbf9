//! Eight threads allocate, copy, free and cut shared buffers: nothing is lost, and no two of them see each other's writes.
//! One test alone in its process, since the counter of live allocations is global.
#![allow(clippy::unwrap_used, clippy::panic)]

use test_stacks as _;

mod common;

use std::slice::from_ref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use usm_memory::usm_core::{Context, Queue, QueueProperties, UsmKind};
use usm_memory::{Error, Result, UsmBuffer, live_allocations};

const THREADS: u8 = 8;
const LEN: usize = 4096;
const FOR: Duration = Duration::from_millis(1500);

/// How much the threads did. Nobody gets an error because another one works on the same bytes.
#[derive(Default)]
struct Counts {
    done: AtomicUsize,
}

impl Counts {
    fn settle<T>(&self, result: Result<T>) -> T {
        self.done.fetch_add(1, Ordering::Relaxed);
        result.unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Every page of the shared buffers holds one value, whoever wrote it.
fn assert_whole(page: &[u8]) {
    assert!(page.iter().all(|byte| *byte == page[0]), "a torn page: {page:?}");
}

fn work(me: u8, queue: &Queue, shared: &[UsmBuffer], counts: &Counts) {
    let page = LEN / 8;
    // This part of the first buffer is this thread's alone, beside those of all others.
    let mine = shared[0].sub_buffer(usize::from(me) * page, page).unwrap();
    let end = Instant::now() + FOR;
    let mut round = usize::from(me);
    while Instant::now() < end {
        round += 1;
        let value = (round % 200) as u8;
        mine.fill(&[value]).unwrap();
        let scratch = UsmBuffer::allocate(queue, UsmKind::ALL[round % 3], page).unwrap();
        let copy = scratch.copy_from_async(&mine, &[]).unwrap();
        let download = scratch.to_vec_async(copy.events()).unwrap();
        drop(scratch);
        if round % 2 == 0 {
            copy.wait().unwrap();
        }
        assert_eq!(download.wait().unwrap(), vec![value; page]);
        assert_eq!(mine.to_vec().unwrap(), vec![value; page]);

        // These parts everybody writes and reads.
        let which = &shared[1 + round % (shared.len() - 1)];
        let part = which.sub_buffer(round % 8 * page, page).unwrap();
        match round % 5 {
            0 => counts.settle(part.fill(&[value])),
            1 => counts.settle(part.copy_from(&mine)),
            2 => {
                drop(counts.settle(part.copy_from_vec_async(vec![value; page], 0, &[]).map_err(Error::from)))
            }
            3 => {
                let other = shared[1 + (round + 1) % (shared.len() - 1)].sub_buffer(round % 8 * page, page);
                drop(counts.settle(part.copy_from_async(&other.unwrap(), &[])));
            }
            _ => {}
        }
        assert_whole(&counts.settle(part.to_vec()));
    }
}

#[test]
fn eight_threads_lose_nothing() {
    for queue in common::queues() {
        let context = Context::new(from_ref(queue.device())).unwrap();
        let elsewhere = context.create_queue(queue.device(), QueueProperties::OUT_OF_ORDER).unwrap();
        let shared: Vec<UsmBuffer> = [(&queue, UsmKind::Device), (&queue, UsmKind::Device)]
            .into_iter()
            .chain([(&queue, UsmKind::Shared), (&elsewhere, UsmKind::Device), (&elsewhere, UsmKind::Host)])
            .map(|(queue, kind)| common::buffer(queue, kind, &[0; LEN]))
            .collect();
        let counts = Counts::default();
        thread::scope(|scope| {
            for me in 0..THREADS {
                let queue = if me % 2 == 0 { &queue } else { &elsewhere };
                let (shared, counts) = (shared.as_slice(), &counts);
                scope.spawn(move || work(me, queue, shared, counts));
            }
        });
        let done = counts.done.into_inner();
        assert!(done > 100, "{done} operations on {queue:?}");
        for buffer in &shared {
            buffer.write_range(0..LEN).unwrap();
        }
        assert_eq!(live_allocations().count, shared.len());
        drop(shared);
        assert_eq!(live_allocations().count, 0);
    }
}
