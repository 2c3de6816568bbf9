//! Strided copies: ours, the crate ndarray, the best loop by hand, and a STREAM copy of as many bytes.

use usm_array::usm_core::UsmKind;
use usm_array::{Casting, Dtype, Element, SliceItem, UsmArray, num_complex::Complex};

use super::loops::{self, Transpose, at, offsets, ways};
use super::stage::{Case, Contender, LIMIT, Loops, OURS, Stage, queue};

pub(crate) const BACK: SliceItem = SliceItem::Slice { start: None, stop: None, step: -1 };
pub(crate) const HALF: SliceItem = SliceItem::Slice { start: None, stop: None, step: 2 };
pub(crate) const TRIM: SliceItem = SliceItem::Slice { start: Some(1), stop: Some(-1), step: 1 };

/// An array of shared memory whose pages nobody has touched.
pub(crate) fn new(shape: &[usize], dtype: Dtype) -> UsmArray {
    UsmArray::empty(&queue(), UsmKind::Shared, shape, dtype).unwrap()
}

/// Writes all of the memory that an array is a view of. Each row of a matrix differs from the others, and no number is NaN.
pub(crate) fn filled(array: UsmArray) -> UsmArray {
    let len_bytes = array.buffer().len_bytes();
    let word = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) & 0x3f3f_3f3f_3f3f_3f3f;
    let words: Vec<u64> = (0..len_bytes.div_ceil(8) as u64).map(word).collect();
    let bytes = unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), len_bytes) };
    array.buffer().copy_from_host(bytes, 0).unwrap();
    array
}

/// A copy between existing arrays; `source` makes a view of a new array of this shape. `loops` takes the addresses of a spare target
/// and of the source.
fn case(
    stage: &Stage,
    name: &str,
    (shape, from, to): (&[usize], Dtype, Dtype),
    source: impl FnOnce(UsmArray) -> UsmArray,
    loops: impl FnOnce(usize, usize) -> Loops,
) {
    stage.case(Case::new(format!("copy/{name}")), || {
        let src = source(filled(new(shape, from)));
        let dst = filled(new(src.shape(), to));
        let bytes = dst.size_bytes();
        let [spare, spare_from] =
            [(); 2].map(|()| UsmArray::full(src.queue(), UsmKind::Shared, &[bytes], 1_u8).unwrap());
        let best = Contender::fastest(LIMIT, loops(spare.address(), src.buffer().address()));
        let stream = loops::contiguous(spare.address(), spare_from.address(), bytes);
        let stream = Contender::fastest("STREAM copy", stream);
        let peer = by_ndarray(&dst, &src);
        let (ours, to) = (dst.clone(), spare.address());
        let ours = move || ours.assign_cast(&src, Casting::Unsafe).unwrap();
        ours();
        let best = best.checked(|| unsafe {
            let [made, found] =
                [dst.address(), to].map(|address| std::slice::from_raw_parts(address as *const u8, bytes));
            made == found
        });
        let ours = Contender::timed(OURS, ours).keeping((spare, spare_from));
        vec![ours, peer, best, stream]
    });
}

/// The same by the crate ndarray.
fn by_ndarray(dst: &UsmArray, src: &UsmArray) -> Contender {
    fn assign<T: Element + Copy>(dst: &UsmArray, src: &UsmArray) -> Contender {
        let (dst, src) = (dst.clone(), src.clone());
        Contender::timed("ndarray", move || {
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

pub(crate) fn all(stage: &Stage) {
    for mib in [1_usize, 4, 8, 16, 32, 64] {
        let n = mib << 20;
        let name = format!("contiguous {mib} MiB");
        case(stage, &name, (&[n], Dtype::U8, Dtype::U8), |a| a, |to, from| loops::contiguous(to, from, n));
    }
    every_other(stage);
    rows(stage);
    transposes(stage);
    planes(stage);
    permutes(stage);
    swaps(stage);
    halos(stage);
    broadcasts_and_casts(stage);
}

fn every_other(stage: &Stage) {
    fn halves<T: Copy + 'static>(stage: &Stage, dtype: Dtype, name: &str) {
        let n = (64 << 20) / size_of::<T>();
        let half = |a: UsmArray| a.slice(&[HALF]).unwrap();
        case(stage, &format!("a[::2] {name}"), (&[n], dtype, dtype), half, |to, from| {
            ways(move |t, nt| loops::elements(t, nt, to, n / 2, |i| at::<T>(from, 2 * i)))
        });
    }
    halves::<u8>(stage, Dtype::U8, "u1");
    halves::<f32>(stage, Dtype::F32, "f4");
    halves::<f64>(stage, Dtype::F64, "f8");
    halves::<[f64; 2]>(stage, Dtype::C128, "c16");
}

/// Of matrices of numbers.
fn rows(stage: &Stage) {
    type Parts = fn(usize, bool, usize, usize);
    const SIDE: usize = 2048;
    const ROWS: usize = 2 << 20;
    let matrix = |name: &str, shape: &[usize], items: &[SliceItem], run: Parts| {
        let view = |a: UsmArray| a.slice(items).unwrap();
        case(stage, name, (shape, Dtype::F64, Dtype::F64), view, |to, from| {
            ways(move |threads, nt| run(threads, nt, to, from))
        });
    };
    let (square, four) = ([SIDE, SIDE], [ROWS, 4]);
    matrix("a[::-1, ::-1] f8", &square, &[BACK, BACK], |t, nt, to, from| {
        loops::elements(t, nt, to, SIDE * SIDE, |i| at::<f64>(from, SIDE * SIDE - 1 - i));
    });
    matrix("a[::-1] f8", &square, &[BACK], |t, nt, to, from| {
        let last = to + (SIDE - 1) * 8 * SIDE;
        loops::rows(t, nt, last, from, SIDE, 8 * SIDE, 0_usize.wrapping_sub(8 * SIDE), 8 * SIDE);
    });
    matrix("a[:, ::2] f8", &square, &[SliceItem::FULL, HALF], |t, nt, to, from| {
        loops::elements(t, nt, to, SIDE * SIDE / 2, |i| at::<f64>(from, 2 * i));
    });
    matrix("a[::2, :] f8", &square, &[HALF], |t, nt, to, from| {
        loops::rows(t, nt, to, from, SIDE / 2, 8 * SIDE, 8 * SIDE, 16 * SIDE);
    });
    matrix("a[1:-1, 1:-1] f8", &square, &[TRIM, TRIM], |t, nt, to, from| {
        let (inner, first) = (SIDE - 2, from + (SIDE + 1) * 8);
        loops::rows(t, nt, to, first, inner, 8 * inner, 8 * inner, 8 * SIDE);
    });
    matrix("(n, 4)[:, ::2] f8", &four, &[SliceItem::FULL, HALF], |t, nt, to, from| {
        loops::elements(t, nt, to, 2 * ROWS, |i| at::<f64>(from, 2 * i));
    });
    let three = SliceItem::Slice { start: None, stop: Some(3), step: 1 };
    matrix("(n, 4)[:, :3] f8", &four, &[SliceItem::FULL, three], |t, nt, to, from| {
        loops::elements(t, nt, to, ROWS, |i| {
            let [a, b, c, _] = at::<[u64; 4]>(from, i);
            [a, b, c]
        });
    });
    matrix("(n, 4)[:, 1] f8", &four, &[SliceItem::FULL, SliceItem::Index(1)], |t, nt, to, from| {
        loops::elements(t, nt, to, ROWS, |i| at::<f64>(from, 4 * i + 1));
    });
}

/// A permutation of axes as transposes: `table` has the rows, and each batch begins at other elements of target and source.
fn permute(
    stage: &Stage,
    name: &str,
    (shape, dtype): (&[usize], Dtype),
    axes: &[isize],
    table: Transpose,
    batches: Vec<(usize, usize)>,
) {
    let view = |a: UsmArray| a.permute(axes).unwrap();
    case(stage, name, (shape, dtype, dtype), view, |to, from| {
        table.loops(&[32, 64, 128, 256], dtype.itemsize_bytes(), to, from, batches)
    });
}

fn transposes(stage: &Stage) {
    for (dtype, name, rows, columns) in [
        (Dtype::U8, "u1", 8192, 8192),
        (Dtype::F32, "f4", 4096, 4096),
        (Dtype::F64, "f8", 4096, 2048),
        (Dtype::C128, "c16", 2048, 2048),
        (Dtype::F64, "f8", 3000, 2700),
        (Dtype::F64, "f8", 256, 256),
        // 4 MiB, in the caches of most machines: with rows of odd length, and with rows that are a power of two apart.
        (Dtype::F64, "f8", 724, 724),
        (Dtype::F64, "f8", 1024, 512),
    ] {
        let (name, shape) = (format!("transpose {name} {rows}x{columns}"), ([rows, columns], dtype));
        permute(stage, &name, (&shape.0, dtype), &[1, 0], Transpose::of(rows, columns), vec![(0, 0)]);
    }
}

/// Colours: the limit is a copy of as many bytes.
fn planes(stage: &Stage) {
    for (dtype, name) in [(Dtype::U8, "u1"), (Dtype::F32, "f4")] {
        let n = (48 << 20) / 3 / dtype.itemsize_bytes();
        for (way, shape) in [("planes to pixels", [3, n]), ("pixels to planes", [n, 3])] {
            let name = format!("{way} {name}");
            case(stage, &name, (&shape, dtype, dtype), |a| a.transpose(), |_, _| vec![]);
        }
    }
}

fn permutes(stage: &Stage) {
    let shape: [usize; 3] = [128, 256, 256];
    let ([planes, rows, columns], plane) = (shape, 256 * 256);
    let numbers = (&shape[..], Dtype::F64);
    let table = Transpose::of(planes * rows, columns);
    permute(stage, "permute (2, 0, 1)", numbers, &[2, 0, 1], table, vec![(0, 0)]);
    let batches = (0..planes).map(|i| (i * plane, i * plane)).collect();
    permute(stage, "permute (0, 2, 1)", numbers, &[0, 2, 1], Transpose::of(rows, columns), batches);
    let view = |a: UsmArray| a.permute(&[1, 0, 2]).unwrap();
    case(stage, "permute (1, 0, 2)", (&shape, Dtype::F64, Dtype::F64), view, |to, from| {
        ways(move |threads, nt| {
            loops::split(threads, rows, |first, last| {
                for j in first..last {
                    loops::rows(
                        1,
                        nt,
                        to + j * planes * 2048,
                        from + j * 2048,
                        planes,
                        2048,
                        2048,
                        plane * 8,
                    );
                }
            });
        })
    });
    let table = Transpose { from: offsets(&[planes], &[plane]), to: offsets(&[columns], &[planes * rows]) };
    let batches = (0..rows).map(|j| (j * planes, j * columns)).collect();
    permute(stage, "permute (2, 1, 0)", numbers, &[2, 1, 0], table, batches);

    for (rank, side, fast) in [(3, 256_usize, 1_usize), (4, 64, 1), (6, 16, 2), (8, 8, 3)] {
        let strides: Vec<usize> = (0..rank).map(|axis| side.pow((rank - 1 - axis) as u32)).collect();
        let reversed: Vec<usize> = strides.iter().rev().copied().collect();
        let of = |axes: &[usize], strides: &[usize]| {
            let strides: Vec<usize> = axes.iter().map(|&axis| strides[axis]).collect();
            offsets(&vec![side; axes.len()], &strides)
        };
        // The first axes are fast in the target, the last ones in the source; those between are batches.
        let (first, last): (Vec<_>, Vec<_>) = ((0..fast).rev().collect(), (rank - fast..rank).collect());
        let middle: Vec<usize> = (fast..rank - fast).collect();
        let table = Transpose { from: of(&first, &strides), to: of(&last, &reversed) };
        let batches = of(&middle, &reversed).into_iter().zip(of(&middle, &strides)).collect();
        let (name, shape) = (format!("all axes reversed f4 rank {rank}"), vec![side; rank]);
        let axes: Vec<isize> = (0..rank as isize).rev().collect();
        permute(stage, &name, (&shape, Dtype::F32), &axes, table, batches);
    }
}

/// The last two axes of many, of equal bytes: ever more and smaller transposes that follow each other without a gap.
fn swaps(stage: &Stage) {
    for (rank, side) in [(3, 256_usize), (4, 64), (6, 16), (8, 8)] {
        let mut axes: Vec<isize> = (0..rank as isize).collect();
        axes.swap(rank - 2, rank - 1);
        let (name, shape) = (format!("last two axes swapped f4 rank {rank}"), vec![side; rank]);
        let count = side.pow(rank as u32 - 2);
        if side > loops::MAX_SWAP {
            let batches = (0..count).map(|i| (i * side * side, i * side * side)).collect();
            permute(stage, &name, (&shape, Dtype::F32), &axes, Transpose::of(side, side), batches);
        } else {
            let view = |a: UsmArray| a.permute(&axes).unwrap();
            case(stage, &name, (&shape, Dtype::F32, Dtype::F32), view, |to, from| {
                ways(move |threads, nt| loops::swaps_32(threads, nt, to, from, side, count))
            });
        }
    }
}

fn halos(stage: &Stage) {
    for (rank, side) in [(2_usize, 2048_usize), (4, 48), (6, 14), (8, 8)] {
        let inner = side - 2;
        let strides: Vec<usize> = (0..rank).map(|axis| side.pow((rank - 1 - axis) as u32)).collect();
        let start: usize = strides.iter().sum();
        let planes = offsets(&vec![inner; rank - 2], &strides);
        let view = |a: UsmArray| a.slice(&vec![TRIM; rank]).unwrap();
        let shape = (&vec![side; rank][..], Dtype::F64, Dtype::F64);
        case(stage, &format!("halo trimmed f8 rank {rank}"), shape, view, |to, from| {
            let from = from + start * 8;
            let rows = move |threads, nt, to, from| {
                loops::rows(threads, nt, to, from, inner, inner * 8, inner * 8, side * 8);
            };
            // Rows by way of a small buffer.
            let buffered = move |_, nt, to, from| loops::halo_plane(nt, to, from, inner, side);
            let mut found = of_planes(planes.clone(), inner * inner * 8, to, from, buffered);
            found.extend(match rank {
                2 => ways(move |threads, nt| rows(threads, nt, to, from)),
                _ => of_planes(planes, inner * inner * 8, to, from, rows),
            });
            found
        });
    }
}

/// Does the same to planes that begin at these numbers of the source and have so many bytes in the target.
fn of_planes(
    planes: Vec<usize>,
    bytes: usize,
    to: usize,
    from: usize,
    run: impl Fn(usize, bool, usize, usize) + Copy + Sync + 'static,
) -> Loops {
    ways(move |threads, nt| {
        loops::split(threads, planes.len(), |first, last| {
            for (k, plane) in (first..last).zip(&planes[first..last]) {
                run(1, nt, to + k * bytes, from + plane * 8);
            }
        });
    })
}

fn broadcasts_and_casts(stage: &Stage) {
    let broadcast = |a: UsmArray| a.broadcast_to(&[2048, 2048]).unwrap();
    let (row, column) = ((&[2048][..], Dtype::F64, Dtype::F64), (&[2048, 1][..], Dtype::F64, Dtype::F64));
    case(stage, "row into a matrix f8", row, broadcast, |to, from| {
        ways(move |t, nt| loops::rows(t, nt, to, from, 2048, 16384, 16384, 0))
    });
    case(stage, "column into a matrix f8", column, broadcast, |to, from| {
        ways(move |t, _| loops::set(t, to, 2048, 2048, |row| at(from, row)))
    });
    let n = 8 << 20;
    let shape = [n];
    case(
        stage,
        "cast f4 to f8",
        (&shape, Dtype::F32, Dtype::F64),
        |a| a,
        |to, from| ways(move |t, nt| loops::elements(t, nt, to, n, |i| f64::from(at::<f32>(from, i)))),
    );
    case(
        stage,
        "cast i4 to f4",
        (&shape, Dtype::I32, Dtype::F32),
        |a| a,
        |to, from| ways(move |t, nt| loops::elements(t, nt, to, n, |i| at::<i32>(from, i) as f32)),
    );
    case(
        stage,
        "cast f8 to f4",
        (&shape, Dtype::F64, Dtype::F32),
        |a| a,
        |to, from| ways(move |t, nt| loops::elements(t, nt, to, n, |i| at::<f64>(from, i) as f32)),
    );
}
