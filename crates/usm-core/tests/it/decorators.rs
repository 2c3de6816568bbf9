//! Each test backend over each backend: faults where asked for, delays that keep to the rules, complete records.
#![allow(clippy::unwrap_used)]

use crate::bases;
use crate::common;
use std::slice::from_ref;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use usm_core::backend::host::HostBackend;
use usm_core::backend::{Backend, RawHandle};
use usm_core::testing::{
    Answer, Call, DelayedBackend, Fault, FaultyBackend, Method, RecordingBackend, Released,
};
use usm_core::{
    Allocation, Aspects, Error, Event, HostTask, Kernel, KernelBundle, Queue, QueueProperties, Runtime,
    TaskMemory, UsmKind,
};

fn queue_over(backend: Arc<dyn Backend>, properties: QueueProperties) -> Queue {
    let device = Runtime::with_backend(backend).unwrap().default_device().unwrap();
    device.default_context().unwrap().create_queue(&device, properties).unwrap()
}

fn set(queue: &Queue, block: &Allocation, value: u8, after: &[Event]) -> Event {
    // SAFETY: within the block; tests wait, or look at what becomes of those who do not.
    unsafe { queue.memset(block.as_ptr().as_ptr(), value, block.len_bytes(), after) }.unwrap()
}

fn copy(queue: &Queue, to: &Allocation, from: &Allocation, after: &[Event]) -> Event {
    // SAFETY: as above.
    unsafe { queue.memcpy(to.as_ptr().as_ptr(), from.as_ptr().as_ptr(), to.len_bytes(), after) }.unwrap()
}

fn bytes(queue: &Queue, block: &Allocation) -> Vec<u8> {
    let mut bytes = vec![0; block.len_bytes()];
    // SAFETY: as above; waited for.
    let event = unsafe { queue.memcpy(bytes.as_mut_ptr(), block.as_ptr().as_ptr(), bytes.len(), &[]) };
    event.unwrap().wait().unwrap();
    bytes
}

#[test]
fn a_refused_allocation_is_asked_for_again_once_the_backend_gave_memory_back() {
    let faulty = Arc::new(FaultyBackend::new(Arc::new(HostBackend::new())));
    let queue = queue_over(faulty.clone(), QueueProperties::IN_ORDER);
    let allocate = || queue.allocate(UsmKind::Device, 1 << 20);
    // The backend keeps the pages of a freed block.
    drop(allocate().unwrap());
    faulty.arm(Fault::at(1).of(Method::Allocate));
    let block = allocate().unwrap();
    assert_eq!((faulty.calls_of(Method::Allocate), faulty.failures()), (2, 1));
    // It keeps nothing: one refusal is final.
    faulty.arm(Fault::at(1).of(Method::Allocate));
    assert!(matches!(allocate(), Err(Error::OutOfMemory { .. })));
    assert_eq!(faulty.calls_of(Method::Allocate), 1);
    // One more attempt, and no second one.
    drop(block);
    faulty.arm(Fault::from(1).of(Method::Allocate));
    assert!(matches!(allocate(), Err(Error::OutOfMemory { .. })));
    assert_eq!(faulty.calls_of(Method::Allocate), 2);
    // A wish for an alignment is no reason to give memory back, and nor is an alignment that the runtime refuses.
    faulty.disarm();
    drop(allocate().unwrap());
    faulty.arm(Fault::at(1).of(Method::Allocate));
    drop(queue.allocate_preferring(UsmKind::Device, 1 << 20, None, 2 << 20).unwrap());
    faulty.arm(Fault::at(1).of(Method::Allocate));
    drop(queue.allocate_aligned(UsmKind::Device, 1 << 20, 64).unwrap());
    faulty.arm(Fault::from(1).of(Method::Allocate));
    assert!(matches!(queue.allocate_aligned(UsmKind::Device, 1 << 20, 64), Err(Error::OutOfMemory { .. })));
    assert_eq!(faulty.calls_of(Method::Allocate), 4, "as asked and padded, each before and after");
}

#[test]
fn faults_hit_the_call_they_are_for() {
    for base in bases::all() {
        let faulty = Arc::new(FaultyBackend::new(base.backend.clone()));
        let queue = queue_over(faulty.clone(), QueueProperties::IN_ORDER);
        let allocate = || queue.allocate(UsmKind::Shared, 8);
        let wait = || queue.barrier(&[])?.wait();

        faulty.arm(Fault::at(2));
        let block = allocate().unwrap();
        assert!(matches!(wait(), Err(Error::Backend { call: "barrier", .. })), "{}", base.name);
        wait().unwrap();
        assert_eq!((faulty.calls(), faulty.failures()), (4, 1), "allocate, barrier, barrier, wait");

        faulty.arm(Fault::at(2).of(Method::Allocate));
        wait().unwrap();
        drop(allocate().unwrap());
        assert!(matches!(allocate(), Err(Error::OutOfMemory { len_bytes: 8, .. })));
        drop(allocate().unwrap());
        assert_eq!((faulty.calls(), faulty.calls_of(Method::Allocate), faulty.failures()), (5, 3, 1));

        faulty.arm(Fault::from(2).of(Method::Fill));
        set(&queue, &block, 1, &[]).wait().unwrap();
        for _ in 0..3 {
            // SAFETY: refused; nothing is touched.
            let refused = unsafe { queue.memset(block.as_ptr().as_ptr(), 2, 8, &[]) };
            assert!(matches!(refused, Err(Error::Backend { call: "fill", .. })));
        }
        assert_eq!(bytes(&queue, &block), [1; 8], "a refused fill writes nothing");
        assert_eq!(faulty.failures(), 3);

        for fault in [Fault::from(0), Fault::from(1).of(Method::Free), Fault::from(1).of(Method::Release)] {
            faulty.arm(fault);
            drop(allocate().unwrap());
            wait().unwrap();
            assert_eq!((faulty.calls(), faulty.failures()), (3, 0), "{fault:?}");
        }
        faulty.arm(Fault::from(1));
        assert!(allocate().is_err());
        faulty.disarm();
        drop(allocate().unwrap());
    }
}

#[test]
fn a_wait_for_a_queue_is_one_for_its_newest_operation() {
    for base in bases::all() {
        let faulty = Arc::new(FaultyBackend::new(base.backend.clone()));
        let waits = |queue: &Queue| {
            faulty.arm(Fault::from(0));
            queue.wait().unwrap();
            (faulty.calls_of(Method::Barrier), faulty.calls_of(Method::Wait))
        };
        let queue = queue_over(faulty.clone(), QueueProperties::IN_ORDER);
        let block = queue.allocate(UsmKind::Shared, 8).unwrap();
        assert_eq!(waits(&queue), (1, 1), "{}: there is no operation", base.name);
        for value in 1..3 {
            let set = set(&queue, &block, value, &[]);
            // The error of a host task is for those who wait for the task.
            assert_eq!(waits(&queue), (usize::from(queue.runs_host_tasks()), 1), "{}", base.name);
            assert!(set.is_complete());
        }
        // Other code may submit from here on, or there is no such code.
        let _ = (queue.to_external(), queue.native_stream());
        let last = set(&queue, &block, 3, &[]);
        assert_eq!(waits(&queue), (1, 1), "{}", base.name);
        assert!(last.is_complete());
    }
}

#[test]
fn a_wait_that_fails_has_waited() {
    for base in bases::all() {
        let delayed = Arc::new(DelayedBackend::new(base.backend.clone(), 1).with_max_delay(1 << 40));
        let faulty = Arc::new(FaultyBackend::new(delayed.clone()));
        let queue = queue_over(faulty.clone(), QueueProperties::OUT_OF_ORDER);
        let block = queue.allocate(UsmKind::Device, 64).unwrap();
        let event = set(&queue, &block, 3, &[]);
        assert_eq!(delayed.pending(), 1);
        faulty.arm(Fault::at(1).of(Method::Wait));
        assert!(matches!(event.wait(), Err(Error::Backend { call: "wait", .. })), "{}", base.name);
        assert_eq!(delayed.pending(), 0);
        drop(block);
        assert_eq!(delayed.faults(), []);
    }
}

#[test]
fn queues_know_when_they_have_no_work() {
    for (base, properties) in bases::all()
        .iter()
        .flat_map(|base| [QueueProperties::IN_ORDER, QueueProperties::OUT_OF_ORDER].map(|how| (base, how)))
    {
        let context = format!("{} {properties:?}", base.name);
        let delayed = Arc::new(DelayedBackend::new(base.backend.clone(), 1).with_max_delay(1 << 40));
        let queue = queue_over(delayed.clone(), properties);
        let is_in_order = queue.properties().in_order; // always so on CUDA
        assert!(queue.is_surely_idle(), "{context}");
        let block = queue.allocate(UsmKind::Device, 64).unwrap();
        let event = set(&queue, &block, 3, &[]);
        assert_eq!(delayed.pending(), 1);
        assert!(!queue.clone().is_surely_idle(), "{context}");
        // What an out-of-order queue has besides, the operation does not tell.
        event.wait().unwrap();
        assert_eq!(queue.is_surely_idle(), is_in_order, "{context}");
        queue.wait().unwrap();
        assert!(queue.is_surely_idle(), "{context}");
        let event = set(&queue, &block, 4, &[]);
        let after = queue.barrier(&[]).unwrap();
        assert!(!queue.is_surely_idle(), "{context}");
        after.wait().unwrap();
        assert!(queue.is_surely_idle() && event.is_complete(), "{context}");
        // A barrier for some events says nothing of the others.
        let others = set(&queue, &block, 5, &[]);
        queue.barrier(&[after]).unwrap().wait().unwrap();
        assert_eq!(queue.is_surely_idle(), is_in_order, "{context}");
        others.wait().unwrap();
        // With the queue known to others anything may be before the next operation, also when they have given it back.
        queue.wait().unwrap();
        if queue.to_external().is_ok() {
            assert!(!queue.is_surely_idle(), "{context}");
        }
        drop((block, queue));
        delayed.flush(); // such a queue drops with a barrier
    }
}

#[test]
fn decorators_hand_on_the_facts_of_the_backend_below() {
    for base in bases::all() {
        let decorators: [Arc<dyn Backend>; 3] = [
            Arc::new(FaultyBackend::new(base.backend.clone())),
            Arc::new(RecordingBackend::new(base.backend.clone())),
            Arc::new(DelayedBackend::new(base.backend.clone(), 1)),
        ];
        let facts = |backend: Arc<dyn Backend>| {
            let queue = queue_over(backend, QueueProperties::OUT_OF_ORDER);
            let total_bytes = queue.device().memory_figures().map(|figures| figures.total_bytes);
            (queue.properties(), total_bytes)
        };
        for decorator in decorators {
            assert_eq!(facts(decorator), facts(base.backend.clone()), "{}", base.name);
        }
    }
}

/// A thread that has submitted an operation, and has not come back from the backend, is overtaken by a newer operation.
#[test]
fn the_newest_operation_decides_whether_an_in_order_queue_is_idle() {
    let (held, is_held) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let (held, may_go_on) = (Mutex::new(Some(held)), Mutex::new(may_go_on));
    let recording = RecordingBackend::new(Arc::new(HostBackend::new())).with_observer(move |call: &Call| {
        if matches!(call, Call::Barrier { .. })
            && let Some(held) = held.lock().unwrap().take()
        {
            held.send(()).unwrap();
            may_go_on.lock().unwrap().recv().unwrap();
        }
    });
    let queue = queue_over(Arc::new(recording), QueueProperties::IN_ORDER);
    let (finish, finished) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let older = scope.spawn(|| queue.barrier(&[]).unwrap());
        is_held.recv().unwrap();
        let idle_while_submitting = queue.is_surely_idle();
        let (submitted, is_submitted) = mpsc::channel();
        let queue = &queue;
        let newer = scope.spawn(move || {
            let task = HostTask::new(move |_| finished.recv().map_err(|error| error.to_string()));
            // SAFETY: the task uses no memory.
            let event = unsafe { queue.host_task(&[], task, &[]) }.unwrap();
            // Nobody listens when the first thread had to come back first.
            let _ = submitted.send(());
            event
        });
        // The newer operation overtakes the older one only where both can be submitted at once.
        let _ = is_submitted.recv_timeout(Duration::from_millis(200));
        go_on.send(()).unwrap();
        let older = older.join().unwrap();
        // A thread that waits runs what is pending, the newer operation too.
        while !older.is_complete() {
            thread::yield_now();
        }
        let newer = newer.join().unwrap();
        let idle_while_pending = queue.is_surely_idle();
        finish.send(()).unwrap();
        newer.wait().unwrap();
        assert!(!idle_while_submitting, "an operation that another thread submits may be pending");
        assert!(!idle_while_pending, "the newer operation is pending");
        assert!(queue.is_surely_idle());
    });
}

#[test]
fn records_tell_every_call_in_order() {
    for base in bases::all() {
        let recording = Arc::new(RecordingBackend::new(base.backend.clone()));
        let queue = queue_over(recording.clone(), QueueProperties::OUT_OF_ORDER);
        assert_eq!(recording.records()[0].call, Call::RootDevices, "{}", base.name);
        let _ = queue.device().info();
        recording.clear();

        let a = queue.allocate(UsmKind::Shared, 8).unwrap();
        let b = queue.allocate_aligned(UsmKind::Shared, 8, 64).unwrap();
        let filled = set(&queue, &a, 5, &[]);
        let copied = copy(&queue, &b, &a, from_ref(&filled));
        copied.wait().unwrap();
        let records = recording.records();
        let methods: Vec<_> = records.iter().map(|record| record.call.method()).collect();
        use Method::{Allocate, Fill, Memcpy, Wait};
        assert_eq!(methods, [Allocate, Allocate, Fill, Memcpy, Wait]);
        assert!(matches!(records[1].call, Call::Allocate { len_bytes: 8, align_bytes: 64, .. }));
        assert_eq!(records[1].answer, Answer::Block(Some(b.address())));
        let Answer::Handle(RawHandle::Event(event)) = records[2].answer else { unreachable!() };
        let Call::Memcpy { dst, src, len_bytes, dependencies, .. } = &records[3].call else { unreachable!() };
        assert_eq!((*dst, *src, *len_bytes), (b.address(), a.address(), 8));
        assert_eq!(dependencies, &[event]);
        assert_eq!(records[4].answer, Answer::Done);

        recording.clear();
        assert_eq!(queue.context().pointer_info(8), None);
        let address = a.address();
        drop(a);
        let text = recording.to_string();
        let expected =
            format!("pointer_info(context#0, 0x8) -> no USM\nfree(context#0, {address:#x}) -> done\n");
        assert_eq!(text, expected);
        assert_eq!(recording.count(Method::Free), 1);
    }
}

#[test]
fn delayed_operations_end_late_and_in_any_allowed_order() {
    for base in bases::all() {
        let mut earlier_was_complete = [0; 2];
        for seed in 0..40 {
            let delayed = Arc::new(DelayedBackend::new(base.backend.clone(), seed).with_max_delay(1 << 40));
            for properties in [QueueProperties::OUT_OF_ORDER, QueueProperties::IN_ORDER] {
                let queue = queue_over(delayed.clone(), properties);
                let a = queue.allocate(UsmKind::Device, 64).unwrap();
                let b = queue.allocate(UsmKind::Device, 64).unwrap();
                let (first, second) = (set(&queue, &a, 1, &[]), set(&queue, &b, 2, &[]));
                assert!(!first.is_complete() && !second.is_complete(), "{}", base.name);
                second.wait().unwrap();
                assert!(second.is_complete());
                // Streams of CUDA are in order.
                if queue.properties().in_order {
                    assert!(first.is_complete(), "an in-order queue keeps its order");
                } else {
                    earlier_was_complete[usize::from(first.is_complete())] += 1;
                }
                queue.wait().unwrap();
                assert!(first.is_complete(), "a barrier comes after all before it");
                assert_eq!((bytes(&queue, &a), bytes(&queue, &b)), (vec![1; 64], vec![2; 64]));
            }
            assert_eq!((delayed.pending(), delayed.faults()), (0, Vec::new()));
        }
        let is_in_order = base.backend.queue_properties(QueueProperties::OUT_OF_ORDER).in_order;
        assert!(
            is_in_order || earlier_was_complete.iter().all(|&count| count > 0),
            "{earlier_was_complete:?}"
        );
    }
}

#[test]
fn delayed_operations_respect_dependencies() {
    for base in bases::all() {
        for seed in 0..100 {
            let delayed = Arc::new(DelayedBackend::new(base.backend.clone(), seed).with_max_delay(7));
            let queues = [QueueProperties::OUT_OF_ORDER, QueueProperties::IN_ORDER]
                .map(|properties| queue_over(delayed.clone(), properties));
            let blocks = [0, 1, 2].map(|_| queues[0].allocate(UsmKind::Device, 32).unwrap());
            let mut last = set(&queues[0], &blocks[0], 200, &[]);
            for step in 0..12_u8 {
                let (queue, other) = (&queues[usize::from(step) % 2], &queues[usize::from(step) / 2 % 2]);
                let value = step + 1;
                last = set(queue, &blocks[0], value, from_ref(&last));
                last = copy(other, &blocks[1], &blocks[0], from_ref(&last));
                last = copy(queue, &blocks[2], &blocks[1], from_ref(&last));
            }
            last.wait().unwrap();
            assert_eq!(bytes(&queues[0], &blocks[2]), [12; 32], "{} {seed}", base.name);
            assert_eq!((delayed.pending(), delayed.faults()), (0, Vec::new()));
        }
    }
}

#[test]
fn delays_are_bounded_by_calls() {
    for base in bases::all() {
        let delayed = Arc::new(DelayedBackend::new(base.backend.clone(), 5).with_max_delay(6));
        let queue = queue_over(delayed.clone(), QueueProperties::OUT_OF_ORDER);
        let block = queue.allocate(UsmKind::Shared, 16).unwrap();
        for round in 0..20 {
            let event = set(&queue, &block, round, &[]);
            let polls = (1..).find(|_| event.is_complete()).unwrap();
            assert!(polls <= 6, "{polls}");
        }
        let event = set(&queue, &block, 77, &[]);
        delayed.flush();
        assert_eq!(delayed.pending(), 0);
        assert!(event.is_complete());
        assert_eq!(bytes(&queue, &block), [77; 16]);
    }
}

#[test]
fn memory_freed_under_an_operation_is_a_fault() {
    for base in bases::all() {
        let delayed = Arc::new(DelayedBackend::new(base.backend.clone(), 9).with_max_delay(1 << 40));
        let queue = queue_over(delayed.clone(), QueueProperties::OUT_OF_ORDER);
        let [a, b, c] = [0, 1, 2].map(|_| queue.allocate(UsmKind::Shared, 48).unwrap());
        let copied = copy(&queue, &b, &a, &[]);
        let filled = set(&queue, &c, 1, from_ref(&copied));
        let source = a.address();
        drop(a);
        let faults = delayed.faults();
        assert_eq!(faults.len(), 1, "{}", base.name);
        assert_eq!(
            (faults[0].operation, faults[0].released),
            (Method::Memcpy, Released::Block { address: source, len_bytes: 48 }),
            "the fill works on other memory"
        );
        assert!(matches!(copied.wait(), Err(Error::Backend { call: "memcpy", .. })));
        filled.wait().unwrap();
        assert_eq!(bytes(&queue, &c), [1; 48]);
        drop((b, c));
        assert_eq!(delayed.faults().len(), 1, "waited for, so freed in time");
    }
}

#[test]
fn delayed_operations_outlive_queue_event_and_runtime() {
    for base in bases::all() {
        let (source, mut target) = (vec![7_u8; 40], vec![0_u8; 40]);
        let delayed = Arc::new(DelayedBackend::new(base.backend.clone(), 2).with_max_delay(1 << 40));
        let queue = queue_over(delayed.clone(), QueueProperties::OUT_OF_ORDER);
        // SAFETY: both live until all is complete.
        drop(unsafe { queue.memcpy(target.as_mut_ptr(), source.as_ptr(), 40, &[]) }.unwrap());
        drop(queue);
        assert_eq!((delayed.pending(), delayed.faults()), (1, Vec::new()), "{}", base.name);
        delayed.flush();
        assert_eq!(target, source);
    }
}

#[test]
fn errors_of_delayed_operations_come_out_of_wait() {
    for base in bases::all() {
        let faulty = Arc::new(FaultyBackend::new(base.backend.clone()));
        let delayed = Arc::new(DelayedBackend::new(faulty.clone(), 3).with_max_delay(1 << 40));
        let queue = queue_over(delayed, QueueProperties::OUT_OF_ORDER);
        let block = queue.allocate(UsmKind::Shared, 16).unwrap();
        let event = set(&queue, &block, 4, &[]);
        faulty.arm(Fault::at(1).of(Method::Fill));
        assert!(matches!(event.wait(), Err(Error::Backend { call: "fill", .. })), "{}", base.name);
        assert!(event.is_complete());
        event.wait().unwrap();
    }
}

/// A kernel of those that the loopback library knows; `None` on the host backend.
fn kernel(queue: &Queue, name: &str) -> Option<Kernel> {
    match KernelBundle::from_opencl_source(queue.context(), queue.device(), common::KERNELS, "") {
        Err(Error::NotSupported { .. }) => None,
        bundle => Some(bundle.unwrap().kernel(name).unwrap()),
    }
}

fn fill_by(kernel: &Kernel, queue: &Queue, block: &Allocation, value: u32, after: &[Event]) -> Event {
    // SAFETY: as many words as the block has.
    unsafe { queue.submit_kernel(kernel, &[block.into(), value.into()], block.len_bytes() / 4, after) }
        .unwrap()
}

#[test]
fn delayed_kernels_keep_the_order_and_need_no_handles() {
    for base in bases::all() {
        for seed in 0..10 {
            let delayed = Arc::new(DelayedBackend::new(base.backend.clone(), seed).with_max_delay(1 << 40));
            let queue = queue_over(delayed.clone(), QueueProperties::OUT_OF_ORDER);
            let Some(fill) = kernel(&queue, "fill_u32") else { continue };
            let [a, b] = [0, 1].map(|_| queue.allocate(UsmKind::Device, 64).unwrap());
            let first = fill_by(&fill, &queue, &a, 0x0101_0101, &[]);
            let copied = copy(&queue, &b, &a, from_ref(&first));
            let last = fill_by(&fill, &queue, &a, 0x0202_0202, from_ref(&copied));
            // The kernel is needed when it runs; nobody here holds it then.
            drop(fill);
            assert_eq!((delayed.pending(), last.is_complete()), (3, false), "{}", base.name);
            last.wait().unwrap();
            assert_eq!((bytes(&queue, &a), bytes(&queue, &b)), (vec![2; 64], vec![1; 64]));
            assert_eq!((delayed.pending(), delayed.faults()), (0, Vec::new()));
        }
    }
}

#[test]
fn memory_freed_under_a_kernel_is_a_fault() {
    for base in bases::all() {
        let delayed = Arc::new(DelayedBackend::new(base.backend.clone(), 4).with_max_delay(1 << 40));
        let queue = queue_over(delayed.clone(), QueueProperties::OUT_OF_ORDER);
        let Some(fill) = kernel(&queue, "fill_u32") else { continue };
        let [a, b] = [0, 1].map(|_| queue.allocate(UsmKind::Shared, 32).unwrap());
        let (in_a, in_b) = (fill_by(&fill, &queue, &a, 1, &[]), fill_by(&fill, &queue, &b, 0x0505_0505, &[]));
        let address = a.address();
        drop(a);
        let faults = delayed.faults();
        assert_eq!(faults.len(), 1, "{}", base.name);
        let released = Released::Block { address, len_bytes: 32 };
        assert_eq!((faults[0].operation, faults[0].released), (Method::SubmitKernel, released));
        assert!(matches!(in_a.wait(), Err(Error::Backend { call: "submit_kernel", .. })));
        in_b.wait().unwrap();
        assert_eq!(bytes(&queue, &b), [5; 32]);
    }
}

#[test]
fn records_of_kernels_tell_their_arguments() {
    for base in bases::all() {
        let recording = Arc::new(RecordingBackend::new(base.backend.clone()));
        let queue = queue_over(recording.clone(), QueueProperties::OUT_OF_ORDER);
        let block = queue.allocate(UsmKind::Shared, 32).unwrap();
        let _ = queue.device().info();
        recording.clear();
        let Some(fill) = kernel(&queue, "fill_u32") else {
            let refused = format!("error: the {} backend does not support kernels", base.backend.id());
            assert!(recording.to_string().contains(&refused));
            continue;
        };
        let event = fill_by(&fill, &queue, &block, 6, &[]);
        event.wait().unwrap();
        drop((event, fill));
        let text = recording.to_string();
        let lines: Vec<_> = text.lines().filter(|line| !line.contains("device")).collect();
        let build = text.lines().find(|line| line.starts_with("create_bundle")).unwrap();
        let expected = format!("{} bytes of OpenCL C, \"\") -> bundle#", common::KERNELS.len());
        assert!(build.contains(&expected), "{build}");
        let submitted = format!("[{:#x}, u32 6], range [8], after []) -> event#", block.address());
        assert!(lines.iter().any(|line| line.contains(&submitted)), "{text}");
        assert!(lines.iter().any(|line| line.contains(", \"fill_u32\") -> kernel#")), "{text}");
        assert!(text.lines().any(|line| line.starts_with("kernel_info(kernel#")), "{text}");
        let released = |what: &str| lines.iter().any(|line| line.starts_with(&format!("release({what}#")));
        assert!(released("kernel") && released("bundle"), "{text}");
    }
}

#[test]
fn events_of_another_context_are_waited_for_unless_the_driver_orders_them() {
    for base in bases::all() {
        let delayed = Arc::new(DelayedBackend::new(base.backend.clone(), 8).with_max_delay(1 << 40));
        let device = Runtime::with_backend(delayed.clone()).unwrap().default_device().unwrap();
        let queues = [0, 1].map(|_| {
            let context = usm_core::Context::new(from_ref(&device)).unwrap();
            context.create_queue(&device, QueueProperties::OUT_OF_ORDER).unwrap()
        });
        let [a, b] = [0, 1].map(|i| queues[i].allocate(UsmKind::Device, 16).unwrap());
        let first = set(&queues[0], &a, 1, &[]);
        assert!(first.context() == queues[0].context() && !first.is_complete(), "{}", base.name);
        let second = set(&queues[1], &b, 2, from_ref(&first));
        assert_eq!(queues[1].takes(&first), base.name == "cuda");
        assert_eq!(first.is_complete(), !queues[1].takes(&first), "{}", base.name);
        assert!(!second.is_complete(), "{}", base.name);
        let third = set(&queues[1], &b, 3, from_ref(&second));
        assert!(!second.is_complete(), "the runtime orders within a context");
        third.wait().unwrap();
        assert_eq!((bytes(&queues[0], &a), bytes(&queues[1], &b)), (vec![1; 16], vec![3; 16]));
    }
}

/// A task that sets every byte of a block.
fn set_by_task(queue: &Queue, block: &Allocation, value: u8, after: &[Event]) -> usm_core::Result<Event> {
    let len_bytes = block.len_bytes();
    let task = HostTask::new(move |addresses| {
        // SAFETY: the block's length.
        unsafe { addresses[0].write_bytes(value, len_bytes) };
        if value == 0 { Err("zero".to_owned()) } else { Ok(()) }
    });
    // SAFETY: within the block; tests wait, or look at what becomes of those who do not.
    unsafe { queue.host_task(&[TaskMemory { start: block.as_ptr().as_ptr(), len_bytes }], task, after) }
}

#[test]
fn host_tasks_pass_through_every_decorator() {
    for base in bases::all() {
        let recording = Arc::new(RecordingBackend::new(base.backend.clone()));
        let faulty = Arc::new(FaultyBackend::new(recording.clone()));
        let delayed = Arc::new(DelayedBackend::new(faulty.clone(), 3).with_max_delay(1000));
        let queue = queue_over(delayed.clone(), QueueProperties::OUT_OF_ORDER);
        let hidden = RecordingBackend::new(base.backend.clone()).without_host_tasks();
        assert!(!queue_over(Arc::new(hidden), QueueProperties::IN_ORDER).runs_host_tasks());
        let aspects = queue.device().info().aspects;
        let hidden = RecordingBackend::new(base.backend.clone()).without_aspects(Aspects::CPU);
        let info = queue_over(Arc::new(hidden), QueueProperties::IN_ORDER).device().info().clone();
        assert_eq!(info.aspects | Aspects::CPU, aspects | Aspects::CPU);
        assert!(!info.has(Aspects::CPU));
        let block = queue.allocate(UsmKind::Device, 64).unwrap();
        if !queue.runs_host_tasks() {
            assert!(matches!(set_by_task(&queue, &block, 1, &[]), Err(Error::NotSupported { .. })));
            assert_eq!(delayed.pending(), 0, "{}", base.name);
            continue;
        }
        let first = set_by_task(&queue, &block, 1, &[]).unwrap();
        let second = set_by_task(&queue, &block, 2, &[first]).unwrap();
        assert_eq!((delayed.pending(), recording.count(Method::HostTask)), (2, 0), "held back");
        second.wait().unwrap();
        assert_eq!(recording.count(Method::HostTask), 2);
        assert!(recording.to_string().contains("host_task(queue#"), "{recording}");
        assert_eq!(bytes(&queue, &block), [2; 64]);

        // A failure of its own, and one of the submission.
        let failed = set_by_task(&queue, &block, 0, &[]).unwrap();
        assert!(matches!(failed.wait(), Err(Error::HostTask { reason }) if reason == "zero"));
        faulty.arm(Fault::at(1).of(Method::HostTask));
        let failed = set_by_task(&queue, &block, 3, &[]).unwrap();
        assert!(matches!(failed.wait(), Err(Error::Backend { call: "host_task", .. })));
        assert_eq!(bytes(&queue, &block), [0; 64], "a refused task writes nothing");

        // Memory that goes too early.
        let given_up = set_by_task(&queue, &block, 4, &[]).unwrap();
        drop(block);
        assert!(given_up.wait().is_err());
        assert_eq!(delayed.faults()[0].operation, Method::HostTask);
    }
}

#[test]
fn the_runtime_is_not_asked_again_whether_an_operation_is_over() {
    for base in bases::all() {
        let recording = Arc::new(RecordingBackend::new(base.backend.clone()));
        let queue = queue_over(recording.clone(), QueueProperties::IN_ORDER);
        let (waited, looked) = (queue.barrier(&[]).unwrap(), queue.barrier(&[]).unwrap());
        recording.clear();
        waited.wait().unwrap();
        assert!(waited.clone().is_complete() && waited.is_complete());
        assert_eq!(recording.count(Method::EventStatus), 0, "{}", base.name);
        while !looked.is_complete() {
            std::thread::yield_now();
        }
        recording.clear();
        assert!(looked.clone().is_complete() && looked.is_complete());
        assert_eq!(recording.count(Method::EventStatus), 0, "{}", base.name);
        // What became of it is asked in any case.
        looked.wait().unwrap();
        assert_eq!(recording.count(Method::Wait), 1, "{}", base.name);
    }
}

#[test]
fn a_wait_that_fails_has_found_nothing() {
    for base in bases::all() {
        let faulty = Arc::new(FaultyBackend::new(base.backend.clone()));
        let recording = Arc::new(RecordingBackend::new(faulty.clone()));
        // The drop of a queue asks, too.
        let queue = queue_over(recording.clone(), QueueProperties::IN_ORDER);
        let event = queue.barrier(&[]).unwrap();
        faulty.arm(Fault::at(1).of(Method::Wait));
        event.wait().unwrap_err();
        recording.clear();
        while !event.is_complete() {
            std::thread::yield_now();
        }
        assert_ne!(recording.count(Method::EventStatus), 0, "{}", base.name);
    }
}
