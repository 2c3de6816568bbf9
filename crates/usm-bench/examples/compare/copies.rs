//! Strided copies: ours, the crate ndarray, the best loop by hand, and a STREAM copy of as many bytes.

use usm_array::{Casting, Dtype, Element, UsmArray, num_complex::Complex};

use super::cases::{self, Bench, Loop, Sink, fill};
use super::contender::{Case, Contender, OURS, Stage, limit, queue};
use super::limit;
use super::serve::Server;

struct Copies<'s> {
    stage: &'s Server,
}

fn name_of(case: &str) -> String {
    format!("copy/{case}")
}

impl Sink for Copies<'_> {
    fn wants(&self, name: &str) -> bool {
        self.stage.announce(&Case::new(&name_of(name), 0))
    }

    fn copy(&self, name: &str, dst: &UsmArray, src: &UsmArray, loops: Vec<Loop<'_>>) {
        let (bytes, from) = (dst.size_bytes(), src.buffer().address());
        let spare = UsmArray::empty(dst.queue(), dst.kind(), &[bytes], Dtype::U8).unwrap();
        let spare_from = UsmArray::empty(dst.queue(), dst.kind(), &[bytes], Dtype::U8).unwrap();
        fill(&spare);
        fill(&spare_from);
        let to = spare.address();
        let ours = Contender::timed(OURS, || dst.assign_cast(src, Casting::Unsafe).unwrap());
        let best =
            limit(loops.into_iter().map(|run| Box::new(move || run(to, from)) as Box<dyn Fn()>).collect());
        let contenders = vec![ours, neighbour(dst, src), best, stream(to, spare_from.address(), bytes)];
        self.stage.perform(&Case::new(&name_of(name), bytes), contenders);
    }
}

/// The fastest contiguous copy of `bytes` bytes between existing memory.
pub(crate) fn stream<'a>(to: usize, from: usize, bytes: usize) -> Contender<'a> {
    Contender { name: "STREAM copy", ..limit(contiguous(to, from, bytes)) }
}

/// The candidates for a contiguous copy.
pub(crate) fn contiguous<'a>(to: usize, from: usize, bytes: usize) -> Vec<Box<dyn Fn() + 'a>> {
    let mut candidates: Vec<Box<dyn Fn()>> = vec![];
    for threads in [1, 2] {
        candidates.push(Box::new(move || limit::memcpy(threads, to, from, bytes)));
        candidates.push(Box::new(move || limit::contiguous(threads, to, from, bytes)));
    }
    candidates
}

/// The same by the crate ndarray.
fn neighbour<'a>(dst: &'a UsmArray, src: &'a UsmArray) -> Contender<'a> {
    fn assign<'a, T: Element + Copy>(dst: &'a UsmArray, src: &'a UsmArray) -> Contender<'a> {
        Contender::timed("ndarray", || {
            let mut target = dst.view_mut::<T>().unwrap();
            target.as_ndarray_mut().unwrap().assign(&src.view::<T>().unwrap().as_ndarray());
        })
    }
    match (dst.dtype(), src.dtype()) {
        (to, from) if to != from => Contender::missing("ndarray", "it does not cast in an assignment"),
        (Dtype::U8, _) => assign::<u8>(dst, src),
        (Dtype::F32, _) => assign::<f32>(dst, src),
        (Dtype::F64, _) => assign::<f64>(dst, src),
        (Dtype::C128, _) => assign::<Complex<f64>>(dst, src),
        (dtype, _) => Contender::missing("ndarray", format!("no case of it is written for {dtype}")),
    }
}

pub(crate) fn all(stage: &Server) {
    let queue = queue();
    cases::all(&Bench { queue, sink: &Copies { stage } });
}
