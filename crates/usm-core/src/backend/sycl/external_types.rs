//! Recognition of external SYCL objects of this runtime, by comparison with objects of our own.

use std::ffi::c_void;

use super::SyclBackend;
use super::external::Probe;
use crate::backend::{Backend, ExternalObject, QueueProperties, RawHandle};
use crate::{Error, Result};

/// Virtual tables that identify a context and a queue.
#[derive(Debug)]
pub(super) struct ExternalTypes {
    context: Option<usize>,
    queue: Option<usize>,
}

impl SyclBackend {
    /// The types of external objects. They are learned once, since making a queue takes a while. A failure is not kept.
    fn types(&self, probe: &Probe) -> Result<&ExternalTypes> {
        match self.types.get() {
            Some(types) => Ok(types),
            None => {
                let learned = self.learn_types(probe)?;
                Ok(self.types.get_or_init(|| learned))
            }
        }
    }

    fn learn_types(&self, probe: &Probe) -> Result<ExternalTypes> {
        let devices = self.root_devices()?;
        let learned = devices.first().map(|&device| {
            // SAFETY: a live device of ours (S1).
            let context = unsafe { self.default_context(device) }?;
            // SAFETY: live handles of ours that belong together (S1).
            let queue = unsafe { self.create_queue(context, device, QueueProperties::IN_ORDER) };
            let types = ExternalTypes {
                context: probe.shared_ptr_type(context.as_ptr().addr()),
                queue: queue.as_ref().ok().and_then(|queue| probe.shared_ptr_type(queue.as_ptr().addr())),
            };
            if let Ok(queue) = queue {
                // SAFETY: our own handle (S1), without a later use.
                unsafe { self.release(RawHandle::Queue(queue)) };
            }
            // SAFETY: our own handle (S1), without a later use.
            unsafe { self.release(RawHandle::Context(context)) };
            Ok(types)
        });
        for device in devices {
            // SAFETY: our own handle (S1), without a later use.
            unsafe { self.release(RawHandle::Device(device)) };
        }
        learned.unwrap_or(Err(Self::failed("no device to make a queue on")))
    }

    /// Refuses a pointer that leads to no SYCL object of that kind.
    pub(super) fn check_external(&self, kind: ExternalObject, pointer: *mut c_void) -> Result<()> {
        let invalid = |reason| Err(Error::InvalidExternalHandle { what: kind.name(), reason });
        let address = pointer.addr();
        let Some(probe) = Probe::open() else {
            return invalid("cannot be checked, since /proc/self/mem is not readable here".to_owned());
        };
        if !probe.is_readable(address) {
            return invalid(format!("{address:#x} is not the address of readable, aligned memory"));
        }
        let Ok(types) = self.types(&probe) else {
            return invalid(
                "cannot be checked, since this SYCL runtime has no device to compare with".to_owned(),
            );
        };
        let expected = match kind {
            ExternalObject::Context => types.context,
            ExternalObject::Queue => types.queue,
        };
        // Without a recognised object of our own no pointer is accepted.
        if expected.is_some() && probe.shared_ptr_type(address) == expected {
            return Ok(());
        }
        invalid(format!("the memory at {address:#x} is not a SYCL {} of this runtime", kind.name()))
    }
}
