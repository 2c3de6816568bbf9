//! Taking external memory on trust, after asking the runtime about both of its ends.

use std::any::Any;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use usm_core::{Context, PointerInfo, Queue, UsmKind};

use super::{Block, Ownership, UsmBuffer};
use crate::snapshot::{PooledAddress, pooled_address};
use crate::{Error, Result};

impl UsmBuffer {
    /// Borrows `len_bytes` bytes of external USM at `address`, which `owner` keeps alive.
    ///
    /// The runtime must know the first and the last byte as USM of one kind in the queue's context; where it tells the bounds of
    /// the allocation, the range must lie within. A range of no bytes must still start in known memory.
    ///
    /// # Safety
    /// 1. The memory stays allocated as long as `owner` lives.
    /// 2. All bytes between the two ends belong to the allocation.
    /// 3. Nobody writes it while a guard of this buffer reads it, and nobody touches it while a guard writes it.
    ///
    /// # Errors
    /// [`Error::NotUsm`], [`Error::MixedKinds`], [`Error::BeyondAllocation`], [`Error::AddressOverflow`]. Nothing is kept then.
    pub unsafe fn borrow(
        queue: &Queue,
        address: usize,
        len_bytes: usize,
        writable: bool,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Result<Self> {
        let kind = check(queue, address, len_bytes)?;
        let start = NonNull::new(ptr::with_exposed_provenance_mut(address))
            .ok_or(Error::NotUsm { end: "first", address })?;
        // SAFETY: B4: the runtime knows both ends as memory of that kind; for what lies between, promises 1 and 2.
        let block = unsafe { Block::new(start, len_bytes, kind, queue, Ownership::Borrowed(owner)) };
        Ok(Self::over(block, writable))
    }

    /// Borrows host memory of other code as USM of that kind, without a copy, where that is possible: on the host backend, for the kinds that
    /// host code reaches, and where the memory is USM of that kind and context already. Returns the owner where it is not.
    ///
    /// ```
    /// use usm_memory::UsmBuffer;
    /// use usm_memory::usm_core::{Runtime, UsmKind};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let bytes: Box<[u8]> = Box::new([7; 64]);
    /// let address = bytes.as_ptr().addr();
    /// // SAFETY: the box keeps the bytes, and goes to the buffer.
    /// let buffer = unsafe { UsmBuffer::borrow_host_memory(&queue, UsmKind::Shared, address, 64, true, bytes) };
    /// assert_eq!(buffer.unwrap().address(), address);
    /// # Ok::<(), usm_memory::usm_core::Error>(())
    /// ```
    ///
    /// # Safety
    /// 1. The bytes are valid as long as `owner` lives, for writes too where `writable` says so.
    /// 2. As 3 of [`borrow`](Self::borrow).
    pub unsafe fn borrow_host_memory<O: Any + Send + Sync>(
        queue: &Queue,
        kind: UsmKind,
        address: usize,
        len_bytes: usize,
        writable: bool,
        owner: O,
    ) -> std::result::Result<Self, O> {
        let Some(start) = NonNull::new(ptr::with_exposed_provenance_mut(address)) else { return Err(owner) };
        // SAFETY: promise 1: the owner goes after the allocation.
        let registered = unsafe { queue.register_host_memory(kind, start, len_bytes) };
        if registered.is_none() && check(queue, address, len_bytes).ok() != Some(kind) {
            return Err(owner);
        }
        // Fields drop in their order.
        let ownership = Ownership::Borrowed(Arc::new((registered, owner)));
        // SAFETY: B4: valid memory (1), which the runtime knows as memory of that kind.
        Ok(Self::over(unsafe { Block::new(start, len_bytes, kind, queue, ownership) }, writable))
    }
}

/// What is known about an address in a context; `None` when it is not USM there, or memory that a pool holds and nobody uses. Pools
/// know the bounds of each buffer, whatever the runtime tells.
#[must_use]
pub fn pointer_info(context: &Context, address: usize) -> Option<PointerInfo> {
    let found = context.pointer_info(address)?;
    match pooled_address(address) {
        None => Some(found),
        Some(PooledAddress::Allocated(start, len_bytes)) => {
            Some(PointerInfo::new(found.kind, Some((start, len_bytes))))
        }
        Some(PooledAddress::Free) => None,
    }
}

fn check(queue: &Queue, address: usize, len_bytes: usize) -> Result<UsmKind> {
    let info = |address| pointer_info(queue.context(), address);
    let overflow = Error::AddressOverflow { address, len_bytes };
    let end =
        address.checked_add(len_bytes).filter(|_| isize::try_from(len_bytes).is_ok()).ok_or(overflow)?;

    let first = info(address).ok_or(Error::NotUsm { end: "first", address })?;
    if let Some((block_address, block_bytes)) = first.block {
        return if end - block_address <= block_bytes {
            Ok(first.kind)
        } else {
            Err(Error::BeyondAllocation { address, len_bytes, block_address, block_bytes })
        };
    }
    if len_bytes > 1 {
        let last = info(end - 1).ok_or(Error::NotUsm { end: "last", address: end - 1 })?;
        if last.kind != first.kind {
            return Err(Error::MixedKinds { address, len_bytes, first: first.kind, last: last.kind });
        }
    }
    Ok(first.kind)
}
