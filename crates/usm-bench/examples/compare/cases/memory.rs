//! Copies and fills of memory objects, and new arrays of 64 MiB: ours, and the best loop on one thread and two between memory that is
//! there already. The names and sizes are those of `python/cases/memory.py` and `create.py`.

use std::hint::black_box;

use usm_array::usm_core::UsmKind;
use usm_array::{CopyMode, Dtype, SliceItem, UsmArray};
use usm_memory::UsmBuffer;

use super::copies::{filled, new};
use super::loops::{self, Transpose, at, contiguous, ways};
use super::stage::{Case, Contender, LIMIT, Loops, OURS, Stage, queue};

pub(crate) fn all(stage: &Stage) {
    for mib in [1, 4, 16, 64, 256, 1024] {
        objects(stage, mib);
    }
    results(stage);
}

fn objects(stage: &Stage, mib: usize) {
    let len_bytes = mib << 20;
    let buffer = || {
        let buffer = UsmBuffer::allocate(&queue(), UsmKind::Shared, len_bytes).unwrap();
        buffer.fill(&[1]).unwrap();
        buffer
    };
    let case = |way: &str| Case::new(format!("memory/{way}, {mib} MiB")).long_if(mib > 64);
    stage.case(case("copy_from_host"), || {
        let (to, host) = (buffer(), vec![1_u8; len_bytes]);
        let best = Contender::fastest(LIMIT, contiguous(to.address(), host.as_ptr() as usize, len_bytes));
        vec![Contender::timed(OURS, move || to.copy_from_host(&host, 0).unwrap()), best]
    });
    stage.case(case("copy_to_host"), || {
        let (from, mut host) = (buffer(), vec![1_u8; len_bytes]);
        let best =
            Contender::fastest(LIMIT, contiguous(host.as_mut_ptr() as usize, from.address(), len_bytes));
        vec![Contender::timed(OURS, move || from.copy_to_host(black_box(&mut host), 0).unwrap()), best]
    });
    stage.case(case("copy_from_device"), || {
        let (to, from) = (buffer(), buffer());
        let best = Contender::fastest(LIMIT, contiguous(to.address(), from.address(), len_bytes));
        vec![Contender::timed(OURS, move || to.copy_from(&from).unwrap()), best]
    });
    stage.case(case("memset"), || {
        let to = buffer();
        let best =
            Contender::fastest(LIMIT, same(to.address(), f64::from_bits(0x0707_0707_0707_0707), len_bytes));
        vec![Contender::timed(OURS, move || to.fill(&[7]).unwrap()), best]
    });
}

/// The same number everywhere, by streaming, and by the C library or as the compiler writes it.
fn same(to: usize, value: f64, len_bytes: usize) -> Loops {
    let [byte, rest @ ..] = value.to_ne_bytes();
    ways(move |threads, nt| {
        if nt {
            return loops::set(threads, to, len_bytes / 4096, 512, |_| value);
        }
        loops::split(threads, len_bytes / 8, |first, last| {
            let part = unsafe { std::slice::from_raw_parts_mut((to as *mut f64).add(first), last - first) };
            match rest == [byte; 7] {
                true => unsafe { part.as_mut_ptr().write_bytes(byte, part.len()) },
                false => part.fill(value),
            }
        });
    })
}

const NUMBERS: usize = 8 << 20;

/// Runs the best loop from one array of numbers to another, and ours where there is one.
fn result(
    stage: &Stage,
    name: &str,
    loops: impl FnOnce(usize, usize) -> Loops,
    ours: Option<fn(&UsmArray) -> UsmArray>,
) {
    stage.case(Case::new(format!("new/{name}")), || {
        let [a, b] = [(); 2].map(|()| filled(new(&[NUMBERS], Dtype::F64)));
        let best = Contender::fastest(LIMIT, loops(b.address(), a.address()));
        let best = best.keeping((a.clone(), b));
        let ours = ours.map(|ours| Contender::timed(OURS, move || drop(black_box(ours(&a)))));
        ours.into_iter().chain([best]).collect()
    });
}

fn results(stage: &Stage) {
    let bytes = 8 * NUMBERS;
    let copy = |to, from| contiguous(to, from, bytes);
    let shape = &[NUMBERS];
    result(stage, "copy(a)", copy, Some(|a| a.copy().unwrap()));
    result(stage, "asnumpy(a)", copy, None);
    let zeros = |a: &UsmArray| UsmArray::zeros(a.queue(), UsmKind::Shared, &[NUMBERS], Dtype::F64).unwrap();
    result(stage, "zeros(n)", |to, _| same(to, 0.0, bytes), Some(zeros));
    let full = |a: &UsmArray| UsmArray::full(a.queue(), UsmKind::Shared, &[NUMBERS], 1.5).unwrap();
    result(stage, "full(n, 1.5)", |to, _| same(to, 1.5, bytes), Some(full));
    for (name, step) in [("arange(n)", 1.0), ("linspace(0, 1, n)", 1.0 / (NUMBERS - 1) as f64)] {
        let ramp =
            |to, _| ways(move |t, nt| loops::elements(t, nt, to, NUMBERS, |i| f64::from(i as u32) * step));
        result(stage, name, ramp, None);
    }
    let transpose = |to, from| Transpose::of(4096, 2048).loops(&[32, 64], 8, to, from, vec![(0, 0)]);
    result(stage, "asarray(host.T)", transpose, None);
    let cast =
        |to, from| ways(move |t, nt| loops::elements(t, nt, to, NUMBERS, |i| at::<f64>(from, i) as f32));
    result(stage, "astype(f8 to f4)", cast, Some(|a| a.astype(Dtype::F32, CopyMode::Always).unwrap()));
    stage.case(Case::new("new/asnumpy of 4 elements of 64 MiB"), || {
        let four = SliceItem::Slice { start: Some(1000), stop: Some(1004), step: 1 };
        let view = new(shape, Dtype::F64).slice(&[four]).unwrap();
        vec![Contender::timed(OURS, move || drop(black_box(view.to_vec::<f64>().unwrap())))]
    });
}
