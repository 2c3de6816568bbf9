//! The pool in the order of queues: memory with pending work is neither freed nor handed out where it must not be.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use usm_memory::resource::{
    AllocationRequest, DirectResource, FailureCallbackResource, LimitingResource, OnFailure, PoolOptions,
    PoolResource,
};
use usm_memory::usm_core::backend::host::HostBackend;
use usm_memory::usm_core::testing::{DelayedBackend, Fault, FaultyBackend, Method, Random, campaign};
use usm_memory::usm_core::{Context, Event, Queue, QueueProperties, Runtime, UsmKind};
use usm_memory::{Error, MemoryResource, Result, UsmBuffer};

const LEN: usize = 1 << 20;

/// A pool over a backend whose operations do not complete before somebody waits.
struct Held {
    backend: Arc<DelayedBackend>,
    pool: PoolResource,
    context: Context,
    queue: Queue,
}

impl Held {
    fn new(options: PoolOptions, limit_bytes: usize) -> Self {
        let backend = DelayedBackend::new(Arc::new(HostBackend::new()), 1).with_max_delay(1 << 40);
        let backend = Arc::new(backend);
        let runtime = Runtime::with_backend(backend.clone()).unwrap();
        let device = runtime.devices().into_iter().next().unwrap();
        let context = Context::new(&[device]).unwrap();
        let upstream = LimitingResource::new(Arc::new(DirectResource), limit_bytes);
        let pool = PoolResource::new(Arc::new(upstream), options);
        let queue = queue(&context, QueueProperties::IN_ORDER);
        Self { backend, pool, context, queue }
    }

    fn allocate(&self, queue: &Queue) -> UsmBuffer {
        UsmBuffer::allocate_in(&self.pool, queue, UsmKind::Shared, LEN).unwrap()
    }
}

fn queue(context: &Context, properties: QueueProperties) -> Queue {
    context.create_queue(&context.devices().unwrap()[0], properties).unwrap()
}

/// Submits work on a buffer and lets it go.
fn work_and_release(buffer: &UsmBuffer, queue: &Queue, value: u8) -> Event {
    let start = ptr::with_exposed_provenance_mut(buffer.address());
    // SAFETY: the pool keeps the memory until the work is complete, and nobody looks at it without a guard.
    let event = unsafe { queue.memset(start, value, buffer.len_bytes(), &[]) }.unwrap();
    buffer.release_on(queue).unwrap();
    event
}

#[test]
fn the_same_in_order_queue_goes_on_at_once_and_guards_wait() {
    let held = Held::new(PoolOptions::new(), usize::MAX);
    let first = held.allocate(&held.queue);
    let event = work_and_release(&first, &held.queue, 1);
    let address = first.address();
    drop(first);
    let again = held.allocate(&held.queue);
    assert_eq!(again.address(), address);
    assert!(!event.is_complete(), "nothing was waited for");
    // Still in order when it goes back unused, and when another buffer had it.
    drop(again);
    let again = held.allocate(&held.queue);
    assert_eq!((again.address(), event.is_complete()), (address, false));
    assert!(!again.publish_at_once() && !event.is_complete());
    // Its slab is in use.
    assert_eq!((held.pool.statistics().idle_bytes, held.pool.trim()), (0, 0));
    let guard = again.read_range(0..LEN).unwrap();
    assert!(event.is_complete());
    assert_eq!(guard.as_slice().unwrap(), [1; LEN]);
    drop(guard);
    assert_eq!(held.backend.faults(), []);
}

#[test]
fn other_queues_grow_until_the_event_is_complete() {
    for properties in [QueueProperties::IN_ORDER, QueueProperties::OUT_OF_ORDER] {
        let held = Held::new(PoolOptions::new(), usize::MAX);
        let other = queue(&held.context, properties);
        let (first, second) = (held.allocate(&held.queue), held.allocate(&held.queue));
        let event = work_and_release(&first, &held.queue, 2);
        let addresses = [first.address(), second.address()];
        drop(first);
        // The pool makes an event now, which the second one comes too late for.
        let elsewhere = held.allocate(&other);
        assert!(!addresses.contains(&elsewhere.address()) && !event.is_complete());
        let late = work_and_release(&second, &held.queue, 3);
        drop(second);
        held.backend.flush();
        assert!(late.is_complete());
        let again = held.allocate(&other);
        assert_eq!(again.address(), addresses[0]);
        let third = held.allocate(&other);
        assert!(!addresses.contains(&third.address()), "the pool knows no event of the second one");
        held.backend.flush();
        assert_eq!(held.allocate(&other).address(), addresses[1]);
        assert_eq!(held.backend.faults(), []);
    }
}

#[test]
fn an_out_of_order_queue_waits_for_its_own_work_too() {
    let held = Held::new(PoolOptions::new(), usize::MAX);
    let loose = queue(&held.context, QueueProperties::OUT_OF_ORDER);
    let first = held.allocate(&loose);
    let event = work_and_release(&first, &loose, 4);
    let address = first.address();
    drop(first);
    assert_ne!(held.allocate(&loose).address(), address);
    assert!(!event.is_complete());
}

#[test]
fn without_memory_to_grow_the_pool_waits() {
    let held = Held::new(PoolOptions::new(), LEN);
    let other = queue(&held.context, QueueProperties::OUT_OF_ORDER);
    let first = held.allocate(&held.queue);
    let event = work_and_release(&first, &held.queue, 5);
    let address = first.address();
    drop(first);
    let again = held.allocate(&other);
    assert!(event.is_complete() && again.address() == address);
    assert_eq!(again.to_vec().unwrap(), [5; LEN]);
    let event = work_and_release(&again, &other, 6);
    drop(again);
    // Another size: the slab has to go first, and for that the work.
    let larger = UsmBuffer::allocate_in(&held.pool, &other, UsmKind::Shared, LEN / 2).unwrap();
    assert!(event.is_complete());
    drop(larger);
    assert_eq!(held.backend.faults(), []);
}

/// The runtime behind a limit of its own: refuses requests, and writes down who asks for what.
#[derive(Debug, Default)]
struct Refusing {
    refusals: AtomicUsize,
    asked: Mutex<Vec<String>>,
}

impl Refusing {
    fn note(&self, what: String) {
        self.asked.lock().unwrap().push(what);
    }

    /// What was asked of it, while it refused as often as this.
    fn while_refusing<T>(&self, refusals: usize, job: impl FnOnce() -> T) -> (T, Vec<String>) {
        self.asked.lock().unwrap().clear();
        self.refusals.store(refusals, Ordering::Relaxed);
        let done = job();
        self.refusals.store(0, Ordering::Relaxed);
        (done, self.asked.lock().unwrap().clone())
    }
}

impl MemoryResource for Refusing {
    fn allocate(&self, request: AllocationRequest<'_>) -> Result<UsmBuffer> {
        self.note(format!("{} bytes", request.len_bytes));
        let is_refused = |left: usize| left.checked_sub(1);
        if self.refusals.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_refused).is_err() {
            return DirectResource.allocate(request);
        }
        let nothing = LimitingResource::new(Arc::new(DirectResource), 0);
        Err(nothing.allocate(request).unwrap_err())
    }

    fn trim(&self) -> usize {
        self.note("trim".to_owned());
        0
    }
}

/// The order of docs/decisions/0006-out-of-memory.md.
#[test]
fn steps_out_of_memory_come_in_their_order() {
    const HALF: usize = LEN / 2; // two slots a slab
    let (backend, queue) = common::late(3);
    let other = common::beside(&queue);
    let refusing = Arc::new(Refusing::default());
    let pool = Arc::new(PoolResource::new(refusing.clone(), PoolOptions::new()));
    let upstream = Arc::clone(&refusing);
    let stack = FailureCallbackResource::new(pool.clone(), move |failure| {
        assert!(failure.error.is_out_of_memory());
        upstream.note("callback".to_owned());
        OnFailure::RetryOnce
    });
    let allocate = |queue, len| UsmBuffer::allocate_in(&stack, queue, UsmKind::Shared, len);
    let (slab, few) = (format!("{LEN} bytes"), format!("{HALF} bytes"));
    let [trim, callback] = ["trim", "callback"].map(str::to_owned);

    // A slot with pending work of another queue: a new slab, else a wait.
    let first = allocate(&queue, LEN).unwrap();
    let event = work_and_release(&first, &queue, 1);
    let address = first.address();
    drop(first);
    let (second, asked) = refusing.while_refusing(1, || allocate(&other, LEN).unwrap());
    assert_eq!((second.address(), asked, event.is_complete()), (address, vec![slab.clone()], true));
    let event = work_and_release(&second, &other, 2);
    drop(second);
    // No slot of the size: the pool gives idle memory back, also what has pending work, and asks again.
    let (small, asked) = refusing.while_refusing(1, || allocate(&queue, HALF).unwrap());
    assert_eq!((asked, event.is_complete()), (vec![slab.clone(), trim.clone(), slab.clone()], true));
    drop(small);
    assert_eq!(pool.trim(), LEN);
    // No slab: only the bytes asked for.
    let (small, asked) = refusing.while_refusing(2, || allocate(&queue, HALF).unwrap());
    let one_round = vec![slab.clone(), trim, slab, few];
    assert_eq!((small.len_bytes(), &asked), (HALF, &one_round));
    assert_eq!(pool.statistics().slab_bytes, 0);
    // The program frees something, and all begins again: once.
    let (found, asked) = refusing.while_refusing(3, || allocate(&queue, HALF));
    assert_eq!(asked[..5], [&one_round[..], std::slice::from_ref(&callback)].concat());
    assert!(found.is_ok() && asked.len() == 6, "{asked:?}");
    drop(found);
    pool.trim();
    let (refused, asked) = refusing.while_refusing(usize::MAX, || allocate(&queue, HALF));
    assert!(matches!(refused, Err(Error::OutOfMemory { requested_bytes: HALF, .. })));
    assert_eq!(asked, [&one_round[..], &[callback], &one_round].concat());
    // Other errors take no step.
    let (_, asked) = refusing.while_refusing(0, || allocate(&queue, 0).unwrap_err());
    assert_eq!(asked, ["0 bytes"]);
    drop(small);
    assert_eq!(backend.faults(), []);
}

#[test]
fn nothing_is_freed_before_its_event() {
    // By trimming, beyond the limit, with the pool, and by a buffer that outlives its pool.
    let held = Held::new(PoolOptions::new(), usize::MAX);
    let buffer = held.allocate(&held.queue);
    let event = work_and_release(&buffer, &held.queue, 7);
    drop(buffer);
    assert_eq!(held.pool.statistics().idle_bytes, LEN);
    assert_eq!((held.pool.trim(), event.is_complete()), (LEN, true));

    let held = Held::new(PoolOptions::new().max_retained_bytes(LEN), usize::MAX);
    let buffers = [held.allocate(&held.queue), held.allocate(&held.queue)];
    let events = buffers.each_ref().map(|buffer| work_and_release(buffer, &held.queue, 8));
    drop(buffers);
    assert!(!events[1].is_complete(), "dropping does not wait");
    assert_eq!(held.pool.statistics().slab_bytes, 2 * LEN, "too much, but in use");
    let other = queue(&held.context, QueueProperties::IN_ORDER);
    let first = held.allocate(&other);
    held.backend.flush();
    let second = held.allocate(&other);
    assert_eq!(held.pool.statistics().slab_bytes, 2 * LEN, "one of the two went when its end was noticed");
    drop((first, second));
    assert_eq!(held.pool.statistics().idle_bytes, LEN);
    assert_eq!(held.backend.faults(), []);

    for outlives in [false, true] {
        let Held { backend, pool, context: _context, queue } = Held::new(PoolOptions::new(), usize::MAX);
        let other = self::queue(&_context, QueueProperties::IN_ORDER);
        let buffer = UsmBuffer::allocate_in(&pool, &queue, UsmKind::Shared, LEN).unwrap();
        let event = work_and_release(&buffer, &other, 9);
        if outlives {
            drop(pool);
            assert!(!event.is_complete());
            drop(buffer);
        } else {
            drop(buffer);
            drop(pool);
        }
        assert!(event.is_complete());
        assert_eq!(backend.faults(), []);
    }

    // Memory that is of no pool waits where it is freed.
    let held = Held::new(PoolOptions::new(), usize::MAX);
    let buffer = UsmBuffer::allocate(&held.queue, UsmKind::Device, LEN).unwrap();
    let event = work_and_release(&buffer, &held.queue, 10);
    assert!(!event.is_complete());
    drop(buffer);
    assert!(event.is_complete());
    assert_eq!(held.backend.faults(), []);
}

#[test]
fn trim_counts_slabs_above_the_retained_limit() {
    let held = Held::new(PoolOptions::new().max_retained_bytes(LEN), usize::MAX);
    let buffers = [(); 3].map(|()| held.allocate(&held.queue));
    let cached = UsmBuffer::allocate_in(&held.pool, &held.queue, UsmKind::Shared, 64).unwrap();
    let events = buffers.each_ref().map(|buffer| work_and_release(buffer, &held.queue, 1));
    drop((buffers, cached));
    let slab_bytes = held.pool.statistics().slab_bytes;
    assert!(slab_bytes > 3 * LEN, "nothing went without a wait");
    assert_eq!(held.pool.trim(), slab_bytes);
    assert!(events.iter().all(Event::is_complete));
    assert_eq!((held.pool.statistics().slab_bytes, held.pool.trim()), (0, 0));
    assert_eq!(held.backend.faults(), []);
}

#[test]
fn a_slab_whose_work_is_complete_serves_the_request_before_it_may_go() {
    // A slab of 16 slots is larger than what the pool retains, and upstream has memory for one.
    let held = Held::new(PoolOptions::new().max_retained_bytes(LEN / 8), LEN);
    let other = queue(&held.context, QueueProperties::OUT_OF_ORDER);
    let allocate = |queue| UsmBuffer::allocate_in(&held.pool, queue, UsmKind::Shared, LEN / 16).unwrap();
    let all: Vec<_> = (0..16).map(|_| allocate(&held.queue)).collect();
    let slab = all[0].address()..all[0].address() + LEN;
    all.iter().for_each(|buffer| drop(work_and_release(buffer, &held.queue, 1)));
    drop(all);
    held.backend.flush();
    let again = allocate(&other);
    assert!(slab.contains(&again.address()));
    assert_eq!(held.pool.statistics().slab_bytes, LEN);
    drop(again);
    assert_eq!(held.pool.statistics().slab_bytes, 0, "too large to be retained");
}

#[test]
fn an_error_of_a_deferred_operation_fails_no_allocation() {
    let delayed = DelayedBackend::new(Arc::new(HostBackend::new()), 1).with_max_delay(1 << 40);
    let faulty = Arc::new(FaultyBackend::new(Arc::new(delayed)));
    let runtime = Runtime::with_backend(faulty.clone()).unwrap();
    let context = Context::new(&[runtime.devices()[0].clone()]).unwrap();
    let [first, other] = [(); 2].map(|()| queue(&context, QueueProperties::IN_ORDER));
    let upstream = LimitingResource::new(Arc::new(DirectResource), LEN);
    let pool = PoolResource::new(Arc::new(upstream), PoolOptions::new());
    let buffer = UsmBuffer::allocate_in(&pool, &first, UsmKind::Shared, LEN).unwrap();
    let address = buffer.address();
    work_and_release(&buffer, &first, 1);
    drop(buffer);
    // The runtime reports the error of an operation at the first wait after it.
    faulty.arm(Fault::at(1).of(Method::Wait));
    let again = UsmBuffer::allocate_in(&pool, &other, UsmKind::Shared, LEN).unwrap();
    assert_eq!((again.address(), faulty.failures()), (address, 1));
    // The same where every wait fails: the event says that the work is complete.
    work_and_release(&again, &other, 2);
    drop(again);
    faulty.arm(Fault::from(1).of(Method::Wait));
    let last = UsmBuffer::allocate_in(&pool, &first, UsmKind::Shared, LEN).unwrap();
    assert!(last.address() == address && faulty.failures() > 1);
}

#[test]
fn random_schedules_free_and_hand_out_nothing_too_early() {
    let schedules = campaign::number("USM_TEST_SCHEDULES", 300);
    for seed in 0..schedules as u64 {
        let backend = Arc::new(DelayedBackend::new(Arc::new(HostBackend::new()), seed));
        let runtime = Runtime::with_backend(backend.clone()).unwrap();
        let context = Context::new(&[runtime.devices()[0].clone()]).unwrap();
        let orders = [QueueProperties::IN_ORDER, QueueProperties::IN_ORDER, QueueProperties::OUT_OF_ORDER];
        let queues = orders.map(|properties| queue(&context, properties));
        let upstream = LimitingResource::new(Arc::new(DirectResource), 40_000);
        let pool = PoolResource::new(Arc::new(upstream), PoolOptions::new().max_retained_bytes(10_000));
        let mut random = Random::new(seed);
        for step in 0..60_u8 {
            let queue = &queues[random.below(3)];
            let len = [3000, 9000][random.below(2)];
            let buffer = UsmBuffer::allocate_in(&pool, queue, UsmKind::ALL[random.below(3)], len).unwrap();
            match random.below(4) {
                // Ours alone now: what others had pending on it is complete.
                0 => {
                    buffer.fill(&[step]).unwrap();
                    assert_eq!(buffer.to_vec().unwrap(), vec![step; len]);
                }
                1 => drop(work_and_release(&buffer, &queues[random.below(3)], step)),
                _ => drop(work_and_release(&buffer, queue, step)),
            }
            drop(buffer);
            if random.below(20) == 0 {
                pool.trim();
            }
        }
        drop(pool);
        assert_eq!(backend.faults(), [], "seed {seed}");
    }
    campaign::figure(&format!("{schedules} schedules of 60 pooled buffers, 0 early releases")).unwrap();
}

#[test]
fn work_in_order_gives_its_own_results_on_every_backend() {
    for queue in common::queues() {
        for kind in UsmKind::ALL {
            let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
            let result = UsmBuffer::allocate(&queue, kind, 200).unwrap();
            let mut addresses = std::collections::HashSet::new();
            let mut copies = Vec::new();
            for value in 0..200_u8 {
                let scratch = UsmBuffer::allocate_in(&pool, &queue, kind, LEN).unwrap();
                addresses.insert(scratch.address());
                work_and_release(&scratch, &queue, value);
                let target = result.address() + usize::from(value);
                let (dst, src) = (ptr::with_exposed_provenance_mut(target), scratch.address() + LEN - 1);
                // SAFETY: both are kept until the copies are complete; nobody looks at them meanwhile.
                let copy = unsafe { queue.memcpy(dst, ptr::with_exposed_provenance(src), 1, &[]) };
                copies.push(copy.unwrap());
            }
            Event::wait_all(&copies).unwrap();
            assert_eq!(result.to_vec().unwrap(), (0..200).collect::<Vec<u8>>());
            assert_eq!(addresses.len(), 1, "one block, again and again");
        }
    }
}

#[test]
fn every_failing_call_leaves_the_pool_usable() {
    let mut n = 0;
    loop {
        n += 1;
        let faulty = Arc::new(FaultyBackend::new(Arc::new(HostBackend::new())));
        let runtime = Runtime::with_backend(faulty.clone()).unwrap();
        let context = Context::new(&[runtime.devices()[0].clone()]).unwrap();
        let queues = [QueueProperties::IN_ORDER, QueueProperties::OUT_OF_ORDER].map(|p| queue(&context, p));
        let pool =
            PoolResource::new(Arc::new(DirectResource), PoolOptions::new().max_retained_bytes(2 * LEN));
        let scenario = || -> usm_memory::Result<()> {
            for round in 0..2_u8 {
                for (queue, other) in
                    [(&queues[0], &queues[1]), (&queues[1], &queues[0]), (&queues[0], &queues[0])]
                {
                    let buffer = UsmBuffer::allocate_in(&pool, queue, UsmKind::Device, LEN)?;
                    buffer.fill(&[round])?;
                    buffer.release_on(other)?;
                    let second = UsmBuffer::allocate_in(&pool, other, UsmKind::Device, LEN)?;
                    second.publish().unwrap();
                    second.copy_from(&buffer)?;
                    assert_eq!(second.to_vec()?, [round; LEN]);
                }
                pool.trim();
            }
            Ok(())
        };
        faulty.arm(Fault::at(n));
        let result = scenario();
        let failures = faulty.failures();
        faulty.disarm();
        assert!(result.is_ok() || failures == 1, "call {n}: {result:?}");
        scenario().unwrap();
        assert_eq!(pool.statistics().used_bytes, 0, "call {n}");
        pool.trim();
        assert_eq!(pool.statistics().slab_bytes, 0, "call {n}: everything goes back");
        if failures == 0 {
            break;
        }
    }
    assert!(n > 40, "{n} calls");
}
