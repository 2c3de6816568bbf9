//! One copy or fill, done by a kernel and by enumerating every index in 128 bits

use std::sync::LazyLock;

use usm_memory::usm_core::{Allocation, Queue, UsmKind};

use super::super::Elements;
use crate::copy::plan::CopyPlan;
use crate::kernel_engine::Kernels;
use crate::layout::brute_force::displacements;
use crate::layout::{Layout, Order};

/// Elements around the spans that must stay as they are.
const MARGIN: usize = 40;

static KERNELS: LazyLock<Kernels> = LazyLock::new(Kernels::new);

/// Steps of one axis: how many, and how far each goes in the target and in the source.
pub(super) type Axis = (usize, isize, isize);

/// The layouts of target and source, from their lowest elements on.
pub(super) fn layouts(axes: &[Axis]) -> [Layout; 2] {
    let shape: Vec<usize> = axes.iter().map(|axis| axis.0).collect();
    let strides = [axes.iter().map(|axis| axis.1).collect(), axes.iter().map(|axis| axis.2).collect()];
    strides
        .map(|strides: Vec<isize>| Layout::with_automatic_offset(&shape, Some(&strides), Order::C).unwrap())
}

pub(super) fn plan(axes: &[Axis]) -> CopyPlan {
    let [dst, src] = layouts(axes);
    CopyPlan::new(&dst, &src).unwrap()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    Copy,
    Fill,
}

#[derive(Debug)]
pub(super) struct Case {
    pub(super) axes: Vec<Axis>,
    pub(super) item_bytes: usize,
    pub(super) dst: UsmKind,
    pub(super) src: UsmKind,
}

fn pattern(len_bytes: usize, seed: usize) -> Vec<u8> {
    (0..len_bytes).map(|i| ((i + seed).wrapping_mul(0x9e37_79b1) >> 13) as u8).collect()
}

pub(super) fn upload_to(queue: &Queue, kind: UsmKind, bytes: &[u8]) -> Allocation {
    let block = queue.allocate(kind, bytes.len()).unwrap();
    // SAFETY: both as long as the bytes, waited for.
    unsafe { queue.memcpy(block.as_ptr().as_ptr(), bytes.as_ptr(), bytes.len(), &[]) }
        .unwrap()
        .wait()
        .unwrap();
    block
}

fn download(queue: &Queue, block: &Allocation) -> Vec<u8> {
    let mut bytes = vec![0; block.len_bytes()];
    // SAFETY: both as long as the block, waited for.
    unsafe { queue.memcpy(bytes.as_mut_ptr(), block.as_ptr().as_ptr(), bytes.len(), &[]) }
        .unwrap()
        .wait()
        .unwrap();
    bytes
}

impl Case {
    pub(super) fn check(&self, queue: &Queue, job: Job) {
        let n = self.item_bytes;
        let [dst_layout, src_layout] = layouts(&self.axes);
        let mut expected = pattern((dst_layout.required_len() + 2 * MARGIN) * n, 1);
        // No margin: what the kernel reads beyond is beyond the block.
        let source = pattern(src_layout.required_len() * n, 2);
        let dst = upload_to(queue, self.dst, &expected);
        let src = upload_to(queue, self.src, &source);
        let value = &pattern(16, 3)[..n];

        let plan = CopyPlan::new(&dst_layout, &src_layout).unwrap();
        let (to, from) = (dst.as_ptr().as_ptr().wrapping_add(MARGIN * n), src.as_ptr().as_ptr());
        let event = match job {
            // SAFETY: the blocks hold the layouts; they are used by nobody else and waited for; target places differ, by the way
            // tests make axes.
            Job::Copy => unsafe { KERNELS.copy(queue, &plan, Elements::of_size(n), to, from, &[]) },
            // SAFETY: as above.
            Job::Fill => unsafe { KERNELS.fill(queue, &plan, value, to, &[]) },
        };
        event.unwrap_or_else(|error| panic!("{self:?}: {error}")).wait().unwrap();

        for (to, from) in displacements(&dst_layout).into_iter().zip(displacements(&src_layout)) {
            let (to, from) = (MARGIN + to as usize, from as usize);
            let element = if job == Job::Copy { &source[from * n..][..n] } else { value };
            expected[to * n..][..n].copy_from_slice(element);
        }
        let found = download(queue, &dst);
        if found != expected {
            let at = found.iter().zip(&expected).position(|(found, expected)| found != expected).unwrap();
            panic!("{job:?} {self:?}\nbyte {at} is {} instead of {}", found[at], expected[at]);
        }
        assert_eq!(download(queue, &src), source, "{self:?}");
    }
}
