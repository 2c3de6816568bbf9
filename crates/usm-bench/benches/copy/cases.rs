//! The cases, and the table of their ratios

use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{Casting, Dtype, SliceItem, UsmArray};

use super::limit::{self, Transpose};

const BACK: SliceItem = SliceItem::Slice { start: None, stop: None, step: -1 };
const HALF: SliceItem = SliceItem::Slice { start: None, stop: None, step: 2 };
const TRIM: SliceItem = SliceItem::Slice { start: Some(1), stop: Some(-1), step: 1 };

type Run<'a> = Box<dyn FnMut() + 'a>;

struct Table {
    filter: Vec<String>,
    rounds: usize,
    clock: libc::clockid_t,
}

/// Seconds on a clock: those of the wall, or those that the processor worked for this thread.
fn seconds(clock: libc::clockid_t) -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

impl Table {
    fn wants(&self, name: &str) -> bool {
        self.filter.is_empty() || self.filter.iter().any(|filter| name.contains(filter))
    }

    /// Runs all in turn and prints the medians. The first one is ours, the second one a contiguous copy of as much.
    fn row(&self, name: &str, result_bytes: usize, mut runs: Vec<Run<'_>>) {
        let mut times = vec![vec![]; runs.len()];
        for round in 0..=self.rounds {
            for (run, times) in runs.iter_mut().zip(&mut times) {
                let start = seconds(self.clock);
                run();
                if round > 0 {
                    times.push(seconds(self.clock) - start);
                }
            }
        }
        let medians: Vec<f64> = times.into_iter().map(median).collect();
        let limits = medians[2..].iter().copied().enumerate();
        let (best, limit) = limits.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        println!(
            "{name:34} {:8.3} ms {:6.1} GB/s  {:5.2} x limit (loop {best})  {:5.2} x contiguous",
            medians[0] * 1e3,
            result_bytes as f64 / medians[0] / 1e9,
            medians[0] / limit,
            medians[0] / medians[1],
        );
    }
}

struct Bench {
    queue: Queue,
    table: Table,
}

impl Bench {
    fn new_array(&self, shape: &[usize], dtype: Dtype) -> UsmArray {
        let array = UsmArray::empty(&self.queue, UsmKind::Shared, shape, dtype).unwrap();
        let bytes: Vec<u8> = (0..array.size_bytes()).map(|i| ((i * 31) >> 3) as u8 & 0x3f).collect();
        array.copy_from_host_contiguous(&bytes).unwrap();
        array
    }

    /// One copy between existing arrays; `loops` are the candidates for the limit, called with threads, target and source.
    fn case(&self, name: &str, dst: &UsmArray, src: &UsmArray, loops: Vec<Box<dyn Fn(usize, usize) + '_>>) {
        if !self.table.wants(name) {
            return;
        }
        let bytes = dst.size_bytes();
        let from = src.buffer().address();
        let spare = self.new_array(&[bytes], Dtype::U8);
        let spare_from = self.new_array(&[bytes], Dtype::U8);
        let to = spare.address();
        let mut runs: Vec<Run<'_>> = vec![
            Box::new(|| dst.assign_cast(src, Casting::Unsafe).unwrap()),
            Box::new(|| spare.assign(&spare_from).unwrap()),
        ];
        for run in loops {
            runs.push(Box::new(move || run(to, from)));
        }
        self.table.row(name, bytes, runs);
    }
}

macro_rules! candidates {
    ($(|$threads:ident, $nt:ident, $to:ident, $from:ident| $body:expr),+) => {{
        let mut loops: Vec<Box<dyn Fn(usize, usize) + '_>> = vec![];
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
fn offsets(shape: &[usize], strides: &[usize]) -> Vec<usize> {
    shape.iter().zip(strides).fold(vec![0], |all, (&n, &stride)| {
        all.into_iter().flat_map(|start| (0..n).map(move |i| start + i * stride)).collect()
    })
}

pub(crate) fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let rounds = std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(15);
    // On a busy machine: one thread, and its own time.
    let busy = std::env::var_os("ONE_THREAD").is_some();
    let clock = if busy { libc::CLOCK_THREAD_CPUTIME_ID } else { libc::CLOCK_MONOTONIC };
    if busy {
        usm_array::set_num_threads(1);
        limit::ONE_THREAD.store(true, std::sync::atomic::Ordering::Relaxed);
    }
    let (_, queue) = usm_bench::queues().into_iter().find(|(name, _)| *name == "host").unwrap();
    let bench = Bench { queue, table: Table { filter: arguments, rounds, clock } };
    contiguous(&bench);
    strided(&bench);
    transposes(&bench);
    permutes(&bench);
    halos(&bench);
    broadcasts_and_casts(&bench);
    if bench.table.wants("small") {
        small(&bench);
    }
    if bench.table.wants("device") {
        device();
    }
}

fn contiguous(bench: &Bench) {
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

fn strided(bench: &Bench) {
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

macro_rules! transpose {
    ($bench:expr, $name:expr, $dtype:expr, $function:ident, $src:expr, $dst:expr, $tables:expr, $batches:expr) => {{
        let tables: Transpose = $tables;
        let batches: Vec<(usize, usize)> = $batches;
        let (tables, batches) = (&tables, &batches);
        let item = $dtype.itemsize_bytes();
        let mut loops: Vec<Box<dyn Fn(usize, usize) + '_>> = vec![];
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

fn transposes(bench: &Bench) {
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
}

fn permutes(bench: &Bench) {
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

fn halos(bench: &Bench) {
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

fn broadcasts_and_casts(bench: &Bench) {
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

/// What a copy costs that is too small for its bytes to count.
fn small(bench: &Bench) {
    let time = |name: &str, mut run: Run<'_>| {
        let times = (0..31).map(|_| {
            let start = seconds(bench.table.clock);
            (0..1000).for_each(|_| run());
            seconds(bench.table.clock) - start
        });
        println!("small {name:28} {:8.1} ns", median(times.collect()) * 1e6);
    };
    let a = bench.new_array(&[4, 4], Dtype::F64);
    let b = bench.new_array(&[4, 4], Dtype::F64);
    let turned = a.transpose();
    let page = bench.new_array(&[512], Dtype::F64);
    let mut bytes = vec![0; 4096];
    time("copy (4, 4)", Box::new(|| drop(a.copy().unwrap())));
    time(
        "empty (4, 4)",
        Box::new(|| drop(UsmArray::empty(a.queue(), a.kind(), &[4, 4], Dtype::F64).unwrap())),
    );
    time("assign (4, 4)", Box::new(|| b.assign(&a).unwrap()));
    time("assign (4, 4) transposed", Box::new(|| b.assign(&turned).unwrap()));
    time("to_vec (4, 4)", Box::new(|| drop(a.to_vec::<f64>().unwrap())));
    time("4 KiB to the host", Box::new(|| page.copy_to_host_contiguous(&mut bytes).unwrap()));
}

/// Device memory that host code cannot touch: staged beside contiguous.
fn device() {
    for (name, queue) in usm_bench::queues() {
        let array = UsmArray::zeros(&queue, UsmKind::Device, &[2048, 2048], Dtype::F64).unwrap();
        let mut bytes = vec![0; 32 << 20];
        let mut time = |view: &UsmArray, write: bool| {
            let size = view.size_bytes();
            let times = (0..11).map(|_| {
                let start = seconds(libc::CLOCK_MONOTONIC);
                match write {
                    true => view.copy_from_host_contiguous(&bytes[..size]).unwrap(),
                    false => view.copy_to_host_contiguous(&mut bytes[..size]).unwrap(),
                }
                seconds(libc::CLOCK_MONOTONIC) - start
            });
            size as f64 / median(times.collect()) / 1e9
        };
        for write in [false, true] {
            let whole = time(&array, write);
            let turned = time(&array.transpose(), write);
            let halved = time(&array.slice(&[SliceItem::FULL, HALF]).unwrap(), write);
            let way = if write { "host to device" } else { "device to host" };
            println!(
                "device {name} {way}: {whole:.1} GB/s contiguous, {turned:.1} transposed, {halved:.1} of [:, ::2]"
            );
        }
    }
}
