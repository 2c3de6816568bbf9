//! Memory of several processes: pages of CPUs, whose runtime allocates in this process, and device memory of other devices.
//!
//! Device memory crosses as bytes of the runtime, which stand for one address. The runtime does not tell a process who has its memory
//! open, so the ranges have [leases](Leases), a table for each context. The bytes keep nothing: the process must keep the memory.

use std::collections::HashMap;
use std::ffi::c_int;
use std::fs;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::{MutexGuard, PoisonError};

use sycl_sys::{Api, DPCTLSyclContextRef, DPCTLSyclDeviceRef, DPCTLSyclUSMType};

use super::{SyclBackend, context, device, facts, queue};
use crate::backend::leases::{BlockMapper, Exported, Leases};
use crate::backend::{Backend, RawContext, RawDevice, RawHandle, RawQueue, SharedMemory};
use crate::{Error, Result, UsmKind};

/// What tells the data of this backend from others.
const TAG: &[u8; 8] = b"sycl ipc";
/// What `DPCTLIPCMem_GetHandle` returns when it has a handle.
const SUCCESS: c_int = 0;
/// Who may trace whom on this system: 0 is each process of a user all others.
const PTRACE_SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// The ranges that contexts share and have open, by the number of the context.
pub(super) type ContextLeases = HashMap<u64, Leases<DeviceHandle>>;

/// What the runtime finds the memory at an address by, on a device of a context.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct DeviceHandle {
    /// The hash of the device.
    device: u64,
    bytes: Vec<u8>,
}

/// The runtime, for memory of other processes in a context.
struct SyclMapper<'a> {
    api: &'a Api,
    /// Invariant SB1: both are live; the device may be null where nothing is mapped.
    context: DPCTLSyclContextRef,
    device: DPCTLSyclDeviceRef,
}

/// The context and the device of a queue, with references of their own.
pub(super) struct OwnedParts<'a> {
    backend: &'a SyclBackend,
    /// Invariant QP1: both are live until this is dropped.
    pub(super) context: RawContext,
    device: RawDevice,
}

impl Drop for OwnedParts<'_> {
    fn drop(&mut self) {
        for handle in [RawHandle::Context(self.context), RawHandle::Device(self.device)] {
            // SAFETY: QP1: our own handle, without a later use.
            unsafe { self.backend.release(handle) };
        }
    }
}

fn not_shareable<T>(reason: &str) -> Result<T> {
    let reason = format!("{reason}; usm.tensor.asnumpy(array), or a pickle, is a copy that works");
    Err(Error::NotShareable { reason })
}

impl SyclBackend {
    /// Whether USM of a queue lies in pages of this process, on which the runtime keeps nothing of its own.
    ///
    /// # Safety
    /// 1. `queue` is live.
    pub(super) unsafe fn has_pages(api: &Api, raw: RawQueue) -> bool {
        // SAFETY: the queue is live (promise 1).
        let device = unsafe { (api.DPCTLQueue_GetDevice)(queue(raw)) };
        if device.is_null() {
            return false;
        }
        // SAFETY: a live device, of which we have a copy of our own (I1).
        let is_in_process = unsafe { facts::is_in_process(api, device) };
        // SAFETY: I1: our own copy, used no more, for which the call does not throw.
        unsafe { (api.DPCTLDevice_Delete)(device) };
        is_in_process
    }

    /// The error for pages of another process on a device that does not reach them.
    pub(super) fn not_of_device<T>() -> Result<T> {
        not_shareable("it is memory of a host or of a CPU, and the queue is of another device")
    }

    /// # Safety
    /// 1. `queue` is live.
    pub(super) unsafe fn parts(&self, raw: RawQueue) -> Result<OwnedParts<'_>> {
        // SAFETY: the queue is live (promise 1).
        let (context, device, _) = unsafe { self.queue_parts(raw) }?;
        Ok(OwnedParts { backend: self, context, device })
    }

    /// What contexts share and have open. Callers have entered the runtime before, so that no forked child waits here.
    fn leases(&self) -> MutexGuard<'_, ContextLeases> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The memory of a range in the form in which others open it.
    ///
    /// # Safety
    /// 1. `queue` is live, and `start` is in a live block of its context, of that kind.
    pub(super) unsafe fn share_on_device(
        &self,
        raw: RawQueue,
        kind: UsmKind,
        start: NonNull<u8>,
        len_bytes: usize,
    ) -> Result<SharedMemory> {
        let api = self.runtime.enter()?;
        // SAFETY: the queue is live (promise 1).
        let parts = unsafe { self.parts(raw) }?;
        // SAFETY: QP1.
        unsafe { check_sharing(&api, parts.device, kind) }?;
        // SAFETY: QP1.
        let number = unsafe { self.context_id(parts.context) };
        let mut all = self.leases();
        let shared = all.entry(number).or_default().share(kind, start.addr().get(), len_bytes, || {
            // SAFETY: QP1, and promise 1.
            let bytes = unsafe { handle_of(&api, context(parts.context), start) }?;
            Ok(Exported { data: [TAG, &bytes[..]].concat(), files: Vec::new(), is_kept_by_files: false })
        });
        forget_empty(&mut all, number);
        shared
    }

    /// A range of memory of another process.
    ///
    /// # Safety
    /// 1. `queue` is live.
    pub(super) unsafe fn open_on_device(&self, raw: RawQueue, memory: &SharedMemory) -> Result<NonNull<u8>> {
        let Some(bytes) = memory.data.strip_prefix(TAG) else {
            return not_shareable("it is not memory of a device of SYCL");
        };
        let api = self.runtime.enter()?;
        // SAFETY: the queue is live (promise 1).
        let parts = unsafe { self.parts(raw) }?;
        // SAFETY: QP1.
        unsafe { check_sharing(&api, parts.device, memory.kind) }?;
        // SAFETY: QP1.
        let number = unsafe { self.context_id(parts.context) };
        // SAFETY: QP1.
        let on_device = unsafe { self.hash(RawHandle::Device(parts.device)) };
        let handle = DeviceHandle { device: on_device, bytes: bytes.to_vec() };
        let mut mapper =
            SyclMapper { api: &api, context: context(parts.context), device: device(parts.device) };
        let memory = SharedMemory { is_kept_by_files: false, ..memory.clone() };
        let mut all = self.leases();
        let opened = all.entry(number).or_default().open(&mut mapper, handle, 0, memory);
        forget_empty(&mut all, number);
        opened
    }

    /// Closes what [`open_on_device`](Self::open_on_device) opened. False for other memory, which is about to be freed.
    ///
    /// # Safety
    /// 1. `context` is live, and no operation uses the memory through this opening.
    pub(super) unsafe fn close_on_device(&self, api: &Api, raw: RawContext, block: NonNull<u8>) -> bool {
        let mut all = self.leases();
        if all.is_empty() {
            return false;
        }
        // SAFETY: the context is live (promise 1).
        let number = unsafe { self.context_id(raw) };
        let Some(leases) = all.get_mut(&number) else { return false };
        let mut mapper = SyclMapper { api, context: context(raw), device: ptr::null_mut() };
        // SAFETY: the caller's promise 1.
        let is_closed = unsafe { leases.close(&mut mapper, block.addr().get()) };
        forget_empty(&mut all, number);
        is_closed
    }

    /// Ends a [`share_on_device`](Self::share_on_device). False as long as others have the range open.
    ///
    /// # Safety
    /// 1. `queue` is live.
    pub(super) unsafe fn unshare_on_device(&self, raw: RawQueue, start: NonNull<u8>) -> bool {
        // SAFETY: the queue is live (promise 1).
        let ended = unsafe { self.with_leases(raw, |leases| leases.unshare(start.addr().get())) };
        ended.is_ok_and(|ended| ended.unwrap_or(true))
    }

    /// Whether others have a range open that this process shares.
    ///
    /// # Safety
    /// 1. `queue` is live.
    pub(super) unsafe fn is_leased(&self, raw: RawQueue, start: NonNull<u8>) -> bool {
        // SAFETY: the queue is live (promise 1).
        let held = unsafe { self.with_leases(raw, |leases| leases.is_open_elsewhere(start.addr().get())) };
        // Memory of which nothing is known stays.
        !held.is_ok_and(|held| !held.unwrap_or(false))
    }

    /// `None` where the context of the queue shares nothing, and in a forked child.
    ///
    /// # Safety
    /// 1. `queue` is live.
    unsafe fn with_leases<T>(
        &self,
        raw: RawQueue,
        job: impl FnOnce(&mut Leases<DeviceHandle>) -> T,
    ) -> Result<Option<T>> {
        let Ok(_api) = self.runtime.enter() else { return Ok(None) };
        if self.leases().is_empty() {
            return Ok(None);
        }
        // SAFETY: the queue is live (promise 1).
        let parts = unsafe { self.parts(raw) }?;
        // SAFETY: QP1.
        let number = unsafe { self.context_id(parts.context) };
        let mut all = self.leases();
        let result = all.get_mut(&number).map(job);
        forget_empty(&mut all, number);
        Ok(result)
    }
}

fn forget_empty(all: &mut ContextLeases, number: u64) {
    if all.get(&number).is_some_and(Leases::is_empty) {
        all.remove(&number);
    }
}

/// An error where the runtime has no form for memory of a kind on a device.
///
/// # Safety
/// 1. The device is live.
unsafe fn check_sharing(api: &Api, on: RawDevice, kind: UsmKind) -> Result<()> {
    if kind != UsmKind::Device {
        return not_shareable(
            "a SYCL runtime shares device memory alone, not host and shared memory of GPUs",
        );
    }
    let functions = [
        api.DPCTLIPCMem_GetHandle.is_some(),
        api.DPCTLIPCMem_FreeHandleData.is_some(),
        api.DPCTLIPCMem_OpenHandle.is_some(),
        api.DPCTLIPCMem_CloseHandle.is_some(),
        // SAFETY: takes nothing (S1).
        api.DPCTLIPCMem_Available.is_some_and(|is_available| unsafe { is_available() }),
    ];
    if functions.contains(&false) {
        return not_shareable("this SYCL runtime has no functions for it, which builds of dpctl 0.23 have");
    }
    // SAFETY: the caller's promise 1.
    if !unsafe { facts::has_ipc_memory(api, device(on)) } {
        return not_shareable("its device does not have the aspect ext_oneapi_ipc_memory");
    }
    Ok(())
}

/// What another process opens the memory at an address by.
///
/// # Safety
/// 1. The context is live, and `start` is device USM of it.
unsafe fn handle_of(api: &Api, in_context: DPCTLSyclContextRef, start: NonNull<u8>) -> Result<Vec<u8>> {
    let (Some(get), Some(free)) = (api.DPCTLIPCMem_GetHandle, api.DPCTLIPCMem_FreeHandleData) else {
        return not_shareable("this SYCL runtime has no functions for it");
    };
    let (mut data, mut count_bytes) = (ptr::null_mut(), 0);
    // SAFETY: the caller's promise 1; both pointers are writable.
    let code = unsafe { get(start.as_ptr().cast(), in_context, &raw mut data, &raw mut count_bytes) };
    if code != SUCCESS || data.is_null() {
        return not_shareable("the SYCL runtime has no handle for it");
    }
    // SAFETY: an array of that length that the call just made for us (S1).
    let bytes = unsafe { slice::from_raw_parts(data.cast::<u8>(), count_bytes) }.to_vec();
    // SAFETY: our own array (S1), without a later use.
    unsafe { free(data) };
    Ok(bytes)
}

impl BlockMapper for SyclMapper<'_> {
    type Form = DeviceHandle;

    fn map(&mut self, form: &DeviceHandle, _: &SharedMemory) -> Result<usize> {
        let Some(open) = self.api.DPCTLIPCMem_OpenHandle else {
            return not_shareable("this SYCL runtime has no functions for it");
        };
        // SAFETY: SB1; the call copies the bytes. The runtime refuses what is no handle as far as it can tell.
        let mapped = unsafe { open(form.bytes.as_ptr().cast(), form.bytes.len(), self.context, self.device) };
        NonNull::new(mapped).map(|mapped| mapped.expose_provenance().get()).ok_or_else(refused)
    }

    unsafe fn unmap(&mut self, _: &DeviceHandle, address: usize) {
        if let Some(close) = self.api.DPCTLIPCMem_CloseHandle {
            // SAFETY: SB1; the context has the memory open, which nobody uses any more (promise 1).
            unsafe { close(ptr::with_exposed_provenance_mut(address), self.context) };
        }
    }

    /// The runtime does not tell where a block ends, but it knows the kind of both ends of the range.
    fn check_range(&self, block: usize, offset_bytes: usize, len_bytes: usize) -> Result<()> {
        let last = offset_bytes.checked_add(len_bytes).and_then(|end| block.checked_add(end - 1));
        let is_device = |address: usize| {
            let pointer = ptr::without_provenance_mut(address);
            // SAFETY: SB1; the runtime looks the address up and does not follow it.
            let kind = unsafe { (self.api.DPCTLUSM_GetPointerType)(pointer, self.context) };
            kind == DPCTLSyclUSMType::DEVICE
        };
        if last.is_some_and(|last| is_device(block + offset_bytes) && is_device(last)) {
            return Ok(());
        }
        let text = format!("found {len_bytes} bytes, of which the opened memory has not all");
        Err(Error::SharedMemory { call: "DPCTLUSM_GetPointerType", text })
    }
}

/// The error for memory that the runtime does not open, with what Level Zero needs.
fn refused() -> Error {
    let scope = fs::read_to_string(PTRACE_SCOPE);
    let found = scope.map_or_else(|_| "none".to_owned(), |scope| scope.trim().to_owned());
    let text = format!(
        "the process that shares the memory has ended or freed it, or this process may not trace it, which Level Zero needs: let that \
         process call prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY), or set kernel.yama.ptrace_scope to 0 (found {found}); a pickle after \
         usm.ipc.set_sharing(\"copy\") in that process is a copy that works"
    );
    Error::SharedMemory { call: "DPCTLIPCMem_OpenHandle", text }
}
