//! Device memory of a SYCL GPU for several processes, over the loopback library: another context stands for another process. Programs of
//! several processes are in `usm-memory`. Needs no SYCL.
#![cfg(feature = "sycl")]
#![allow(clippy::unwrap_used)]

use crate::bases;
use std::sync::Arc;

use sycl_loopback::{Form, Loopback};
use usm_core::{
    Allocation, Context, Error, Queue, QueueProperties, Result, Runtime, SharedMemory, SharedRange, UsmKind,
};

const LEN: usize = 10_000;

struct Setup {
    loopback: Loopback,
    runtime: Runtime,
}

impl Setup {
    fn new(make: impl FnOnce() -> std::io::Result<Loopback>) -> Self {
        let (loopback, backend) = bases::stand_in(make);
        Self { loopback, runtime: Runtime::with_backend(Arc::new(backend)).unwrap() }
    }

    fn of_0_23() -> Self {
        Self::new(|| Loopback::in_form(Form::Dpctl023))
    }

    /// A queue of a context of its own.
    fn queue(&self, device: &str) -> Queue {
        let device = self.runtime.select(device).unwrap();
        let context = Context::new(std::slice::from_ref(&device)).unwrap();
        context.create_queue(&device, QueueProperties::IN_ORDER).unwrap()
    }

    fn end(self, faults: usize) {
        drop(self.runtime);
        assert_eq!(self.loopback.leaks(), []);
        assert_eq!(self.loopback.faults(), faults);
    }
}

fn share_part(block: &Allocation, offset: usize, len: usize) -> Result<SharedMemory> {
    // SAFETY: within the block, which each test uses alone.
    let start = unsafe { block.as_ptr().add(offset) };
    // SAFETY: the block is live, and each test uses it alone.
    unsafe { block.queue().share(block.kind(), start, len, SharedRange::Part) }
}

fn share(block: &Allocation) -> Result<SharedMemory> {
    share_part(block, 0, block.len_bytes())
}

fn changed(shared: &SharedMemory, change: impl FnOnce(&mut SharedMemory)) -> SharedMemory {
    let mut changed = shared.clone();
    change(&mut changed);
    changed
}

fn unshare(block: &Allocation) -> bool {
    // SAFETY: shared, and nobody uses it.
    unsafe { block.queue().unshare(block.as_ptr()) }
}

fn is_open_elsewhere(block: &Allocation) -> bool {
    // SAFETY: the block is live.
    unsafe { block.queue().is_open_elsewhere(block.as_ptr()) }
}

fn write(block: &Allocation, offset: usize, bytes: &[u8]) {
    let to = block.as_ptr().as_ptr().wrapping_add(offset);
    // SAFETY: tests write within blocks, and wait.
    unsafe { block.queue().memcpy(to, bytes.as_ptr(), bytes.len(), &[]) }.unwrap().wait().unwrap();
}

fn read(block: &Allocation, offset: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let from = block.as_ptr().as_ptr().wrapping_add(offset);
    // SAFETY: as for `write`.
    unsafe { block.queue().memcpy(bytes.as_mut_ptr(), from, len, &[]) }.unwrap().wait().unwrap();
    bytes
}

#[test]
fn another_context_has_the_same_bytes_and_keeps_them() {
    let setup = Setup::of_0_23();
    let [own, other, third] = [(); 3].map(|()| setup.queue("gpu"));
    for len in [1, LEN, 3 << 20] {
        let block = own.allocate(UsmKind::Device, len).unwrap();
        write(&block, len - 1, &[1]);
        let shared = share(&block).unwrap();
        assert!(!shared.is_kept_by_files);
        assert_eq!(share(&block).unwrap().data, shared.data, "the same each time");
        assert!(!is_open_elsewhere(&block));

        let opened = other.open_shared(&shared, true).unwrap();
        assert!(is_open_elsewhere(&block));
        assert_ne!(opened.address(), block.address());
        assert_eq!(read(&opened, len - 1, 1), [1]);
        write(&opened, len - 1, &[2]);
        assert_eq!(read(&block, len - 1, 1), [2]);
        assert_eq!(other.context().pointer_info(opened.address()).unwrap().kind, UsmKind::Device);
        assert_eq!(other.context().pointer_info(opened.address() + len), None);

        // Twice in one context is one block, and what is open is shared again as it came.
        let again = share(&opened).unwrap();
        assert_eq!((&again.data, again.is_kept_by_files), (&shared.data, false));
        let same = other.open_shared(&again, true).unwrap();
        assert_eq!(same.address(), opened.address());
        let elsewhere = third.open_shared(&again, true).unwrap();
        assert_eq!(read(&elsewhere, len - 1, 1), [2]);

        // The range has no other use before the last one has closed it.
        for opened in [opened, same, elsewhere] {
            assert!(!unshare(&block));
            assert_eq!(read(&opened, len - 1, 1), [2]);
            drop(opened);
        }
        assert!(!is_open_elsewhere(&block));
        assert!(unshare(&block));
    }
    drop([own, other, third]);
    setup.end(0);
}

#[test]
fn memory_of_this_context_keeps_its_address() {
    let setup = Setup::of_0_23();
    let queue = setup.queue("gpu");
    let block = queue.allocate(UsmKind::Device, LEN).unwrap();
    let shared = share(&block).unwrap();
    let opened = queue.open_shared(&shared, true).unwrap();
    assert_eq!(opened.address(), block.address());
    assert!(!unshare(&block));
    drop(opened);
    assert!(unshare(&block));
    // A range that ended begins anew, for as long as messages with its lease are under way, too.
    let anew = share(&block).unwrap();
    let opened = queue.open_shared(&shared, true).unwrap();
    assert!(!unshare(&block), "the lease of the first message is the lease of the second one");
    drop((opened, anew, shared));
    assert!(unshare(&block));
    drop((block, queue));
    setup.end(0);
}

#[test]
fn parts_of_a_block_begin_where_they_are() {
    let setup = Setup::of_0_23();
    let [own, other] = [(); 2].map(|()| setup.queue("gpu"));
    let block = own.allocate(UsmKind::Device, LEN).unwrap();
    let (first, second) = (share_part(&block, 0, 5000).unwrap(), share_part(&block, 5001, 4999).unwrap());
    let opened = [&first, &second].map(|part| other.open_shared(part, true).unwrap());
    write(&block, 5000, b"abc");
    assert_eq!(read(&opened[1], 0, 2), b"bc");
    write(&opened[0], 4999, b"x");
    assert_eq!(read(&block, 4999, 3), b"xab");

    let longer = changed(&second, |second| second.len_bytes = 5000);
    let refused = other.open_shared(&longer, true).unwrap_err().to_string();
    assert!(refused.contains("found 5000 bytes, of which the opened memory has not all"), "{refused}");
    drop(opened);
    drop((block, own, other));
    setup.end(0);
}

#[test]
fn what_is_no_handle_is_refused() {
    let setup = Setup::of_0_23();
    let [own, other] = [(); 2].map(|()| setup.queue("gpu"));
    let block = own.allocate(UsmKind::Device, LEN).unwrap();
    let shared = share(&block).unwrap();
    let with = |data: Vec<u8>| {
        let forged = changed(&shared, |shared| shared.data = data);
        other.open_shared(&forged, true).unwrap_err().to_string()
    };
    for len in 1..shared.data.len() {
        with(shared.data[..len].to_vec());
        assert!(!is_open_elsewhere(&block), "the lease ends with the refusal");
    }
    with([&shared.data[..], &[0]].concat());
    assert!(with(b"other".to_vec()).contains("it is not memory of a device of SYCL"));
    // The tag of usm, then of the stand-in: its own tag, the process, the file.
    for index in (0..32).filter(|index| index % 8 < 4) {
        let mut data = shared.data.clone();
        data[index] ^= 0x40;
        with(data);
    }
    assert_eq!(setup.loopback.faults(), 0);
    // The number of the block: the stand-in says that it is freed memory.
    let mut data = shared.data.clone();
    let last = data.len() - 8;
    data[last] ^= 1;
    let refused = with(data);
    for part in ["PR_SET_PTRACER", "kernel.yama.ptrace_scope", "usm.ipc.set_sharing(\"copy\")"] {
        assert!(refused.contains(part), "{part} is not in: {refused}");
    }
    let kind = changed(&shared, |shared| shared.kind = UsmKind::Shared);
    assert!(matches!(other.open_shared(&kind, true), Err(Error::NotShareable { .. })));
    let pages = changed(&shared, |shared| shared.data.clear());
    let refused = other.open_shared(&pages, true).unwrap_err().to_string();
    assert!(
        refused.contains("it is memory of a host or of a CPU, and the queue is of another device"),
        "{refused}"
    );
    let on_cpu = setup.queue("cpu").open_shared(&shared, true).unwrap_err().to_string();
    assert!(on_cpu.contains("does not have the aspect ext_oneapi_ipc_memory"), "{on_cpu}");
    assert!(unshare(&block));
    drop((block, own, other));
    setup.end(1);
}

#[test]
fn memory_that_has_no_form_names_the_copy_that_works() {
    let copies = "usm.tensor.asnumpy(array), or a pickle, is a copy that works";
    let refused = |queue: &Queue, kind| {
        let block = queue.allocate(kind, LEN).unwrap();
        let refused = share(&block).unwrap_err();
        assert!(matches!(refused, Error::NotShareable { .. }), "{refused}");
        assert!(unshare(&block));
        refused.to_string()
    };
    let setup = Setup::of_0_23();
    let queue = setup.queue("gpu");
    for kind in [UsmKind::Host, UsmKind::Shared] {
        let refused = refused(&queue, kind);
        assert!(refused.contains("shares device memory alone") && refused.contains(copies), "{refused}");
    }
    for (function, part) in [
        ("DPCTLIPCMem_Available", "has no functions for it, which builds of dpctl 0.23 have"),
        ("DPCTLIPCMem_GetHandle", "has no handle for it"),
        ("DPCTLDevice_HasAspect", "does not have the aspect ext_oneapi_ipc_memory"),
    ] {
        setup.loopback.fail_next(function, 1).unwrap();
        let refused = refused(&queue, UsmKind::Device);
        assert!(refused.contains(part) && refused.contains(copies), "{part} is not in: {refused}");
    }
    drop(queue);
    setup.end(0);

    let lacking = |function| Setup::new(move || Loopback::lacking(Form::Dpctl023, &[function]));
    let old = Setup::new(|| Loopback::in_form(Form::Dpctl022));
    for setup in [old, lacking("DPCTLIPCMem_CloseHandle"), lacking("DPCTLIPCMem_FreeHandleData")] {
        let refused = refused(&setup.queue("gpu"), UsmKind::Device);
        assert!(refused.contains("has no functions for it") && refused.contains(copies), "{refused}");
        setup.end(0);
    }
}

#[test]
fn a_runtime_that_does_not_open_leaves_nothing() {
    let setup = Setup::of_0_23();
    let [own, other] = [(); 2].map(|()| setup.queue("gpu"));
    let block = own.allocate(UsmKind::Device, LEN).unwrap();
    let shared = share(&block).unwrap();
    setup.loopback.fail_next("DPCTLIPCMem_OpenHandle", 1).unwrap();
    let refused = other.open_shared(&shared, true).unwrap_err();
    assert!(matches!(refused, Error::SharedMemory { call: "DPCTLIPCMem_OpenHandle", .. }), "{refused}");
    assert!(!is_open_elsewhere(&block));
    drop(other.open_shared(&shared, true).unwrap());
    // A queue that does not tell its context says nothing about others.
    setup.loopback.fail_next("DPCTLQueue_GetContext", 1).unwrap();
    assert!(is_open_elsewhere(&block));
    setup.loopback.fail_next("DPCTLQueue_GetContext", 1).unwrap();
    assert!(!unshare(&block));
    assert!(!is_open_elsewhere(&block) && unshare(&block));
    drop((block, own, other));
    setup.end(0);
}

#[test]
fn a_freed_block_is_shared_no_more() {
    let setup = Setup::of_0_23();
    let [own, other] = [(); 2].map(|()| setup.queue("gpu"));
    let block = own.allocate(UsmKind::Device, LEN).unwrap();
    let (address, old) = (block.address(), share(&block).unwrap());
    drop(block);
    let block = own.allocate(UsmKind::Device, LEN).unwrap();
    assert_eq!(block.address(), address);
    let new = share(&block).unwrap();
    assert_ne!(new.data, old.data);
    write(&block, 0, b"new");
    assert_eq!(read(&other.open_shared(&new, true).unwrap(), 0, 3), b"new");
    assert!(other.open_shared(&old, true).is_err());
    drop((block, own, other));
    // The stand-in counts the handle of a freed block.
    setup.end(1);
}
