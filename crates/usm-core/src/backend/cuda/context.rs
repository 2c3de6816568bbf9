//! Contexts: sets of devices, and the facts about addresses in them.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use super::device::{CudaDevice, Current};
use super::driver::{
    Address, Code, MEMORYTYPE_DEVICE, MEMORYTYPE_HOST, MemoryPool, Ordinal, PointerAttribute,
};
use crate::UsmKind;

/// The primary contexts of one or several devices.
#[derive(Debug)]
pub(super) struct CudaContext {
    /// At least one.
    pub(super) devices: Vec<Arc<CudaDevice>>,
}

/// The driver's facts about an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressFacts {
    pub(super) kind: UsmKind,
    /// The device of the allocation, also of host and shared USM.
    pub(super) ordinal: Ordinal,
    /// First address and length in bytes of the allocation, if known.
    pub(super) block: Option<(usize, usize)>,
}

impl CudaContext {
    /// Lets each device reach the pools of the others: a copy goes from one to the other then, and not through the host.
    pub(super) fn over(devices: Vec<Arc<CudaDevice>>) -> Self {
        for (number, device) in devices.iter().enumerate() {
            for peer in devices.iter().skip(number + 1) {
                for (device, peer) in [(device, peer), (peer, device)] {
                    if device.can_access(peer) {
                        // Without the access copies are slower.
                        let _ = device.set_pool_access(peer, true);
                    }
                }
            }
        }
        Self { devices }
    }

    pub(super) fn device(&self, ordinal: Ordinal) -> Option<&Arc<CudaDevice>> {
        self.devices.iter().find(|device| device.ordinal == ordinal)
    }

    /// USM at an address, as far as it belongs to this context: device memory of its devices, and host and shared USM, which each
    /// device reaches.
    pub(super) fn find(&self, address: usize) -> Option<AddressFacts> {
        let current = self.devices.first()?.enter().ok()?;
        let found = current.find(address)?;
        (found.kind != UsmKind::Device || self.device(found.ordinal).is_some()).then_some(found)
    }
}

impl Current<'_> {
    /// The pool that memory is of.
    pub(super) fn pool_of(&self, address: Address) -> Option<MemoryPool> {
        let mut pool = MemoryPool::NULL;
        let (attribute, value) = (PointerAttribute::MEMPOOL_HANDLE, (&raw mut pool).cast());
        // SAFETY: DR1; one attribute and one value, of the type that the header names.
        let code =
            unsafe { (self.cuPointerGetAttributes)(1, &raw const attribute, &raw const value, address) };
        (code == Code::SUCCESS && pool != MemoryPool::NULL).then_some(pool)
    }

    /// CUDA memory of any device at an address.
    pub(super) fn find(&self, address: usize) -> Option<AddressFacts> {
        let (mut memory_type, mut is_managed, mut ordinal): (c_uint, c_uint, c_int) = (0, 0, -1);
        let (mut start, mut len_bytes) = (0_u64, 0_usize);
        let attributes = [
            PointerAttribute::MEMORY_TYPE,
            PointerAttribute::IS_MANAGED,
            PointerAttribute::DEVICE_ORDINAL,
            PointerAttribute::RANGE_START,
            PointerAttribute::RANGE_SIZE,
        ];
        let mut values = [
            (&raw mut memory_type).cast(),
            (&raw mut is_managed).cast(),
            (&raw mut ordinal).cast(),
            (&raw mut start).cast(),
            (&raw mut len_bytes).cast(),
        ];
        // SAFETY: DR1; as many attributes as values, each of the type that the header names. The driver answers for any address.
        let code = unsafe {
            (self.cuPointerGetAttributes)(5, attributes.as_ptr(), values.as_mut_ptr(), address as u64)
        };
        if code != Code::SUCCESS {
            return None;
        }
        let kind = match memory_type {
            MEMORYTYPE_DEVICE if is_managed & 0xff != 0 => UsmKind::Shared,
            MEMORYTYPE_DEVICE => UsmKind::Device,
            MEMORYTYPE_HOST => UsmKind::Host,
            _ => return None,
        };
        let block = usize::try_from(start).ok().filter(|_| len_bytes > 0).map(|start| (start, len_bytes));
        if kind == UsmKind::Host {
            let block = self.device().platform.pinned.block(address, block)?;
            return Some(AddressFacts { kind, ordinal, block });
        }
        Some(AddressFacts { kind, ordinal, block })
    }
}
