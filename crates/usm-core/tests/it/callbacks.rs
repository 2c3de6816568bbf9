//! Functions that C calls panic: the panic becomes an answer, or the end of the process.
#![allow(clippy::unwrap_used)]

use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

#[cfg(not(windows))]
use usm_core::testing::forks;
use usm_core::unwind::{contained, is_armed, panic_in};
use usm_core::{Context, Error, QueueProperties, Runtime, RuntimeOptions, UsmKind};

#[test]
fn a_panic_is_contained_once() {
    panic_in("other");
    assert_eq!(contained("name", || 1), Some(1));
    assert!(is_armed());
    panic_in("name");
    assert_eq!(contained("name", || 1), None);
    assert_eq!((contained("name", || 1), is_armed()), (Some(1), false));
}

#[test]
fn a_payload_that_panics_is_dropped_once_and_what_that_panics_with_stays() {
    struct Panics(u32, Arc<AtomicU32>);
    impl Drop for Panics {
        fn drop(&mut self) {
            self.1.fetch_add(1, Relaxed);
            panic_any(Self(self.0 + 1, Arc::clone(&self.1)));
        }
    }
    let drops = Arc::new(AtomicU32::new(0));
    let payload = Panics(0, Arc::clone(&drops));
    assert_eq!(contained("name", || panic_any(payload)), None);
    assert_eq!(drops.load(Relaxed), 1);
}

/// Each function of the table panics once in the copy that has the backend. The other copy gets an error, or what stands for nothing.
#[test]
fn functions_for_other_copies_answer_after_a_panic() {
    let own = Runtime::new(RuntimeOptions::new().host_only());
    let table = Box::leak(Box::new(own.host_table().unwrap()));
    let options = || RuntimeOptions::new().host_only();
    // SAFETY: a table of this library, which stays.
    let other = || unsafe { Runtime::with_host_table(options(), table) };
    let runtime = other().unwrap();
    let device = runtime.host_device().clone();
    let context = Context::new(std::slice::from_ref(&device)).unwrap();
    let queue = context.create_queue(&device, QueueProperties::IN_ORDER).unwrap();
    let block = queue.allocate(UsmKind::Device, 64).unwrap();
    let start = block.as_ptr().as_ptr();
    let defect = |name, call: &dyn Fn() -> usm_core::Result<()>| {
        panic_in(name);
        let error = call().unwrap_err();
        assert!(!is_armed(), "{name} was not called");
        assert!(
            matches!(&error, Error::OfOtherCopy { text } if text == "a defect in usm"),
            "{name}: {error}"
        );
        call().unwrap();
    };
    defect("create_context", &|| Context::new(std::slice::from_ref(&device)).map(drop));
    defect("create_queue", &|| context.create_queue(&device, QueueProperties::IN_ORDER).map(drop));
    defect("context_devices", &|| context.devices().map(drop));
    defect("pointer_device", &|| context.pointer_device(block.address()).map(drop));
    defect("device_platform", &|| device.platform().map(drop));
    defect("platforms", &|| runtime.platforms().map(drop));
    defect("platform_devices", &|| device.platform()?.devices().map(drop));
    defect("finish", &|| queue.barrier(&[]).map(drop));
    // SAFETY: within the block; complete when the call returns.
    defect("fill_all", &|| unsafe { queue.fill(start, &[1], 64, &[]) }.map(drop));
    // SAFETY: as above, to another half.
    defect("copy", &|| unsafe { queue.memcpy(start, start.wrapping_add(32), 32, &[]) }.map(drop));

    let own_queue = own.default_queue(own.host_device()).unwrap();
    for name in ["root_devices", "device_facts", "platform_type", "default_context", "queue_parts"] {
        panic_in(name);
        // Whatever it makes of the answer.
        let _ = other().and_then(|runtime| {
            let device = runtime.host_device();
            assert!(!format!("{:?}", device.info()).is_empty());
            runtime.default_queue(device)?.barrier(&[])?;
            runtime.platforms()?.iter().for_each(|platform| drop(platform.info().name.clone()));
            let pointer = own.host_queue_pointer(&own_queue).unwrap();
            runtime.host_queue(pointer)
        });
        assert!(!is_armed(), "{name} was not called");
    }
    panic_in("allocate");
    assert!(matches!(queue.allocate(UsmKind::Device, 64), Err(Error::OutOfMemory { .. })));
    panic_in("pointer_info");
    assert_eq!(context.pointer_info(block.address()), None);
    assert!(context.pointer_info(block.address()).is_some() && !is_armed());
    panic_in("context_id");
    assert_eq!((context.id(), is_armed()), (0, false));
    panic_in("free of a vector");
    assert_eq!((context.devices().unwrap(), is_armed()), (vec![device.clone()], false));
    // What is not freed or released stays.
    for name in ["free", "release"] {
        let context = Context::new(std::slice::from_ref(&device)).unwrap();
        let queue = context.create_queue(&device, QueueProperties::IN_ORDER).unwrap();
        let block = queue.allocate(UsmKind::Shared, 64).unwrap();
        panic_in(name);
        drop(block);
        drop((queue, context));
        assert!(!is_armed(), "{name}");
    }
}

/// A fork goes on with half of what its hooks prepare, or not at all: a panic in a hook ends the process.
#[test]
#[cfg(not(windows))]
#[cfg_attr(miri, ignore = "it has no forks")]
fn a_panic_in_a_hook_of_forks_ends_the_process() {
    let child = || {
        let hooks = usm_core::fork::ForkHooks { before: || unreachable!(), after: || {}, in_child: || {} };
        let is_first = usm_core::fork::set_fork_hooks(hooks);
        is_first && forks::one(&|| true).is_ok()
    };
    // With or without a core file.
    let ends = [libc::SIGABRT, libc::SIGABRT | 0x80].map(|status| format!("failed with status {status:#x}"));
    assert!(ends.contains(&forks::one(&child).unwrap_err()));
}
