//! The strided copies, each with the loops that were written by hand for it.

use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{Dtype, SliceItem, UsmArray};

use super::limit::{self, Transpose};

const BACK: SliceItem = SliceItem::Slice { start: None, stop: None, step: -1 };
const HALF: SliceItem = SliceItem::Slice { start: None, stop: None, step: 2 };
const TRIM: SliceItem = SliceItem::Slice { start: Some(1), stop: Some(-1), step: 1 };

/// A loop by hand, called with the addresses of target and source.
pub(crate) type Loop<'a> = Box<dyn Fn(usize, usize) + 'a>;

/// Who takes the cases.
pub(crate) trait Sink {
    /// Whether to set the case up.
    fn wants(&self, name: &str) -> bool;

    /// A copy from `src` to `dst`, both filled; `loops` are the candidates for the limit.
    fn copy(&self, name: &str, dst: &UsmArray, src: &UsmArray, loops: Vec<Loop<'_>>);
}

/// What all cases share.
pub(crate) struct Bench<'s> {
    pub(crate) queue: Queue,
    pub(crate) sink: &'s dyn Sink,
}

impl Bench<'_> {
    /// An array whose pages nobody has touched.
    pub(crate) fn new_array(&self, shape: &[usize], dtype: Dtype) -> UsmArray {
        UsmArray::empty(&self.queue, UsmKind::Shared, shape, dtype).unwrap()
    }

    /// One copy between existing arrays.
    fn case(&self, name: &str, dst: &UsmArray, src: &UsmArray, loops: Vec<Loop<'_>>) {
        if self.sink.wants(name) {
            fill(dst);
            fill(src);
            self.sink.copy(name, dst, src, loops);
        }
    }
}

/// Writes all of the memory that an array is a view of.
pub(crate) fn fill(array: &UsmArray) {
    let bytes: Vec<u8> = (0..array.buffer().len_bytes()).map(|i| ((i * 31) >> 3) as u8 & 0x3f).collect();
    array.buffer().copy_from_host(&bytes, 0).unwrap();
}

macro_rules! candidates {
    ($(|$threads:ident, $nt:ident, $to:ident, $from:ident| $body:expr),+) => {{
        let mut loops: Vec<Loop<'_>> = vec![];
        $(for $threads in [1, 2] {
            for $nt in [false, true] {
                loops.push(Box::new(move |$to, $from| $body));
            }
        })+
        loops
    }};
}

fn tables(from: Vec<usize>, to: Vec<usize>) -> Transpose {
    Transpose { from, to }
}

/// Steps of some axes, the last one fastest.
pub(crate) fn offsets(shape: &[usize], strides: &[usize]) -> Vec<usize> {
    shape.iter().zip(strides).fold(vec![0], |all, (&n, &stride)| {
        all.into_iter().flat_map(|start| (0..n).map(move |i| start + i * stride)).collect()
    })
}

/// All of them, one after the other.
pub(crate) fn all(bench: &Bench<'_>) {
    contiguous(bench);
    strided(bench);
    transposes(bench);
    planes(bench);
    permutes(bench);
    swaps(bench);
    halos(bench);
    broadcasts_and_casts(bench);
}

fn contiguous(bench: &Bench<'_>) {
    for mib in [1_usize, 4, 8, 16, 32, 64] {
        let a = bench.new_array(&[mib << 20], Dtype::U8);
        let b = bench.new_array(&[mib << 20], Dtype::U8);
        let n = mib << 20;
        bench.case(
            &format!("contiguous {mib} MiB"),
            &b,
            &a,
            candidates!(|t, nt, to, from| {
                if nt { limit::contiguous(t, to, from, n) } else { limit::memcpy(t, to, from, n) }
            }),
        );
    }
}

fn strided(bench: &Bench<'_>) {
    let n = 64 << 20;
    macro_rules! halves {
        ($name:literal, $dtype:expr, $steps:ident) => {{
            let n = n / $dtype.itemsize_bytes();
            let a = bench.new_array(&[n], $dtype);
            let b = bench.new_array(&[n / 2], $dtype);
            let src = a.slice(&[HALF]).unwrap();
            bench.case(
                $name,
                &b,
                &src,
                candidates!(|t, nt, to, from| limit::$steps::<2, false>(t, nt, to, from, n / 2)),
            );
        }};
    }
    halves!("a[::2] u1", Dtype::U8, steps_u8);
    halves!("a[::2] f4", Dtype::F32, steps_f32);
    halves!("a[::2] f8", Dtype::F64, steps_f64);
    halves!("a[::2] c16", Dtype::C128, steps_c128);

    let a = bench.new_array(&[2048, 2048], Dtype::F64);
    let b = bench.new_array(&[2048, 2048], Dtype::F64);
    let last = 2048 * 2048 - 1;
    bench.case(
        "a[::-1, ::-1] f8",
        &b,
        &a.slice(&[BACK, BACK]).unwrap(),
        candidates!(|t, nt, to, from| { limit::steps_f64::<1, true>(t, nt, to, from + last * 8, last + 1) }),
    );
    bench.case(
        "a[::-1] f8",
        &b,
        &a.slice(&[BACK]).unwrap(),
        candidates!(|t, nt, to, from| {
            limit::rows(t, nt, to + 2047 * 16384, from, 2048, 16384, 0_usize.wrapping_sub(16384), 16384)
        }),
    );
    let halved = bench.new_array(&[2048, 1024], Dtype::F64);
    bench.case(
        "a[:, ::2] f8",
        &halved,
        &a.slice(&[SliceItem::FULL, HALF]).unwrap(),
        candidates!(|t, nt, to, from| { limit::steps_f64::<2, false>(t, nt, to, from, 2048 * 1024) }),
    );
    let halved = bench.new_array(&[1024, 2048], Dtype::F64);
    bench.case(
        "a[::2, :] f8",
        &halved,
        &a.slice(&[HALF]).unwrap(),
        candidates!(|t, nt, to, from| { limit::rows(t, nt, to, from, 1024, 16384, 16384, 32768) }),
    );
    let trimmed = bench.new_array(&[2046, 2046], Dtype::F64);
    bench.case(
        "a[1:-1, 1:-1] f8",
        &trimmed,
        &a.slice(&[TRIM, TRIM]).unwrap(),
        candidates!(|t, nt, to, from| {
            limit::rows(t, nt, to, from + 2049 * 8, 2046, 2046 * 8, 2046 * 8, 16384)
        }),
    );
    let n = 2 << 20;
    let a = bench.new_array(&[n, 4], Dtype::F64);
    let b = bench.new_array(&[n, 2], Dtype::F64);
    bench.case(
        "(n, 4)[:, ::2] f8",
        &b,
        &a.slice(&[SliceItem::FULL, HALF]).unwrap(),
        candidates!(|t, nt, to, from| { limit::steps_f64::<2, false>(t, nt, to, from, 2 * n) }),
    );
    let b = bench.new_array(&[n, 3], Dtype::F64);
    let three = SliceItem::Slice { start: None, stop: Some(3), step: 1 };
    bench.case(
        "(n, 4)[:, :3] f8",
        &b,
        &a.slice(&[SliceItem::FULL, three]).unwrap(),
        candidates!(|t, nt, to, from| { limit::tiny::<3>(t, nt, to, from, n) }),
    );
    let b = bench.new_array(&[n], Dtype::F64);
    bench.case(
        "(n, 4)[:, 1] f8",
        &b,
        &a.slice(&[SliceItem::FULL, SliceItem::Index(1)]).unwrap(),
        candidates!(|t, nt, to, from| { limit::steps_f64::<4, false>(t, nt, to, from + 8, n) }),
    );
}

/// Colours: the limit is a copy of as many bytes.
fn planes(bench: &Bench<'_>) {
    for (dtype, name) in [(Dtype::U8, "u1"), (Dtype::F32, "f4")] {
        let n = (48 << 20) / 3 / dtype.itemsize_bytes();
        let (planes, pixels) = (bench.new_array(&[3, n], dtype), bench.new_array(&[n, 3], dtype));
        bench.case(&format!("planes to pixels {name}"), &pixels, &planes.transpose(), vec![]);
        bench.case(&format!("pixels to planes {name}"), &planes, &pixels.transpose(), vec![]);
    }
}

macro_rules! transpose {
    ($bench:expr, $name:expr, $dtype:expr, $function:ident, $src:expr, $dst:expr, $tables:expr, $batches:expr) => {{
        let tables: Transpose = $tables;
        let batches: Vec<(usize, usize)> = $batches;
        let (tables, batches) = (&tables, &batches);
        let item = $dtype.itemsize_bytes();
        let mut loops: Vec<Loop<'_>> = vec![];
        for side in [32, 64, 128, 256].into_iter().filter(|side| (side + 32 / item) * side * item < 128 << 10)
        {
            for threads in [1, 2] {
                for nt in [false, true] {
                    loops.push(Box::new(move |to, from| {
                        if let [(t, f)] = batches[..] {
                            return limit::$function(
                                threads,
                                nt,
                                side,
                                to + t * item,
                                from + f * item,
                                tables,
                            );
                        }
                        limit::split(threads, batches.len(), |first, last| {
                            for (t, f) in &batches[first..last] {
                                limit::$function(1, nt, side, to + t * item, from + f * item, tables);
                            }
                        });
                    }));
                }
            }
        }
        $bench.case($name, $dst, $src, loops);
    }};
}

fn transposes(bench: &Bench<'_>) {
    macro_rules! matrix {
        ($name:literal, $rows:expr, $columns:expr, $dtype:expr, $function:ident) => {{
            let (rows, columns): (usize, usize) = ($rows, $columns);
            let a = bench.new_array(&[rows, columns], $dtype);
            let b = bench.new_array(&[columns, rows], $dtype);
            let t = tables(offsets(&[rows], &[columns]), offsets(&[columns], &[rows]));
            transpose!(bench, $name, $dtype, $function, &a.transpose(), &b, t, vec![(0, 0)]);
        }};
    }
    matrix!("transpose u1 8192x8192", 8192, 8192, Dtype::U8, transpose_8);
    matrix!("transpose f4 4096x4096", 4096, 4096, Dtype::F32, transpose_32);
    matrix!("transpose f8 4096x2048", 4096, 2048, Dtype::F64, transpose_64);
    matrix!("transpose c16 2048x2048", 2048, 2048, Dtype::C128, transpose_128);
    matrix!("transpose f8 3000x2700", 3000, 2700, Dtype::F64, transpose_64);
    matrix!("transpose f8 256x256", 256, 256, Dtype::F64, transpose_64);
    // 4 MiB, in the caches of most machines: with rows of odd length, and with rows that are a power of two apart.
    matrix!("transpose f8 724x724", 724, 724, Dtype::F64, transpose_64);
    matrix!("transpose f8 1024x512", 1024, 512, Dtype::F64, transpose_64);
}

fn permutes(bench: &Bench<'_>) {
    let a = bench.new_array(&[128, 256, 256], Dtype::F64);
    let plane = 65536;
    let target = |axes: &[isize]| bench.new_array(a.permute(axes).unwrap().shape(), Dtype::F64);
    let view = |axes: &[isize]| a.permute(axes).unwrap();
    let b = target(&[2, 0, 1]);
    let t = tables(offsets(&[128 * 256], &[256]), offsets(&[256], &[128 * 256]));
    transpose!(bench, "permute (2, 0, 1)", Dtype::F64, transpose_64, &view(&[2, 0, 1]), &b, t, vec![(0, 0)]);
    let t = tables(offsets(&[256], &[256]), offsets(&[256], &[256]));
    let b = target(&[0, 2, 1]);
    let batches = (0..128).map(|i| (i * plane, i * plane)).collect();
    transpose!(bench, "permute (0, 2, 1)", Dtype::F64, transpose_64, &view(&[0, 2, 1]), &b, t, batches);
    let b = target(&[1, 0, 2]);
    bench.case(
        "permute (1, 0, 2)",
        &b,
        &view(&[1, 0, 2]),
        candidates!(|threads, nt, to, from| {
            limit::split(threads, 256, |first, last| {
                for j in first..last {
                    limit::rows(1, nt, to + j * 128 * 2048, from + j * 2048, 128, 2048, 2048, plane * 8);
                }
            })
        }),
    );
    let b = target(&[2, 1, 0]);
    let t = tables(offsets(&[128], &[plane]), offsets(&[256], &[128 * 256]));
    let batches = (0..256).map(|j| (j * 128, j * 256)).collect();
    transpose!(bench, "permute (2, 1, 0)", Dtype::F64, transpose_64, &view(&[2, 1, 0]), &b, t, batches);

    for (rank, side, fast) in [(3, 256_usize, 1_usize), (4, 64, 1), (6, 16, 2), (8, 8, 3)] {
        let shape = vec![side; rank];
        let a = bench.new_array(&shape, Dtype::F32);
        let b = bench.new_array(&shape, Dtype::F32);
        let strides: Vec<usize> = (0..rank).map(|axis| side.pow((rank - 1 - axis) as u32)).collect();
        let reversed: Vec<usize> = strides.iter().rev().copied().collect();
        // The first axes are fast in the target, the last ones in the source; those between are batches.
        let first: Vec<usize> = (0..fast).rev().collect();
        let last: Vec<usize> = (rank - fast..rank).collect();
        let of = |axes: &[usize], strides: &[usize]| {
            let strides: Vec<usize> = axes.iter().map(|&axis| strides[axis]).collect();
            offsets(&vec![side; axes.len()], &strides)
        };
        let t = tables(of(&first, &strides), of(&last, &reversed));
        let middle: Vec<usize> = (fast..rank - fast).collect();
        let batches = of(&middle, &reversed).into_iter().zip(of(&middle, &strides)).collect();
        transpose!(
            bench,
            &format!("all axes reversed f4 rank {rank}"),
            Dtype::F32,
            transpose_32,
            &a.transpose(),
            &b,
            t,
            batches
        );
    }
}

/// The last two axes of many, of equal bytes: ever more and smaller transposes that follow each other without a gap.
fn swaps(bench: &Bench<'_>) {
    for (rank, side) in [(3, 256_usize), (4, 64), (6, 16), (8, 8)] {
        let shape = vec![side; rank];
        let (a, b) = (bench.new_array(&shape, Dtype::F32), bench.new_array(&shape, Dtype::F32));
        let mut axes: Vec<isize> = (0..rank as isize).collect();
        axes.swap(rank - 2, rank - 1);
        let (name, view) = (format!("last two axes swapped f4 rank {rank}"), a.permute(&axes).unwrap());
        let count = side.pow(rank as u32 - 2);
        if side > limit::MAX_SWAP {
            let t = tables(offsets(&[side], &[side]), offsets(&[side], &[side]));
            let batches = (0..count).map(|i| (i * side * side, i * side * side)).collect();
            transpose!(bench, &name, Dtype::F32, transpose_32, &view, &b, t, batches);
        } else {
            bench.case(
                &name,
                &b,
                &view,
                candidates!(|threads, nt, to, from| limit::swaps_32(threads, nt, to, from, side, count)),
            );
        }
    }
}

fn halos(bench: &Bench<'_>) {
    for (rank, side) in [(2_usize, 2048_usize), (4, 48), (6, 14), (8, 8)] {
        let a = bench.new_array(&vec![side; rank], Dtype::F64);
        let inner = side - 2;
        let b = bench.new_array(&vec![inner; rank], Dtype::F64);
        let strides: Vec<usize> = (0..rank).map(|axis| side.pow((rank - 1 - axis) as u32)).collect();
        let start: usize = strides.iter().sum();
        let planes = offsets(&vec![inner; rank - 2], &strides);
        let planes = &planes;
        let plane = inner * inner;
        bench.case(
            &format!("halo trimmed f8 rank {rank}"),
            &b,
            &a.slice(&vec![TRIM; rank]).unwrap(),
            candidates!(
                |threads, nt, to, from| {
                    if rank == 2 {
                        return limit::rows(
                            threads,
                            nt,
                            to,
                            from + start * 8,
                            inner,
                            inner * 8,
                            inner * 8,
                            side * 8,
                        );
                    }
                    limit::split(threads, planes.len(), |first, last| {
                        for k in first..last {
                            limit::rows(
                                1,
                                nt,
                                to + k * plane * 8,
                                from + (start + planes[k]) * 8,
                                inner,
                                inner * 8,
                                inner * 8,
                                side * 8,
                            );
                        }
                    })
                },
                |threads, nt, to, from| {
                    // Rows by way of a small buffer.
                    limit::split(threads, planes.len(), |first, last| {
                        for k in first..last {
                            limit::halo_plane(
                                nt,
                                to + k * plane * 8,
                                from + (start + planes[k]) * 8,
                                inner,
                                side,
                            );
                        }
                    })
                }
            ),
        );
    }
}

fn broadcasts_and_casts(bench: &Bench<'_>) {
    let b = bench.new_array(&[2048, 2048], Dtype::F64);
    let row = bench.new_array(&[2048], Dtype::F64);
    bench.case(
        "row into a matrix f8",
        &b,
        &row,
        candidates!(|t, nt, to, from| limit::rows(t, nt, to, from, 2048, 16384, 16384, 0)),
    );
    let column = bench.new_array(&[2048, 1], Dtype::F64);
    bench.case(
        "column into a matrix f8",
        &b,
        &column,
        candidates!(|t, _nt, to, from| {
            let _ = from;
            limit::set(t, to, 1.0, 2048 * 2048)
        }),
    );
    macro_rules! casts {
        ($name:literal, $from:expr, $to:expr, $function:ident) => {{
            let n = 8 << 20;
            let a = bench.new_array(&[n], $from);
            let b = bench.new_array(&[n], $to);
            bench.case($name, &b, &a, candidates!(|t, nt, to, from| limit::$function(t, nt, to, from, n)));
        }};
    }
    casts!("cast f4 to f8", Dtype::F32, Dtype::F64, f4_f8);
    casts!("cast i4 to f4", Dtype::I32, Dtype::F32, i4_f4);
    casts!("cast f8 to f4", Dtype::F64, Dtype::F32, f8_f4);
}
