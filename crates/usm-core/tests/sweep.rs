//! Every call of every scenario fails once: each time an error, nothing left behind, and the objects work afterwards.
//! One test alone in its process, since the counter of live allocations is global.
#![allow(clippy::unwrap_used, clippy::panic)]

use test_stacks as _;

mod bases;
mod common;

use std::slice::from_ref;
use std::sync::Arc;

use usm_core::backend::Backend;
use usm_core::testing::{
    Answer, Call, DelayedBackend, Fault, FaultyBackend, Method, Record, RecordingBackend, campaign,
};
use usm_core::{
    Context, Device, Error, Event, HostTask, KernelArgument, KernelBundle, NdRange, Partition, Queue,
    QueueProperties, Result, Runtime, TaskMemory, UsmKind,
};

/// What scenarios work with, made before anything fails.
struct Stage {
    backend: Arc<dyn Backend>,
    device: Device,
    context: Context,
    queue: Queue,
    out_of_order: Queue,
}

/// Events that are waited for before the memory declared before them goes.
#[derive(Default)]
struct Pending(Vec<Event>);

impl Pending {
    fn add(&mut self, event: Event) -> Event {
        self.0.push(event.clone());
        event
    }

    fn wait(&mut self) -> Result<()> {
        // All of them, also after an error.
        let ends: Vec<_> = self.0.drain(..).map(|event| event.wait()).collect();
        ends.into_iter().collect()
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let _ = self.wait();
    }
}

type Scenario = (&'static str, fn(&Stage) -> Result<()>);

const SCENARIOS: &[Scenario] = &[
    ("platforms and their devices", platforms),
    ("sub-devices, and memory on one of them", sub_devices),
    ("allocate each kind", |stage| {
        let blocks: Result<Vec<_>> =
            UsmKind::ALL.iter().map(|&kind| stage.queue.allocate(kind, 100)).collect();
        assert_eq!(blocks?.len(), 3);
        Ok(())
    }),
    ("allocate aligned", |stage| {
        for kind in UsmKind::ALL {
            // All runtimes have memory of this alignment; where there is none, a second call allocates a longer block.
            assert!(stage.queue.allocate_aligned(kind, 100, 64)?.address().is_multiple_of(64));
        }
        Ok(())
    }),
    ("memcpy with dependencies", |stage| {
        let queue = &stage.out_of_order;
        let (a, b) = (queue.allocate(UsmKind::Device, 64)?, queue.allocate(UsmKind::Shared, 64)?);
        let (a, b) = (a.as_ptr().as_ptr(), b.as_ptr().as_ptr());
        let mut bytes = [0; 64];
        // A temporary above would have gone with its name: these keep the blocks.
        let mut pending = Pending::default();
        // SAFETY: within the blocks, ordered by events, waited for before they go.
        let set = pending.add(unsafe { queue.memset(a, 9, 64, &[]) }?);
        // SAFETY: as above.
        let copied = pending.add(unsafe { queue.memcpy(b, a, 64, from_ref(&set)) }?);
        // SAFETY: as above.
        pending.add(unsafe { queue.memcpy(bytes.as_mut_ptr(), b, 64, &[set, copied]) }?);
        pending.wait()?;
        assert_eq!(bytes, [9; 64]);
        Ok(())
    }),
    ("fill", |stage| {
        let block = stage.out_of_order.allocate(UsmKind::Device, 64)?;
        let mut pending = Pending::default();
        let mut after = Vec::new();
        for len in [1, 2, 4, 8, 16] {
            // SAFETY: within the block, in order, waited for before it goes.
            let filled = unsafe {
                stage.out_of_order.fill(block.as_ptr().as_ptr(), &[3; 16][..len], 64 / len, &after)
            }?;
            after = vec![pending.add(filled)];
        }
        pending.wait()
    }),
    ("memset", |stage| {
        let block = stage.queue.allocate(UsmKind::Shared, 64)?;
        let mut pending = Pending::default();
        // SAFETY: within the block, waited for before it goes.
        pending.add(unsafe { stage.queue.memset(block.as_ptr().as_ptr(), 1, 64, &[]) }?);
        pending.wait()
    }),
    ("fill with an odd pattern", |stage| {
        let block = stage.out_of_order.allocate(UsmKind::Device, 66)?;
        let mut pending = Pending::default();
        // SAFETY: within the block, waited for before it goes.
        pending.add(unsafe { stage.out_of_order.fill(block.as_ptr().as_ptr(), &[1, 2, 3], 22, &[]) }?);
        pending.wait()
    }),
    ("prefetch, mem_advise, barriers", |stage| {
        let queue = &stage.out_of_order;
        let block = queue.allocate(UsmKind::Shared, 64)?;
        let mut pending = Pending::default();
        // SAFETY: within the block, waited for before it goes.
        let first = pending.add(unsafe { queue.prefetch(block.as_ptr().as_ptr(), 64, &[]) }?);
        let second = pending.add(queue.barrier(from_ref(&first))?);
        // SAFETY: as above.
        pending.add(unsafe { queue.mem_advise(block.as_ptr().as_ptr(), 64, 0, &[first, second]) }?);
        pending.add(queue.barrier(&[])?);
        pending.wait()
    }),
    ("times and dependencies of events", |stage| {
        let profiling = QueueProperties::OUT_OF_ORDER.with_profiling(true);
        let queue = stage.context.create_queue(&stage.device, profiling)?;
        let mut pending = Pending::default();
        let first = pending.add(queue.barrier(&[])?);
        let second = pending.add(queue.barrier(from_ref(&first))?);
        second.dependencies()?;
        let (first, second) = (first.profiling_times()?, second.profiling_times()?);
        assert!(first.end_ns <= second.end_ns);
        pending.wait()
    }),
    ("host task", |stage| {
        let queue = &stage.out_of_order;
        let block = queue.allocate(UsmKind::Device, 64)?;
        if !queue.runs_host_tasks() {
            return Ok(());
        }
        let memory = TaskMemory { start: block.as_ptr().as_ptr(), len_bytes: 64 };
        let task = HostTask::new(|addresses| {
            // SAFETY: the block's length.
            unsafe { addresses[0].write_bytes(7, 64) };
            Ok(())
        });
        let mut bytes = [0; 64];
        let mut pending = Pending::default();
        // SAFETY: within the block, waited for before it goes.
        let written = pending.add(unsafe { queue.host_task(&[memory], task, &[]) }?);
        // SAFETY: as above.
        pending.add(unsafe { queue.memcpy(bytes.as_mut_ptr(), memory.start, 64, &[written]) }?);
        pending.wait()?;
        assert_eq!(bytes, [7; 64]);
        Ok(())
    }),
    ("new context", |stage| {
        let context = Context::new(from_ref(&stage.device))?;
        assert_ne!(context, stage.context);
        Ok(())
    }),
    ("context's devices", |stage| {
        assert_eq!(stage.context.devices()?, from_ref(&stage.device));
        Ok(())
    }),
    ("new queue", |stage| {
        let queue = stage.context.create_queue(&stage.device, QueueProperties::OUT_OF_ORDER)?;
        assert_eq!(queue.context(), &stage.context);
        Ok(())
    }),
    ("a queue in a context of its own", |stage| {
        let context = Context::new(from_ref(&stage.device))?;
        let queue = context.create_queue(&stage.device, QueueProperties::IN_ORDER)?;
        let block = queue.allocate(UsmKind::Host, 32)?;
        assert_eq!(block.context(), &context);
        Ok(())
    }),
    ("pointer device", |stage| {
        let block = stage.queue.allocate(UsmKind::Device, 64)?;
        assert_eq!(stage.context.pointer_device(block.address())?.as_ref(), Some(&stage.device));
        Ok(())
    }),
    ("barrier and wait", |stage| {
        stage.out_of_order.wait()?;
        stage.queue.wait()
    }),
    ("default context", |stage| {
        assert_eq!(stage.device.default_context()?, stage.context);
        Ok(())
    }),
    ("default queue of a new runtime", |stage| {
        let runtime = Runtime::with_backend(Arc::clone(&stage.backend))?;
        let queue = runtime.default_queue(&runtime.default_device().unwrap())?;
        assert_eq!(
            queue,
            runtime.default_queue(&runtime.default_device().unwrap())?,
            "the same at each call"
        );
        Ok(())
    }),
    ("queue in another context", |stage| {
        let runtime = Runtime::with_backend(Arc::clone(&stage.backend))?;
        let context = Context::new(from_ref(&stage.device))?;
        assert_eq!(runtime.queue_in(&context, &stage.device)?.context(), &context);
        Ok(())
    }),
    ("kernels from source", |stage| {
        let queue = &stage.out_of_order;
        let bundle =
            match KernelBundle::from_opencl_source(&stage.context, &stage.device, common::KERNELS, "") {
                // The host backend has none, at any call.
                Err(Error::NotSupported { .. }) => return Ok(()),
                bundle => bundle?,
            };
        let (fill, sum) = (bundle.kernel("fill_u32")?, bundle.kernel("sum_u32")?);
        drop(bundle);
        let (a, b) = (queue.allocate(UsmKind::Device, 64)?, queue.allocate(UsmKind::Shared, 16)?);
        let mut pending = Pending::default();
        // SAFETY: within the blocks, ordered by events, waited for before they go.
        let filled =
            pending.add(unsafe { queue.submit_kernel(&fill, &[(&a).into(), 3_u32.into()], 16, &[]) }?);
        let arguments = [(&b).into(), (&a).into(), KernelArgument::local_memory(16)];
        // SAFETY: as above.
        pending.add(unsafe { queue.submit_kernel(&sum, &arguments, NdRange::new(16, 4), &[filled]) }?);
        drop((fill, sum));
        pending.wait()?;
        // SAFETY: shared memory, in which four sums of four were just written.
        let sums = unsafe { std::slice::from_raw_parts(b.as_ptr().cast::<u32>().as_ptr(), 4) };
        assert_eq!(sums, [12; 4]);
        Ok(())
    }),
    ("queue and context for others, and the parts of a queue of others", |stage| {
        let queue = match stage.queue.to_external() {
            // The host backend has nothing to hand out, at any call.
            Err(Error::NoExternalHandle { .. }) => return Ok(()),
            queue => queue?,
        };
        let context = stage.context.to_external()?;
        // SAFETY: a live heap queue; one of the loopback library is no address, which the call detects.
        match unsafe { Queue::from_external(&stage.backend, queue.as_ptr().as_ptr()) } {
            Err(Error::InvalidExternalHandle { .. }) => Ok(()),
            imported => {
                assert_eq!(imported?, stage.queue);
                // SAFETY: a live heap context.
                let imported = unsafe { Context::from_external(&stage.backend, context.as_ptr().as_ptr()) }?;
                assert_eq!(imported, stage.context);
                Ok(())
            }
        }
    }),
];

fn platforms(stage: &Stage) -> Result<()> {
    let runtime = Runtime::with_backend(stage.backend.clone())?;
    let platform = stage.device.platform()?;
    let all = runtime.platforms()?;
    assert!(all.contains(&platform) && platform.devices()?.contains(&stage.device));
    assert_eq!(platform.default_context()?, stage.device.default_context()?);
    assert!(runtime.tree()?.to_string().contains(&stage.device.filter_string()));
    Ok(())
}

fn sub_devices(stage: &Stage) -> Result<()> {
    let root = &stage.device;
    let parts = root.create_sub_devices(&Partition::ByCounts(vec![1, 1]))?;
    let context = Context::new(&parts)?;
    let queue = context.create_queue(&parts[1], QueueProperties::IN_ORDER)?;
    let block = queue.allocate(UsmKind::Device, 64)?;
    let found = context.pointer_device(block.address())?.unwrap();
    // Not the value that was made by partitioning: this one has to ask.
    assert!(found.parent()?.as_ref() == Some(root) && parts.contains(&found));
    assert_eq!(parts[0].default_context()?, parts[0].default_context()?);
    assert_eq!(parts[0].platform()?, root.platform()?);
    let mut pending = Pending::default();
    // SAFETY: within the block, waited for before it goes.
    pending.add(unsafe { queue.memset(block.as_ptr().as_ptr(), 1, 64, &[]) }?);
    pending.wait()
}

/// References to handles, blocks and external objects that were given out and did not come back.
fn outstanding(records: &[Record]) -> [isize; 3] {
    let mut counts = [0; 3];
    for record in records {
        match &record.answer {
            Answer::Handle(_) | Answer::Kernel(Some(_)) => counts[0] += 1,
            Answer::Devices(devices) => counts[0] += isize::try_from(devices.len()).unwrap(),
            Answer::Events(events) => counts[0] += isize::try_from(events.len()).unwrap(),
            Answer::Platforms(platforms) => counts[0] += isize::try_from(platforms.len()).unwrap(),
            Answer::Parts(..) => counts[0] += 2,
            Answer::Block(Some(_)) => counts[1] += 1,
            Answer::External(_) => counts[2] += 1,
            _ => {}
        }
        match record.call {
            Call::Release { .. } => counts[0] -= 1,
            Call::Free { .. } => counts[1] -= 1,
            Call::DeleteExternal { .. } => counts[2] -= 1,
            _ => {}
        }
    }
    counts
}

/// A queue out of order keeps the events of its operations until a barrier, which this is.
fn settle(stage: &Stage) {
    stage.out_of_order.wait().unwrap();
}

#[test]
fn every_failure_is_an_error_that_leaves_nothing_behind() {
    let (mut points, mut num_bases) = (0, 0);
    let both = |is_delayed| bases::all().into_iter().map(move |base| (base, is_delayed));
    for (base, is_delayed) in both(false).chain(both(true)) {
        let delayed = Arc::new(DelayedBackend::new(base.backend.clone(), 4));
        let below: Arc<dyn Backend> = if is_delayed { delayed.clone() } else { base.backend.clone() };
        let recording = Arc::new(RecordingBackend::new(below));
        let faulty = Arc::new(FaultyBackend::new(recording.clone()));
        let device = Runtime::with_backend(faulty.clone()).unwrap().default_device().unwrap();
        let context = device.default_context().unwrap();
        let create = |properties| context.create_queue(&device, properties).unwrap();
        let stage = Stage {
            backend: faulty.clone(),
            queue: create(QueueProperties::IN_ORDER),
            out_of_order: create(QueueProperties::OUT_OF_ORDER),
            device: device.clone(),
            context: context.clone(),
        };
        for (name, scenario) in SCENARIOS {
            if name.starts_with("sub-devices") && device.info().max_sub_devices == 0 {
                continue;
            }
            let mut failed = Vec::new();
            let once: fn(usize) -> Fault = Fault::at;
            for (arm, is_once) in [(once, true), (Fault::from, false)] {
                // A runtime that refuses an alignment is asked for a longer block.
                let recovers = is_once && *name == "allocate aligned";
                for n in 1.. {
                    assert!(n < 100, "{name} never passes");
                    settle(&stage);
                    recording.clear();
                    let (live, alive) = (usm_core::live_allocations(), base.alive());
                    faulty.arm(arm(n));
                    let result = scenario(&stage);
                    let failures = faulty.failures();
                    faulty.disarm();
                    settle(&stage);
                    delayed.flush();
                    let late = if is_delayed { "delayed " } else { "" };
                    let what = format!("{name} over {late}{}, call {n} fails:\n{recording}", base.name);
                    assert_eq!(delayed.faults(), [], "{what}");
                    // A backend that gave memory back is asked again.
                    let may_recover =
                        is_once && faulty.failed() == Some(Method::Allocate) && base.name == "cuda";
                    let fails = failures > 0 && !recovers;
                    assert!(may_recover || result.is_err() == fails, "{result:?} {what}");
                    assert_eq!(usm_core::live_allocations(), live, "{what}");
                    assert_eq!(outstanding(&recording.records()), [0; 3], "{what}");
                    assert_eq!(base.alive(), alive, "{what}");
                    assert_eq!(base.misuses(), 0, "{what}");
                    if failures == 0 {
                        break;
                    }
                    failed.push(n);
                    scenario(&stage).unwrap_or_else(|error| panic!("{error} afterwards: {what}"));
                    delayed.flush();
                }
            }
            assert!(failed.contains(&1), "{name} has nothing that could fail");
            points += failed.len();
        }
        assert!(faulty.calls_of(Method::ExportExternal) > 0, "the last scenario");
        num_bases += usize::from(!is_delayed);
    }
    let scenarios = SCENARIOS.len();
    let figure =
        format!("{scenarios} scenarios of usm-core on {num_bases} backends, {points} points of failure");
    eprintln!("{figure}");
    campaign::figure(&figure).unwrap();
}
