//! Kernels on buffers: what they own until they are complete, and what is refused. On the SYCL device.
#![allow(clippy::unwrap_used)]

use crate::common;
use common::{buffer, host_queue, sycl_queue};
use usm_memory::usm_core::{
    Error as CoreError, Event, Kernel, KernelBundle, Queue, QueueProperties, UsmKind,
};
use usm_memory::{Argument, Completion, Error, UsmBuffer, submit_kernel};

const SOURCE: &str = "
kernel void add(global uchar *x, uchar number) { x[get_global_id(0)] += number; }
kernel void copy(global uchar *to, global const uchar *from) { to[get_global_id(0)] = from[get_global_id(0)]; }
kernel void slow(global uchar *x, ulong turns)
{ ulong sum = x[0]; for (ulong i = 0; i < turns; i++) sum = sum * 3 + i; x[0] = sum == 0 ? 1 : 7; }
";

/// Turns of `slow` that take long enough for a test to look at the work under way.
const LONG: u64 = 30_000_000;

struct Kernels {
    queue: Queue,
    bundle: KernelBundle,
}

/// `None` on a device that takes no OpenCL C.
fn kernels() -> Option<Kernels> {
    let shared = sycl_queue()?;
    let queue = shared.context().create_queue(shared.device(), QueueProperties::OUT_OF_ORDER).unwrap();
    match KernelBundle::from_opencl_source(queue.context(), queue.device(), SOURCE, "") {
        Err(CoreError::NotSupported { .. }) => None,
        bundle => Some(Kernels { bundle: bundle.unwrap(), queue }),
    }
}

impl Kernels {
    fn kernel(&self, name: &str) -> Kernel {
        self.bundle.kernel(name).unwrap()
    }

    fn run(
        &self,
        name: &str,
        arguments: &[Argument],
        items: usize,
        after: &[Event],
    ) -> Result<Completion, Error> {
        // SAFETY: 1 and 2. The kernels take what tests pass, and stay within the first `items` bytes of their buffers.
        unsafe { submit_kernel(&self.queue, &self.kernel(name), arguments, items, after) }
    }
}

fn at(buffer: &UsmBuffer, offset_bytes: usize) -> Argument {
    Argument::Memory { buffer: buffer.clone(), offset_bytes }
}

#[test]
fn kernels_reach_every_kind_of_memory() {
    let Some(kernels) = kernels() else { return };
    for kind in UsmKind::ALL {
        let bytes = buffer(&kernels.queue, kind, &[1, 2, 3, 4]);
        kernels.run("add", &[(&bytes).into(), 10_u8.into()], 4, &[]).unwrap().wait().unwrap();
        kernels.run("add", &[at(&bytes, 3), 100_u8.into()], 1, &[]).unwrap().wait().unwrap();
        assert_eq!(bytes.to_vec().unwrap(), [11, 12, 13, 114]);
    }
}

#[test]
fn kernels_on_the_same_memory_come_one_after_the_other() {
    let Some(kernels) = kernels() else { return };
    let bytes = buffer(&kernels.queue, UsmKind::Shared, &[1, 2]);
    let slow = kernels.run("slow", &[(&bytes).into(), LONG.into()], 1, &[]).unwrap();
    assert_eq!(bytes.events().len(), 1);
    let add = kernels.run("add", &[(&bytes).into(), 1_u8.into()], 2, &[]).unwrap();
    let part = bytes.sub_buffer(1, 1).unwrap();
    let last = part.fill_async(&[9], &[]).unwrap();
    let guard = bytes.read_range(0..2).unwrap();
    assert!(slow.is_complete() && add.is_complete() && last.is_complete());
    let refused = kernels.run("add", &[(&bytes).into(), 1_u8.into()], 2, &[]);
    assert!(matches!(refused, Err(Error::BorrowConflict { .. })), "{refused:?}");
    drop(guard);
    drop(part);
    last.wait().unwrap();
    add.wait().unwrap();
    slow.wait().unwrap();
    assert_eq!((bytes.to_vec().unwrap(), bytes.num_holders()), (vec![8, 9], 1));
}

#[test]
fn a_kernel_may_have_the_same_memory_several_times() {
    let Some(kernels) = kernels() else { return };
    let bytes = buffer(&kernels.queue, UsmKind::Device, &[1, 2, 3, 4]);
    let tail = bytes.sub_buffer(2, 2).unwrap();
    for from in [&tail, &tail.read_only()] {
        kernels.run("copy", &[(&bytes).into(), from.into()], 2, &[]).unwrap().wait().unwrap();
        assert_eq!(bytes.to_vec().unwrap(), [3, 4, 3, 4]);
    }
}

#[test]
fn readers_share_read_only_memory() {
    let Some(kernels) = kernels() else { return };
    let [a, b] = [1, 2].map(|byte| buffer(&kernels.queue, UsmKind::Shared, &[byte; 2]));
    let from = a.read_only();
    let slow = kernels.run("slow", &[(&b).into(), LONG.into()], 1, &[]).unwrap();
    let copy = kernels.run("copy", &[(&b).into(), (&from).into()], 2, slow.events()).unwrap();
    assert_eq!(*a.read_range(0..2).unwrap().as_slice().unwrap(), [1, 1]);
    let other = buffer(&kernels.queue, UsmKind::Shared, &[0; 2]);
    kernels.run("copy", &[(&other).into(), (&from).into()], 2, &[]).unwrap().wait().unwrap();
    a.write_range(0..1).unwrap();
    assert!(copy.is_complete());
    copy.wait().unwrap();
    slow.wait().unwrap();
    assert_eq!((b.to_vec().unwrap(), other.to_vec().unwrap()), (vec![1, 1], vec![1, 1]));
}

#[test]
fn refused_kernels_leave_nothing_borrowed() {
    let Some(kernels) = kernels() else { return };
    let bytes = buffer(&kernels.queue, UsmKind::Shared, &[1, 2]);
    let elsewhere = buffer(&host_queue(), UsmKind::Shared, &[1, 2]);
    let [first, second]: [Argument; 2] = [(&bytes).into(), (&elsewhere).into()];
    let refused = kernels.run("copy", &[first.clone(), second], 2, &[]);
    assert!(matches!(refused, Err(Error::NotReachable { position: 1, .. })), "{refused:?}");
    let refused = kernels.run("add", &[at(&bytes, 3), 1_u8.into()], 1, &[]);
    assert!(matches!(refused, Err(Error::OutOfBounds { .. })), "{refused:?}");
    let refused = kernels.run("add", std::slice::from_ref(&first), 2, &[]);
    assert!(matches!(refused, Err(Error::Core(CoreError::KernelArguments { .. }))), "{refused:?}");
    let refused = kernels.run("add", &[first.clone(), 1_i64.into()], 1, &[]);
    assert!(matches!(&refused, Err(Error::KernelRefused { .. })), "{refused:?}");
    assert!(refused.unwrap_err().to_string().contains("; found memory, i64 1 ("));
    let nothing = kernels.run("add", &[first, 1_u8.into()], 0, &[]).unwrap();
    assert!(nothing.is_complete() && nothing.events().is_empty());
    nothing.wait().unwrap();
    assert_eq!((bytes.to_vec().unwrap(), bytes.num_holders()), (vec![1, 2], 1));
}

#[test]
fn a_dropped_completion_leaves_the_kernel_to_the_memory() {
    let Some(kernels) = kernels() else { return };
    let bytes = buffer(&kernels.queue, UsmKind::Shared, &[1]);
    drop(kernels.run("slow", &[(&bytes).into(), LONG.into()], 1, &[]).unwrap());
    assert_eq!(bytes.to_vec().unwrap(), [7]);
}
