//! One copy or fill, done by a kernel and by enumerating every index in 128 bits

use std::sync::LazyLock;

use usm_memory::usm_core::{Allocation, Queue, UsmKind};

use super::super::nest::{Job, Sharing};
use super::super::{Launch, Source, StridedKernels, launch, nest};
use crate::copy::plan::Loop;

/// Elements around the spans that must stay as they are.
const MARGIN: usize = 40;

static KERNELS: LazyLock<StridedKernels> = LazyLock::new(StridedKernels::new);

#[derive(Debug)]
pub(super) struct Case {
    pub(super) loops: Vec<Loop>,
    pub(super) item_bytes: usize,
    pub(super) sharing: Sharing,
    pub(super) dst: UsmKind,
    pub(super) src: UsmKind,
}

/// The element at each combination of steps, counted from the lowest; then the first one's place and how many the span has.
fn places(loops: &[Loop], stride: impl Fn(&Loop) -> isize) -> (Vec<usize>, usize, usize) {
    let mut all = vec![0_i128];
    for axis in loops {
        let steps = (0..axis.count as i128).map(|i| i * stride(axis) as i128).collect::<Vec<_>>();
        all = all.iter().flat_map(|place| steps.iter().map(move |step| place + step)).collect();
    }
    let lowest = *all.iter().min().unwrap();
    let span = *all.iter().max().unwrap() - lowest + 1;
    let from_lowest = |place: &i128| usize::try_from(place - lowest).unwrap();
    (all.iter().map(from_lowest).collect(), from_lowest(&0), usize::try_from(span).unwrap())
}

fn pattern(len_bytes: usize, seed: usize) -> Vec<u8> {
    (0..len_bytes).map(|i| ((i + seed).wrapping_mul(0x9e37_79b1) >> 13) as u8).collect()
}

fn upload(queue: &Queue, kind: UsmKind, bytes: &[u8]) -> Allocation {
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
        let (to, dst_first, dst_span) = places(&self.loops, |axis| axis.dst);
        let (from, src_first, src_span) = places(&self.loops, |axis| axis.src);
        let mut expected = pattern((dst_span + 2 * MARGIN) * n, 1);
        // No margin: what the kernel reads beyond is beyond the block.
        let source = pattern(src_span * n, 2);
        let dst = upload(queue, self.dst, &expected);
        let src = upload(queue, self.src, &source);
        let value = pattern(16, 3);

        let place = KERNELS.place(queue);
        let nest = nest(&place, &self.loops, n, job, self.sharing)
            .unwrap_or_else(|reason| panic!("{self:?}: {reason}"));
        let start = dst.as_ptr().as_ptr().wrapping_add((MARGIN + dst_first) * n);
        let elements = match job {
            Job::Copy | Job::CopyPiece => Source::Elements(src.as_ptr().as_ptr().wrapping_add(src_first * n)),
            Job::Fill => Source::Value(std::array::from_fn(|i| if i < n { value[i] } else { 0 })),
        };
        // SAFETY: the blocks have room for the spans of both sides, which was just counted; they are used by nobody else and
        // waited for; target places differ, by the way tests make loops.
        let launched = unsafe { launch(&place, queue, &nest, start, elements, &[]) };
        match launched.unwrap() {
            Launch::Submitted(event) => event.wait().unwrap(),
            Launch::Unsupported(reason) => panic!("{self:?}: {reason}"),
        }

        for (&to, &from) in to.iter().zip(&from) {
            let element = match job {
                Job::Copy | Job::CopyPiece => &source[from * n..][..n],
                Job::Fill => &value[..n],
            };
            expected[(MARGIN + to) * n..][..n].copy_from_slice(element);
        }
        let found = download(queue, &dst);
        if found != expected {
            let at = found.iter().zip(&expected).position(|(found, expected)| found != expected).unwrap();
            panic!("{job:?} {self:?}\n{nest:?}\nbyte {at} is {} instead of {}", found[at], expected[at]);
        }
        assert_eq!(download(queue, &src), source, "{self:?}");
    }
}
