//! Operations that hold no borrow: the order of work on memory, errors, memory that goes, and forks
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use usm_memory::resource::{DirectResource, PoolOptions, PoolResource};
use usm_memory::usm_core::backend::host::HostBackend;
#[cfg(not(windows))]
use usm_memory::usm_core::testing::forks;
use usm_memory::usm_core::testing::{DelayedBackend, Method, RecordingBackend};
use usm_memory::usm_core::{
    Context, Error as CoreError, Event, HostTask, Queue, QueueProperties, Result as CoreResult, Runtime,
    TaskMemory, UsmKind,
};
use usm_memory::{Error, Operand, UsmBuffer, submit, submit_async};

const LEN: usize = 64;

fn whole(buffer: &UsmBuffer, writes: bool) -> Operand<'_> {
    Operand::new(buffer, 0..buffer.len_bytes(), writes)
}

/// Submits a task that writes the bytes of one buffer.
fn task(
    queue: &Queue,
    buffer: &UsmBuffer,
    job: impl FnOnce(*mut u8) -> Result<(), String> + Send + 'static,
) -> usm_memory::Result<Event> {
    task_as(queue, buffer, true, job)
}

fn task_as(
    queue: &Queue,
    buffer: &UsmBuffer,
    writes: bool,
    job: impl FnOnce(*mut u8) -> Result<(), String> + Send + 'static,
) -> usm_memory::Result<Event> {
    let run = |start: &[*mut u8], after: &[Event]| -> CoreResult<Event> {
        let memory = TaskMemory { start: start[0], len_bytes: buffer.len_bytes() };
        let task = HostTask::new(move |addresses| job(addresses[0]));
        // SAFETY: 1. The operand, until the event is complete. 2. The task touches its bytes. 3. It uses no object of the backend.
        unsafe { queue.host_task(&[memory], task, after) }
    };
    // SAFETY: 1. The bytes of the operand. 2. Memory of the queue's context.
    unsafe { submit(queue, &[whole(buffer, writes)], run) }
}

/// A job that ends when the flag is set.
fn until(flag: &Arc<AtomicBool>) -> impl FnOnce(*mut u8) -> Result<(), String> + Send + 'static {
    let flag = Arc::clone(flag);
    move |_| {
        while !flag.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        Ok(())
    }
}

fn device_buffer(queue: &Queue) -> UsmBuffer {
    common::direct(queue, UsmKind::Device, LEN)
}

#[test]
fn an_error_comes_out_of_the_next_wait_for_the_memory_once() {
    let queue = common::host_queue();
    type Wait = fn(&UsmBuffer) -> usm_memory::Result<()>;
    let waits: [(&str, Wait); 6] = [
        ("read", |buffer| buffer.to_vec().map(drop)),
        ("guard", |buffer| buffer.write_range(0..1).map(drop)),
        ("wait", UsmBuffer::wait),
        ("publish", UsmBuffer::publish),
        ("copy", |buffer| device_buffer(buffer.queue()).copy_from(buffer)),
        ("write", |buffer| buffer.copy_from_host(&[1], 3)),
    ];
    for (name, wait) in waits {
        let buffer = device_buffer(&queue);
        task(&queue, &buffer, |_| Err("it is Monday".to_owned())).unwrap();
        let error = wait(&buffer).unwrap_err();
        assert!(error.to_string().contains("it is Monday"), "{name}: {error}");
        assert!(buffer.events().is_empty(), "{name}");
        wait(&buffer).unwrap();
    }
    // Nobody is left to be told.
    let buffer = device_buffer(&queue);
    task(&queue, &buffer, |_| Err("it is Monday".to_owned())).unwrap();
    drop(buffer);
}

#[test]
fn a_read_waits_for_writes_alone() {
    let queue = common::host_queue();
    let other = common::beside(&queue);
    let buffer = device_buffer(&queue);
    buffer.submit_fill(&[6]).unwrap();
    let go_on = Arc::new(AtomicBool::new(false));
    task_as(&other, &buffer, false, until(&go_on)).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [6; LEN]);
    let copy = device_buffer(&queue);
    copy.submit_copy_from(&buffer).unwrap();
    assert_eq!(copy.to_vec().unwrap(), [6; LEN], "nor does a read by the queue");
    buffer.submit_fill(&[7]).unwrap();
    assert!(!buffer.events().is_empty());
    go_on.store(true, Ordering::Release);
    assert_eq!(buffer.to_vec().unwrap(), [7; LEN]);
}

#[test]
fn borrows_of_others_are_respected_and_none_is_left() {
    let queue = common::host_queue();
    let buffer = device_buffer(&queue);
    let guard = buffer.read_range(0..8).unwrap();
    let refused = task(&queue, &buffer, |_| Ok(())).unwrap_err();
    assert!(matches!(refused, Error::BorrowConflict { held: "reading", .. }), "{refused}");
    drop(guard);
    let refused = task(&queue, &buffer.read_only(), |_| Ok(())).unwrap_err();
    assert!(matches!(refused, Error::ReadOnly), "{refused}");
    // The ranges of one operation may overlap each other, and be many.
    for count in 1..10 {
        let all = vec![whole(&buffer, true); count];
        let set = |start: &[*mut u8], after: &[Event]| {
            assert!(start.len() == count && start.iter().all(|one| *one == start[0]));
            // SAFETY: the bytes of the operand.
            unsafe { queue.memset(start[0], 3, LEN, after) }
        };
        // SAFETY: 1. The bytes of the operands. 2. Memory of the queue.
        unsafe { submit(&queue, &all, set) }.unwrap();
        assert_eq!(buffer.write_range(0..LEN).map(|guard| guard.len_bytes()).unwrap(), LEN);
    }
    // SAFETY: nothing is submitted.
    let refused = unsafe { submit(&queue, &[whole(&buffer, true)], |_, _| Err(CoreError::ZeroSize)) };
    assert!(matches!(refused, Err(Error::Core(CoreError::ZeroSize))));
    assert!(buffer.events().is_empty() && buffer.write_range(0..LEN).is_ok());
    let beyond = Operand::read(&buffer, 0..LEN + 1);
    // SAFETY: nothing is submitted.
    let refused = unsafe { submit(&queue, &[beyond], |_, _| Err(CoreError::ZeroSize)) };
    assert!(matches!(refused, Err(Error::OutOfBounds { .. })));
}

#[test]
fn what_an_in_order_queue_orders_needs_no_dependency() {
    let recording = Arc::new(RecordingBackend::new(Arc::new(HostBackend::new())));
    let delayed = DelayedBackend::new(recording.clone(), 2).with_max_delay(1 << 40);
    let runtime = Runtime::with_backend(Arc::new(delayed)).unwrap();
    let device = runtime.default_device().unwrap();
    let context = device.default_context().unwrap();
    let create = |properties| context.create_queue(&device, properties).unwrap();
    let [first, second] = [0; 2].map(|_| create(QueueProperties::IN_ORDER));
    let loose = create(QueueProperties::OUT_OF_ORDER);
    let (a, b) = (device_buffer(&first), device_buffer(&first));
    let counted = |queue: &Queue, to: &UsmBuffer, from: &UsmBuffer| {
        let mut count = 0;
        let operands = [whole(to, true), whole(from, false)];
        let copy = |ends: &[*mut u8], after: &[Event]| {
            count = after.len();
            // SAFETY: the bytes of the operands, of two allocations.
            unsafe { queue.memcpy(ends[0], ends[1], LEN, after) }
        };
        // SAFETY: 1. The bytes of the operands. 2. Memory of the queue's context.
        unsafe { submit(queue, &operands, copy) }.unwrap();
        count
    };
    let begin = || [&a, &b].iter().for_each(|buffer| buffer.wait().unwrap());
    a.submit_fill(&[1]).unwrap();
    b.submit_fill(&[2]).unwrap();
    assert_eq!(counted(&first, &a, &b), 0);
    assert_eq!(counted(&first, &b, &a), 0);
    assert_eq!(a.events().len() + b.events().len(), 3, "a write and a read of one, a write of the other");
    // The writes of both sides; the read of `a` comes before the write of `b`, but nobody looks that closely.
    assert_eq!(counted(&second, &a, &b), 3);
    begin();
    a.submit_fill(&[1]).unwrap();
    assert_eq!(counted(&loose, &b, &a), 1);
    assert_eq!(counted(&loose, &b, &a), 2, "the write of each; reads do not keep off reads");
    assert_eq!(counted(&first, &b, &a), 1, "a write stands for all before it");
    begin();
    assert_eq!(counted(&second, &b, &a), 0);
    assert!(recording.count(Method::Barrier) == 0, "events alone order all this");
}

#[test]
fn events_do_not_order_work_of_another_context() {
    let (delayed, ours) = common::late(3);
    let theirs = Context::new(std::slice::from_ref(ours.device())).unwrap();
    let theirs = theirs.create_queue(ours.device(), QueueProperties::IN_ORDER).unwrap();
    let (device_memory, host) = (device_buffer(&ours), common::direct(&theirs, UsmKind::Host, LEN));
    let staged = |queue: &Queue, to: &UsmBuffer, from: &UsmBuffer| {
        let copy = |ends: &[*mut u8], after: &[Event]| {
            assert!(after.iter().all(|event| event.context() == queue.context()));
            // SAFETY: the bytes of the operands.
            unsafe { queue.memcpy(ends[0], ends[1], LEN, after) }
        };
        // SAFETY: 1. The bytes of the operands. 2. Host USM of another context is host memory. 3. Nobody looks at it.
        unsafe { submit_async(queue, &[whole(to, true), whole(from, false)], &[], copy) }.unwrap();
    };
    host.fill(&[5]).unwrap();
    staged(&ours, &device_memory, &host);
    assert_eq!((delayed.pending(), host.events().len()), (1, 1));
    let other = device_buffer(&theirs);
    staged(&theirs, &host, &other);
    assert_eq!(delayed.pending(), 1, "the read of the other context was waited for");
    drop((host, other));
    assert_eq!(device_memory.to_vec().unwrap(), [5; LEN]);
    assert!(delayed.faults().is_empty());
}

#[test]
fn an_error_of_another_context_comes_out_of_the_next_wait_for_its_memory_once() {
    let ours = common::host_queue();
    let context = usm_memory::usm_core::Context::new(std::slice::from_ref(ours.device())).unwrap();
    let theirs = context.create_queue(ours.device(), QueueProperties::IN_ORDER).unwrap();
    let (target, host) = (device_buffer(&ours), common::direct(&theirs, UsmKind::Host, LEN));
    let fail = |start: &[*mut u8], after: &[Event]| {
        let memory = TaskMemory { start: start[0], len_bytes: LEN };
        let task = HostTask::new(|_| Err("it is Monday".to_owned()));
        // SAFETY: 1. The operand, until the event is complete. 2. and 3. The task uses nothing.
        unsafe { theirs.host_task(&[memory], task, after) }
    };
    // SAFETY: 1. The bytes of the operand. 2. Memory of the queue's context. 3. Nobody looks at it.
    unsafe { submit_async(&theirs, &[whole(&host, true)], &[], fail) }.unwrap();
    // As in one context, operations go on, and no submission has the error of another one.
    for _ in 0..2 {
        let copy = |ends: &[*mut u8], after: &[Event]| {
            // SAFETY: the bytes of the operands.
            unsafe { ours.memcpy(ends[0], ends[1], LEN, after) }
        };
        let operands = [whole(&target, true), whole(&host, false)];
        // SAFETY: 1. The bytes of the operands. 2. Host USM of another context is host memory. 3. Nobody looks at it.
        unsafe { submit_async(&ours, &operands, &[], copy) }.unwrap();
    }
    let error = host.wait().unwrap_err();
    assert!(error.to_string().contains("it is Monday"), "{error}");
    host.wait().unwrap();
}

#[test]
fn leased_memory_and_what_it_is_a_part_of_know_the_same_operations() {
    let (delayed, queue) = common::late(4);
    let large = common::direct(&queue, UsmKind::Device, 2 * LEN);
    let (sender, returned) = mpsc::channel();
    let lease = UsmBuffer::lease(large.sub_buffer(LEN, LEN).unwrap(), &queue, move |memory| {
        sender.send(memory).unwrap();
    })
    .unwrap();
    lease.submit_fill(&[7]).unwrap();
    assert_eq!((delayed.pending(), large.events().len()), (1, 1));
    drop(lease);
    let (memory, pending) = returned.recv().unwrap().into_parts();
    assert_eq!((pending, delayed.pending()), (Some(queue.clone()), 1), "no wait");
    assert_eq!(memory.to_vec().unwrap(), [7; LEN]);
    large.submit_fill(&[8]).unwrap();
    assert_eq!(memory.to_vec().unwrap(), [8; LEN]);
    drop((memory, large));
    assert!(delayed.faults().is_empty());
}

#[test]
fn the_error_of_an_operation_on_leased_memory_is_told_once() {
    let queue = common::host_queue();
    let large = common::direct(&queue, UsmKind::Device, 2 * LEN);
    for is_published in [false, true] {
        let lease = UsmBuffer::lease(large.sub_buffer(LEN, LEN).unwrap(), &queue, drop).unwrap();
        if is_published {
            lease.publish().unwrap();
        }
        let started = Arc::new(AtomicBool::new(false));
        let wait = until(&started);
        task_as(&queue, &lease, true, move |start| wait(start).and(Err("it is Monday".to_owned()))).unwrap();
        started.store(true, Ordering::Release);
        let error = lease.to_vec().unwrap_err();
        assert!(error.to_string().contains("it is Monday"), "{error}");
        lease.to_vec().unwrap();
        large.to_vec().unwrap();
    }
}

#[test]
fn what_leased_memory_is_a_part_of_knows_operations_on_imports() {
    let (delayed, queue) = common::late(4);
    let queues = [(); 3].map(|()| common::beside(&queue));
    let large = common::direct(&queues[0], UsmKind::Device, 2 * LEN);
    type Publish = fn(&UsmBuffer) -> usm_memory::Result<()>;
    let ways: [Publish; 2] = [UsmBuffer::publish, UsmBuffer::publish_in_order];
    for (round, publish) in (0..).zip(ways) {
        large.fill(&[0]).unwrap();
        let lease = UsmBuffer::lease(large.sub_buffer(LEN, LEN).unwrap(), &queues[1], drop).unwrap();
        publish(&lease).unwrap();
        let owner = Arc::new(lease.clone());
        // SAFETY: 1. to 3. The owner is the buffer, whose guards are in one table.
        let import = unsafe { UsmBuffer::borrow(&queues[2], lease.address(), LEN, true, owner) }.unwrap();
        import.submit_fill(&[7]).unwrap();
        assert_eq!(large.to_vec().unwrap()[LEN..], [7; LEN], "{round}");
        large.submit_fill(&[8]).unwrap();
        assert_eq!(import.to_vec().unwrap(), [8; LEN], "{round}");
    }
    drop(large);
    assert!(delayed.faults().is_empty());
}

#[test]
fn imports_of_the_same_memory_wait_for_each_other() {
    let (delayed, queue) = common::late(5);
    let queues = [(); 3].map(|()| common::beside(&queue));
    let own = device_buffer(&queues[0]);
    own.publish().unwrap();
    let import = |queue: &Queue| {
        // SAFETY: 1. to 3. The owner is the buffer, whose guards are in one table.
        unsafe { UsmBuffer::borrow(queue, own.address(), LEN, true, Arc::new(own.clone())) }.unwrap()
    };
    let [a, b] = [import(&queues[1]), import(&queues[2])];
    let copy = device_buffer(&queue);
    for round in 0..50 {
        own.submit_fill(&[round + 50]).unwrap();
        copy.submit_copy_from(&a).unwrap();
        b.submit_fill(&[0]).unwrap();
        assert_eq!(copy.to_vec().unwrap(), [round + 50; LEN]);
        a.submit_fill(&[round]).unwrap();
        assert_eq!(own.to_vec().unwrap(), [round; LEN]);
        b.submit_fill(&[round + 100]).unwrap();
        assert_eq!(a.to_vec().unwrap(), [round + 100; LEN]);
        own.submit_fill(&[round]).unwrap();
        b.submit_fill(&[1]).unwrap();
        a.submit_fill(&[2]).unwrap();
        assert_eq!(b.to_vec().unwrap(), [2; LEN]);
    }
    a.submit_fill(&[3]).unwrap();
    assert!([&a, &b, &own].iter().all(|buffer| !buffer.events().is_empty()));
    drop(a);
    assert_eq!(own.to_vec().unwrap(), [3; LEN]);
    drop((own, b, copy));
    assert!(delayed.faults().is_empty());
}

/// External code knows the queue of the memory, and no event.
#[test]
fn external_code_comes_after_operations_of_any_queue() {
    let (delayed, queue) = common::late(6);
    let other = common::beside(&queue);
    let copy = device_buffer(&queue);
    for round in 0..20 {
        let own = device_buffer(&queue);
        // It is published behind the first operation, and before the second one.
        for value in [2 * round + 1, 2 * round + 2] {
            let set = |start: &[*mut u8], after: &[Event]| {
                // SAFETY: the bytes of the operand.
                unsafe { other.memset(start[0], value, LEN, after) }
            };
            // SAFETY: 1. The bytes of the operand. 2. Memory of the queue's context.
            unsafe { submit(&other, &[whole(&own, true)], set) }.unwrap();
            if value % 2 == 1 {
                own.publish_in_order().unwrap();
                assert!(!own.events().is_empty(), "nothing was waited for");
            }
            let [to, from] =
                [&copy, &own].map(|buffer| std::ptr::with_exposed_provenance_mut(buffer.address()));
            // SAFETY: both are memory of `LEN` bytes of the context, and live until the wait.
            unsafe { queue.memcpy(to, from, LEN, &[]) }.unwrap().wait().unwrap();
            assert_eq!(copy.to_vec().unwrap(), [value; LEN]);
        }
    }
    drop(copy);
    assert!(delayed.faults().is_empty());
}

#[test]
fn memory_is_published_at_once_where_nothing_is_under_way() {
    let (delayed, queue) = common::late(6);
    let busy = device_buffer(&queue);
    busy.submit_fill(&[1]).unwrap();
    let lease = UsmBuffer::lease(device_buffer(&queue).sub_buffer(0, LEN).unwrap(), &queue, drop).unwrap();
    assert!(![&busy, &lease].iter().any(|buffer| buffer.publish_at_once()));
    assert_eq!((delayed.pending(), busy.events().len()), (1, 1), "nothing was waited for");
    // Operations on published memory of other tests of this process count, too.
    let is_published = |_| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        device_buffer(&queue).publish_at_once()
    };
    assert!((0..10_000).any(is_published));
}

#[test]
fn threads_that_write_parts_of_one_buffer_lose_no_operation() {
    for seed in 0..10 {
        let (delayed, queue) = common::late(seed);
        let queues = [(); 4].map(|()| common::beside(&queue));
        let buffer = common::direct(&queues[0], UsmKind::Device, 4 * LEN);
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (buffer, queues) = (&buffer, &queues);
                scope.spawn(move || {
                    let range = number * LEN..(number + 1) * LEN;
                    for round in 0..100 {
                        let queue = &queues[(number + round) % 4];
                        let part = Operand::written(buffer, range.clone());
                        let value = (number * 50 + round) as u8;
                        let set = |start: &[*mut u8], after: &[Event]| {
                            // SAFETY: the bytes of the operand.
                            unsafe { queue.memset(start[0], value, LEN, after) }
                        };
                        // SAFETY: 1. The bytes of the operand. 2. Memory of the queue's context.
                        unsafe { submit(queue, &[part], set) }.unwrap();
                        let mut found = [0; LEN];
                        buffer.copy_to_host(&mut found, range.start).unwrap();
                        assert_eq!(found, [value; LEN], "seed {seed}, thread {number}, round {round}");
                    }
                });
            }
        });
        drop(buffer);
        assert!(delayed.faults().is_empty());
    }
}

#[test]
fn a_stranger_waits_for_a_slot_and_its_own_queue_does_not() {
    let (delayed, a) = common::late(6);
    let b = common::beside(&a);
    let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
    let allocate = |queue: &Queue| UsmBuffer::allocate_in(&pool, queue, UsmKind::Device, LEN).unwrap();
    let first = allocate(&a);
    let address = first.address();
    first.submit_fill(&[1]).unwrap();
    drop(first);
    assert_eq!(delayed.pending(), 1);
    assert_ne!(allocate(&b).address(), address);
    // Fill the slabs, so that deferred frees are looked at.
    let many: Vec<_> = (0..2000).map(|_| allocate(&a)).collect();
    let again = many.iter().find(|buffer| buffer.address() == address).unwrap();
    again.submit_fill(&[2]).unwrap();
    assert!(delayed.pending() >= 2, "{}", delayed.pending());
    assert_eq!(again.to_vec().unwrap(), [2; LEN]);
    drop(many);
    assert_eq!(pool.statistics().used_bytes, 0);
}

#[cfg(not(windows))]
type Access = fn(&UsmBuffer) -> usm_memory::Result<()>;

/// What a forked child does first with memory full of fours, and its bytes afterwards.
#[cfg(not(windows))]
const ACCESSES: [(Access, u8); 2] =
    [(|buffer| buffer.to_vec().map(drop), 4), (|buffer| buffer.submit_fill(&[1]), 1)];

#[cfg(not(windows))]
#[test]
fn a_forked_child_gets_an_error_for_what_its_parent_had_under_way() {
    let queue = common::host_queue();
    for pooled in [true, false] {
        let of_pool = || UsmBuffer::allocate(&queue, UsmKind::Device, LEN).unwrap();
        let allocate = || if pooled { of_pool() } else { device_buffer(&queue) };
        let (buffer, complete) = (allocate(), allocate());
        complete.submit_fill(&[4]).unwrap();
        complete.events().iter().for_each(|event| event.wait().unwrap());
        let go_on = Arc::new(AtomicBool::new(false));
        task(&queue, &buffer, until(&go_on)).unwrap();
        let done = ACCESSES.map(|(access, expected)| {
            let child = || {
                // Once, as any error; the memory can be used again.
                let is_refused = matches!(access(&buffer), Err(Error::Core(CoreError::Forked)));
                let writes =
                    buffer.submit_fill(&[1]).is_ok() && buffer.to_vec().is_ok_and(|found| found == [1; LEN]);
                let works = access(&complete).is_ok()
                    && complete.to_vec().is_ok_and(|found| found == [expected; LEN]);
                drop(buffer.clone());
                is_refused && writes && works
            };
            forks::one(&child)
        });
        go_on.store(true, Ordering::Release);
        done.into_iter().for_each(Result::unwrap);
        buffer.wait().unwrap();
    }
}

#[test]
fn many_reads_do_not_lose_the_error_of_a_write() {
    let queue = common::host_queue();
    let loose = queue.context().create_queue(queue.device(), QueueProperties::OUT_OF_ORDER).unwrap();
    let buffer = device_buffer(&queue);
    task(&loose, &buffer, |_| Err("it is Monday".to_owned())).unwrap();
    for _ in 0..100 {
        task_as(&loose, &buffer, false, |_| Ok(())).unwrap().wait().unwrap();
    }
    assert!(buffer.wait().unwrap_err().to_string().contains("it is Monday"));
}

#[test]
fn memory_at_the_address_of_gone_memory_has_no_error_of_it() {
    let queue = common::host_queue();
    let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
    let allocate = || UsmBuffer::allocate_in(&pool, &queue, UsmKind::Device, LEN).unwrap();
    let first = allocate();
    first.publish().unwrap();
    task(&queue, &first, |_| Err("it is Monday".to_owned())).unwrap();
    let address = first.address();
    drop(first);
    let many: Vec<_> = (0..2000).map(|_| allocate()).collect();
    let second = many.iter().find(|buffer| buffer.address() == address).unwrap();
    second.publish().unwrap();
    let own = device_buffer(&queue);
    let import = || {
        let owner = Arc::new(own.clone());
        // SAFETY: 1. to 3. The owner is the buffer, whose guards are in one table.
        unsafe { UsmBuffer::borrow(&queue, own.address(), LEN, true, owner) }.unwrap()
    };
    task(&queue, &import(), |_| Err("it is Monday".to_owned())).unwrap();
    import().wait().unwrap();
}

#[cfg(not(windows))]
#[test]
fn a_forked_child_gets_an_error_for_operations_on_shared_memory() {
    let queue = common::host_queue();
    let own = device_buffer(&queue);
    own.publish().unwrap();
    // SAFETY: 1. to 3. The owner is the buffer, whose guards are in one table.
    let import =
        unsafe { UsmBuffer::borrow(&queue, own.address(), LEN, true, Arc::new(own.clone())) }.unwrap();
    let other = common::beside(&queue);
    let go_on = Arc::new(AtomicBool::new(false));
    task(&other, &own, until(&go_on)).unwrap();
    let done = ACCESSES.map(|(access, _)| {
        let child = || {
            // Once, whatever comes first.
            let is_refused = matches!(access(&import), Err(Error::Core(CoreError::Forked)));
            is_refused
                && import.submit_fill(&[1]).is_ok()
                && import.to_vec().is_ok_and(|found| found == [1; LEN])
        };
        forks::one(&child)
    });
    go_on.store(true, Ordering::Release);
    done.into_iter().for_each(Result::unwrap);
}

#[test]
fn a_host_task_waits_for_nobody_who_may_wait_for_it() {
    let queue = common::host_queue();
    let buffer = device_buffer(&queue);
    let (started, go_on) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (inside, is_started, may_go_on) = (buffer.clone(), Arc::clone(&started), Arc::clone(&go_on));
    // The memory is named as read, and the copy below waits for the task.
    task_as(&queue, &buffer, false, move |_| {
        is_started.store(true, Ordering::Release);
        while !may_go_on.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        inside.copy_from_host(&[1; LEN], 0).map_err(|error| error.to_string())
    })
    .unwrap();
    while !started.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| buffer.copy_from_host(&[2; LEN], 0));
        std::thread::sleep(std::time::Duration::from_millis(30));
        go_on.store(true, Ordering::Release);
        // The error of the task: it would have had to wait for itself.
        let error = waiting.join().unwrap().unwrap_err().to_string();
        assert!(error.contains("a host task cannot wait"), "{error}");
    });
    let (access, other, inside) =
        (buffer.write_access(0..LEN).unwrap(), device_buffer(&queue), buffer.clone());
    task_as(&queue, &other, false, move |_| {
        inside.copy_from_host(&[1; LEN], 0).map_err(|error| error.to_string())
    })
    .unwrap();
    // The error of the task: it would have had to wait for this thread.
    let error = other.copy_from_host(&[2; LEN], 0).unwrap_err().to_string();
    assert!(error.contains("borrowed for writing"), "{error}");
    drop(access);
    buffer.copy_from_host(&[3; LEN], 0).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [3; LEN]);
}

#[test]
fn a_completion_gives_its_result_once() {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};
    let buffer =
        usm_memory::UsmBuffer::allocate(&usm_core::testing::host_queue(), usm_core::UsmKind::Device, 4)
            .unwrap();
    let mut completion = buffer.to_vec_async(&[]).unwrap();
    buffer.wait().unwrap();
    let mut context = Context::from_waker(Waker::noop());
    let mut poll = || Pin::new(&mut completion).poll(&mut context);
    let first = loop {
        if let Poll::Ready(result) = poll() {
            break result;
        }
        std::thread::yield_now();
    };
    assert_eq!(first.unwrap().len(), 4);
    let Poll::Ready(Err(again)) = poll() else { panic!("a second result") };
    assert!(again.to_string().contains("was taken before"), "{again}");
}

#[test]
fn a_refusal_shows_the_error_it_has() {
    let error = usm_memory::Error::ReadOnly;
    let refused = usm_memory::Refused { error, host: vec![0_u8] };
    assert_eq!(format!("{refused:?}"), "the memory is read-only; write to a copy of it");
    assert_eq!(format!("{refused:#?}"), format!("{:#?}", usm_memory::Error::ReadOnly));
}
