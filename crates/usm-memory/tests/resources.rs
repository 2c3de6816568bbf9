//! Memory resources one by one and stacked, for every kind on every backend.
#![allow(clippy::unwrap_used, clippy::panic)]

use test_stacks as _;

mod common;

use std::slice::from_ref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use common::each;
use usm_memory::resource::*;
use usm_memory::usm_core::{
    Context, DeviceType, Error as CoreError, HostDevice, Queue, QueueProperties, Runtime, RuntimeOptions,
    UsmKind,
};
use usm_memory::{Error, MemoryResource, TypedBuffer, UsmBuffer};

fn direct() -> Arc<dyn MemoryResource> {
    Arc::new(DirectResource)
}

fn usage(error: Error) -> (usize, Usage) {
    match error {
        Error::OutOfMemory { requested_bytes, usage, .. } => (requested_bytes, usage),
        other => panic!("not out of memory: {other}"),
    }
}

#[test]
fn every_resource_gives_what_it_is_asked_for() {
    let resources: [Arc<dyn MemoryResource>; 6] = [
        direct(),
        Arc::new(PoolResource::new(direct(), PoolOptions::new())),
        Arc::new(LimitingResource::new(direct(), 1 << 30)),
        Arc::new(StatisticsResource::new(direct())),
        Arc::new(LoggingResource::new(direct(), |_| {})),
        Arc::new(FailureCallbackResource::new(direct(), |_| OnFailure::GiveUp)),
    ];
    each(|queue, kind| {
        for resource in &resources {
            for (len, align) in [(1, 1), (100, 4), (64, 64), (100, 1024), (70_000, 8), (5, 65536)] {
                let buffer = UsmBuffer::allocate_aligned_in(&**resource, queue, kind, len, align).unwrap();
                assert_eq!((buffer.kind(), buffer.len_bytes(), buffer.queue()), (kind, len, queue));
                assert!(buffer.address().is_multiple_of(align.max(8)), "{resource:?}");
                buffer.fill(&[7]).unwrap();
                assert_eq!(buffer.to_vec().unwrap(), vec![7; len]);
            }
            let zero = UsmBuffer::allocate_in(&**resource, queue, kind, 0).unwrap_err();
            assert!(matches!(zero, Error::Core(CoreError::ZeroSize)), "{zero}");
            let odd = UsmBuffer::allocate_aligned_in(&**resource, queue, kind, 8, 3).unwrap_err();
            assert!(matches!(odd, Error::Core(CoreError::InvalidAlignment { align_bytes: 3 })), "{odd}");
            let huge = UsmBuffer::allocate_in(&**resource, queue, kind, usize::MAX).unwrap_err();
            assert!(
                matches!(huge, Error::Core(CoreError::TooLarge { .. }) | Error::OutOfMemory { .. }),
                "{huge}"
            );
        }
    });
}

#[test]
fn limits_are_exact() {
    each(|queue, kind| {
        let limited = LimitingResource::new(direct(), 1000);
        let allocate = |len| UsmBuffer::allocate_in(&limited, queue, kind, len);
        let whole = allocate(1000).unwrap();
        let (requested, seen) = usage(allocate(1).unwrap_err());
        assert_eq!((requested, seen.used_bytes, seen.limit_bytes), (1, Some(1000), Some(1000)));
        let part = whole.sub_buffer(999, 1).unwrap();
        drop(whole);
        assert_eq!(limited.used_bytes(), 1000, "a part keeps all of it");
        drop(part);
        assert_eq!(limited.used_bytes(), 0);
        let (a, b) = (allocate(400).unwrap(), allocate(600).unwrap());
        drop(a);
        let (requested, seen) = usage(allocate(401).unwrap_err());
        assert_eq!((requested, seen.used_bytes, seen.peak_bytes), (401, Some(600), Some(1000)));
        assert!(matches!(allocate(0), Err(Error::Core(CoreError::ZeroSize))));
        assert_eq!(limited.used_bytes(), 600, "what fails upstream does not count");
        drop((allocate(400).unwrap(), b));
        assert_eq!((limited.used_bytes(), limited.limit_bytes()), (0, 1000));
    });
}

#[test]
fn statistics_are_exact() {
    each(|queue, kind| {
        let counted = StatisticsResource::new(Arc::new(LimitingResource::new(direct(), 500)));
        let numbers = || {
            let s = counted.statistics();
            (s.current_bytes, s.peak_bytes, s.total_bytes, s.current_count, s.peak_count, s.total_count)
        };
        let a = UsmBuffer::allocate_in(&counted, queue, kind, 100).unwrap();
        let b = UsmBuffer::allocate_in(&counted, queue, kind, 300).unwrap();
        assert_eq!(numbers(), (400, 400, 400, 2, 2, 2));
        let clone = b.clone();
        drop(b);
        assert_eq!(numbers(), (400, 400, 400, 2, 2, 2));
        drop(clone);
        assert_eq!(numbers(), (100, 400, 400, 1, 2, 2));
        counted.reset_peak();
        let c = UsmBuffer::allocate_in(&counted, queue, kind, 50).unwrap();
        assert_eq!(numbers(), (150, 150, 450, 2, 2, 3));
        assert!(UsmBuffer::allocate_in(&counted, queue, kind, 351).unwrap_err().is_out_of_memory());
        assert_eq!(counted.statistics().failed_count, 1);
        drop((a, c));
        assert_eq!(numbers(), (0, 150, 450, 0, 2, 3));
    });
}

#[test]
fn logs_tell_what_happens_in_order() {
    each(|queue, kind| {
        let events = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&events);
        let pool = Arc::new(PoolResource::new(direct(), PoolOptions::new()));
        let logged = LoggingResource::new(pool, move |event| log.lock().unwrap().push(event.clone()));
        let address = UsmBuffer::allocate_in(&logged, queue, kind, 10).unwrap().address();
        let again = UsmBuffer::allocate_aligned_in(&logged, queue, kind, 12, 16).unwrap();
        assert_eq!(again.address(), address, "reused");
        assert!(UsmBuffer::allocate_in(&logged, queue, kind, 0).is_err());
        drop(logged);
        drop(again);
        let events = events.lock().unwrap();
        let lines: Vec<_> = events.iter().map(|e| (e.action.clone(), e.len_bytes, e.align_bytes)).collect();
        let failed = MemoryAction::Failed { reason: Error::Core(CoreError::ZeroSize).to_string() };
        let expected = [
            (MemoryAction::Allocated { address }, 10, 1),
            (MemoryAction::Released { address }, 10, 1),
            (MemoryAction::Allocated { address }, 12, 16),
            (failed, 0, 1),
            (MemoryAction::Released { address }, 12, 16),
        ];
        assert_eq!(lines, expected);
        assert!(events.iter().all(|event| event.kind == kind && event.device == *queue.device()));
    });
}

#[test]
fn failure_callbacks_may_free_and_retry_once() {
    each(|queue, kind| {
        let limited = Arc::new(LimitingResource::new(direct(), 100));
        let cache = Arc::new(Mutex::new(Vec::new()));
        let (calls, held) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&cache));
        let counter = Arc::clone(&calls);
        let resource = FailureCallbackResource::new(limited, move |failure| {
            assert!(failure.error.is_out_of_memory());
            counter.fetch_add(1, Ordering::Relaxed);
            match held.lock().unwrap().pop() {
                Some(buffer) => {
                    drop::<UsmBuffer>(buffer);
                    OnFailure::RetryOnce
                }
                None => OnFailure::GiveUp,
            }
        });
        let allocate = |len| UsmBuffer::allocate_in(&resource, queue, kind, len);
        for _ in 0..2 {
            let buffer = allocate(50).unwrap();
            cache.lock().unwrap().push(buffer);
        }
        let buffer = allocate(50).unwrap();
        assert_eq!((calls.load(Ordering::Relaxed), cache.lock().unwrap().len()), (1, 1));
        assert_eq!(usage(allocate(101).unwrap_err()).0, 101, "one retry, not more");
        assert_eq!((calls.load(Ordering::Relaxed), cache.lock().unwrap().len()), (2, 0));
        assert_eq!(usage(allocate(51).unwrap_err()).1.used_bytes, Some(50), "gave up");
        drop(buffer);
        assert!(matches!(allocate(0), Err(Error::Core(CoreError::ZeroSize))));
        assert_eq!(calls.load(Ordering::Relaxed), 3, "not called for other errors");
    });
}

#[test]
fn real_exhaustion_is_an_error_with_numbers() {
    let small = HostDevice::new(DeviceType::Gpu).memory_bytes(4096);
    let runtime = Runtime::new(RuntimeOptions::new().host_only().host_devices([small]));
    let queue = runtime.default_queue(runtime.host_device()).unwrap();
    for kind in UsmKind::ALL {
        let pool = Arc::new(PoolResource::new(direct(), PoolOptions::new()));
        let counted = StatisticsResource::new(Arc::clone(&pool) as _);
        let allocate = |len| UsmBuffer::allocate_in(&counted, &queue, kind, len);
        // No slab fits, but the requests do.
        let buffers: Vec<_> = (0..4).map(|_| allocate(1000).unwrap()).collect();
        let (requested, seen) = usage(allocate(1000).unwrap_err());
        assert_eq!((requested, seen.used_bytes, seen.peak_bytes), (1000, Some(4000), Some(4000)));
        drop(buffers);
        allocate(4096).unwrap();
        assert!(matches!(UsmBuffer::allocate_in(&*pool, &queue, kind, 4097), Err(Error::Core(_))));
    }
}

#[test]
fn a_device_has_a_default_resource() {
    for queue in common::queues() {
        let counted = Arc::new(StatisticsResource::new(direct()));
        assert!(set_default_resource(queue.device(), counted.clone()).is_none());
        let resource = default_resource(queue.device());
        let typed = TypedBuffer::<u64>::allocate_in(&*resource, &queue, UsmKind::Device, 4).unwrap();
        let asked = UsmBuffer::allocate(&queue, UsmKind::Device, 1).unwrap();
        assert_eq!(counted.statistics().total_bytes, 33, "`allocate` asks");
        UsmBuffer::allocate_aligned(&queue, UsmKind::Device, 6, 64).unwrap();
        asked.try_clone().unwrap();
        assert_eq!(counted.statistics().total_bytes, 40);
        UsmBuffer::allocate_in(&DirectResource, &queue, UsmKind::Device, 9).unwrap();
        assert_eq!(counted.statistics().total_bytes, 40, "the resource below does not ask");
        assert!(asked.is_only_one() && !asked.clone().is_only_one());
        assert_eq!((asked.num_holders(), asked.clone().num_holders()), (1, 2));
        drop(asked);
        drop((resource, reset_default_resource(queue.device()).unwrap()));
        assert!(reset_default_resource(queue.device()).is_none());
        drop(typed);
        assert_eq!(counted.statistics().current_bytes, 0);
    }
}

type Make = fn(&Queue, UsmKind) -> UsmBuffer;

#[derive(Debug)]
struct Wrong(Make);

impl MemoryResource for Wrong {
    fn allocate(&self, request: AllocationRequest<'_>) -> usm_memory::Result<UsmBuffer> {
        Ok((self.0)(request.queue, request.kind))
    }

    fn allocate_at_once(&self, request: AllocationRequest<'_>) -> Option<UsmBuffer> {
        Some((self.0)(request.queue, request.kind))
    }
}

/// Memory that is not what eight bytes of a kind on a queue are, and what is wrong with it.
const WRONG: [(&str, Make); 4] = [
    ("length in bytes", |queue, kind| common::direct(queue, kind, 7)),
    ("access", |queue, kind| common::direct(queue, kind, 8).read_only()),
    ("kind", |queue, kind| {
        let other = if kind == UsmKind::Host { UsmKind::Shared } else { UsmKind::Host };
        common::direct(queue, other, 8)
    }),
    ("context", elsewhere),
];

fn elsewhere(queue: &Queue, kind: UsmKind) -> UsmBuffer {
    let context = Context::new(from_ref(queue.device())).unwrap();
    let queue = context.create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
    common::direct(&queue, kind, 8)
}

#[test]
fn unsuitable_memory_at_hand_is_refused() {
    let runtime =
        Runtime::new(RuntimeOptions::new().host_only().host_devices([HostDevice::new(DeviceType::Gpu)]));
    let queue = runtime.default_queue(runtime.host_device()).unwrap();
    let device = from_ref(queue.device());
    for kind in UsmKind::ALL {
        let right: Make = |queue, kind| common::direct(queue, kind, 8);
        let scope = DefaultScope::enter(device, Arc::new(Wrong(right)));
        assert!(UsmBuffer::allocate_at_once(&queue, kind, 8).is_some(), "the resource is asked");
        drop(scope);
        for (reason, make) in WRONG {
            let _scope = DefaultScope::enter(device, Arc::new(Wrong(make)));
            assert!(UsmBuffer::allocate_at_once(&queue, kind, 8).is_none(), "{reason}");
        }
    }
}

#[test]
fn unsuitable_memory_is_refused() {
    each(|queue, kind| {
        for (reason, make) in WRONG {
            match UsmBuffer::allocate_in(&Wrong(make), queue, kind, 8) {
                Err(Error::UnsuitableMemory { what, .. }) => assert_eq!(what, reason),
                other => panic!("{other:?}"),
            }
            let pool = PoolResource::new(Arc::new(Wrong(make)), PoolOptions::new());
            assert!(matches!(
                UsmBuffer::allocate_in(&pool, queue, kind, 8),
                Err(Error::UnsuitableMemory { .. })
            ));
        }
        let misaligned: Make =
            |queue, kind| UsmBuffer::allocate(queue, kind, 9).unwrap().sub_buffer(1, 8).unwrap();
        let refused = UsmBuffer::allocate_aligned_in(&Wrong(misaligned), queue, kind, 8, 8);
        assert!(matches!(refused, Err(Error::UnsuitableMemory { what: "address", .. })));

        let memory = elsewhere(queue, kind);
        let refused = UsmBuffer::lease(memory, queue, |_| {});
        assert!(matches!(refused, Err(Error::ContextMismatch { .. })));
    });
}

#[test]
fn the_scope_entered_last_counts_in_whatever_order_scopes_end() {
    for queue in common::queues() {
        let counted: Vec<_> = (0..3).map(|_| Arc::new(StatisticsResource::new(direct()))).collect();
        let who = || {
            let before: Vec<_> = counted.iter().map(|one| one.statistics().total_count).collect();
            UsmBuffer::allocate(&queue, UsmKind::Shared, 8).unwrap();
            (0..3).find(|&i| counted[i].statistics().total_count > before[i])
        };
        let device = from_ref(queue.device());
        let first = DefaultScope::enter(device, counted[0].clone());
        let second = DefaultScope::enter(device, counted[1].clone());
        assert_eq!(who(), Some(1));
        set_default_resource(queue.device(), counted[2].clone());
        assert_eq!(who(), Some(1), "a scope goes before what was set");
        drop(first);
        assert_eq!(who(), Some(1));
        drop(second);
        assert_eq!(who(), Some(2));
        reset_default_resource(queue.device());
        assert_eq!(who(), None);
        assert!(counted.iter().all(|one| Arc::strong_count(one) == 1), "nothing is kept");
    }
}
