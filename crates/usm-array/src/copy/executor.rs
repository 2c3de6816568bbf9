//! Who carries a plan out: all that can happen to an assignment, chosen in one place

use usm_memory::usm_core::{DeviceType, Queue, UsmKind};

use super::cast::Cast;
use super::copy_kernels::{Elements, KernelWork, Launches};
use super::place::{Place, addresses, overlap};
use super::plan::{CopyPlan, Side};
use super::staged::Staging;
use crate::array::UsmArray;
use crate::error::Result;
use crate::kernel_engine::{Kernels, kernel_if_any};

/// Copies of fewer bytes are for no kernel of a CPU: its driver takes 40 to 130 ms to build one, as long as staging hundreds of
/// megabytes takes.
const MIN_CPU_KERNEL_BYTES: usize = 1 << 20;

/// Smaller copies to and from host memory are not packed by a kernel.
const MIN_PACKED_BYTES: usize = 1 << 20;

/// The means of a copy, with the parts of its plan where it has some.
pub(super) enum Executor<'a> {
    /// Host code, which reaches both sides.
    Host,
    /// Copies of buffers, since both sides are the bytes they span, and host code does not reach one of them.
    Bytes(DenseRun<'a>),
    /// Host code, for arrays with bytes in common: in an order, or with temporaries, as if the source were copied first.
    Overlapping(&'a UsmArray, &'a UsmArray),
    /// A host task of the queue, which reaches both sides.
    HostTask(&'a Queue),
    /// Kernels of the queue, which reaches both sides.
    Kernel(&'a Queue, Launches),
    /// Two times kernels of the queue, which reaches both sides, with `float32` in between in memory of the device: no kernel casts
    /// elements of a narrow dtype at once.
    ThroughFloats(&'a Queue, &'a UsmArray, &'a UsmArray),
    /// Pieces of the elements of device memory, which a kernel packs into host USM or takes from there; host code does the rest.
    Packed(&'a Queue, Vec<CopyPlan>, [Staging<'a>; 2]),
    /// Pieces of the bytes that the elements span in device memory, copied to or from host memory by the queue; host code sorts them.
    Spans(&'a Queue, Vec<CopyPlan>),
    /// Kernels of each side's queue, which pack and unpack the elements, and a copy of packed memory from device to device.
    BetweenDevices(&'a UsmArray, &'a UsmArray),
    /// Pieces that are copied twice, by way of host memory: each time by one of the others.
    ThroughHost,
}

/// One dense run of elements on both sides.
pub(super) enum DenseRun<'a> {
    Between(&'a UsmArray, &'a UsmArray),
    ToHost(*mut u8, &'a UsmArray),
    FromHost(&'a UsmArray, *const u8),
}

impl<'a> DenseRun<'a> {
    /// `None` where the caller holds a guard: buffers take their own.
    fn between(to: Place<'a>, from: Place<'a>) -> Option<Self> {
        match (to, from) {
            (Place::Array(target), Place::Array(source)) => Some(Self::Between(target, source)),
            (Place::Host(dst), Place::Array(source)) => Some(Self::ToHost(dst, source)),
            (Place::Array(target), Place::Host(src)) => Some(Self::FromHost(target, src)),
            _ => None,
        }
    }
}

impl<'a> Executor<'a> {
    /// For a plan between two places.
    ///
    /// # Errors
    /// Those of [`usm_memory::run_job`].
    pub(super) fn choose(plan: &CopyPlan, cast: Cast, to: Place<'a>, from: Place<'a>) -> Result<Self> {
        let is_same = cast.run().is_none();
        let (device_to, device_from) = (to.device(), from.device());
        let device = device_to.or(device_from);
        if device.is_some()
            && is_same
            && plan.is_one_run()
            && let Some(run) = DenseRun::between(to, from)
        {
            return Ok(Self::Bytes(run));
        }
        let starts = match (to, from) {
            (Place::Array(target), Place::Array(source)) => {
                let (to, from) = (addresses(target), addresses(source));
                if overlap(&to, &from) {
                    return Ok(Self::Overlapping(target, source));
                }
                [to.start, from.start]
            }
            _ => [to.address(), from.address()],
        };
        let Some(device) = device else { return Ok(Self::Host) };
        let queue = device.queue();
        let itemsize = cast.src.itemsize_bytes();
        if queue.runs_host_tasks() && to.is_for_tasks_of(queue) && from.is_for_tasks_of(queue) {
            return Ok(Self::HostTask(queue));
        }
        let launches = |elements: Elements, starts: [usize; 2]| {
            kernel_if_any(Kernels::global().launches(queue, KernelWork::Copy(elements), plan, starts))
        };
        if is_for_kernels(queue, plan, itemsize)
            && to.is_for_kernels_of(queue)
            && from.is_for_kernels_of(queue)
        {
            match (Elements::of(cast.src, cast.dst), to, from) {
                (Some(elements), ..) => {
                    if let Some(launches) = launches(elements, starts)? {
                        return Ok(Self::Kernel(queue, launches));
                    }
                }
                (None, Place::Array(target), Place::Array(source)) => {
                    return Ok(Self::ThroughFloats(queue, target, source));
                }
                (None, ..) => {}
            }
        }
        if let (Some(target), Some(source)) = (device_to, device_from) {
            let has_kernels = |array: &UsmArray, place: Place<'_>| {
                is_for_kernels(array.queue(), plan, itemsize) && place.is_for_kernels_of(array.queue())
            };
            let is_apart = !target.buffer().is_reachable_by(source.queue());
            return Ok(match (to, from) {
                (Place::Array(_), Place::Array(_))
                    if is_apart && has_kernels(target, to) && has_kernels(source, from) =>
                {
                    Self::BetweenDevices(target, source)
                }
                _ => Self::ThroughHost,
            });
        }
        let side = if device_to.is_some() { Side::Target } else { Side::Source };
        // Those kernels do not cast.
        let is_large = plan.size() * itemsize >= MIN_PACKED_BYTES;
        let is_for_packing = is_same && is_large && is_for_kernels(queue, plan, itemsize);
        let packed = if is_for_packing { plan.packed_pieces(side, itemsize) } else { None };
        // Memory of another device than the queue's is for copies of the queue, not for its kernels.
        let is_for_both =
            device.buffer().is_reachable_by(queue) && queue.device().info().supports(UsmKind::Host);
        let packed = match packed.filter(|_| is_for_both) {
            Some(pieces) => {
                launches(Elements::of_size(itemsize), [addresses(device).start, 0])?.map(|_| pieces)
            }
            None => None,
        };
        // Before anything is copied: without the memory, another executor does it all.
        let staging = packed.as_ref().and_then(|pieces| Staging::for_kernels(queue, pieces, itemsize));
        Ok(match packed.zip(staging) {
            Some((pieces, staging)) => Self::Packed(queue, pieces, staging),
            None => {
                let spanned = if side == Side::Target { cast.dst } else { cast.src };
                Self::Spans(queue, plan.clone().span_pieces(side, spanned.itemsize_bytes()))
            }
        })
    }
}

/// The launches that set the elements of an array to one value, by the plan of its layout; `None` where others do that.
///
/// # Errors
/// Those of [`usm_memory::run_job`].
pub(super) fn fill_launches(array: &UsmArray, plan: &CopyPlan, element: &[u8]) -> Result<Option<Launches>> {
    let (queue, itemsize) = (array.queue(), array.itemsize_bytes());
    if !is_for_kernels(queue, plan, itemsize) || !array.buffer().is_reachable_by(queue) {
        return Ok(None);
    }
    let launches =
        Kernels::global().launches(queue, KernelWork::Fill(element), plan, [addresses(array).start, 0]);
    Ok(kernel_if_any(launches)?)
}

/// Whether a plan is for kernels of a queue, which may carry it out in any order.
fn is_for_kernels(queue: &Queue, plan: &CopyPlan, itemsize_bytes: usize) -> bool {
    let is_cpu = queue.device().info().device_type == DeviceType::Cpu;
    // A host task of the queue is better still, and no kernel is there.
    !queue.runs_host_tasks()
        && (!is_cpu || plan.size() * itemsize_bytes >= MIN_CPU_KERNEL_BYTES)
        && plan.is_ascending()
}
