//! Operations on a stream that another library captures into a graph, on the stand-in of the CUDA driver.
#![cfg(all(target_os = "linux", feature = "cuda"))]
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use cuda_loopback::{Graphs, Kind, Loopback};
use usm_memory::resource::{DirectResource, MemoryResource, PoolOptions, PoolResource};
use usm_memory::usm_core::backend::cuda::CudaBackend;
use usm_memory::usm_core::{
    self, Device, Event, EventStatus, KernelBundle, Queue, QueueProperties, Runtime, UsmKind,
};
use usm_memory::{Error, Operand, Result, UsmBuffer, submit, submit_kernel};

const LEN: usize = 10_000;

/// A driver of its own, a queue on a stream that the other library captures, and memory of a pool.
struct Stage {
    driver: Loopback,
    theirs: Graphs,
    device: Device,
    queue: Queue,
    stream: usize,
    pool: PoolResource,
}

impl Stage {
    /// With a stream of the other library, or with one of this library that the other one knows.
    fn new(is_external: bool) -> Self {
        let driver = Loopback::new().unwrap();
        // SAFETY: the stand-in of the driver.
        let backend = Arc::new(unsafe { CudaBackend::load(driver.path().as_os_str(), 0) }.unwrap());
        let runtime = Runtime::with_backend(backend).unwrap();
        let mut devices = runtime.devices();
        devices.retain(|device| device.filter_string().starts_with("cuda:"));
        let device = devices.remove(0);
        let theirs = Graphs::new(driver.path(), 0).unwrap();
        let queue = match is_external {
            // SAFETY: the stream lives as long as the driver.
            true => unsafe { Queue::from_cuda_stream(&device, theirs.stream(false).unwrap()) }.unwrap(),
            false => {
                device.default_context().unwrap().create_queue(&device, QueueProperties::IN_ORDER).unwrap()
            }
        };
        let stream = queue.native_stream().unwrap();
        let pool = PoolResource::new(Arc::new(DirectResource), PoolOptions::new());
        Self { driver, theirs, device, queue, stream, pool }
    }

    fn other_queue(&self) -> Queue {
        self.device.default_context().unwrap().create_queue(&self.device, QueueProperties::IN_ORDER).unwrap()
    }

    fn allocate(&self, queue: &Queue, len: usize) -> UsmBuffer {
        UsmBuffer::allocate_in(&self.pool, queue, UsmKind::Device, len).unwrap()
    }

    /// Each of the operations in a capture of its own is refused, and leaves the capture as it was.
    fn refuses<T>(&self, what: &str, operation: impl FnOnce() -> Result<T>) {
        self.theirs.begin(self.stream).unwrap();
        let result = operation().map(drop);
        let is_refused = matches!(result, Err(Error::Core(usm_core::Error::StreamCapture { .. })));
        assert!(is_refused, "{what}: {result:?}");
        assert!(self.theirs.is_capturing(self.stream).unwrap(), "{what}");
        let graph = self.theirs.end(self.stream).unwrap();
        assert_eq!(graph.nodes, 0, "{what}");
        self.theirs.destroy(graph).unwrap();
    }

    /// The bytes that all of a buffer has.
    fn value(&self, buffer: &UsmBuffer) -> u8 {
        let bytes = buffer.to_vec().unwrap();
        assert!(bytes.iter().all(|byte| *byte == bytes[0]), "{bytes:?}");
        bytes[0]
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.driver.faults(), Vec::<String>::new());
        }
    }
}

#[test]
fn copies_and_fills_replay_with_new_contents() {
    for is_external in [true, false] {
        let stage = Stage::new(is_external);
        let queue = &stage.queue;
        let [source, target, filled] = [0; 3].map(|_| stage.allocate(queue, LEN));
        source.fill(&[1]).unwrap();
        target.fill(&[9]).unwrap();
        filled.submit_fill(&[9]).unwrap(); // under way when the capture begins
        stage.theirs.begin(stage.stream).unwrap();
        target.submit_copy_from(&source).unwrap();
        filled.submit_fill(&[7, 7, 7, 7, 7, 7, 7, 7]).unwrap();
        let copied =
            filled.sub_buffer(0, 100).unwrap().copy_from_async(&source.sub_buffer(0, 100).unwrap(), &[]);
        assert!(copied.unwrap().events()[0].capture().is_some());
        let graph = stage.theirs.end(stage.stream).unwrap();
        assert_eq!((graph.nodes, stage.value(&target)), (3, 9), "nothing ran");
        let other = stage.theirs.stream(false).unwrap();
        for (stream, value) in [(stage.stream, 2), (other, 3)] {
            source.fill(&[value]).unwrap();
            filled.fill(&[0]).unwrap();
            stage.theirs.launch(graph, stream).unwrap();
            stage.theirs.wait(stream).unwrap();
            assert_eq!(stage.value(&target), value);
            assert_eq!(stage.value(&filled.sub_buffer(0, 100).unwrap()), value);
            assert_eq!(stage.value(&filled.sub_buffer(100, LEN - 100).unwrap()), 7);
        }
        stage.theirs.destroy(graph).unwrap();
    }
}

/// What was submitted to the stream before is complete when the first operation is recorded: a launch on another stream comes later.
#[test]
fn earlier_work_is_complete_before_a_launch() {
    let stage = Stage::new(false);
    assert!(stage.driver.set("DELAY_US", 20_000).unwrap());
    let [source, target] = [0; 2].map(|_| stage.allocate(&stage.queue, LEN));
    let elsewhere = stage.allocate(&stage.other_queue(), LEN);
    let other = stage.theirs.stream(false).unwrap();
    for value in 1..4 {
        source.submit_fill(&[value]).unwrap();
        elsewhere.submit_fill(&[value + 100]).unwrap();
        stage.theirs.begin(stage.stream).unwrap();
        target.sub_buffer(0, 10).unwrap().submit_copy_from(&source.sub_buffer(0, 10).unwrap()).unwrap();
        target.sub_buffer(10, 10).unwrap().submit_copy_from(&elsewhere.sub_buffer(0, 10).unwrap()).unwrap();
        let graph = stage.theirs.end(stage.stream).unwrap();
        stage.theirs.launch(graph, other).unwrap();
        stage.theirs.wait(other).unwrap();
        let bytes = target.sub_buffer(0, 20).unwrap().to_vec().unwrap();
        assert_eq!((&bytes[..10], &bytes[10..]), (&[value; 10][..], &[value + 100; 10][..]));
        stage.theirs.destroy(graph).unwrap();
    }
}

#[test]
fn kernels_are_recorded_and_kept() {
    let stage = Stage::new(true);
    let bytes = stage.allocate(&stage.queue, 256);
    let text = include_str!("../../../cuda-loopback/tests/ptx/fill.ptx");
    // SAFETY: a valid module.
    let bundle = unsafe { KernelBundle::from_ptx(stage.queue.context(), &stage.device, text, "") }.unwrap();
    let kernel = bundle.kernel("usm_fill").unwrap();
    let start = bytes.address() as u64;
    let arguments = [
        (&bytes).into(),
        16_u64.into(),
        0x0101_0101_0101_0101_u64.into(),
        0x0101_0101_0101_0101_u64.into(),
        0_u64.into(),
        0_u64.into(),
    ];
    assert_ne!(start, 0);
    stage.theirs.begin(stage.stream).unwrap();
    // SAFETY: 1. A pointer and five numbers of 64 bits. 2. 16 vectors of 16 bytes.
    let run = unsafe { submit_kernel(&stage.queue, &kernel, &arguments, 16, &[]) }.unwrap();
    let event = run.events()[0].clone();
    assert!(run.wait().is_ok(), "nothing is under way");
    let graph = stage.theirs.end(stage.stream).unwrap();
    // The graph keeps the module.
    drop((kernel, bundle));
    for value in [0, 5] {
        bytes.fill(&[value]).unwrap();
        stage.theirs.launch(graph, stage.stream).unwrap();
        assert_eq!(stage.value(&bytes), 1);
    }
    let live = stage.driver.live(Kind::Module);
    stage.theirs.destroy(graph).unwrap();
    drop(event);
    until(|| {
        usm_core::release_from_graphs();
        stage.driver.live(Kind::Module) < live
    });
}

fn until(is_done: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_done() {
        assert!(begin.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn what_cannot_be_recorded_leaves_the_capture_as_it_was() {
    for is_external in [true, false] {
        let stage = Stage::new(is_external);
        let (queue, other) = (&stage.queue, stage.other_queue());
        let [a, b] = [0; 2].map(|_| stage.allocate(queue, LEN));
        let shared = UsmBuffer::allocate_in(&stage.pool, queue, UsmKind::Shared, LEN).unwrap();
        let large = stage.allocate(queue, 5 << 20);
        for buffer in [&a, &b, &large] {
            buffer.fill(&[1]).unwrap();
        }
        let bytes = vec![5; 5 << 20];
        let parts = [a.sub_buffer(0, 60).unwrap(), a.sub_buffer(30, 60).unwrap()];
        stage.refuses("a small upload", || a.sub_buffer(0, 8).unwrap().submit_copy_from_host(&bytes[..8], 0));
        stage.refuses("a blocking upload", || a.copy_from_host(&bytes[..LEN], 0));
        stage.refuses("a staged upload", || a.submit_copy_from_host(&bytes[..LEN], 0));
        stage.refuses("a large upload", || large.submit_copy_from_host(&bytes, 0));
        stage.refuses("a kept vector", || Ok(a.copy_from_vec_async(bytes[..LEN].to_vec(), 0, &[])?));
        stage.refuses("a read", || a.to_vec());
        stage.refuses("a large read", || large.to_vec());
        stage.refuses("a blocking copy", || a.copy_from(&b));
        stage.refuses("a blocking fill", || a.fill(&[1]));
        stage.refuses("an overlapping copy", || parts[0].submit_copy_from(&parts[1]));
        stage.refuses("shared memory", || {
            let operand = Operand::written(&shared, 0..LEN);
            // SAFETY: the operand.
            let set = |start: &[*mut u8], after: &[Event]| unsafe { queue.memset(start[0], 1, LEN, after) };
            // SAFETY: the operand, of the queue's context.
            unsafe { submit(queue, &[operand], set) }
        });
        stage.refuses("an allocation", || UsmBuffer::allocate_in(&stage.pool, queue, UsmKind::Device, 64));
        stage.refuses("an allocation of the runtime", || Ok(queue.allocate(UsmKind::Device, 64)?));
        stage.refuses("a wait", || Ok(queue.wait()?));
        stage.refuses("a barrier", || Ok(queue.barrier(&[])?));
        stage.refuses("publication behind work of others", || {
            a.publish()?;
            a.wait()
        });
        stage.refuses("an operation without memory that the graph keeps", || {
            let start = a.address() as *mut u8;
            // SAFETY: nothing is submitted.
            Ok(unsafe { queue.memset(start, 1, 4, &[]) }?)
        });
        // Work of other queues goes on meanwhile, and memory goes back.
        stage.theirs.begin(stage.stream).unwrap();
        let c = stage.allocate(&other, LEN);
        c.fill(&[4]).unwrap();
        assert_eq!(stage.value(&c), 4);
        drop(c);
        drop(other);
        drop(stage.allocate(&stage.other_queue(), 3 << 20));
        stage.pool.trim();
        assert!(stage.theirs.is_capturing(stage.stream).unwrap());
        stage.theirs.destroy(stage.theirs.end(stage.stream).unwrap()).unwrap();
        assert_eq!(stage.value(&a), 1);
    }
}

#[test]
fn what_was_recorded_cannot_be_asked_or_followed() {
    let stage = Stage::new(true);
    let [a, b] = [0; 2].map(|_| stage.allocate(&stage.queue, LEN));
    let other = stage.other_queue();
    for buffer in [&a, &b] {
        buffer.fill(&[1]).unwrap();
    }
    stage.theirs.begin(stage.stream).unwrap();
    let all = [Operand::written(&b, 0..LEN), Operand::read(&a, 0..LEN)];
    let copy = |ends: &[*mut u8], after: &[Event]| {
        // SAFETY: the operands.
        unsafe { stage.queue.memcpy(ends[0], ends[1].cast_const(), LEN, after) }
    };
    // SAFETY: the operands, of the queue's context.
    let recorded = unsafe { submit(&stage.queue, &all, copy) }.unwrap();
    let is_refused = |result: Result<()>| {
        let is = matches!(&result, Err(Error::Core(usm_core::Error::StreamCapture { .. })));
        assert!(is, "{result:?}");
        assert!(stage.theirs.is_capturing(stage.stream).unwrap());
    };
    is_refused(recorded.wait().map_err(Error::from));
    is_refused(recorded.query().map(drop).map_err(Error::from));
    assert_eq!(recorded.status(), EventStatus::Submitted);
    is_refused(b.to_vec().map(drop));
    is_refused(b.read_range(0..1).map(drop));
    is_refused(other.barrier(std::slice::from_ref(&recorded)).map(drop).map_err(Error::from));
    let c = stage.allocate(&other, LEN);
    is_refused(c.submit_copy_from(&b));
    let graph = stage.theirs.end(stage.stream).unwrap();
    assert_eq!(graph.nodes, 1);
    // Nothing of it is under way any more. The launches are work of others.
    assert!(recorded.wait().is_err() && recorded.query().is_err() && recorded.is_complete());
    other.barrier(&[recorded]).unwrap().wait().unwrap();
    c.submit_copy_from(&b).unwrap();
    assert_eq!((stage.value(&c), stage.value(&b)), (1, 1));
    a.fill(&[6]).unwrap();
    stage.theirs.launch(graph, stage.stream).unwrap();
    assert_eq!(stage.value(&b), 6, "accesses wait for the stream of the memory's queue");
    stage.theirs.destroy(graph).unwrap();
}

/// Two queues of one capture: the second stream has joined it, and the order between the two is an edge.
#[test]
fn queues_of_one_capture_are_ordered() {
    let stage = Stage::new(true);
    let [a, b] = [0; 2].map(|_| stage.allocate(&stage.queue, LEN));
    // SAFETY: the stream lives as long as the driver.
    let second =
        unsafe { Queue::from_cuda_stream(&stage.device, stage.theirs.stream(false).unwrap()) }.unwrap();
    let c = stage.allocate(&second, LEN);
    for buffer in [&a, &b, &c] {
        buffer.fill(&[1]).unwrap();
    }
    stage.theirs.begin(stage.stream).unwrap();
    b.submit_copy_from(&a).unwrap();
    // SAFETY: the stream is live.
    let joined = unsafe { second.order_after_cuda_stream(stage.stream) };
    assert!(joined.is_err(), "this library lets no stream join");
    stage.theirs.join(stage.stream, second.native_stream().unwrap()).unwrap();
    c.submit_copy_from(&b).unwrap();
    b.submit_fill(&[8]).unwrap(); // after the copy has read
    stage.theirs.join(second.native_stream().unwrap(), stage.stream).unwrap();
    let graph = stage.theirs.end(stage.stream).unwrap();
    for value in 2..20 {
        a.fill(&[value]).unwrap();
        stage.theirs.launch(graph, stage.stream).unwrap();
        stage.theirs.wait(stage.stream).unwrap();
        assert_eq!([&b, &c].map(|buffer| stage.value(buffer)), [8, value]);
    }
    stage.theirs.destroy(graph).unwrap();
}

/// A graph keeps the slots of its operations: no other owner gets them before the graph is gone.
#[test]
fn slots_of_a_graph_are_not_reused() {
    let stage = Stage::new(false);
    let (source, target) = (stage.allocate(&stage.queue, LEN), stage.allocate(&stage.queue, LEN));
    let addresses = [source.address(), target.address()];
    source.fill(&[3]).unwrap();
    stage.theirs.begin(stage.stream).unwrap();
    target.submit_copy_from(&source).unwrap();
    let graph = stage.theirs.end(stage.stream).unwrap();
    drop((source, target));
    let others: Vec<_> = (0..50).map(|_| stage.allocate(&stage.queue, LEN)).collect();
    for other in &others {
        assert!(!addresses.contains(&other.address()));
        other.fill(&[200]).unwrap();
    }
    stage.theirs.launch(graph, stage.stream).unwrap();
    stage.theirs.wait(stage.stream).unwrap();
    assert!(others.iter().all(|other| stage.value(other) == 200));
    // The last launch may be under way when the graph goes.
    stage.driver.hold(20);
    stage.theirs.launch(graph, stage.stream).unwrap();
    stage.theirs.destroy(graph).unwrap();
    until(|| {
        let new = stage.allocate(&stage.queue, LEN);
        let is_reused = addresses.contains(&new.address());
        if !is_reused {
            std::mem::forget(new);
        }
        is_reused
    });
}

/// A capture that failed, of whatever reason, leaves nothing behind.
#[test]
fn a_capture_that_is_lost_gives_the_memory_back() {
    let stage = Stage::new(false);
    let [source, target] = [0; 2].map(|_| stage.allocate(&stage.queue, LEN));
    source.fill(&[3]).unwrap();
    target.fill(&[4]).unwrap();
    stage.theirs.begin(stage.stream).unwrap();
    target.submit_copy_from(&source).unwrap();
    assert_eq!(stage.theirs.wait(stage.stream), Err(900), "by the other library");
    stage.driver.reset();
    let refused = target.submit_copy_from(&source).unwrap_err().to_string();
    assert!(refused.contains("invalidated"), "{refused}");
    assert_eq!(stage.theirs.end(stage.stream), Err(901));
    until(|| stage.driver.live(Kind::UserObject) == 0);
    target.submit_copy_from(&source).unwrap();
    assert_eq!(stage.value(&target), 3);
    until(|| {
        usm_core::release_from_graphs();
        source.is_only_one() && target.is_only_one()
    });
}

/// The legacy default stream would wait for a stream with the implicit order.
#[test]
fn the_legacy_stream_is_refused_during_a_capture() {
    let stage = Stage::new(true);
    let blocking = stage.theirs.stream(true).unwrap();
    // SAFETY: the default stream is always live.
    let legacy = unsafe { Queue::from_cuda_stream(&stage.device, 0) }.unwrap();
    let a = stage.allocate(&legacy, LEN);
    a.fill(&[1]).unwrap();
    stage.theirs.begin(blocking).unwrap();
    let other = stage.other_queue();
    // SAFETY: the default stream is always live.
    let ordered = unsafe { other.order_after_cuda_stream(1) };
    for refused in [a.fill(&[2]), a.to_vec().map(drop), ordered.map_err(Error::from)] {
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("legacy default stream"), "{text}");
        assert!(stage.theirs.is_capturing(blocking).unwrap());
    }
    stage.theirs.destroy(stage.theirs.end(blocking).unwrap()).unwrap();
    assert_eq!(stage.value(&a), 1);
}
