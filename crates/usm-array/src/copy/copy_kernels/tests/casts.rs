//! Casts by kernels, and the same by host code, bit by bit

use proptest::prelude::ProptestConfig;
use usm_core::testing::{cuda_queue, sycl_queue};
use usm_memory::usm_core::{Queue, UsmKind};

use super::super::Elements;
use super::super::linear::long_run;
use super::Numbers;
use super::reference::{Axis, layouts, upload_to};
use crate::copy::cast::Cast;
use crate::copy::host;
use crate::copy::plan::CopyPlan;
use crate::dtype::Dtype;
use crate::kernel_engine::Kernels;

/// Patterns of bits of all kinds: any, small integers, the ends of integers, and numbers around all that is special in floating point.
fn elements(dtype: Dtype, len: usize, numbers: &mut Numbers) -> Vec<u8> {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        127.5,
        -128.5,
        255.5,
        32767.9,
        65504.0,
        65519.99,
        65520.0,
        2_f64.powi(31),
        -2_f64.powi(31),
        2_f64.powi(32),
        2_f64.powi(63),
        -2_f64.powi(63),
        2_f64.powi(64),
        1.0 + 2_f64.powi(-11),
        1.0 + 3.0 * 2_f64.powi(-11),
        2_f64.powi(-24),
        2_f64.powi(-25),
        3.0 * 2_f64.powi(-26),
        1e-40,
        1e-45,
        1e-310,
        3.402_823_567_797_336_6e38,
        1e300,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        -f64::NAN,
    ];
    let mut bytes = Vec::new();
    while bytes.len() < len * dtype.itemsize_bytes() {
        let any = (numbers.next(1 << 30) as u64) << 34
            | (numbers.next(1 << 30) as u64) << 4
            | numbers.next(16) as u64;
        let real = match numbers.next(4) {
            0 => special[numbers.next(special.len())],
            1 => (any as i64 as f64) * 2_f64.powi(numbers.next(100) as i32 - 90),
            _ => f64::from_bits(any),
        };
        let whole = any >> numbers.next(64);
        match (dtype, numbers.next(2)) {
            (Dtype::Bool, _) => bytes.push(any as u8 % 2),
            (Dtype::F16, 0) => bytes.extend(half::f16::from_f64(real).to_bits().to_ne_bytes()),
            (Dtype::BF16, 0) => bytes.extend(half::bf16::from_f64(real).to_bits().to_ne_bytes()),
            (Dtype::F32 | Dtype::C64, 0 | 1) => bytes.extend((real as f32).to_ne_bytes()),
            (Dtype::F64 | Dtype::C128, _) => bytes.extend(real.to_ne_bytes()),
            _ => bytes.extend(&whole.to_ne_bytes()[..dtype.itemsize_bytes().min(8)]),
        }
    }
    bytes
}

fn check(queue: &Queue, [src, dst]: [Dtype; 2], axes: &[Axis], numbers: &mut Numbers, kernels: &Kernels) {
    // Two kernels cast the others, by way of binary32.
    let Some(cast) = Elements::of(src, dst) else {
        assert!(src.is_narrow() || dst.is_narrow(), "{src:?} to {dst:?}");
        return;
    };
    let [dst_layout, src_layout] = layouts(axes);
    let plan = CopyPlan::new(&dst_layout, &src_layout).unwrap();
    let source = elements(src, src_layout.required_len(), numbers);
    let mut expected = vec![0xa5; dst_layout.required_len() * dst.itemsize_bytes()];
    let to = upload_to(queue, UsmKind::Shared, &expected);
    let from = upload_to(queue, UsmKind::Device, &source);
    // SAFETY: both hold the layouts, whose elements are apart.
    unsafe { host::execute(plan.clone(), Cast::new(src, dst), expected.as_mut_ptr(), source.as_ptr()) };
    let (to, from) = (to.as_ptr().as_ptr(), from.as_ptr().as_ptr());
    // SAFETY: both hold the layouts; nobody else uses them, and the cast is waited for.
    let event = unsafe { kernels.copy(queue, &plan, cast, to, from, &[]) };
    event.unwrap_or_else(|error| panic!("{src:?} to {dst:?}: {error}")).wait().unwrap();
    // SAFETY: shared memory that nothing uses any more.
    let found = unsafe { std::slice::from_raw_parts(to, expected.len()) };
    if found != expected {
        let item = dst.itemsize_bytes();
        let at = found.iter().zip(&expected).position(|(found, expected)| found != expected).unwrap() / item
            * item;
        let (found, expected) = (&found[at..at + item], &expected[at..at + item]);
        panic!("{src:?} to {dst:?}, {axes:?}: element {} is {found:x?} instead of {expected:x?}", at / item);
    }
}

#[test]
fn all_pairs_as_by_host_code() {
    let Some(queue) = sycl_queue() else { return };
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let kernels = Kernels::new();
    for src in Dtype::ALL {
        for dst in Dtype::ALL {
            for axes in [
                &[(1, 1, 1)][..],
                &[(3000, 1, 1)],
                &[(777, 1, -1)],
                &[(500, 1, 3)],
                &[(300, 3, 1)],
                &[(7, 100, 0), (99, 1, 1)],
                &[(40, 3, 5), (3, 1, 1)],
                &[(31, 40, 1), (37, 1, 31)],
            ] {
                check(&queue, [src, dst], axes, &mut numbers, &kernels);
            }
            let Some(cast) = Elements::of(src, dst) else { continue };
            let long = long_run(cast);
            let row = long.cast_signed();
            check(&queue, [src, dst], &[(long, 1, 1)], &mut numbers, &kernels);
            if row < 30_000 {
                check(&queue, [src, dst], &[(2, row + 1, row + 3), (long, 1, 1)], &mut numbers, &kernels);
            }
        }
    }
    // In the process that has built the kernels.
    any_pair_along_any_loops(&queue, &mut numbers, &kernels);
    all_pairs_transposed(&queue, &kernels);
}

#[test]
fn all_pairs_transposed_on_cuda() {
    if let Some(queue) = cuda_queue() {
        all_pairs_transposed(&queue, &Kernels::new());
    }
}

/// Casts that transpose, around the edges of tiles. Rows are aligned nowhere for all pairs of dtypes, and in turn on both sides, on one
/// with the source walked backwards, or with axes around.
fn all_pairs_transposed(queue: &Queue, kernels: &Kernels) {
    const PLANE: isize = 48 * 49;
    let shapes: [&[Axis]; 4] = [
        &[(64, 64, 1), (64, 1, 64)],
        &[(80, 64, 1), (48, 1, 81)],
        &[(40, 103, -1), (100, 1, 72)],
        &[(2, 3 * PLANE, PLANE), (2, PLANE, 2 * PLANE), (49, 48, 1), (48, 1, 49)],
    ];
    let mut numbers = Numbers(0x1234_5678_9abc_def1);
    let pairs = Dtype::ALL.into_iter().flat_map(|src| Dtype::ALL.map(|dst| [src, dst]));
    for (pair, shape) in pairs.zip(shapes.iter().cycle()) {
        check(queue, pair, &[(65, 67, 1), (67, 1, 65)], &mut numbers, kernels);
        check(queue, pair, shape, &mut numbers, kernels);
    }
}

fn any_pair_along_any_loops(queue: &Queue, numbers: &mut Numbers, kernels: &Kernels) {
    for round in 0..ProptestConfig::default().cases as usize {
        let [src, dst] = [(); 2].map(|()| Dtype::ALL[numbers.next(Dtype::ALL.len())]);
        let axes = super::random_axes(numbers, 1 + round % 8);
        check(queue, [src, dst], &axes, numbers, kernels);
    }
}
