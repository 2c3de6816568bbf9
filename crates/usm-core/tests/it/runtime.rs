//! Which backends there are, and the choice of a device.
#![allow(clippy::unwrap_used)]

use crate::common;
use std::collections::HashMap;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;
use std::time::Duration;

use usm_core::{
    BackendId, BackendState, Error, Event, FilterSelector, HostTask, ProblemKind, Queue, QueueProperties,
    Runtime, RuntimeOptions,
};

#[test]
fn the_host_device_is_always_there() {
    let runtime = Runtime::new(RuntimeOptions::new().host_only());
    assert_eq!(runtime.host_device().filter_string(), "host:cpu:0");
    for selector in ["host:cpu:0", "host", "host:cpu", "cpu", "0"] {
        assert_eq!(&runtime.select(selector).unwrap(), runtime.host_device(), "{selector}");
    }
    assert_eq!(&runtime.default_device().unwrap(), runtime.host_device());
    let queue = runtime.default_queue(runtime.host_device()).unwrap();
    assert_eq!(queue, runtime.default_queue(runtime.host_device()).unwrap(), "the same at each call");
}

/// Runs itself once for each value, in a process of its own: a variable is read at each request.
#[test]
fn a_default_device_that_is_not_there_is_an_error() {
    const ROLE: &str = "USM_TEST_DEFAULT_DEVICE";
    let runtime = Runtime::new(RuntimeOptions::new().host_only());
    if let Some(expected) = std::env::var_os(ROLE) {
        let expected = expected.into_string().unwrap();
        if expected.is_empty() {
            assert_eq!(&runtime.default_device().unwrap(), runtime.host_device());
            runtime.default_device_queue().unwrap();
            return;
        }
        let error = runtime.default_device().unwrap_err();
        assert!(matches!(error, Error::DefaultDevice { .. }), "{error}");
        for part in ["USM_DEFAULT_DEVICE", &*expected, "there are: host:cpu:0"] {
            assert!(error.to_string().contains(part), "{error} lacks {part}");
        }
        assert_eq!(runtime.default_device_queue().unwrap_err().to_string(), error.to_string());
        assert!(runtime.tree().unwrap().default.is_none());
        let report = runtime.doctor();
        assert!(report.problems.iter().any(|problem| problem.kind == ProblemKind::NoSuchDefault), "{report}");
        assert!(report.devices.iter().all(|device| !device.is_default));
        // What names a device works.
        runtime.default_queue(runtime.host_device()).unwrap();
        return;
    }
    for (value, expected) in [
        ("", ""),
        ("host", ""),
        ("gpu,host:cpu", ""),
        ("gppu", "gppu"),
        ("host:cpu:7", "host:cpu:7"),
        ("host:gpu", "no device matches"),
        ("cuda:gpu", "cuda"),
        ("opencl:cpu", "switched off"),
        ("host:cpu:0:0", "is not a filter selector"),
        (",", "is not a filter selector"),
    ] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let child =
            child.args(["runtime::a_default_device_that_is_not_there_is_an_error", "--exact", "--nocapture"]);
        let output = child.env(ROLE, expected).env("USM_DEFAULT_DEVICE", value).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let passed = output.status.success() && text.contains("1 passed");
        assert!(passed, "{value:?}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_missing_backend_says_why() {
    let runtime = Runtime::new(RuntimeOptions::new().host_only());
    let status = runtime.status();
    let sycl = status.iter().find(|status| status.backend == BackendId::Sycl).unwrap();
    assert!(!sycl.state.is_available());
    assert!(matches!(&sycl.state, BackendState::Missing { reason, .. } if reason.contains("switched off")));
    let error = runtime.select("opencl:cpu").unwrap_err();
    assert!(matches!(error, Error::BackendUnavailable { .. }) && error.to_string().contains("switched off"));
    let error = runtime.select("host:cpu:1").unwrap_err();
    assert!(
        matches!(error, Error::NoSuchDevice { .. }) && error.to_string().contains("host:cpu:0"),
        "{error}"
    );
}

#[test]
fn sycl_devices_come_first_and_are_selected_by_their_names() {
    let Some(queue) = common::sycl_queue() else { return };
    let runtime = Runtime::global();
    let devices = runtime.devices();
    assert_eq!(devices.last(), Some(runtime.host_device()));
    for device in &devices {
        assert_eq!(&runtime.select(device.filter_string()).unwrap(), device);
        let info = device.info();
        assert!(!info.name.is_empty() && info.global_mem_bytes > 0 && info.max_alloc_bytes > 0, "{info:?}");
    }
    assert_eq!(devices[0].backend_id(), BackendId::Sycl);
    // A GPU of the CUDA driver comes before a CPU of SYCL.
    let default = runtime.default_device().unwrap();
    assert!(
        default.backend_id() == BackendId::Sycl
            || default.backend_id() == BackendId::Cuda
                && default.info().device_type == usm_core::DeviceType::Gpu
    );
    assert!(queue.properties().in_order);
    let is_available =
        |id| runtime.status().iter().any(|status| status.backend == id && status.state.is_available());
    assert!(is_available(BackendId::Sycl) && is_available(BackendId::Host));
}

#[test]
fn default_queues_come_from_the_source() {
    static GIVEN: OnceLock<Queue> = OnceLock::new();
    let runtime = Runtime::new(RuntimeOptions::new().host_only());
    let own = runtime.default_device_queue().unwrap();
    let given =
        Queue::clone(GIVEN.get_or_init(|| {
            own.context().create_queue(own.device(), QueueProperties::OUT_OF_ORDER).unwrap()
        }));
    assert!(own != given && !own.computes_with(&given), "not a default queue yet");
    assert!(
        runtime.default_queues_from(|device| GIVEN.get().filter(|queue| queue.device() == device).cloned())
    );
    assert!(!runtime.default_queues_from(|_| None), "the first source stays");
    assert_eq!(runtime.default_queue(own.device()).unwrap(), given);
    assert_eq!(runtime.default_device_queue().unwrap(), given);
    assert_eq!(runtime.queue_in(own.context(), own.device()).unwrap(), given);
    assert!(own.computes_with(&given) && given.computes_with(&own));
    assert_eq!(own, given, "the first queue of the source takes over");
    let other = own.context().create_queue(own.device(), QueueProperties::IN_ORDER).unwrap();
    assert!(!other.computes_with(&given) && other.computes_with(&other.clone()));
    // What the source does not know has a queue of the runtime.
    let second = Runtime::new(RuntimeOptions::new().host_only());
    assert!(
        second.default_queues_from(|device| GIVEN.get().filter(|queue| queue.device() == device).cloned())
    );
    assert_ne!(second.default_device_queue().unwrap(), given);
    assert!(!second.default_device_queue().unwrap().computes_with(&given), "another context");
}

/// A task that waits for a word of the test and then leaves its number.
fn late(queue: &Queue, number: u8, ran: &mpsc::Sender<u8>) -> (mpsc::Sender<()>, Event) {
    let (go, gone) = mpsc::channel();
    let ran = ran.clone();
    let task = HostTask::new(move |_| {
        gone.recv().map_err(|error| error.to_string())?;
        ran.send(number).map_err(|error| error.to_string())
    });
    // SAFETY: no memory, and nothing of a backend.
    (go, unsafe { queue.host_task(&[], task, &[]) }.unwrap())
}

#[test]
fn a_queue_takes_over_after_what_is_under_way() {
    static GIVEN: OnceLock<Queue> = OnceLock::new();
    let runtime = Runtime::new(RuntimeOptions::new().host_only());
    let own = runtime.default_device_queue().unwrap();
    let (sender, ran) = mpsc::channel();
    let (go_first, first) = late(&own, 1, &sender);
    runtime.default_queues_from(|_| GIVEN.get().cloned());
    let given =
        Queue::clone(GIVEN.get_or_init(|| {
            own.context().create_queue(own.device(), QueueProperties::OUT_OF_ORDER).unwrap()
        }));
    assert_ne!(own, given, "nobody has asked the source");
    runtime.update_default_queue(own.device()).unwrap();
    assert_eq!((&own, own.hash_value(), own.properties()), (&given, given.hash_value(), given.properties()));
    // Of both values, each operation comes after the first one; of an out-of-order queue, in no order among them.
    let later = [late(&own, 2, &sender), late(&given, 3, &sender)];
    for (go, event) in &later {
        go.send(()).unwrap();
        assert!(!event.is_complete());
    }
    assert!(!own.is_surely_idle() && !given.is_surely_idle());
    thread::sleep(Duration::from_millis(20));
    assert!(ran.try_recv().is_err(), "an operation overtook the first one");
    go_first.send(()).unwrap();
    own.wait().unwrap();
    assert!(first.is_complete() && later.iter().all(|(_, event)| event.is_complete()));
    assert_eq!(ran.recv().unwrap(), 1);
    // A second one does not take over.
    let other = own.context().create_queue(own.device(), QueueProperties::IN_ORDER).unwrap();
    assert_ne!(own, other);
}

#[test]
fn external_code_may_keep_the_queue_that_another_one_took_over_from() {
    static GIVEN: OnceLock<Queue> = OnceLock::new();
    let runtime = Runtime::new(RuntimeOptions::new().host_only());
    let own = runtime.default_device_queue().unwrap();
    let pointer = runtime.host_queue_pointer(&own).unwrap();
    let theirs = runtime.host_queue(pointer).unwrap().unwrap();
    runtime.default_queues_from(|_| GIVEN.get().cloned());
    GIVEN.get_or_init(|| own.context().create_queue(own.device(), QueueProperties::OUT_OF_ORDER).unwrap());
    runtime.update_default_queue(own.device()).unwrap();
    assert_ne!(own, theirs, "a value of other code stays what it was");
    let (sender, ran) = mpsc::channel();
    // A wait for the queue waits for their work.
    let (go, _) = late(&theirs, 1, &sender);
    let completion = own.completion().unwrap();
    assert!(!own.is_surely_idle());
    thread::sleep(Duration::from_millis(20));
    assert!(!completion.is_complete(), "the wait does not know of their work");
    go.send(()).unwrap();
    completion.wait().unwrap();
    assert_eq!(ran.try_recv(), Ok(1));
    // Their work comes after what is ordered before all that is submitted later.
    let (go_ours, ours) = late(&own, 2, &sender);
    own.barrier(&[ours]).unwrap();
    let (go_theirs, last) = late(&theirs, 3, &sender);
    go_theirs.send(()).unwrap();
    thread::sleep(Duration::from_millis(20));
    assert!(ran.try_recv().is_err(), "their work did not wait");
    go_ours.send(()).unwrap();
    last.wait().unwrap();
    assert_eq!([ran.try_recv(), ran.try_recv()], [Ok(2), Ok(3)]);
}

#[test]
fn all_threads_see_one_queue_take_over() {
    static GIVEN: OnceLock<Queue> = OnceLock::new();
    let runtime = Runtime::new(RuntimeOptions::new().host_only());
    let own = runtime.default_device_queue().unwrap();
    runtime.default_queues_from(|_| GIVEN.get().cloned());
    let start = Barrier::new(4);
    let worked = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                start.wait();
                for _ in 0..2000 {
                    let queue = runtime.default_queue(own.device()).unwrap();
                    // Who got the given one finds the own one gone over.
                    assert!(GIVEN.get().is_none_or(|given| queue != *given || own == *given));
                    own.barrier(&[]).unwrap().wait().unwrap();
                    worked.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        start.wait();
        while worked.load(Ordering::Relaxed) < 1000 {
            thread::yield_now();
        }
        let new = own.context().create_queue(own.device(), QueueProperties::OUT_OF_ORDER).unwrap();
        GIVEN.set(new).unwrap();
    });
    runtime.update_default_queue(own.device()).unwrap();
    assert_eq!(Some(&own), GIVEN.get());
}

#[test]
#[expect(clippy::mutable_key_type, reason = "hash and equality are of the handle, which never changes")]
fn equal_handles_have_one_hash() {
    let runtime = Runtime::global();
    for device in runtime.devices() {
        let queue = runtime.default_queue(&device).unwrap();
        let other = queue.context().create_queue(&device, QueueProperties::IN_ORDER).unwrap();
        assert_ne!(queue.hash_value(), other.hash_value());
        let queues = HashMap::from([(queue.clone(), 1), (other, 2)]);
        assert_eq!(queues[&queue], 1);
        let contexts = HashMap::from([(queue.context().clone(), 1)]);
        assert_eq!(contexts.get(&device.default_context().unwrap()), Some(&1));
        assert_eq!(queue.context().hash_value(), device.default_context().unwrap().hash_value());
        let again = runtime.select(device.filter_string()).unwrap();
        assert_eq!(HashMap::from([(device.clone(), 1)]).get(&again), Some(&1));
        let listed = queue.context().devices().unwrap();
        let listed = listed.iter().find(|listed| **listed == device).unwrap();
        assert_eq!(listed.hash_value(), device.hash_value());
        let (platform, same) = (device.platform().unwrap(), again.platform().unwrap());
        assert_eq!((platform == same, platform.hash_value()), (true, same.hash_value()));
    }
}

#[test]
fn a_queue_and_a_context_keep_what_is_attached() {
    let token = Arc::new(());
    let runtime = Runtime::new(RuntimeOptions::new().host_only());
    let device = runtime.host_device();
    let context = usm_core::Context::new(std::slice::from_ref(device)).unwrap();
    let queue = context.create_queue(device, QueueProperties::IN_ORDER).unwrap();
    assert!(queue.attached::<Arc<()>>().is_none() && context.attached::<Arc<()>>().is_none());
    queue.attach(Arc::clone(&token));
    queue.attach(5_u8);
    context.attach(Arc::clone(&token));
    assert!(queue.clone().attached::<Arc<()>>().is_some_and(|kept| Arc::ptr_eq(kept, &token)));
    assert_eq!(queue.attached::<u8>(), None, "the first one stays");
    assert!(queue.context().attached::<Arc<()>>().is_some(), "clones of the context share it");
    assert_eq!(Arc::strong_count(&token), 3);
    drop((queue, context));
    assert_eq!(Arc::strong_count(&token), 1, "it goes with the last clone");
}

#[test]
fn errors_print_as_sentences_from_main() {
    let runtime = Runtime::new(RuntimeOptions::new().host_only());
    // `main` prints the error that it returns with `Debug`.
    let error = runtime.select("tpu:0").unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
    assert!(format!("{error:?}").starts_with("\"tpu:0\" is not a filter selector"), "{error:?}");
    let boxed: Box<dyn std::error::Error> = Box::new(error);
    assert_eq!(format!("{boxed:?}"), boxed.to_string());
}

#[test]
fn selectors_are_texts_or_parsed() {
    let runtime = Runtime::new(RuntimeOptions::new().host_only());
    let (text, parsed) = ("host:cpu".to_owned(), "cpu".parse::<FilterSelector>().unwrap());
    let host = runtime.host_device();
    assert_eq!(&runtime.select(&text).unwrap(), host);
    assert_eq!(&runtime.select(text).unwrap(), host);
    assert_eq!(&runtime.select(&parsed).unwrap(), host);
    assert_eq!(&runtime.select(parsed).unwrap(), host);
    assert!(matches!(runtime.select("cpu:"), Err(Error::InvalidFilter { .. })));
}

#[test]
fn the_state_of_a_backend_reads_as_a_line() {
    let status = Runtime::global().status();
    let host = status.iter().find(|status| status.backend == BackendId::Host).unwrap();
    assert_eq!(host.to_string(), "host: available, built in; devices: host:cpu:0");
}
