//! Copies and fills of memory objects, and new arrays of 64 MiB: ours, and the best loop on one thread and two between memory that is
//! there already. The names and sizes are those of `python/cases/memory.py` and `arrays.py`.

use std::hint::black_box;

use usm_array::usm_core::UsmKind;
use usm_array::{CopyMode, CreateOptions, Dtype, Scalar, SliceItem, UsmArray};
use usm_memory::UsmBuffer;

use super::copies::{filled, new};
use super::loops::{self, Loops, Transpose, at, contiguous, elements, ways};
use super::stage::{Case, Contender, LIMIT, OURS, queue};

pub(crate) fn cases() -> Vec<Case> {
    [1, 4, 16, 64, 256, 1024].into_iter().flat_map(objects).chain(results()).collect()
}

fn objects(mib: usize) -> [Case; 4] {
    let case = |way, set_up: fn(usize) -> [Contender; 2]| {
        let set_up = move || set_up(mib << 20).into();
        Case::new(format!("memory/{way}, {mib} MiB"), set_up).long_if(mib > 64)
    };
    let from_host = case("copy_from_host", |len| {
        let (to, host) = (buffer(len), vec![1_u8; len]);
        let best = best(to.address(), host.as_ptr() as usize, len);
        [Contender::timed(OURS, move || to.copy_from_host(&host, 0).unwrap()), best]
    });
    let to_host = case("copy_to_host", |len| {
        let (from, mut host) = (buffer(len), vec![1_u8; len]);
        let best = best(host.as_mut_ptr() as usize, from.address(), len);
        [Contender::timed(OURS, move || from.copy_to_host(black_box(&mut host), 0).unwrap()), best]
    });
    let from_device = case("copy_from_device", |len| {
        let (to, from) = (buffer(len), buffer(len));
        let best = best(to.address(), from.address(), len);
        [Contender::timed(OURS, move || to.copy_from(&from).unwrap()), best]
    });
    let memset = case("memset", |len| {
        let (to, sevens) = (buffer(len), f64::from_bits(0x0707_0707_0707_0707));
        let best = Contender::fastest(LIMIT, same(to.address(), sevens, len));
        [Contender::timed(OURS, move || to.fill(&[7]).unwrap()), best]
    });
    [from_host, to_host, from_device, memset]
}

fn buffer(len_bytes: usize) -> UsmBuffer {
    let buffer = UsmBuffer::allocate(&queue(), UsmKind::Shared, len_bytes).unwrap();
    buffer.fill(&[1]).unwrap();
    buffer
}

fn best(to: usize, from: usize, len_bytes: usize) -> Contender {
    Contender::fastest(LIMIT, contiguous(to, from, len_bytes))
}

/// The same number everywhere, by streaming, and by the C library or as the compiler writes it.
fn same(to: usize, value: f64, len_bytes: usize) -> Loops {
    let [byte, rest @ ..] = value.to_ne_bytes();
    ways(move |threads, nt| {
        if nt {
            return loops::set(threads, to, (len_bytes / 4096, 512), |_| value);
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
const BYTES: usize = 8 * NUMBERS;

/// The best loop to one array of numbers from another, and ours where there is one.
fn result(name: &str, loops: fn(usize, usize) -> Loops, ours: Option<fn(&UsmArray) -> UsmArray>) -> Case {
    Case::new(format!("new/{name}"), move || {
        let [a, b] = [(); 2].map(|()| filled(new(&[NUMBERS], Dtype::F64)));
        let best = Contender::fastest(LIMIT, loops(b.address(), a.address()));
        let best = best.keeping((a.clone(), b));
        let ours = ours.map(|ours| Contender::timed(OURS, move || ours(&a)));
        ours.into_iter().chain([best]).collect()
    })
}

/// Numbers of 64 MiB.
fn arange(a: &UsmArray, dtype: Dtype) -> UsmArray {
    let new = CreateOptions::new(a.queue(), UsmKind::Shared).dtype(dtype);
    let len = BYTES / dtype.itemsize_bytes();
    new.arange(Scalar::Int(0), Scalar::Int(len as i128), Scalar::Int(1)).unwrap()
}

fn results() -> Vec<Case> {
    let copy = |to, from| contiguous(to, from, BYTES);
    let zeros = |a: &UsmArray| UsmArray::zeros(a.queue(), UsmKind::Shared, &[NUMBERS], Dtype::F64).unwrap();
    let full = |a: &UsmArray| UsmArray::full(a.queue(), UsmKind::Shared, &[NUMBERS], 1.5).unwrap();
    let four = Case::new("new/asnumpy of 4 elements of 64 MiB", || {
        let four = SliceItem::Slice { start: Some(1000), stop: Some(1004), step: 1 };
        let view = new(&[NUMBERS], Dtype::F64).slice(&[four]).unwrap();
        vec![Contender::timed(OURS, move || view.to_vec::<f64>().unwrap())]
    });
    vec![
        result("copy(a)", copy, Some(|a| a.copy().unwrap())),
        result("asnumpy(a)", copy, None),
        result("zeros(n)", |to, _| same(to, 0.0, BYTES), Some(zeros)),
        result("full(n, 1.5)", |to, _| same(to, 1.5, BYTES), Some(full)),
        result(
            "arange(n)",
            |to, _| elements(to, NUMBERS, |i| f64::from(i as u32)),
            Some(|a| arange(a, Dtype::F64)),
        ),
        result(
            "arange(2 * n) f4",
            |to, _| elements(to, 2 * NUMBERS, |i| i as u32 as f32),
            Some(|a| arange(a, Dtype::F32)),
        ),
        result(
            "linspace(0, 1, n)",
            |to, _| elements(to, NUMBERS, |i| f64::from(i as u32) * (1.0 / (NUMBERS - 1) as f64)),
            Some(|a| {
                let new = CreateOptions::new(a.queue(), UsmKind::Shared).dtype(Dtype::F64);
                new.linspace(Scalar::Int(0), Scalar::Int(1), NUMBERS, true).unwrap()
            }),
        ),
        result("asarray(host.T)", |to, from| Transpose::of(4096, 2048).loops(&[32, 64], 8, to, from), None),
        result(
            "astype(f8 to f4)",
            |to, from| elements(to, NUMBERS, move |i| at::<f64>(from, i) as f32),
            Some(|a| a.astype(Dtype::F32, CopyMode::Always).unwrap()),
        ),
        four,
    ]
}
