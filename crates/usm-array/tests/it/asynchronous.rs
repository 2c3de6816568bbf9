//! Operations between arrays that only devices reach return before they are complete, and nobody sees the difference
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;
use std::sync::Arc;

use libloading::Library;
use usm_array::dlpack::{Consumer, CudaStream, DlpackExport};
use usm_array::usm_core::backend::host::HostBackend;
use usm_array::usm_core::testing::{DelayedBackend, Fault, FaultyBackend, Method, Random};
use usm_array::usm_core::{BackendId, Context, Queue, QueueProperties, Runtime, UsmKind};
use usm_array::usm_memory::resource::{self, DirectResource, PoolOptions, PoolResource};
use usm_array::{Casting, Conversion, CopyMode, CopyOrder, Dtype, SliceItem, UsmArray};

/// Longer than any test.
const FOR_EVER: usize = 1 << 40;

/// The host backend, on which nothing runs before somebody waits for it, with memory of a pool.
struct Late {
    backend: Arc<DelayedBackend>,
    runtime: Runtime,
    queue: Queue,
}

impl Late {
    fn new(seed: u64) -> Self {
        Self::with_max_delay(seed, FOR_EVER)
    }

    fn with_max_delay(seed: u64, calls: usize) -> Self {
        let backend = DelayedBackend::new(Arc::new(HostBackend::new()), seed).with_max_delay(calls);
        let backend = Arc::new(backend);
        let runtime = Runtime::with_backend(backend.clone()).unwrap();
        let device = runtime.default_device().unwrap();
        let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
        resource::set_default_resource(&device, Arc::new(pool));
        let queue = runtime.default_queue(&device).unwrap();
        Self { backend, runtime, queue }
    }

    /// An array on the device, all work on which is complete.
    fn numbers(&self, shape: &[usize]) -> UsmArray {
        let numbers: Vec<i32> = (0..shape.iter().product::<usize>()).map(|i| i as i32 * 3 - 7).collect();
        let array = UsmArray::from_slice(&self.queue, UsmKind::Device, shape, &numbers).unwrap();
        self.backend.flush();
        array
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        resource::reset_default_resource(&self.runtime.default_device().unwrap());
        self.backend.flush();
        assert!(self.backend.faults().is_empty(), "{:?}", self.backend.faults());
    }
}

const EVERY_OTHER: SliceItem = SliceItem::Slice { start: None, stop: None, step: -2 };

type Operation = fn(&UsmArray) -> UsmArray;

/// Operations on an array of 6 × 8 numbers, which give an array.
const OPERATIONS: [(&str, Operation); 17] = [
    ("copy", |a| a.copy().unwrap()),
    ("copy of a transpose", |a| a.transpose().copy().unwrap()),
    ("copy_to", |a| a.copy_to(a.queue(), UsmKind::Device).unwrap()),
    ("astype", |a| a.astype(Dtype::F64, CopyMode::Always).unwrap()),
    ("converted", |a| {
        let wanted = Conversion { order: CopyOrder::F, ..Conversion::default() };
        a.converted(&wanted).unwrap()
    }),
    ("assign", |a| {
        let target = UsmArray::empty(a.queue(), UsmKind::Device, &[6, 8], Dtype::I32).unwrap();
        target.assign(a).unwrap();
        target
    }),
    ("assign with gaps", |a| {
        let target = UsmArray::empty(a.queue(), UsmKind::Device, &[11, 15], Dtype::I32).unwrap();
        target.fill(0_i32).unwrap();
        target.slice(&[EVERY_OTHER, EVERY_OTHER]).unwrap().assign(a).unwrap();
        target
    }),
    ("assign_cast, broadcast", |a| {
        let target = UsmArray::empty(a.queue(), UsmKind::Device, &[3, 6, 8], Dtype::I8).unwrap();
        target.assign_cast(a, Casting::Unsafe).unwrap();
        target
    }),
    ("assign of a part of itself", |a| {
        let item = |start, stop| SliceItem::Slice { start: Some(start), stop: Some(stop), step: 1 };
        a.slice(&[item(1, 6)]).unwrap().assign(&a.slice(&[item(0, 5)]).unwrap()).unwrap();
        a.clone()
    }),
    ("assign of itself, turned round", |a| {
        a.assign(&a.flip(None).unwrap()).unwrap();
        a.clone()
    }),
    ("fill", |a| {
        a.fill(5_i32).unwrap();
        a.clone()
    }),
    ("fill with gaps", |a| {
        a.slice(&[EVERY_OTHER, EVERY_OTHER]).unwrap().fill(-1_i32).unwrap();
        a.clone()
    }),
    ("zeros", |a| UsmArray::zeros(a.queue(), UsmKind::Device, &[500], Dtype::I32).unwrap()),
    ("from_slice", |a| UsmArray::from_slice(a.queue(), UsmKind::Device, &[100], &[4_i64; 100]).unwrap()),
    ("set_scalar", |a| {
        a.set_scalar(&[2, 3], usm_array::Scalar::Int(1000)).unwrap();
        a.clone()
    }),
    ("concat", |a| UsmArray::concat(&[a, &a.flip(None).unwrap()], Some(0)).unwrap()),
    ("stack", |a| UsmArray::stack(&[a, &a.flip(None).unwrap()], 1).unwrap()),
];

#[test]
fn operations_on_device_memory_return_before_they_are_complete() {
    let late = Late::new(1);
    for (name, operation) in OPERATIONS {
        let shared = late.numbers(&[6, 8]).copy_to(&late.queue, UsmKind::Shared).unwrap();
        let expected = operation(&shared).to_bytes().unwrap();
        let source = late.numbers(&[6, 8]);
        assert_eq!(late.backend.pending(), 0, "{name}");
        let result = operation(&source);
        assert!(late.backend.pending() > 0, "{name}: nothing is under way");
        assert!(!result.events().is_empty(), "{name}: the array does not know");
        drop(source);
        assert_eq!(result.to_bytes().unwrap(), expected, "{name}");
        assert!(result.events().is_empty(), "{name}");
    }
}

#[test]
fn host_memory_is_complete_when_an_operation_returns() {
    let late = Late::new(2);
    let source = late.numbers(&[6, 8]);
    for kind in [UsmKind::Host, UsmKind::Shared] {
        let copy = source.copy_to(&late.queue, kind).unwrap();
        assert_eq!(late.backend.pending(), 0, "others may read {kind} memory");
        assert_eq!(copy.view::<i32>().unwrap().iter().nth(1), Some(-4));
        source.assign(&copy.flip(None).unwrap()).unwrap();
        assert_eq!(late.backend.pending(), 0, "others may write {kind} memory");
        source.assign(&copy).unwrap();
        assert_eq!(late.backend.pending(), 0);
        assert!(source.events().is_empty() && copy.events().is_empty());
    }
}

#[test]
fn exports_are_ready_for_their_consumers() {
    let late = Late::new(4);
    let array = late.numbers(&[6, 8]);
    let other = late.queue.context().create_queue(late.queue.device(), QueueProperties::IN_ORDER).unwrap();
    let begin = || {
        array.on_queue(&other).unwrap().fill(1_i32).unwrap();
        assert!(late.backend.pending() > 0);
    };
    begin();
    array.interface().unwrap();
    assert!(array.events().is_empty(), "who reads the dictionary knows no event");
    let options = DlpackExport { runtime: &late.runtime, ..DlpackExport::default() };
    begin();
    drop(array.to_dlpack(&options).unwrap());
    assert!(array.events().is_empty());
    begin();
    drop(array.to_dlpack(&DlpackExport { consumer: Consumer::Unordered, ..options }).unwrap());
    assert!(!array.events().is_empty(), "no wait");
    late.queue.wait().unwrap();
    assert!(array.events().is_empty(), "the queue comes after the other one");
    // From now on others may submit work to that queue, whenever they like.
    begin();
    late.queue.wait().unwrap();
    assert!(array.events().is_empty(), "nor do they know this event");
}

#[test]
fn an_interface_without_a_queue_is_published_after_all_work_of_the_queue() {
    let queues = common::queues();
    for queue in queues.iter().filter(|queue| queue.backend_id() == BackendId::Cuda) {
        let array = UsmArray::zeros(queue, UsmKind::Device, &[1 << 24], Dtype::U8).unwrap();
        let start = array.interface().unwrap().address as usize;
        let start = std::ptr::with_exposed_provenance_mut(start);
        // SAFETY: the memory is as long, and the array lives until the operation is complete.
        let fill = |byte| unsafe { queue.memset(start, byte, array.size_bytes(), &[]) }.unwrap();
        let events: Vec<_> = (0..4).map(fill).collect();
        array.interface().unwrap();
        assert!(events.iter().all(|event| event.is_complete()), "consumers get no queue to wait for");
    }
}

#[test]
fn the_stream_of_a_consumer_comes_after_the_memory_and_after_a_copy() {
    let queues = common::queues();
    for queue in queues.iter().filter(|queue| queue.backend_id() == BackendId::Cuda) {
        let theirs = queue.context().create_queue(queue.device(), QueueProperties::IN_ORDER).unwrap();
        // SAFETY: the queue keeps its stream.
        let consumer = Consumer::Stream(unsafe { CudaStream::new(theirs.native_stream().unwrap()) });
        let array = UsmArray::zeros(queue, UsmKind::Device, &[1 << 16], Dtype::I32).unwrap();
        for (value, copy) in [(1, CopyMode::IfNeeded), (2, CopyMode::Always), (3, CopyMode::Never)] {
            array.fill(value).unwrap();
            let options = DlpackExport { copy, consumer, ..DlpackExport::default() };
            let tensor = array.to_dlpack(&options).unwrap();
            let mut read = vec![0_i32; array.size()];
            let (to, from) = (read.as_mut_ptr().cast(), tensor.tensor().unwrap().data.cast_const().cast());
            // SAFETY: the tensor and the vector live until the copy is complete, and have as many bytes.
            let event = unsafe { theirs.memcpy(to, from, array.size_bytes(), &[]) }.unwrap();
            event.wait().unwrap();
            assert!(read.iter().all(|element| *element == value), "{copy:?}");
        }
    }
    assert_eq!(faults_of_driver(), 0);
}

#[test]
fn memory_is_kept_until_nothing_uses_it() {
    let late = Late::new(5);
    let device = late.queue.device();
    let [other, third] =
        [0; 2].map(|_| late.queue.context().create_queue(device, QueueProperties::IN_ORDER).unwrap());
    let target = late.numbers(&[6, 8]);
    let source = late.numbers(&[6, 8]);
    let address = source.address();
    target.on_queue(&other).unwrap().assign(&source).unwrap();
    drop(source);
    assert_eq!(late.backend.pending(), 1, "no wait, and no barrier: the copy came after the other work");
    let elsewhere = late.numbers_on(&late.queue);
    assert_ne!(elsewhere.address(), address, "the other queue reads it");
    let other_zeros = late.numbers_on(&other);
    // Reads on several queues.
    target.on_queue(&third).unwrap().assign(&elsewhere).unwrap();
    other_zeros.assign(&elsewhere).unwrap();
    drop(elsewhere);
    let next = late.numbers_on(&third);
    next.fill(9_i32).unwrap();
    assert_eq!(target.to_vec::<i32>().unwrap()[0], 0);
    assert_eq!(other_zeros.to_vec::<i32>().unwrap()[0], 0);
    assert_eq!(next.to_vec::<i32>().unwrap()[0], 9);
}

impl Late {
    fn numbers_on(&self, queue: &Queue) -> UsmArray {
        UsmArray::zeros(queue, UsmKind::Device, &[6, 8], Dtype::I32).unwrap()
    }
}

#[test]
fn memory_of_the_runtime_is_freed_after_its_operations() {
    let late = Late::new(6);
    resource::set_default_resource(late.queue.device(), Arc::new(DirectResource));
    let target = late.numbers(&[6, 8]);
    let source = late.numbers(&[6, 8]);
    target.assign(&source).unwrap();
    assert_eq!(late.backend.pending(), 1);
    drop(source);
    assert_eq!(late.backend.pending(), 0);
    assert_eq!(target.to_vec::<i32>().unwrap()[0], -7);
}

#[test]
fn a_refused_operation_leaves_nothing_behind() {
    let faulty = Arc::new(FaultyBackend::new(Arc::new(HostBackend::new())));
    let runtime = Runtime::with_backend(faulty.clone()).unwrap();
    let queue = runtime.default_queue(&runtime.default_device().unwrap()).unwrap();
    let array = UsmArray::from_slice(&queue, UsmKind::Device, &[4, 4], &[1_i32; 16]).unwrap();
    array.wait().unwrap();
    for method in [Method::HostTask, Method::Fill, Method::Memcpy] {
        array.wait().unwrap();
        faulty.arm(Fault::at(1).of(method));
        let operation = || match method {
            Method::HostTask => array.assign(&array.copy().unwrap().transpose()),
            Method::Fill => array.fill(2_i32),
            _ => array.copy().map(drop),
        };
        operation().unwrap_err();
        faulty.disarm();
        assert!(array.events().is_empty(), "{method:?}");
        assert_eq!(array.to_vec::<i32>().unwrap(), [1; 16]);
        array.fill(1_i32).unwrap();
    }
}

const ROWS: usize = 5;
const COLUMNS: usize = 7;

/// An array and what it must hold.
struct Known {
    array: UsmArray,
    model: Vec<i32>,
}

/// Another array over the same memory, as an import by others has it.
fn alias(array: &UsmArray, queue: &Queue) -> UsmArray {
    let interface = array.interface().unwrap().validate().unwrap();
    // SAFETY: 1. The owner is the array itself, 2. whose bytes belong to one allocation; 3. one table has the guards of both.
    unsafe { UsmArray::import(&interface, queue, Arc::new(array.clone())) }.unwrap()
}

/// Many operations on four queues of a context, without a wait but for reads.
fn random_work(context: &Context, seed: u64, steps: usize) {
    let mut random = Random::new(seed);
    let device = context.devices().unwrap().remove(0);
    let create = |in_order| {
        let properties = if in_order { QueueProperties::IN_ORDER } else { QueueProperties::OUT_OF_ORDER };
        context.create_queue(&device, properties).unwrap()
    };
    let queues = [true, false, true, false].map(create);
    let new = |queue: &Queue, first: i32| {
        let model: Vec<i32> = (0..ROWS * COLUMNS).map(|i| first + i as i32).collect();
        let array = UsmArray::from_slice(queue, UsmKind::Device, &[ROWS, COLUMNS], &model).unwrap();
        Known { array, model }
    };
    let mut known: Vec<Known> = (0..6).map(|i| new(&queues[i % 4], 100 * i as i32)).collect();
    for step in 0..steps {
        let (to, from) = (random.below(known.len()), random.below(known.len()));
        let queue = &queues[random.below(4)];
        let target = known[to].array.on_queue(queue).unwrap();
        let source = known[from].array.clone();
        let read = known[from].model.clone();
        match random.below(12) {
            0 | 1 if to != from => {
                target.assign(&source).unwrap();
                known[to].model = read;
            }
            2 | 3 => {
                target.assign(&source.flip(None).unwrap()).unwrap();
                known[to].model = read.into_iter().rev().collect();
            }
            4 => {
                let value = random.below(1000) as i32;
                target.fill(value).unwrap();
                known[to].model.fill(value);
            }
            5 => {
                let value = random.below(1000) as i32;
                let column = random.below(COLUMNS);
                let item = [SliceItem::FULL, SliceItem::Index(column.cast_signed())];
                target.slice(&item).unwrap().fill(value).unwrap();
                known[to].model.iter_mut().skip(column).step_by(COLUMNS).for_each(|to| *to = value);
            }
            6 => {
                // The old one goes, with whatever is under way on it.
                let copy = source.on_queue(queue).unwrap().copy().unwrap();
                known[to] = Known { array: copy, model: read };
            }
            7 => known[to] = new(queue, step as i32),
            8 => {
                let cast = source.on_queue(queue).unwrap().astype(Dtype::F64, CopyMode::Always).unwrap();
                target.assign_cast(&cast, Casting::Unsafe).unwrap();
                known[to].model = read;
            }
            9 => {
                let through = alias(&known[to].array, queue);
                through.fill(step as i32).unwrap();
                known[to].model.fill(step as i32);
            }
            10 => {
                let row = random.below(ROWS);
                let item = [SliceItem::Index(row.cast_signed())];
                let part: Vec<u8> = read[..COLUMNS].iter().flat_map(|x| x.to_ne_bytes()).collect();
                target.slice(&item).unwrap().copy_from_host_contiguous(&part).unwrap();
                known[to].model[row * COLUMNS..][..COLUMNS].copy_from_slice(&read[..COLUMNS]);
            }
            _ => assert_eq!(source.to_vec::<i32>().unwrap(), read, "seed {seed}, step {step}"),
        }
    }
    for (number, Known { array, model }) in known.iter().enumerate() {
        assert_eq!(&array.to_vec::<i32>().unwrap(), model, "seed {seed}, array {number}");
    }
}

/// The operations that the stand-in of the CUDA driver found without an order that they need; 0 without the stand-in.
fn faults_of_driver() -> usize {
    let Some(path) = std::env::var_os("USM_CUDA_DRIVER") else { return 0 };
    // SAFETY: this process has loaded the library already.
    let library = unsafe { Library::new(path) }.unwrap();
    // SAFETY: the function of that name is one of the stand-in.
    let faults = unsafe { library.get::<extern "C" fn() -> usize>("cuda_loopback_faults") };
    faults.map_or(0, |faults| faults())
}

#[test]
fn random_work_on_four_queues_is_as_if_nothing_were_under_way() {
    for queue in common::queues() {
        for seed in 0..20 {
            random_work(queue.context(), seed, 150);
        }
        // More memory is freed in the middle of work when there is no pool.
        let own = Context::new(std::slice::from_ref(queue.device())).unwrap();
        random_work(&own, 100, 150);
    }
    assert_eq!(faults_of_driver(), 0);
}

#[test]
fn random_work_that_is_late_is_as_if_it_were_not() {
    for seed in 0..150 {
        let late = Late::with_max_delay(seed, [2, 40, FOR_EVER][seed as usize % 3]);
        if seed % 2 == 0 {
            resource::reset_default_resource(late.queue.device());
        }
        random_work(late.queue.context(), seed, 120);
    }
}
