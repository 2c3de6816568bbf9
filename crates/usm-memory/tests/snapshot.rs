//! Snapshots and timelines: entries, labels and sums; with the feature `svg`, drawings that agree with the data.
#![allow(clippy::unwrap_used, clippy::panic)]

use test_stacks as _;

mod common;
#[cfg(feature = "svg")]
#[path = "snapshot/svg.rs"]
mod svg;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use common::{allocate, direct, each, pool, queues};
use usm_memory::resource::{DirectResource, PoolOptions, PoolResource};
use usm_memory::snapshot::{Bar, Holder, LiveMemory, Snapshot, Tag, Timeline};
use usm_memory::usm_core::{Context, QueueProperties, UsmKind};
use usm_memory::{MemoryResource, UsmBuffer, pointer_info, snapshot};

/// Snapshots see the whole process: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn find(snapshot: &Snapshot, buffer: &UsmBuffer) -> LiveMemory {
    let holds = |live: &&LiveMemory| live.address == buffer.address() && live.len_bytes == buffer.len_bytes();
    snapshot.iter().find(holds).unwrap().clone()
}

#[test]
fn entries_say_what_memory_is() {
    let _alone = alone();
    each(|queue, kind| {
        let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
        let before = snapshot().totals(kind);
        let context = Context::new(std::slice::from_ref(queue.device())).unwrap();
        let apart = context.create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
        let outer = Tag::enter("outer");
        let owned = direct(queue, kind, 1001);
        let inner = Tag::enter("inner");
        let leased = UsmBuffer::allocate_in(&pool, queue, kind, 555).unwrap();
        drop(inner);
        let far = UsmBuffer::allocate(&apart, kind, 77).unwrap();
        drop(outer);
        // SAFETY: the owner keeps the memory, which nobody else uses.
        let borrowed =
            unsafe { UsmBuffer::borrow(queue, owned.address() + 1, 99, true, Arc::new(owned.clone())) }
                .unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let late = UsmBuffer::allocate_in(&pool, queue, kind, 556).unwrap();
        late.sub_buffer(5, 5).unwrap().set_tag("<late> & \"quoted\"");

        let seen = snapshot();
        let tags = [&owned, &leased, &far, &borrowed, &late].map(|buffer| find(&seen, buffer).tag);
        let tags = tags.each_ref().map(|tag| tag.as_deref());
        assert_eq!(tags, [Some("outer"), Some("inner"), Some("outer"), None, Some("<late> & \"quoted\"")]);
        let holders = [&owned, &leased, &borrowed].map(|buffer| find(&seen, buffer).holder);
        assert_eq!(holders, [Holder::Owned, Holder::Leased, Holder::Borrowed]);
        let (first, last) = (find(&seen, &owned), find(&seen, &late));
        assert!(first.age >= Duration::from_millis(50) + last.age, "{:?} {:?}", first.age, last.age);
        assert_eq!((first.kind, first.device), (kind, queue.device().filter_string()));
        assert_eq!(first.context, last.context);
        assert_ne!(first.context, find(&seen, &far).context);
        assert!(seen.iter().map(|live| live.address).is_sorted());

        let slab = seen.iter().find(|live| live.is_reserve && live.kind == kind).unwrap();
        assert!((slab.address..slab.address + slab.len_bytes).contains(&leased.address()));
        let totals = seen.totals(kind);
        assert!(totals.owned_bytes - before.owned_bytes >= 1001 + 77 + 555 + 556, "with the slab");
        assert_eq!(totals.leased_bytes - before.leased_bytes, 555 + 556);
        assert_eq!(totals.borrowed_bytes - before.borrowed_bytes, 99);
        let table = seen.to_string();
        assert!(table.contains(&format!("{:#x}", owned.address())) && table.contains("outer\n"));
        assert_eq!(table.lines().count(), 1 + seen.len() + 3);

        let gone = owned.address();
        drop((owned, borrowed, leased, late, far));
        let seen = snapshot();
        assert!(seen.iter().all(|live| live.address != gone || live.len_bytes != 1001));
        assert_eq!(seen.totals(kind).leased_bytes, before.leased_bytes);
        drop(pool);
        assert!(snapshot().iter().all(|live| !live.is_reserve));
    });
}

fn of_tag<'a>(timeline: &'a Timeline, tag: &str) -> Vec<&'a Bar> {
    timeline.bars().iter().filter(|bar| bar.tag.as_deref() == Some(tag)).collect()
}

#[test]
fn timelines_have_each_buffer_once_with_its_times() {
    let _alone = alone();
    each(|queue, kind| {
        let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
        let early = direct(queue, kind, 300);
        early.set_tag("early");
        let recording = Timeline::record(1000);
        let _tag = Tag::enter("within");
        let first = UsmBuffer::allocate_in(&pool, queue, kind, 1000).unwrap();
        let address = first.address();
        drop(first);
        let second = UsmBuffer::allocate_in(&pool, queue, kind, 1000).unwrap();
        assert_eq!(second.address(), address);
        second.set_tag("renamed");
        drop(early);
        let alone = direct(queue, kind, 500);
        let halfway = recording.timeline();
        drop(second);
        let timeline = recording.finish();
        let unseen = direct(queue, kind, 123_457);

        let within = of_tag(&timeline, "within");
        assert_eq!(within.iter().map(|bar| bar.len_bytes).collect::<Vec<_>>(), [1000, 500]);
        assert!(
            within[0].start < within[0].end
                && within[1].end.is_none()
                && within[1].address == alone.address()
        );
        let renamed = of_tag(&timeline, "renamed")[0];
        assert!(renamed.address == address && renamed.start > within[0].end && renamed.end > within[1].start);
        let early = of_tag(&timeline, "early")[0];
        assert!(early.start.is_none() && early.end.is_some() && timeline.bars()[0] == *early);
        let slabs: Vec<_> = timeline.bars().iter().filter(|bar| bar.is_reserve).collect();
        assert!(slabs.len() == 1 && slabs[0].len_bytes >= 1000 && slabs[0].end.is_none());
        assert_eq!(timeline.bars().len(), 5);
        assert_eq!(of_tag(&halfway, "within").len(), 3, "renamed when it went, as far as the log knows");
        assert!(timeline.bars().iter().all(|bar| bar.len_bytes != unseen.len_bytes()));

        let bytes: Vec<_> = timeline.steps(kind).into_iter().map(|(_, bytes)| bytes).collect();
        assert_eq!(bytes, [300, 1300, 300, 1300, 1000, 1500, 500]);
        assert!(timeline.steps(kind).iter().map(|(time, _)| *time).is_sorted());
        assert_eq!((timeline.peak_bytes(kind), timeline.dropped_count()), (1500, 0));
        for other in UsmKind::ALL.into_iter().filter(|&other| other != kind) {
            assert_eq!(timeline.steps(other), [(Duration::ZERO, 0)]);
        }
        #[cfg(feature = "svg")]
        svg::check(&timeline, kind);
    });
}

#[test]
fn a_full_log_drops_the_oldest_and_says_so() {
    let _alone = alone();
    each(|queue, kind| {
        let recording = Timeline::record(6);
        let buffers: Vec<_> = (1..=5).map(|len| direct(queue, kind, 100 * len)).collect();
        drop(buffers);
        let timeline = recording.finish();
        assert_eq!(timeline.dropped_count(), 4);
        let bars: Vec<_> = timeline.bars().iter().map(|bar| (bar.len_bytes, bar.start.is_some())).collect();
        assert_eq!(bars, [(100, false), (200, false), (300, false), (400, false), (500, true)]);
        let bytes: Vec<_> = timeline.steps(kind).into_iter().map(|(_, bytes)| bytes).collect();
        assert_eq!(bytes, [1000, 1500, 1400, 1200, 900, 500, 0]);
        assert!(timeline.to_string().ends_with("4 older events dropped at a limit of 6"));
    });
}

#[test]
fn memory_that_is_leased_as_a_whole_is_a_bar_of_its_own() {
    let _alone = alone();
    each(|queue, kind| {
        let _tag = Tag::enter("leased as a whole");
        let recording = Timeline::record(100);
        let memory = UsmBuffer::allocate(queue, kind, 1000).unwrap();
        drop(UsmBuffer::lease(memory.clone(), queue, |_| ()).unwrap());
        drop(memory);
        let timeline = recording.finish();
        let bars = timeline.bars().iter().filter(|bar| bar.tag.as_deref() == Some("leased as a whole"));
        let bars: Vec<_> = bars.map(|bar| (bar.len_bytes, bar.start.unwrap(), bar.end.unwrap())).collect();
        let [(1000, start, end), (1000, leased, returned)] = bars[..] else { panic!("{bars:?}") };
        assert!(start <= leased && leased <= returned && returned <= end, "{bars:?}");
        assert_eq!(timeline.peak_bytes(kind), 2000);
    });
}

#[test]
fn kept_blocks_are_free_to_everybody_who_asks() {
    let _alone = alone();
    each(|queue, kind| {
        let (_, pool) = pool(PoolOptions::new());
        let other = allocate(&pool, queue, kind, 100);
        let buffer = allocate(&pool, queue, kind, 100);
        let address = buffer.address();
        let is_listed =
            || snapshot().iter().filter(|live| live.address == address && !live.is_reserve).count();
        assert_eq!(pointer_info(queue.context(), address + 7).unwrap().block, Some((address, 100)));
        assert_eq!(is_listed(), 1);
        drop(buffer);
        assert_eq!((pointer_info(queue.context(), address), is_listed()), (None, 0));
        let label = Tag::enter("again");
        let again = allocate(&pool, queue, kind, 90);
        drop(label);
        assert_eq!(again.address(), address);
        assert_eq!(pointer_info(queue.context(), address).unwrap().block, Some((address, 90)));
        let seen = snapshot();
        let found: Vec<_> = seen.iter().filter(|live| live.address == address && !live.is_reserve).collect();
        assert_eq!((found.len(), found[0].len_bytes, found[0].tag.as_deref()), (1, 90, Some("again")));
        drop(again);
        let unnamed = allocate(&pool, queue, kind, 80);
        let seen = snapshot();
        assert!(
            seen.iter().any(|live| live.address == address && live.tag.is_none() && live.len_bytes == 80)
        );
        drop((unnamed, other));
    });
}

#[test]
fn many_threads_lose_nothing() {
    let _alone = alone();
    for queue in queues() {
        let (upstream, pool) = pool(PoolOptions::new());
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let workers: Vec<_> = (0..6_usize)
                .map(|number| {
                    let (pool, queue) = (&pool, &queue);
                    scope.spawn(move || {
                        let mut live: Vec<(UsmBuffer, u8)> = Vec::new();
                        for step in 0..3000_usize {
                            let random = (step * 7919 + number * 104_729) % 1009;
                            if random % 3 < 2 {
                                let buffer = allocate(pool, queue, UsmKind::Shared, 1 + random * 3);
                                let mark = (step % 251) as u8;
                                buffer.write_range(0..1).unwrap().as_mut_slice().unwrap()[0] = mark;
                                live.push((buffer, mark));
                            }
                            if live.len() > 1 + random % 40 {
                                let (buffer, mark) = live.swap_remove(random % live.len());
                                assert_eq!(buffer.read_range(0..1).unwrap().as_slice().unwrap()[0], mark);
                            }
                        }
                        live.iter().map(|(buffer, _)| buffer.len_bytes()).sum::<usize>()
                    })
                })
                .collect();
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    pool.trim();
                    let seen = pool.statistics();
                    assert!(
                        seen.used_bytes <= seen.peak_bytes && seen.idle_bytes <= seen.slab_bytes,
                        "{seen:?}"
                    );
                    drop(snapshot());
                    thread::yield_now();
                }
            });
            workers.into_iter().for_each(|worker| assert!(worker.join().unwrap() > 0));
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(pool.statistics().used_bytes, 0);
        pool.trim();
        assert_eq!(upstream.statistics().current_bytes, 0);
    }
}

#[test]
fn no_age_is_larger_than_the_time_since_the_first_allocation() {
    let _alone = alone();
    let start = Instant::now();
    let (_, pool) = pool(PoolOptions::new());
    let queue = queues().remove(0);
    let stop = AtomicBool::new(false);
    let seen = thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let _tag = Tag::enter("aged");
                while !stop.load(Ordering::Relaxed) {
                    let mut live: Vec<_> =
                        (0..50).map(|n| allocate(&pool, &queue, UsmKind::Host, 1 + n * 37)).collect();
                    live.push(direct(&queue, UsmKind::Host, 100));
                }
            });
        }
        let (mut seen, mut too_old) = (0, None);
        while seen < 5000 && start.elapsed() < Duration::from_secs(20) {
            for live in snapshot().iter().filter(|live| live.tag.as_deref() == Some("aged")) {
                seen += 1;
                // The clock is coarse.
                too_old = too_old
                    .or((live.age > start.elapsed() + Duration::from_millis(20)).then(|| live.clone()));
            }
        }
        // Before anything fails, since the scope waits for its threads.
        stop.store(true, Ordering::Relaxed);
        assert_eq!(too_old, None);
        seen
    });
    assert!(seen > 0, "nothing was live");
}
