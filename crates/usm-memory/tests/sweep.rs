//! Every call of every scenario fails once: each time an error, nothing left behind, and the buffers work afterwards.
//! One test alone in its process, since the counter of live allocations is global.
#![allow(clippy::unwrap_used, clippy::panic)]

use test_stacks as _;

mod common;

use std::slice::from_ref;
use std::sync::Arc;

use usm_memory::resource::{DirectResource, StatisticsResource};
use usm_memory::usm_core::backend::Backend;
use usm_memory::usm_core::backend::host::HostBackend;
use usm_memory::usm_core::testing::{
    Answer, Call, DelayedBackend, Fault, FaultyBackend, Record, RecordingBackend, campaign,
};
use usm_memory::usm_core::{Context, Queue, QueueProperties, Runtime, UsmKind, live_allocations};
use usm_memory::{Copy2d, Result, TypedBuffer, UsmBuffer, live_borrows};

/// What scenarios work with, made before anything fails. Content is as before when a scenario has passed.
struct Stage {
    queue: Queue,
    /// In a context of its own.
    elsewhere: Queue,
    near: UsmBuffer,
    far: UsmBuffer,
    shared: UsmBuffer,
}

type Scenario = (&'static str, fn(&Stage) -> Result<()>);

const SCENARIOS: [Scenario; 15] = [
    ("allocate and free", |stage| {
        let buffers: Result<Vec<_>> =
            UsmKind::ALL.iter().map(|&kind| UsmBuffer::allocate(&stage.queue, kind, 100)).collect();
        assert_eq!(buffers?.len(), 3);
        Ok(())
    }),
    ("from a slice and back", |stage| {
        let typed = TypedBuffer::from_slice(&stage.queue, UsmKind::Device, &[1_u32, 2, 3])?;
        assert_eq!(typed.try_clone()?.to_vec()?, [1, 2, 3]);
        Ok(())
    }),
    ("host to USM and back", |stage| {
        stage.near.copy_from_host(&[1; 64], 0)?;
        let mut bytes = [0; 32];
        stage.near.copy_to_host(&mut bytes, 32)?;
        assert_eq!(bytes, [1; 32]);
        Ok(())
    }),
    ("fill", |stage| {
        stage.far.fill(&[3, 4])?;
        stage.shared.fill(&[5; 16])?;
        assert_eq!(stage.far.to_vec()?, [3, 4].repeat(32));
        Ok(())
    }),
    ("copy in one context", |stage| {
        stage.near.copy_from(&stage.shared)?;
        stage.shared.copy_from(&stage.near)
    }),
    ("copy across contexts", |stage| {
        stage.near.fill(&[6])?;
        stage.far.copy_from(&stage.near)?;
        assert_eq!(stage.far.to_vec()?, [6; 64]);
        Ok(())
    }),
    ("copy across contexts under way", |stage| {
        let there = stage.far.copy_from_async(&stage.near, &[])?;
        let back = stage.near.copy_from_async(&stage.far, there.events())?;
        there.wait()?;
        back.wait()
    }),
    ("a chain of transfers", |stage| {
        let upload = stage.near.copy_from_vec_async((0..64).collect(), 0, &[])?;
        let copy = stage.shared.copy_from_async(&stage.near, upload.events())?;
        let fill = stage.near.fill_async(&[9], copy.events())?;
        let download = stage.shared.to_vec_async(copy.events())?;
        assert_eq!(upload.wait()?, (0..64).collect::<Vec<u8>>());
        copy.wait()?;
        assert_eq!(download.wait()?, (0..64).collect::<Vec<u8>>());
        fill.wait()
    }),
    ("overlapping parts", |stage| {
        stage.near.copy_from_host(&[7; 32], 0)?;
        let (low, high) = (stage.near.sub_buffer(0, 60)?, stage.near.sub_buffer(4, 60)?);
        high.copy_from(&low)?;
        low.copy_from_async(&high, &[])?.wait()
    }),
    ("a fill by copies", |stage| {
        let elements = TypedBuffer::<[u64; 4]>::from_buffer(stage.near.clone())?;
        elements.fill([1, 2, 3, 4])?;
        elements.fill_async([5; 4], &[])?.wait()?;
        assert_eq!(elements.to_vec()?, [[5; 4]; 2]);
        Ok(())
    }),
    ("rows", |stage| {
        let rows = Copy2d { dst_pitch_bytes: 10, src_pitch_bytes: 7, ..Copy2d::packed(4, 5) };
        stage.near.copy_2d_from_host(&[1; 64], rows)?;
        stage.far.copy_2d_from(&stage.near, rows)?;
        stage.far.copy_2d_to_host(&mut [0; 64], rows)?;
        stage.near.copy_2d_from_async(&stage.shared, rows, &[])?.wait()
    }),
    ("rows of vectors", |stage| {
        let rows = Copy2d { dst_pitch_bytes: 10, src_pitch_bytes: 7, ..Copy2d::packed(4, 5) };
        let upload = stage.far.copy_2d_from_vec_async(vec![2; 64], rows, &[])?;
        let download = stage.far.copy_2d_to_vec_async(vec![0; 64], rows, upload.events())?;
        upload.wait()?;
        assert_eq!(download.wait()?[..5], [2; 5]);
        Ok(())
    }),
    ("published memory", |stage| {
        let owner = Arc::new(UsmBuffer::allocate(&stage.queue, UsmKind::Device, 64)?);
        // SAFETY: the owner's memory, which the `Arc` keeps alive; nobody else uses it.
        let borrowed =
            unsafe { UsmBuffer::borrow(&stage.queue, owner.address(), 64, true, Arc::clone(&owner) as _) }?;
        borrowed.fill(&[8])?;
        let copy = stage.far.copy_from_async(&borrowed, &[])?;
        drop((borrowed, owner));
        copy.wait()
    }),
    ("a resource with statistics", |stage| {
        // Not a pool: that one has a second way when the first fails.
        let resource = StatisticsResource::new(Arc::new(DirectResource));
        for _ in 0..2 {
            let typed = TypedBuffer::<f32>::allocate_in(&resource, &stage.elsewhere, UsmKind::Device, 9)?;
            typed.fill(1.5)?;
            assert_eq!(typed.to_vec()?, [1.5; 9]);
        }
        assert_eq!(resource.statistics().current_bytes, 0);
        Ok(())
    }),
    ("dropped right away", |stage| {
        let scratch = UsmBuffer::allocate(&stage.queue, UsmKind::Device, 64)?;
        drop(scratch.fill_async(&[1], &[])?);
        drop(stage.far.copy_from_async(&scratch, &[])?);
        drop(scratch);
        drop(stage.far.to_vec_async(&[])?);
        // A drop loses its error; a wait does not.
        stage.far.fill_async(&[1], &[])?.wait()
    }),
];

/// Blocks that were given out and did not come back.
fn outstanding(recording: &RecordingBackend) -> usize {
    let records = recording.records();
    let given = records.iter().filter(|record| matches!(record.answer, Answer::Block(Some(_)))).count();
    given - records.iter().filter(|record| matches!(record.call, Call::Free { .. })).count()
}

fn stage(backend: Arc<dyn Backend>) -> Stage {
    let device = Runtime::with_backend(backend).unwrap().default_device().unwrap();
    let create =
        |properties| Context::new(from_ref(&device)).unwrap().create_queue(&device, properties).unwrap();
    let (queue, elsewhere) = (create(QueueProperties::IN_ORDER), create(QueueProperties::OUT_OF_ORDER));
    let near = common::buffer(&queue, UsmKind::Device, &[1; 64]);
    let far = common::buffer(&elsewhere, UsmKind::Device, &[2; 64]);
    let shared = common::buffer(&queue, UsmKind::Shared, &[3; 64]);
    Stage { queue, elsewhere, near, far, shared }
}

/// Nothing is borrowed any more, and the memory can be written and read.
fn check_usable(stage: &Stage, what: &str) {
    for buffer in [&stage.near, &stage.far, &stage.shared] {
        buffer.write_range(0..64).unwrap_or_else(|error| panic!("{error}: {what}"));
        buffer.copy_from_host(&[4; 64], 0).unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [4; 64], "{what}");
    }
}

#[test]
fn every_failure_is_an_error_that_leaves_nothing_behind() {
    let host: Arc<dyn Backend> = Arc::new(HostBackend::new());
    let sycl = common::sycl_queue().map(|_| Arc::clone(Runtime::global().sycl_backend().unwrap()));
    let bases: Vec<_> = std::iter::once(host).chain(sycl).collect();
    let mut points = 0;
    for base in &bases {
        for is_delayed in [false, true] {
            let delayed = Arc::new(DelayedBackend::new(base.clone(), 5));
            let below: Arc<dyn Backend> = if is_delayed { delayed.clone() } else { base.clone() };
            let recording = Arc::new(RecordingBackend::new(below));
            let faulty = Arc::new(FaultyBackend::new(recording.clone()));
            let stage = stage(faulty.clone());
            for (name, scenario) in SCENARIOS {
                let mut failed = 0;
                for arm in [Fault::at, Fault::from] {
                    for n in 1.. {
                        assert!(n < 200, "{name} never passes");
                        recording.clear();
                        let before = (live_allocations(), live_borrows());
                        faulty.arm(arm(n));
                        let result = scenario(&stage);
                        let failures = faulty.failures();
                        faulty.disarm();
                        // What was submitted before the failure goes on, and its memory remembers it.
                        for buffer in [&stage.near, &stage.far, &stage.shared] {
                            let _ = buffer.wait();
                        }
                        let what = format!("{name}, delayed {is_delayed}, call {n} fails:\n{recording}");
                        assert_eq!((delayed.pending(), delayed.faults()), (0, Vec::new()), "{what}");
                        assert_eq!((live_allocations(), live_borrows()), before, "{what}");
                        assert_eq!(outstanding(&recording), 0, "{what}");
                        // The only error that may get lost is that of the wait in a drop.
                        let lost = name == "dropped right away" && result.is_ok();
                        // A refused alignment is asked for again with a longer block, which has none.
                        let is_longer =
                            |record: &Record| matches!(record.call, Call::Allocate { align_bytes: 0, .. });
                        let recovers = failures == 1
                            && name == "a resource with statistics"
                            && result.is_ok()
                            && recording.records().iter().any(is_longer);
                        assert!(lost || recovers || result.is_err() == (failures > 0), "{result:?} {what}");
                        check_usable(&stage, &what);
                        if failures == 0 {
                            break;
                        }
                        failed += 1;
                        scenario(&stage).unwrap_or_else(|error| panic!("{error} afterwards: {what}"));
                    }
                }
                assert!(failed >= 2, "{name} has nothing that could fail");
                points += failed;
            }
        }
    }
    let (scenarios, bases) = (SCENARIOS.len(), bases.len());
    let figure =
        format!("{scenarios} scenarios of usm-memory on {bases} backends, {points} points of failure");
    eprintln!("{figure}");
    campaign::figure(&figure).unwrap();
}
