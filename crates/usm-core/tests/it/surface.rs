//! What is too small for a test of its own: accessors, text forms, defaults, what the host backend does not have.
#![allow(clippy::unwrap_used)]

use crate::common;
use std::sync::Arc;

use usm_core::backend::host::HostBackend;
use usm_core::backend::{AffinityDomain, Backend, ExternalObject, PeerAccess};
use usm_core::{
    BackendId, BackendState, CacheType, Context, DeviceType, Error, EventStatus, FilterSelector,
    KernelArgument, KernelInfo, NdRange, PointerInfo, Queue, Range, Runtime, RuntimeOptions, UsmKind,
};

#[test]
fn names_are_those_of_the_standard_and_parse_again() {
    for kind in UsmKind::ALL {
        assert_eq!(kind.to_string().parse::<UsmKind>().unwrap(), kind);
    }
    let error = "unknown".parse::<UsmKind>().unwrap_err();
    assert!(matches!(&error, Error::UnknownKind { found } if found == "unknown"), "{error}");
    let statuses = [EventStatus::Submitted, EventStatus::Running, EventStatus::Complete, EventStatus::Failed];
    assert_eq!(statuses.map(|status| status.to_string()), ["submitted", "running", "complete", "failed"]);
    let access = [PeerAccess::AccessSupported, PeerAccess::AtomicsSupported];
    assert_eq!(access.map(|access| access.to_string()), ["access_supported", "atomics_supported"]);
    assert_eq!(AffinityDomain::Numa.to_string(), "numa");
    assert_eq!(CacheType::ReadWrite.to_string(), "read and write");
    let selector: FilterSelector = "opencl:gpu:1".parse().unwrap();
    let filter = &selector.filters()[0];
    assert_eq!(
        (filter.backend(), filter.device_type(), filter.number()),
        (Some("opencl"), Some(DeviceType::Gpu), Some(1))
    );
}

#[test]
fn handles_say_where_they_belong() {
    for queue in common::queues() {
        let (context, device) = (queue.context(), queue.device());
        let backend = queue.backend_id();
        assert!(matches!(backend, BackendId::Host | BackendId::Sycl | BackendId::Cuda));
        assert_eq!((context.backend_id(), device.backend_id()), (backend, backend));
        let platform = device.platform().unwrap();
        assert!(format!("{platform:?}").contains(&platform.info().name), "{platform:?}");
        assert!(format!("{queue:?} {context:?}").contains(&device.filter_string()));
    }
}

#[test]
fn ranges_and_arguments_show_what_they_hold() {
    let range = NdRange::new([8, 4], [2, 2]);
    assert_eq!((range.global(), range.local()), (Range::from([8, 4]), Range::from([2, 2])));
    let text = format!("{:?} {:?}", KernelArgument::from(7_i16), range);
    assert!(text.contains('7') && text.contains('8'), "{text}");
    let info = KernelInfo::new(3, 64);
    assert_eq!((info.num_args, info.work_group_size, info.max_sub_group_size), (3, 64, 0));
    assert_eq!(PointerInfo::new(UsmKind::Host, None).kind, UsmKind::Host);
}

#[test]
fn the_host_backend_has_no_external_objects() {
    let backend: Arc<dyn Backend> = Arc::new(HostBackend::default());
    for kind in [ExternalObject::Context, ExternalObject::Queue] {
        let nowhere = std::ptr::dangling_mut();
        let error = match kind {
            // SAFETY: refused without a look at the pointer.
            ExternalObject::Context => unsafe { Context::from_external(&backend, nowhere) }.unwrap_err(),
            // SAFETY: as above.
            ExternalObject::Queue => unsafe { Queue::from_external(&backend, nowhere) }.unwrap_err(),
        };
        assert!(matches!(error, Error::NoExternalHandle { what, .. } if what == kind.name()), "{error}");
    }
}

#[test]
fn options_say_where_the_runtime_is_looked_for() {
    let options =
        RuntimeOptions::default().root("/nowhere/a").extra_root("test", "/nowhere/b").autoconfig(false);
    assert_ne!(options, RuntimeOptions::new());
    let off = Runtime::new(options.host_only());
    assert!(matches!(off.status()[0].state, BackendState::Missing { .. }));
    assert_eq!(off.devices().len(), 1);
}
