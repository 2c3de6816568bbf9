//! New results: what their bytes cost when the memory is there already, and ours.

use std::hint::black_box;

use usm_array::usm_core::UsmKind;
use usm_array::{CopyMode, Dtype, SliceItem, UsmArray};

use super::cases::{fill, offsets};
use super::contender::{Case, Contender, OURS, Stage, limit, queue};
use super::copies::contiguous;
use super::limit::{self, Transpose};
use super::ramp::ramp;
use super::serve::Server;

const BYTES: usize = 64 << 20;
const NUMBERS: usize = BYTES / 8;

type Loops<'a> = Vec<Box<dyn Fn() + 'a>>;

/// Each number of threads with and without streaming.
fn ways<'a>(run: impl Fn(usize, bool) + Copy + 'a) -> Loops<'a> {
    let mut loops: Loops<'a> = vec![];
    for threads in [1, 2] {
        for streamed in [false, true] {
            loops.push(Box::new(move || run(threads, streamed)));
        }
    }
    loops
}

/// All elements the same, by streaming and by the C library.
fn same<'a>(to: usize, value: f64) -> Loops<'a> {
    ways(move |threads, streamed| {
        if streamed {
            return limit::set(threads, to, value, NUMBERS);
        }
        limit::split(threads, NUMBERS, |first, last| {
            let part = unsafe { std::slice::from_raw_parts_mut((to as *mut f64).add(first), last - first) };
            part.fill(value);
        });
    })
}

pub(crate) fn all(stage: &Server) {
    let queue = queue();
    let numbers = || {
        let array = UsmArray::empty(&queue, UsmKind::Shared, &[NUMBERS], Dtype::F64).unwrap();
        fill(&array);
        array
    };
    let case = |name: &str, bytes: usize, set_up: &dyn Fn(&Case<'_>)| {
        let case = Case::new(name, bytes);
        if stage.announce(&case) {
            set_up(&case);
        }
    };
    let perform = |case: &Case<'_>, best: Loops<'_>, ours: Option<Box<dyn Fn() + '_>>| {
        let ours = ours.map(|ours| Contender::timed(OURS, ours));
        stage.perform(case, ours.into_iter().chain([limit(best)]).collect());
    };

    case("new/copy(a)", BYTES, &|case| {
        let (a, b) = (numbers(), numbers());
        let ours = || drop(black_box(a.copy().unwrap()));
        perform(case, contiguous(b.address(), a.address(), BYTES), Some(Box::new(ours)));
    });
    case("new/asnumpy(a)", BYTES, &|case| {
        let (a, b) = (numbers(), numbers());
        perform(case, contiguous(b.address(), a.address(), BYTES), None);
    });
    case("new/zeros(n)", BYTES, &|case| {
        let b = numbers();
        let ours =
            || drop(black_box(UsmArray::zeros(&queue, UsmKind::Shared, &[NUMBERS], Dtype::F64).unwrap()));
        perform(case, same(b.address(), 0.0), Some(Box::new(ours)));
    });
    case("new/full(n, 1.5)", BYTES, &|case| {
        let b = numbers();
        let ours = || drop(black_box(UsmArray::full(&queue, UsmKind::Shared, &[NUMBERS], 1.5).unwrap()));
        perform(case, same(b.address(), 1.5), Some(Box::new(ours)));
    });
    for (name, step) in [("new/arange(n)", 1.0), ("new/linspace(0, 1, n)", 1.0 / (NUMBERS - 1) as f64)] {
        case(name, BYTES, &|case| {
            let b = numbers();
            let to = b.address();
            let loops = ways(|threads, streamed| ramp(threads, streamed, to, NUMBERS, 0.0, step));
            perform(case, loops, None);
        });
    }
    case("new/asarray(host.T)", BYTES, &|case| {
        let (rows, columns) = (4096, 2048);
        let (a, b) = (numbers(), numbers());
        let (from, to) = (a.address(), b.address());
        let table = Transpose { from: offsets(&[rows], &[columns]), to: offsets(&[columns], &[rows]) };
        let table = &table;
        let loops = [32, 64].into_iter().flat_map(|side| {
            ways(move |threads, nt| limit::transpose_64(threads, nt, side, to, from, table))
        });
        perform(case, loops.collect(), None);
    });
    case("new/astype(f8 to f4)", BYTES / 2, &|case| {
        let (a, b) = (numbers(), numbers());
        let (from, to) = (a.address(), b.address());
        let ours = || drop(black_box(a.astype(Dtype::F32, CopyMode::Always).unwrap()));
        let loops = ways(|threads, nt| limit::f8_f4(threads, nt, to, from, NUMBERS));
        perform(case, loops, Some(Box::new(ours)));
    });
    few(stage, &queue);
}

/// A few elements of a big array.
fn few(stage: &Server, queue: &usm_array::usm_core::Queue) {
    let case = Case::new("new/asnumpy of 4 elements of 64 MiB", 32);
    stage.case(&case, || {
        let bench = UsmArray::empty(queue, UsmKind::Shared, &[NUMBERS], Dtype::F64).unwrap();
        let four = SliceItem::Slice { start: Some(1000), stop: Some(1004), step: 1 };
        let view = bench.slice(&[four]).unwrap();
        vec![Contender::timed(OURS, move || drop(black_box(view.to_vec::<f64>().unwrap())))]
    });
}
