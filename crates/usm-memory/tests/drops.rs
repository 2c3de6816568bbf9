//! Every wait that a drop makes runs inside what the program wants around it.
#![allow(clippy::unwrap_used)]

use test_stacks as _;

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use usm_memory::UsmBuffer;
use usm_memory::interpreter::around_waits_in_drops;
use usm_memory::resource::{DirectResource, PoolOptions, PoolResource};

static WAITS: AtomicUsize = AtomicUsize::new(0);

fn around(wait: &mut (dyn FnMut() + Send)) {
    wait();
    WAITS.fetch_add(1, Ordering::Relaxed);
}

fn waits_of(job: impl FnOnce()) -> usize {
    let before = WAITS.load(Ordering::Relaxed);
    job();
    WAITS.load(Ordering::Relaxed) - before
}

#[test]
fn drops_that_wait_do_so_inside() {
    assert!(around_waits_in_drops(around));
    assert!(!around_waits_in_drops(around), "once");
    common::each(|queue, kind| {
        let plain = common::buffer(queue, kind, &[1; 100]);
        plain.publish().unwrap();
        assert_eq!(waits_of(|| drop(plain)), 0);

        let released = common::direct(queue, kind, 100);
        released.fill(&[1]).unwrap();
        released.release_on(queue).unwrap();
        assert_eq!(waits_of(|| drop(released)), 1);
        let pooled = common::buffer(queue, kind, &[1; 100]);
        pooled.release_on(queue).unwrap();
        assert_eq!(waits_of(|| drop(pooled)), 0, "the pool keeps it in the order of the queue");

        let buffer = common::buffer(queue, kind, &[1; 100]);
        let fill = buffer.fill_async(&[2], &[]).unwrap();
        assert_eq!(waits_of(|| drop(fill)), 0, "the memory remembers it");
        let upload = buffer.copy_from_vec_async(vec![2], 0, &[]).unwrap();
        assert_eq!(waits_of(|| drop(upload)), 1);

        let transfer = buffer.fill_async(&[3], &[]).unwrap();
        assert_eq!(waits_of(|| transfer.wait().unwrap()), 0);

        // What a pool has handed out goes upstream when the pool is gone, and work may be pending on it.
        let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
        let buffer = UsmBuffer::allocate_in(&pool, queue, kind, 100).unwrap();
        buffer.publish().unwrap();
        assert_eq!(waits_of(|| drop(pool)), 0);
        assert!(waits_of(|| drop(buffer)) >= 1);
    });
}
