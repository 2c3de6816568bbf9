//! Snapshots and timelines: entries, labels, sums, and drawings that agree with the data.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

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
        std::thread::sleep(Duration::from_millis(20));
        let late = UsmBuffer::allocate_in(&pool, queue, kind, 556).unwrap();
        late.sub_buffer(5, 5).unwrap().set_tag("<late> & \"quoted\"");

        let seen = snapshot();
        let tags = [&owned, &leased, &far, &borrowed, &late].map(|buffer| find(&seen, buffer).tag);
        let tags = tags.each_ref().map(|tag| tag.as_deref());
        assert_eq!(tags, [Some("outer"), Some("inner"), Some("outer"), None, Some("<late> & \"quoted\"")]);
        let holders = [&owned, &leased, &borrowed].map(|buffer| find(&seen, buffer).holder);
        assert_eq!(holders, [Holder::Owned, Holder::Leased, Holder::Borrowed]);
        let (first, last) = (find(&seen, &owned), find(&seen, &late));
        assert!(first.age >= Duration::from_millis(15) + last.age, "{:?} {:?}", first.age, last.age);
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

#[test]
fn drawings_of_snapshots_agree_with_the_data() {
    let _alone = alone();
    each(|queue, kind| {
        let buffers = [100, 50, 200].map(|len| direct(queue, kind, len));
        buffers[1].set_tag("a<b>&'c'\"d\"\u{1}");
        let seen = snapshot();
        let svg = elements(&seen.to_svg());
        let bars: Vec<_> = svg.iter().filter(|element| element.name == "rect").collect();
        assert_eq!(bars.len(), seen.len());
        let longest = seen.iter().map(|live| live.len_bytes).max().unwrap() as f64;
        for (bar, live) in bars.iter().zip(&seen) {
            assert!((bar.number("width") - 500.0 * live.len_bytes as f64 / longest).abs() < 0.01);
            assert_eq!(bar.get("class"), "owned");
        }
        let titles: Vec<_> = svg.iter().filter(|element| element.name == "title").collect();
        let tagged = seen.iter().position(|live| live.address == buffers[1].address()).unwrap();
        assert!(
            titles[tagged + 1].text.ends_with("owned a<b>&'c'\"d\"\u{fffd}"),
            "{}",
            titles[tagged + 1].text
        );
        let page = seen.to_html();
        assert!(!page.contains("a<b>") && !page.contains("<script") && !page.contains("href"));
        elements(page.strip_prefix("<!DOCTYPE html>\n").unwrap());
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
        check_drawing(&timeline, kind);
    });
}

/// Bars and steps of the drawing are those of the data.
fn check_drawing(timeline: &Timeline, kind: UsmKind) {
    let svg = elements(&timeline.to_svg());
    let seconds = timeline.duration().as_secs_f64();
    let across = |time: Duration| 1000.0 * time.as_secs_f64() / seconds;
    let class = |class: &str| svg.iter().filter(|element| element.has("class", class)).collect::<Vec<_>>();
    let (bars, reserves) = (class("bar"), class("reserve"));
    assert_eq!(bars.len() + reserves.len(), timeline.bars().len());
    // The slab holds the blocks: two places, of which the slab is one.
    let total: usize = {
        let mut ranges: Vec<_> =
            timeline.bars().iter().map(|bar| bar.address..bar.address + bar.len_bytes).collect();
        ranges.sort_by_key(|range| range.start);
        let mut end = 0;
        ranges
            .iter()
            .map(|range| {
                let from = range.start.max(end);
                end = end.max(range.end);
                end - from.min(end)
            })
            .sum()
    };
    let data = timeline.bars().iter().filter(|bar| !bar.is_reserve);
    for (drawn, bar) in bars.iter().zip(data) {
        let (start, end) = (bar.start.map_or(0.0, across), bar.end.map_or(1000.0, across));
        assert!(
            (drawn.number("x") - start).abs() < 0.011
                && (drawn.number("width") - (end - start)).abs() < 0.011
        );
        assert!((drawn.number("height") - 400.0 * bar.len_bytes as f64 / total as f64).abs() < 0.011);
    }
    let slab = timeline.bars().iter().find(|bar| bar.is_reserve).unwrap();
    for (drawn, bar) in bars.iter().zip(timeline.bars().iter().filter(|bar| !bar.is_reserve)) {
        if (slab.address..slab.address + slab.len_bytes).contains(&bar.address) {
            let offset = 400.0 * (bar.address - slab.address) as f64 / total as f64;
            assert!((drawn.number("y") - reserves[0].number("y") - offset).abs() < 0.021);
        }
    }
    let steps = timeline.steps(kind);
    let points: Vec<(f64, f64)> = class(kind.as_str())[0]
        .get("points")
        .split_whitespace()
        .map(|point| point.split_once(',').unwrap())
        .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
        .collect();
    assert_eq!(points.len(), 2 * steps.len());
    let peak = timeline.peak_bytes(kind) as f64;
    for (corners, (time, bytes)) in points.chunks(2).zip(&steps) {
        assert!((corners[0].0 - across(*time)).abs() < 0.011);
        let y = 288.0 - 200.0 * *bytes as f64 / peak;
        assert!((corners[0].1 - y).abs() < 0.011 && (corners[1].1 - y).abs() < 0.011);
    }
    let legend = format!("{kind}: at most {} bytes in use", timeline.peak_bytes(kind));
    assert!(svg.iter().any(|element| element.name == "text" && element.text == legend));
    elements(timeline.to_html().strip_prefix("<!DOCTYPE html>\n").unwrap());
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
        assert!(timeline.to_svg().contains("4 older events dropped at a limit of 6"));
    });
}

#[test]
fn large_drawings_say_what_they_leave_out() {
    let _alone = alone();
    let queue = common::host_queue();
    let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
    let recording = Timeline::record(10_000);
    let allocate = |len| UsmBuffer::allocate_in(&pool, &queue, UsmKind::Host, len).unwrap();
    let buffers: Vec<_> = (0..2100).map(|_| allocate(64)).collect();
    let (seen, timeline) = (snapshot(), recording.finish());
    let count = |svg: &str| svg.matches("<rect").count();
    assert_eq!(count(&seen.to_svg()), 2000);
    assert!(seen.to_svg().contains(&format!("{} smaller ones left out", seen.len() - 2000)));
    assert_eq!(count(&timeline.to_svg()), 2000 + 3, "with the legend");
    drop(buffers);
}

/// An element of a drawing, with the text right behind its start.
#[derive(Debug)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
}

impl Element {
    fn get(&self, name: &str) -> &str {
        &self.attributes.iter().find(|(found, _)| found == name).unwrap().1
    }

    fn has(&self, name: &str, value: &str) -> bool {
        self.attributes.iter().any(|(found, is)| found == name && is == value)
    }

    fn number(&self, name: &str) -> f64 {
        self.get(name).parse().unwrap()
    }
}

/// Reads a document strictly: every start has its end, every attribute its quotes, every `&` is one of the five.
fn elements(document: &str) -> Vec<Element> {
    let (mut found, mut open): (Vec<Element>, Vec<String>) = (Vec::new(), Vec::new());
    let mut rest = document.trim_end();
    assert!(rest.starts_with('<'));
    while let Some(after) = rest.strip_prefix('<') {
        let (tag, after) = after.split_once('>').unwrap();
        assert!(!tag.contains('<'), "{tag}");
        let text_end = after.find('<').unwrap_or(after.len());
        let text = unescape(&after[..text_end]);
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().unwrap(), name);
        } else {
            let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
            let (name, mut attributes_text) = tag.split_once(' ').unwrap_or((tag, ""));
            let mut attributes = Vec::new();
            while let Some((key, after)) = attributes_text.split_once("=\"") {
                let (value, after) = after.split_once('"').unwrap();
                attributes.push((key.trim().to_owned(), unescape(value)));
                attributes_text = after;
            }
            assert!(attributes_text.trim().is_empty(), "{tag}");
            if !is_empty {
                open.push(name.to_owned());
            }
            found.push(Element { name: name.to_owned(), attributes, text });
        }
        rest = &after[text_end..];
        assert!(!open.is_empty() || rest.is_empty(), "one root");
    }
    assert!(open.is_empty() && rest.is_empty());
    found
}

fn unescape(text: &str) -> String {
    let mut parts = text.split('&');
    let mut whole = parts.next().unwrap().to_owned();
    for part in parts {
        let (name, after) = part.split_once(';').unwrap();
        whole.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#39" => '\'',
            other => panic!("&{other};"),
        });
        whole.push_str(after);
    }
    assert!(!whole.contains(|char: char| char.is_control() && !"\n\t\r".contains(char)));
    whole
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
        let [(1000, start, end), (1000, lent, returned)] = bars[..] else { panic!("{bars:?}") };
        assert!(start <= lent && lent <= returned && returned <= end, "{bars:?}");
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
