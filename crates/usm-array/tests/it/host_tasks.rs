//! Copies of protected memory are one task of a queue each, and the same bytes as anywhere else
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use usm_array::usm_core::backend::Backend;
use usm_array::usm_core::backend::host::HostBackend;
use usm_array::usm_core::testing::{DelayedBackend, Fault, FaultyBackend, Method, RecordingBackend};
use usm_array::usm_core::{Context, Queue, QueueProperties, Runtime, UsmKind};
use usm_array::{Casting, Dtype, SliceItem, UsmArray};

fn queue_over(backend: Arc<dyn Backend>) -> Queue {
    let runtime = Runtime::with_backend(backend).unwrap();
    runtime.default_queue(&runtime.default_device().unwrap()).unwrap()
}

fn recorded() -> (Arc<RecordingBackend>, Queue) {
    let recording = Arc::new(RecordingBackend::new(Arc::new(HostBackend::new())));
    (recording.clone(), queue_over(recording))
}

fn counting(queue: &Queue, kind: UsmKind, shape: &[usize]) -> UsmArray {
    let numbers: Vec<f64> = (0..shape.iter().product::<usize>()).map(|i| i as f64 * 1.25 - 7.0).collect();
    UsmArray::from_slice(queue, kind, shape, &numbers).unwrap()
}

fn bits(array: &UsmArray) -> Vec<u8> {
    array.to_bytes().unwrap()
}

const EVERY_OTHER: SliceItem = SliceItem::Slice { start: None, stop: None, step: -2 };

#[test]
fn every_strided_copy_is_one_task_and_gives_the_bits_of_shared_memory() {
    let (recording, queue) = recorded();
    // Small, and large enough for threads and stores past the caches.
    for shape in [[17, 23], [1201, 1103]] {
        let [device, shared] = [UsmKind::Device, UsmKind::Shared].map(|kind| counting(&queue, kind, &shape));
        let check = |name: &str, copy: &dyn Fn(&UsmArray) -> UsmArray| {
            let expected = bits(&copy(&shared));
            recording.clear();
            let found = copy(&device);
            assert_eq!(recording.count(Method::HostTask), 1, "{name}, {shape:?}");
            assert_eq!(recording.count(Method::Memcpy), 0, "{name}, {shape:?}");
            assert!(bits(&found) == expected, "{name}, {shape:?}");
        };
        let new = |source: &UsmArray, shape: &[usize], dtype| {
            UsmArray::empty(&queue, source.kind(), shape, dtype).unwrap()
        };
        let [rows, columns] = shape;
        let transposed = [columns, rows];
        check("transposed", &|a| {
            let to = new(a, &transposed, Dtype::F64);
            to.assign(&a.transpose()).unwrap();
            to
        });
        check("cast", &|a| {
            let to = new(a, &transposed, Dtype::I16);
            to.assign_cast(&a.transpose(), Casting::Unsafe).unwrap();
            to
        });
        check("from shared memory", &|a| {
            let to = new(a, &transposed, Dtype::F64);
            let source = counting(&queue, UsmKind::Shared, &shape).transpose();
            to.assign(&source).unwrap();
            if a.kind() == UsmKind::Shared { to } else { to.clone() }
        });
        check("a value, with gaps", &|a| {
            a.slice(&[EVERY_OTHER, EVERY_OTHER]).unwrap().fill(3.5_f64).unwrap();
            a.clone()
        });
        let check_host = |view: fn(&UsmArray) -> UsmArray| {
            let expected = view(&shared).to_vec::<f64>().unwrap();
            recording.clear();
            assert!(view(&device).to_vec::<f64>().unwrap() == expected);
            assert_eq!((recording.count(Method::HostTask), recording.count(Method::Memcpy)), (1, 0));
            view(&shared).copy_from_host_contiguous(&vec![0x55; 8 * expected.len()]).unwrap();
            view(&device).copy_from_host_contiguous(&vec![0x55; 8 * expected.len()]).unwrap();
            assert_eq!((recording.count(Method::HostTask), recording.count(Method::Memcpy)), (2, 0));
            assert!(bits(&device) == bits(&shared));
        };
        check_host(UsmArray::transpose);
        check_host(|a| a.slice(&[EVERY_OTHER, EVERY_OTHER]).unwrap());
    }
}

#[test]
fn dense_copies_are_one_operation_and_no_task() {
    let (recording, queue) = recorded();
    for len in [1000, 9 << 20] {
        let bytes: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        let array = UsmArray::zeros(&queue, UsmKind::Device, &[len], Dtype::U8).unwrap();
        let (to, total) = (array.copy().unwrap(), |method| recording.count(method));
        for copy in [
            &(|| array.copy_from_host_contiguous(&bytes).unwrap()) as &dyn Fn(),
            &|| to.assign(&array).unwrap(),
            &|| assert!(to.to_vec::<u8>().unwrap() == bytes),
        ] {
            recording.clear();
            copy();
            assert_eq!((total(Method::HostTask), total(Method::Memcpy)), (0, 1), "{len}");
        }
        // Shifted onto itself.
        let part = |start: isize| {
            let stop = Some(start + len as isize - 3);
            array.slice(&[SliceItem::Slice { start: Some(start), stop, step: 1 }]).unwrap()
        };
        part(3).assign(&part(0)).unwrap();
        assert!(part(3).to_vec::<u8>().unwrap() == bytes[..len - 3]);
    }
}

#[test]
fn memory_of_two_contexts_needs_two_tasks() {
    let (recording, queue) = recorded();
    let context = Context::new(&[queue.device().clone()]).unwrap();
    let elsewhere = context.create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
    let source = counting(&elsewhere, UsmKind::Device, &[31, 37]);
    let target = UsmArray::zeros(&queue, UsmKind::Device, &[37, 31], Dtype::F64).unwrap();
    recording.clear();
    target.assign(&source.transpose()).unwrap();
    assert_eq!(recording.count(Method::HostTask), 2);
    assert_eq!(bits(&target), bits(&source.transpose()));
}

#[test]
fn refusals_come_before_the_task_and_failures_leave_all_usable() {
    let recording = Arc::new(RecordingBackend::new(Arc::new(HostBackend::new())));
    let faulty = Arc::new(FaultyBackend::new(recording.clone()));
    let queue = queue_over(faulty.clone());
    let source = counting(&queue, UsmKind::Device, &[40, 50]);
    let target = UsmArray::zeros(&queue, UsmKind::Device, &[50, 40], Dtype::F64).unwrap();
    recording.clear();
    assert!(target.read_only().assign(&source.transpose()).is_err());
    let borrowed = source.buffer().write_range(0..8).unwrap();
    assert!(target.assign(&source.transpose()).is_err());
    drop(borrowed);
    assert_eq!(recording.count(Method::HostTask), 0);
    faulty.arm(Fault::at(1).of(Method::HostTask));
    target.assign(&source.transpose()).unwrap_err();
    faulty.arm(Fault::at(1).of(Method::Wait));
    target.assign(&source.transpose()).unwrap();
    target.to_bytes().unwrap_err();
    faulty.disarm();
    target.assign(&source.transpose()).unwrap();
    assert_eq!(bits(&target), bits(&source.transpose()));
}

#[test]
fn late_tasks_are_complete_when_the_copy_is_read() {
    for seed in 0..20 {
        let delayed = Arc::new(DelayedBackend::new(Arc::new(HostBackend::new()), seed));
        let queue = queue_over(delayed.clone());
        let source = counting(&queue, UsmKind::Device, &[40, 50]);
        let transposed = source.transpose().copy().unwrap();
        assert_eq!(bits(&transposed), bits(&source.transpose()));
        drop((source, transposed));
        assert_eq!(delayed.faults(), []);
    }
}

#[test]
fn copies_from_all_threads_of_rayon_at_once() {
    let (_, queue) = recorded();
    let threads = 2 * rayon::current_num_threads();
    let arrays: Vec<_> = (0..threads).map(|_| counting(&queue, UsmKind::Device, &[1024, 1024])).collect();
    let expected = arrays[0].transpose().to_vec::<f64>().unwrap();
    for _ in 0..5 {
        rayon::scope(|scope| {
            for array in &arrays {
                scope.spawn(|_| {
                    let transposed = array.transpose().copy().unwrap();
                    assert!(transposed.to_vec::<f64>().unwrap() == expected);
                });
            }
        });
    }
}
