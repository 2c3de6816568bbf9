//! Every call of every scenario fails once: each time an error or the right result, nothing left behind, and the arrays work afterwards.
//! One test alone in its process, since the counter of live allocations is global.
#![allow(clippy::unwrap_used, clippy::panic)]

use test_stacks as _;

use std::slice::from_ref;
use std::sync::Arc;

use usm_array::dlpack::{DlpackExport, DlpackImport};
use usm_array::usm_core::backend::Backend;
use usm_array::usm_core::backend::host::HostBackend;
use usm_array::usm_core::{
    Context, Event, Queue, QueueProperties, Runtime, RuntimeOptions, UsmKind, live_allocations,
};
use usm_array::usm_memory::live_borrows;
use usm_array::{
    ArrayOrScalar, Casting, CopyMode, CopyOrder, CreateOptions, Dtype, IndexItem, IndexMode, Order,
    PrintOptions, Result, Scalar, SliceItem, UsmArray, where_,
};
use usm_core::testing::{
    Answer, Call, DelayedBackend, Fault, FaultyBackend, Method, RecordingBackend, campaign, sycl_queue,
};

/// What scenarios work with, made before anything fails.
struct Stage {
    runtime: Runtime,
    queue: Queue,
    /// In a context of its own.
    elsewhere: Queue,
    /// 0, 1, 2, … of `int32`, 6 × 8 in device memory.
    numbers: UsmArray,
    /// The same in shared memory.
    shared: UsmArray,
    /// Device memory of 6 × 8 `int32`, which scenarios write.
    target: UsmArray,
}

type Scenario = (&'static str, fn(&Stage) -> Result<()>);

const EVERY_OTHER: SliceItem = SliceItem::Slice { start: None, stop: None, step: -2 };

fn expect<T: usm_array::Element + PartialEq + std::fmt::Debug>(
    array: &UsmArray,
    expected: &[T],
) -> Result<()> {
    assert_eq!(array.to_vec::<T>()?, expected);
    Ok(())
}

fn counting() -> Vec<i32> {
    (0..48).collect()
}

const SCENARIOS: &[Scenario] = &[
    ("empty, zeros and full", |stage| {
        let new = CreateOptions::new(&stage.queue, UsmKind::Device);
        new.empty(&[5])?;
        expect(&new.dtype(Dtype::I16).zeros(&[3])?, &[0_i16; 3])?;
        expect(&new.dtype(Dtype::U8).full(&[2, 2], Scalar::Int(7))?, &[7_u8; 4])
    }),
    ("ranges", |stage| {
        let new = CreateOptions::new(&stage.queue, UsmKind::Device).dtype(Dtype::F32);
        let line = new.linspace(Scalar::Int(0), Scalar::Int(4), 5, true)?;
        expect(&line, &[0.0_f32, 1.0, 2.0, 3.0, 4.0])?;
        expect(&new.arange(Scalar::Int(1), Scalar::Int(4), Scalar::Int(1))?, &[1.0_f32, 2.0, 3.0])?;
        expect(&new.eye(2, None, 0)?, &[1.0_f32, 0.0, 0.0, 1.0])
    }),
    ("from a slice and back", |stage| {
        let array = UsmArray::from_slice(&stage.queue, UsmKind::Device, &[2, 3], &[1_u64, 2, 3, 4, 5, 6])?;
        expect(&array.transpose(), &[1_u64, 4, 2, 5, 3, 6])
    }),
    ("copy", |stage| expect(&stage.numbers.copy()?, &counting())),
    ("copy of a transpose", |stage| {
        let copy = stage.numbers.transpose().copy()?;
        expect(&copy.transpose(), &counting())
    }),
    ("copy to another context and kind", |stage| {
        let there = stage.numbers.copy_to(&stage.elsewhere, UsmKind::Device)?;
        expect(&there.copy_to(&stage.queue, UsmKind::Host)?, &counting())
    }),
    ("assign", |stage| {
        stage.target.assign(&stage.numbers)?;
        expect(&stage.target, &counting())
    }),
    ("assign with gaps", |stage| {
        stage.target.fill(0_i32)?;
        let part = |array: &UsmArray| array.slice(&[EVERY_OTHER, EVERY_OTHER]);
        part(&stage.target)?.assign(&part(&stage.numbers)?)?;
        assert_eq!(
            stage.target.to_vec::<i32>()?.iter().sum::<i32>(),
            (1..6).step_by(2).flat_map(|i| (1..8).step_by(2).map(move |k| 8 * i + k)).sum()
        );
        Ok(())
    }),
    ("assign of a part of itself", |stage| {
        stage.target.assign(&stage.numbers)?;
        stage.target.slice((1..,))?.assign(&stage.target.slice((..-1,))?)?;
        let expected: Vec<i32> = (0..8).chain(0..40).collect();
        expect(&stage.target, &expected)
    }),
    ("assign with a cast, broadcast", |stage| {
        let target = UsmArray::zeros(&stage.queue, UsmKind::Device, &[2, 6, 8], Dtype::F64)?;
        target.assign_cast(&stage.numbers, Casting::Safe)?;
        let expected: Vec<f64> = counting().into_iter().chain(counting()).map(f64::from).collect();
        expect(&target, &expected)
    }),
    ("assign from another context", |stage| {
        let there = stage.numbers.copy_to(&stage.elsewhere, UsmKind::Device)?;
        stage.target.assign(&there)?;
        expect(&stage.target, &counting())
    }),
    ("cast", |stage| {
        let expected: Vec<f32> = counting().iter().map(|&number| number as f32).collect();
        expect(&stage.numbers.astype(Dtype::F32, CopyMode::Always)?, &expected)?;
        expect(
            &stage.shared.transpose().astype(Dtype::I64, CopyMode::Always)?.transpose(),
            &(0..48).collect::<Vec<i64>>(),
        )
    }),
    ("fill", |stage| {
        stage.target.fill(5_i32)?;
        stage.target.slice(&[EVERY_OTHER, EVERY_OTHER])?.fill(-5_i32)?;
        assert_eq!(stage.target.to_vec::<i32>()?.iter().sum::<i32>(), 5 * (48 - 24));
        Ok(())
    }),
    ("from and to host memory", |stage| {
        let bytes: Vec<u8> = (0..48_i32).flat_map(i32::to_ne_bytes).collect();
        stage.target.copy_from_host_contiguous(&bytes)?;
        assert_eq!(stage.target.to_bytes()?, bytes);
        stage.target.transpose().copy_from_slice(&counting())?;
        expect(&stage.target.transpose(), &counting())
    }),
    ("take and put", |stage| {
        let at = UsmArray::from_slice(&stage.queue, UsmKind::Device, &[2], &[3_i64, -1])?;
        let taken = stage.numbers.take(&at, Some(0), IndexMode::Raise)?;
        expect(&taken, &(24..32).chain(40..48).collect::<Vec<i32>>())?;
        stage.target.assign(&stage.numbers)?;
        stage.target.put(&at, Scalar::Int(100), IndexMode::Raise)?;
        assert_eq!(stage.target.to_vec::<i32>()?.iter().filter(|&&number| number == 100).count(), 2);
        Ok(())
    }),
    ("index by arrays and masks", |stage| {
        let rows = UsmArray::from_slice(&stage.queue, UsmKind::Device, &[2], &[0_i64, 5])?;
        let items = [IndexItem::Array(&rows), IndexItem::Basic(SliceItem::Index(1))];
        expect(&stage.numbers.get_index(&items)?, &[1_i32, 41])?;
        let is_large = stage.numbers.greater(Scalar::Int(44))?;
        expect(&stage.numbers.get_index(&[IndexItem::Array(&is_large)])?, &[45_i32, 46, 47])?;
        stage.target.assign(&stage.numbers)?;
        stage.target.set_index(&[IndexItem::Array(&is_large)], Scalar::Int(0))?;
        assert_eq!(stage.target.max_total()?, Scalar::Int(44));
        Ok(())
    }),
    ("where, nonzero, extract", |stage| {
        let is_small = stage.numbers.less(Scalar::Int(2))?;
        let chosen = where_(&is_small, &stage.numbers, Scalar::Int(9))?;
        assert_eq!(chosen.to_vec::<i32>()?[..4], [0, 1, 9, 9]);
        let found = is_small.nonzero()?;
        expect(&found[1], &[0_i64, 1])?;
        expect(&stage.numbers.extract(&is_small)?, &[0_i32, 1])
    }),
    ("reductions", |stage| {
        assert_eq!(stage.numbers.sum_total()?, Scalar::Int(47 * 24));
        assert_eq!(stage.numbers.max_total()?, Scalar::Int(47));
        assert_eq!(stage.numbers.count_nonzero_total()?, 47);
        assert!(!stage.numbers.is_all()? && stage.numbers.is_any()?);
        expect(&stage.numbers.min(Some(&[0]), false)?, &(0..8).collect::<Vec<i32>>())?;
        expect(&stage.numbers.any(Some(&[1]), false)?.astype(Dtype::U8, CopyMode::Always)?, &[1_u8; 6])
    }),
    ("comparisons", |stage| {
        assert!(stage.numbers.array_equal(&stage.shared, false)?);
        let differs = stage.numbers.not_equal(ArrayOrScalar::from(&stage.shared))?;
        assert_eq!(differs.count_nonzero_total()?, 0);
        Ok(())
    }),
    ("joined and repeated", |stage| {
        let both = UsmArray::concat(&[&stage.numbers, &stage.shared], Some(0))?;
        expect(&both, &(0..48).chain(0..48).collect::<Vec<i32>>())?;
        expect(&UsmArray::stack(&[&stage.numbers, &stage.numbers], 0)?.slice(1)?, &counting())?;
        expect(&stage.numbers.roll(&[1], None)?, &(47..48).chain(0..47).collect::<Vec<i32>>())?;
        expect(&stage.numbers.tile(&[2, 1])?.slice((6..,))?, &counting())
    }),
    ("another shape and order", |stage| {
        expect(&stage.numbers.transpose().reshape(&[-1], Order::F, CopyMode::IfNeeded)?, &counting())?;
        let expected = stage.shared.transpose().to_vec::<i32>()?;
        expect(&stage.numbers.flatten(Order::F)?, &expected)?;
        expect(&stage.numbers.clone().in_order_of(CopyOrder::F, &[])?, &counting())
    }),
    ("text", |stage| {
        let text = stage.numbers.slice((0, ..3))?.display(&PrintOptions::default())?;
        assert_eq!(text, "[0 1 2]");
        Ok(())
    }),
    ("views of host memory", |stage| {
        let typed = stage.numbers.copy_to(&stage.queue, UsmKind::Shared)?.typed::<i32>()?;
        assert_eq!(typed.view()?[[5, 7]], 47);
        typed.view_mut()?[[0, 0]] = 0;
        Ok(())
    }),
    ("exports", |stage| {
        // Work on both is under way where the backend lets it be.
        let (device, shared) = (stage.numbers.copy()?, stage.numbers.copy_to(&stage.queue, UsmKind::Shared)?);
        device.interface()?;
        let tensor = shared.to_dlpack(&DlpackExport::default())?;
        let (queue, runtime) = (Some(&stage.queue), &stage.runtime);
        let import = DlpackImport { queue, runtime, ..DlpackImport::default() };
        // SAFETY: 1. and 2. A tensor of ours, which keeps the memory; nobody writes to it.
        expect(&unsafe { UsmArray::from_dlpack(tensor, &import) }?, &counting())?;
        expect(&device, &counting())
    }),
    ("dropped right away", |stage| {
        drop(stage.numbers.copy()?.astype(Dtype::F64, CopyMode::Always)?);
        stage.target.assign(&stage.numbers.copy()?)?;
        expect(&stage.target, &counting())
    }),
];

fn stage(backend: Arc<dyn Backend>) -> Stage {
    let runtime = Runtime::with_backend(backend).unwrap();
    let device = runtime.default_device().unwrap();
    let create =
        |properties| Context::new(from_ref(&device)).unwrap().create_queue(&device, properties).unwrap();
    let (queue, elsewhere) = (create(QueueProperties::IN_ORDER), create(QueueProperties::OUT_OF_ORDER));
    let numbers = UsmArray::from_slice(&queue, UsmKind::Device, &[6, 8], &counting()).unwrap();
    let shared = UsmArray::from_slice(&queue, UsmKind::Shared, &[6, 8], &counting()).unwrap();
    let target = UsmArray::zeros(&queue, UsmKind::Device, &[6, 8], Dtype::I32).unwrap();
    Stage { runtime, queue, elsewhere, numbers, shared, target }
}

/// Blocks that were given out and did not come back.
fn outstanding(recording: &RecordingBackend) -> usize {
    let records = recording.records();
    let given = records.iter().filter(|record| matches!(record.answer, Answer::Block(Some(_)))).count();
    given - records.iter().filter(|record| matches!(record.call, Call::Free { .. })).count()
}

/// Waits for all work on the arrays, whatever becomes of it.
fn settle(stage: &Stage) {
    for array in [&stage.numbers, &stage.shared, &stage.target] {
        let _ = Event::wait_all(&array.events());
        let _ = array.wait();
    }
}

#[test]
fn every_failure_is_an_error_or_none_and_leaves_nothing_behind() {
    // What is looked up once in a process is not part of a scenario.
    let host = Runtime::new(RuntimeOptions::new().host_only());
    drop(host.default_queue(host.host_device()).unwrap());
    let mut bases: Vec<(&str, Arc<dyn Backend>)> = vec![("host", Arc::new(HostBackend::new()))];
    if sycl_queue().is_some() {
        bases.push(("SYCL", Arc::clone(Runtime::global().sycl_backend().unwrap()) as Arc<dyn Backend>));
    }
    let (mut points, mut recovered) = (0, 0);
    for (base, backend) in &bases {
        for is_delayed in [false, true] {
            let delayed = Arc::new(DelayedBackend::new(Arc::clone(backend), 5));
            let below: Arc<dyn Backend> = if is_delayed { delayed.clone() } else { Arc::clone(backend) };
            let recording = Arc::new(RecordingBackend::new(below));
            let faulty = Arc::new(FaultyBackend::new(recording.clone()));
            let stage = stage(faulty.clone());
            for (name, scenario) in SCENARIOS {
                // Kernels are built at first use, and stay.
                scenario(&stage).unwrap_or_else(|error| panic!("{name} on {base}: {error}"));
                settle(&stage);
                delayed.flush();
                let mut failed = 0;
                for arm in [Fault::at, Fault::from] {
                    for n in 1.. {
                        assert!(n < 1000, "{name} never passes");
                        recording.clear();
                        let before = (live_allocations(), live_borrows());
                        faulty.arm(arm(n));
                        let result = scenario(&stage);
                        let failures = faulty.failures();
                        faulty.disarm();
                        settle(&stage);
                        delayed.flush();
                        let what = || {
                            format!("{name} on {base}, delayed {is_delayed}, call {n} fails:\n{recording}")
                        };
                        assert_eq!((delayed.pending(), delayed.faults()), (0, Vec::new()), "{}", what());
                        assert_eq!((live_allocations(), live_borrows()), before, "{}", what());
                        assert_eq!(outstanding(&recording), 0, "{}", what());
                        match result {
                            Err(error) => {
                                assert!(failures > 0, "{error} {}", what());
                                let text = error.to_string();
                                let failed = match faulty.failed() {
                                    // Of several calls that failed, the first one.
                                    _ if failures > 1 => [" failed", "out of memory"],
                                    Some(Method::Allocate) | None => ["out of memory"; 2],
                                    Some(other) => [other.name(); 2],
                                };
                                let is_named = failed.iter().any(|failed| text.contains(failed));
                                assert!(is_named, "{text:?} does not name {failed:?}: {}", what());
                            }
                            // There is another way, and the scenario has looked at its result.
                            Ok(()) => recovered += usize::from(failures > 0),
                        }
                        if failures == 0 {
                            break;
                        }
                        (points, failed) = (points + 1, failed + 1);
                        scenario(&stage).unwrap_or_else(|error| panic!("{error} afterwards: {}", what()));
                    }
                }
                assert!(failed > 0, "{name} has nothing that could fail");
            }
        }
    }
    let figure = format!(
        "{} scenarios of arrays on {} backends, {points} points of failure, {recovered} of them with a right result",
        SCENARIOS.len(),
        bases.len()
    );
    eprintln!("{figure}");
    campaign::figure(&figure).unwrap();
}
