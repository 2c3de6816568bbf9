//! Every C function that the SYCL backend calls fails at every call of a tour: no handle stays behind, none is misused.
#![cfg(feature = "sycl")]
#![allow(clippy::unwrap_used)]

use crate::bases;
use crate::common;
use crate::spirv;

use std::collections::BTreeSet;
use std::slice::from_ref;
use std::sync::Arc;

use sycl_loopback::{Form, Loopback};
use usm_core::backend::{Backend, RawHandle};
use usm_core::{
    AffinityDomain, BackendId, Context, Error, KernelBundle, NdRange, Partition, Queue, QueueProperties,
    Result, Runtime, SharedRange, UsmKind,
};

macro_rules! sources {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../src/backend/sycl/", $name, ".rs")))),+]
    };
}

/// The files of the backend, in the program: the tests of a GPU run where there is no checkout.
const SOURCES: [(&str, &str); 18] = sources!(
    "async_errors",
    "context",
    "device",
    "event",
    "external",
    "external_types",
    "facts",
    "fill",
    "idle_queues",
    "kernel",
    "mod",
    "one_frees",
    "one_waits",
    "peer",
    "platform",
    "processes",
    "submit",
    "vector",
);

#[test]
fn each_file_of_the_backend_is_known() {
    let declared: BTreeSet<_> = SOURCES
        .iter()
        .flat_map(|(_, source)| source.lines())
        .filter_map(|line| {
            let (visibility, name) = line.trim().strip_suffix(';')?.split_once("mod ")?;
            (visibility.is_empty() || visibility.starts_with("pub")).then_some(name)
        })
        .collect();
    let known: BTreeSet<_> = SOURCES.iter().map(|(name, _)| *name).filter(|name| *name != "mod").collect();
    assert_eq!(declared, known);
}

/// Names of the functions that the backend calls, without those that give something back (they have no failure) and those that
/// switch peer access (they tell none).
fn called() -> BTreeSet<String> {
    let calls = SOURCES.iter().flat_map(|(_, source)| source.split("api.").skip(1));
    let names = calls.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap());
    names
        .filter(|name| name.starts_with("DPCTL") && !name.ends_with("_Delete"))
        .filter(|name| !["free", "Free", "Close"].iter().any(|part| name.contains(part)))
        .filter(|name| !name.ends_with("ablePeerAccess"))
        .map(str::to_owned)
        .collect()
}

/// A copy of an odd length.
fn copy_in_two_parts(queue: &Queue) -> Result<()> {
    const LEN: usize = 20_001;
    let (from, to) = (queue.allocate(UsmKind::Shared, LEN)?, queue.allocate(UsmKind::Device, LEN)?);
    let (from, to) = (from.as_ptr().as_ptr(), to.as_ptr().as_ptr());
    // SAFETY: within live blocks; the loopback library ends operations at once.
    let set = unsafe { queue.memset(from, 3, LEN, &[]) }?;
    // SAFETY: as above.
    unsafe { queue.memcpy(to, from, LEN, &[set]) }?.wait()?;
    let mut last = [0; 100];
    // SAFETY: as above.
    unsafe { queue.memcpy(last.as_mut_ptr(), to.wrapping_add(LEN - 100), 100, &[]) }?.wait()?;
    assert_eq!(last, [3; 100]);
    Ok(())
}

/// Some calls, up to the first error.
type Scenario = fn(&Arc<dyn Backend>) -> Result<()>;

/// Something of all that the backend can do, up to the first error.
fn tour(backend: &Arc<dyn Backend>) -> Result<()> {
    let runtime = Runtime::with_backend(Arc::clone(backend))?;
    let device = runtime.default_device().unwrap();
    let context = Context::new(from_ref(&device))?;
    context.devices()?;
    // Refused by the loopback library, after what is needed for it was made.
    let mut devices = runtime.devices();
    devices.retain(|device| device.backend_id() == BackendId::Sycl);
    let _ = Context::new(&devices);
    let queue = context.create_queue(&device, QueueProperties::OUT_OF_ORDER.with_profiling(true))?;
    runtime.default_queue(&device)?;
    queue.to_external()?;
    context.to_external()?;
    copy_in_two_parts(&runtime.default_queue(&device)?)?;
    for kind in UsmKind::ALL {
        let a = queue.allocate(kind, 64)?;
        let b = queue.allocate_aligned(kind, 64, 128)?;
        context.pointer_device(a.address())?;
        let (start, other) = (a.as_ptr().as_ptr(), b.as_ptr().as_ptr());
        // SAFETY: within live blocks; the loopback library ends operations at once.
        let fetched = unsafe { queue.prefetch(start, 64, &[]) }?;
        // SAFETY: as above.
        let advised = unsafe { queue.mem_advise(start, 64, 0, from_ref(&fetched)) }?;
        let ordered = queue.barrier(&[fetched, advised])?;
        // Their number has no failure either: it is then 0.
        assert!([0, 2].contains(&ordered.dependencies()?.len()));
        ordered.profiling_times()?;
        for len in [1, 2, 3, 4, 8, 16] {
            // SAFETY: within live blocks; the loopback library ends operations at once.
            let filled = unsafe { queue.fill(start, &[1; 16][..len], 64 / len, &[]) }?;
            // SAFETY: as above.
            let copied = unsafe { queue.memcpy(other, start, 64, from_ref(&filled)) }?;
            // SAFETY: as above.
            unsafe { queue.memset(start, 0, 64, &[filled, copied]) }?.wait()?;
            // SAFETY: as above.
            unsafe { queue.memcpy(other, start, 64, &[]) }?.wait()?;
        }
    }
    kernels(&queue)?;
    queue.wait()
}

fn kernels(queue: &Queue) -> Result<()> {
    let (context, device) = (queue.context(), queue.device());
    let block = queue.allocate(UsmKind::Shared, 64)?;
    let arguments = [(&block).into(), 1_u32.into()];
    let from_source = KernelBundle::from_opencl_source(context, device, common::KERNELS, "")?;
    // SAFETY: valid.
    let from_spirv =
        unsafe { KernelBundle::from_spirv(context, device, &spirv::fill_module("fill_u32"), "") }?;
    for bundle in [from_source, from_spirv] {
        let kernel = bundle.kernel("fill_u32")?;
        // SAFETY: within a live block; the loopback library ends operations at once.
        let filled = unsafe { queue.submit_kernel(&kernel, &arguments, 16, &[]) }?;
        // SAFETY: as above.
        unsafe { queue.submit_kernel(&kernel, &arguments, NdRange::new(16, 4), &[filled]) }?.wait()?;
    }
    Ok(())
}

/// Platforms, sub-devices of every kind, and peers.
fn partition(backend: &Arc<dyn Backend>) -> Result<()> {
    let runtime = Runtime::with_backend(Arc::clone(backend))?;
    let device = runtime.default_device().unwrap();
    runtime.tree()?;
    device.platform()?.default_context()?;
    let mut parts = Vec::new();
    for partition in [
        Partition::Equally(40),
        Partition::ByCounts(vec![20, 10]),
        Partition::ByAffinity(AffinityDomain::NextPartitionable),
    ] {
        parts = device.create_sub_devices(&partition)?;
    }
    let queue = Context::new(&parts)?.create_queue(&parts[0], QueueProperties::IN_ORDER)?;
    let block = queue.allocate(UsmKind::Device, 64)?;
    // `None` when asking for the kind of the pointer fails.
    if let Some(found) = queue.context().pointer_device(block.address())? {
        found.default_context()?;
    }
    match parts[0].enable_peer_access(&parts[1]) {
        // Answers no when the question fails.
        Err(Error::PeerAccess { .. }) => Ok(()),
        enabled => enabled.and_then(|_| {
            let disabled = parts[0].disable_peer_access(&parts[1]);
            // A failure leaves it on, a failed comparison finds it off, and the backend keeps the pair as long as that.
            if !matches!(disabled, Ok(true)) {
                assert!(parts[0].disable_peer_access(&parts[1]).unwrap());
            }
            disabled.map(drop)
        }),
    }
}

/// The parts of a queue of our own: what importing one asks for. Handles of the loopback library cannot be imported.
fn parts(backend: &Arc<dyn Backend>) -> Result<()> {
    let release = |handle| {
        // SAFETY: each handle below is released once.
        unsafe { backend.release(handle) };
    };
    let devices = backend.root_devices()?;
    let run = |device| {
        // SAFETY: a live device.
        let context = unsafe { backend.default_context(device) }?;
        // SAFETY: live handles that belong together.
        let queue = unsafe { backend.create_queue(context, device, QueueProperties::IN_ORDER) };
        // SAFETY: a live queue.
        let parts = queue.as_ref().map(|queue| unsafe { backend.queue_parts(*queue) });
        release(RawHandle::Context(context));
        if let Ok(Ok((context, device, _))) = parts {
            release(RawHandle::Context(context));
            release(RawHandle::Device(device));
        }
        release(RawHandle::Queue(queue?));
        Ok(())
    };
    let result = devices.first().map_or(Ok(()), |device| run(*device));
    devices.into_iter().for_each(|device| release(RawHandle::Device(device)));
    result
}

/// Device memory for other processes, which another context stands for.
fn processes(backend: &Arc<dyn Backend>) -> Result<()> {
    let runtime = Runtime::with_backend(Arc::clone(backend))?;
    let device = runtime.default_device().unwrap();
    let block = runtime.default_queue(&device)?.allocate(UsmKind::Device, 64)?;
    // SAFETY: a live block, which nobody uses.
    let shared = unsafe { block.queue().share(block.kind(), block.as_ptr(), 64, SharedRange::Block) }?;
    let other = Context::new(from_ref(&device))?.create_queue(&device, QueueProperties::IN_ORDER)?;
    let opened = other.open_shared(&shared, true)?;
    // SAFETY: a live block.
    assert!(unsafe { block.queue().is_open_elsewhere(block.as_ptr()) });
    drop(opened);
    let unshare = || {
        // SAFETY: a shared block, which nobody uses.
        unsafe { block.queue().unshare(block.as_ptr()) }
    };
    // Where the parts of the queue are unknown, the block stays shared.
    assert!(unshare() || unshare());
    Ok(())
}

#[test]
fn failures_of_c_functions_leave_nothing_behind() {
    for form in Form::ALL {
        println!("{form:?}");
        sweep(form);
    }
}

fn sweep(form: Form) {
    let (loopback, backend) = bases::stand_in(|| Loopback::in_form(form));
    let backend: Arc<dyn Backend> = Arc::new(backend);
    let names = called();
    assert!(names.len() > 40 && names.contains("DPCTLQueue_GetDevice"), "{names:?}");
    let mut refused = BTreeSet::new();
    let mut scenarios: Vec<Scenario> = vec![tour, parts, partition];
    // No memory is shared on Windows.
    let has_processes = form == Form::Dpctl023 && cfg!(not(windows));
    if has_processes {
        scenarios.push(processes);
    }
    for name in names {
        // A live context always has a hash, by which the backend knows what the context has open.
        let count = if name == "DPCTLContext_Hash" { 3 } else { scenarios.len() };
        for scenario in &scenarios[..count] {
            for count in 1..20 {
                loopback.fail_next(&name, count).unwrap();
                let failed = scenario(&backend).is_err();
                let left = loopback.fail_next(&name, 0).unwrap();
                assert_eq!(loopback.leaks(), [], "call {count} of {name}");
                assert_eq!(loopback.faults(), 0, "call {count} of {name}");
                if failed {
                    refused.insert(name.clone());
                    scenario(&backend).unwrap();
                }
                if left > 0 {
                    break; // there are no more calls
                }
            }
        }
    }
    let of_processes = ["DPCTLIPCMem_GetHandle", "DPCTLIPCMem_OpenHandle", "DPCTLUSM_GetPointerType"];
    for name in of_processes.into_iter().filter(|_| has_processes) {
        assert!(refused.contains(name), "{name} failed unnoticed; noticed were {refused:?}");
    }
    for name in [
        "DPCTLDeviceVector_GetAt",
        "DPCTLContext_Create",
        "DPCTLQueue_SubmitBarrierForEvents",
        "DPCTLKernelBundle_CreateFromSpirv",
        "DPCTLKernelBundle_GetKernel",
        "DPCTLKernel_GetWorkGroupSize",
        "DPCTLQueue_SubmitNDRange",
        "DPCTLDevice_CreateSubDevicesByCounts",
        "DPCTLDevice_GetParentDevice",
        "DPCTLDevice_Copy",
        "DPCTLPlatformVector_GetAt",
    ] {
        assert!(refused.contains(name), "{name} failed unnoticed; noticed were {refused:?}");
    }
}

#[test]
fn a_device_that_cannot_be_read_is_not_left_out_in_silence() {
    for (form, count) in Form::ALL.into_iter().flat_map(|form| [(form, 1), (form, 2)]) {
        let (loopback, backend) = bases::stand_in(|| Loopback::in_form(form));
        loopback.fail_next("DPCTLDeviceVector_GetAt", count).unwrap();
        assert!(matches!(backend.root_devices(), Err(Error::Backend { call: "DeviceVector_GetAt", .. })));
        assert_eq!(loopback.leaks(), []);
    }
}
