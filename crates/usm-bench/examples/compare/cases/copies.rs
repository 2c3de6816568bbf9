//! Strided copies: ours, the crate ndarray, the best loop by hand, and a STREAM copy of as many bytes.

use usm_array::usm_core::UsmKind;
use usm_array::{Casting, Dtype, Element, SliceItem, UsmArray, num_complex::Complex};

use super::loops::{self, Loops, Transpose, at, elements, offsets, ways};
use super::stage::{Case, Contender, LIMIT, OURS, queue};

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

/// A copy between existing arrays; `view` makes the source of a new array of this shape. `loops` takes the addresses of a spare
/// target and of the new array.
fn case(
    name: impl AsRef<str>,
    shape: &[usize],
    (from, to): (Dtype, Dtype),
    view: impl Fn(UsmArray) -> UsmArray + 'static,
    loops: impl Fn(usize, usize) -> Loops + 'static,
) -> Case {
    let shape = shape.to_vec();
    Case::new(format!("copy/{}", name.as_ref()), move || {
        let src = view(filled(new(&shape, from)));
        let dst = filled(new(src.shape(), to));
        let bytes = dst.size_bytes();
        let [spare, spare_from] =
            [(); 2].map(|()| UsmArray::full(src.queue(), UsmKind::Shared, &[bytes], 1_u8).unwrap());
        let best = Contender::fastest(LIMIT, loops(spare.address(), src.buffer().address()));
        let stream = loops::contiguous(spare.address(), spare_from.address(), bytes);
        let stream = Contender::fastest("STREAM copy", stream);
        let peer = by_ndarray(&dst, &src);
        let (ours, addresses) = (dst.clone(), [dst.address(), spare.address()]);
        let ours = move || ours.assign_cast(&src, Casting::Unsafe).unwrap();
        ours();
        let best = best.checked(|| {
            let found = |address| unsafe { std::slice::from_raw_parts(address as *const u8, bytes) };
            let [made, found] = addresses.map(found);
            made == found
        });
        let ours = Contender::timed(OURS, ours).keeping((spare, spare_from));
        vec![ours, peer, best, stream]
    })
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

pub(crate) fn cases() -> Vec<Case> {
    let contiguous = [1_usize, 4, 8, 16, 32, 64].map(|mib| {
        let n = mib << 20;
        let loops = move |to, from| loops::contiguous(to, from, n);
        case(format!("contiguous {mib} MiB"), &[n], (Dtype::U8, Dtype::U8), |a| a, loops)
    });
    let groups = [slices(), transposes(), permutes(), swaps(), halos(), broadcasts_and_casts()];
    contiguous.into_iter().chain(groups.into_iter().flatten()).collect()
}

fn slices() -> Vec<Case> {
    const SIDE: usize = 2048;
    const ROWS: usize = 2 << 20;
    fn halves<T: Copy + 'static>(dtype: Dtype, name: &str) -> Case {
        let n = (64 << 20) / size_of::<T>();
        slice(&format!("a[::2] {name}"), &[n], dtype, &[HALF], move |to, from| {
            elements(to, n / 2, move |i| at::<T>(from, 2 * i))
        })
    }
    fn slice(
        name: &str,
        shape: &[usize],
        dtype: Dtype,
        items: &[SliceItem],
        loops: impl Fn(usize, usize) -> Loops + 'static,
    ) -> Case {
        let items = items.to_vec();
        case(name, shape, (dtype, dtype), move |a| a.slice(&items).unwrap(), loops)
    }
    fn of_rows(name: &str, items: &[SliceItem], rows: (usize, usize), bytes: (usize, isize)) -> Case {
        slice(name, &[SIDE, SIDE], Dtype::F64, items, move |to, from| {
            loops::rows(to, from, (vec![rows.0], rows.1), bytes)
        })
    }
    /// `of` gives an element of the result.
    fn of_elements<T: Copy + 'static>(
        name: &str,
        shape: [usize; 2],
        items: &[SliceItem],
        count: usize,
        of: impl Fn(usize, usize) -> T + Copy + Sync + 'static,
    ) -> Case {
        slice(name, &shape, Dtype::F64, items, move |to, from| elements(to, count, move |i| of(from, i)))
    }
    let (square, four, row) = ([SIDE, SIDE], [ROWS, 4], 8 * SIDE);
    let three = SliceItem::Slice { start: None, stop: Some(3), step: 1 };
    let all = SliceItem::FULL;
    vec![
        halves::<u8>(Dtype::U8, "u1"),
        halves::<f32>(Dtype::F32, "f4"),
        halves::<f64>(Dtype::F64, "f8"),
        halves::<[f64; 2]>(Dtype::C128, "c16"),
        of_elements("a[::-1, ::-1] f8", square, &[BACK, BACK], SIDE * SIDE, |from, i| {
            at::<f64>(from, SIDE * SIDE - 1 - i)
        }),
        of_rows("a[::-1] f8", &[BACK], ((SIDE - 1) * row, SIDE), (row, -(row as isize))),
        of_elements("a[:, ::2] f8", square, &[all, HALF], SIDE * SIDE / 2, |from, i| at::<f64>(from, 2 * i)),
        of_rows("a[::2, :] f8", &[HALF], (0, SIDE / 2), (row, 2 * row as isize)),
        slice("a[..., ::2] f4", &[16, 1024, 1024], Dtype::F32, &[SliceItem::Ellipsis, HALF], |to, from| {
            elements(to, 8 << 20, move |i| at::<f32>(from, 2 * i))
        }),
        of_rows("a[1:-1, 1:-1] f8", &[TRIM, TRIM], (row + 8, SIDE - 2), (row - 16, row as isize)),
        of_elements("(n, 4)[:, ::2] f8", four, &[all, HALF], 2 * ROWS, |from, i| at::<f64>(from, 2 * i)),
        of_elements("(n, 4)[:, :3] f8", four, &[all, three], ROWS, |from, i| {
            let [a, b, c, _] = at::<[u64; 4]>(from, i);
            [a, b, c]
        }),
        of_elements("(n, 4)[:, 1] f8", four, &[all, SliceItem::Index(1)], ROWS, |from, i| {
            at::<f64>(from, 4 * i + 1)
        }),
    ]
}

/// A permutation of axes as transposes.
fn permute(name: impl AsRef<str>, shape: &[usize], dtype: Dtype, axes: &[isize], table: Transpose) -> Case {
    by_axes(name, shape, dtype, axes, move |to, from| {
        table.loops(&[32, 64, 128, 256], dtype.itemsize_bytes(), to, from)
    })
}

fn by_axes(
    name: impl AsRef<str>,
    shape: &[usize],
    dtype: Dtype,
    axes: &[isize],
    loops: impl Fn(usize, usize) -> Loops + 'static,
) -> Case {
    let axes = axes.to_vec();
    case(name, shape, (dtype, dtype), move |a| a.permute(&axes).unwrap(), loops)
}

fn transposes() -> Vec<Case> {
    let matrices = [
        (Dtype::U8, "u1", 8192, 8192),
        (Dtype::F32, "f4", 4096, 4096),
        (Dtype::F64, "f8", 4096, 2048),
        (Dtype::C128, "c16", 2048, 2048),
        (Dtype::F64, "f8", 3000, 2700),
        (Dtype::F64, "f8", 256, 256),
        // 4 MiB, in the caches of most machines: with rows of odd length, and with rows that are a power of two apart.
        (Dtype::F64, "f8", 724, 724),
        (Dtype::F64, "f8", 1024, 512),
    ];
    let matrices = matrices.map(|(dtype, name, rows, columns)| {
        let name = format!("transpose {name} {rows}x{columns}");
        permute(name, &[rows, columns], dtype, &[1, 0], Transpose::of(rows, columns))
    });
    // Colours: the limit is a copy of as many bytes.
    let planes = [(Dtype::U8, "u1"), (Dtype::F32, "f4")].into_iter().flat_map(|(dtype, name)| {
        let n = (48 << 20) / 3 / dtype.itemsize_bytes();
        [("planes to pixels", [3, n]), ("pixels to planes", [n, 3])]
            .map(|(way, shape)| by_axes(format!("{way} {name}"), &shape, dtype, &[1, 0], |_, _| vec![]))
    });
    matrices.into_iter().chain(planes).collect()
}

fn permutes() -> Vec<Case> {
    let shape: [usize; 3] = [128, 256, 256];
    let ([planes, rows, columns], plane) = (shape, 256 * 256);
    let numbers = |name, axes, table| permute(name, &shape, Dtype::F64, axes, table);
    let whole_planes = (0..planes).map(|i| (i * plane, i * plane)).collect();
    let by_rows = move |to, from| {
        let starts = (0..rows).map(|row| row * 8 * columns).collect();
        loops::rows(to, from, (starts, planes), (8 * columns, 8 * plane as isize))
    };
    let outer = Transpose {
        from: offsets(&[planes], &[plane]),
        to: offsets(&[columns], &[planes * rows]),
        batches: (0..rows).map(|row| (row * planes, row * columns)).collect(),
    };
    let mut cases = vec![
        numbers("permute (2, 0, 1)", &[2, 0, 1], Transpose::of(planes * rows, columns)),
        numbers(
            "permute (0, 2, 1)",
            &[0, 2, 1],
            Transpose { batches: whole_planes, ..Transpose::of(rows, columns) },
        ),
        by_axes("permute (1, 0, 2)", &shape, Dtype::F64, &[1, 0, 2], by_rows),
        numbers("permute (2, 1, 0)", &[2, 1, 0], outer),
    ];
    for (rank, side, fast) in [(3, 256_usize, 1_usize), (4, 64, 1), (6, 16, 2), (8, 8, 3)] {
        let strides = dense(rank, side);
        let reversed: Vec<usize> = strides.iter().rev().copied().collect();
        let of = |axes: &[usize], strides: &[usize]| {
            let strides: Vec<usize> = axes.iter().map(|&axis| strides[axis]).collect();
            offsets(&vec![side; axes.len()], &strides)
        };
        // The first axes are fast in the target, the last ones in the source; those between are batches.
        let (first, last): (Vec<_>, Vec<_>) = ((0..fast).rev().collect(), (rank - fast..rank).collect());
        let middle: Vec<usize> = (fast..rank - fast).collect();
        let batches = of(&middle, &reversed).into_iter().zip(of(&middle, &strides)).collect();
        let table = Transpose { from: of(&first, &strides), to: of(&last, &reversed), batches };
        let axes: Vec<isize> = (0..rank as isize).rev().collect();
        let name = format!("all axes reversed f4 rank {rank}");
        cases.push(permute(name, &vec![side; rank], Dtype::F32, &axes, table));
    }
    cases
}

/// The strides of an array with equal sides and no gaps.
fn dense(rank: usize, side: usize) -> Vec<usize> {
    (0..rank).map(|axis| side.pow((rank - 1 - axis) as u32)).collect()
}

/// The last two axes of many, of equal bytes: ever more and smaller transposes that follow each other without a gap.
fn swaps() -> Vec<Case> {
    let of_rank = |(rank, side): (usize, usize)| {
        let mut axes: Vec<isize> = (0..rank as isize).collect();
        axes.swap(rank - 2, rank - 1);
        let (name, shape) = (format!("last two axes swapped f4 rank {rank}"), vec![side; rank]);
        let count = side.pow(rank as u32 - 2);
        if side > loops::MAX_SWAP {
            let batches = (0..count).map(|i| (i * side * side, i * side * side)).collect();
            permute(name, &shape, Dtype::F32, &axes, Transpose { batches, ..Transpose::of(side, side) })
        } else {
            by_axes(name, &shape, Dtype::F32, &axes, move |to, from| loops::swaps(to, from, side, count))
        }
    };
    [(3, 256), (4, 64), (6, 16), (8, 8)].map(of_rank).into()
}

fn halos() -> Vec<Case> {
    let of_rank = |(rank, side): (usize, usize)| {
        let (inner, strides) = (side - 2, dense(rank, side));
        let start: usize = strides.iter().sum();
        let strides: Vec<usize> = strides[..rank - 2].iter().map(|stride| 8 * stride).collect();
        let planes = offsets(&vec![inner; rank - 2], &strides);
        let view = move |a: UsmArray| a.slice(&vec![TRIM; rank]).unwrap();
        let name = format!("halo trimmed f8 rank {rank}");
        case(name, &vec![side; rank], (Dtype::F64, Dtype::F64), view, move |to, from| {
            loops::rows(to, from + 8 * start, (planes.clone(), inner), (8 * inner, 8 * side as isize))
        })
    };
    [(2, 2048), (4, 48), (6, 14), (8, 8)].map(of_rank).into()
}

fn broadcasts_and_casts() -> Vec<Case> {
    const N: usize = 8 << 20;
    let broadcast = |name, shape: &[usize], loops: fn(usize, usize) -> Loops| {
        let view = |a: UsmArray| a.broadcast_to(&[2048, 2048]).unwrap();
        case(name, shape, (Dtype::F64, Dtype::F64), view, loops)
    };
    let cast = |name, from, to, loops: fn(usize, usize) -> Loops| case(name, &[N], (from, to), |a| a, loops);
    vec![
        broadcast("row into a matrix f8", &[2048], |to, from| {
            loops::rows(to, from, (vec![0], 2048), (16384, 0))
        }),
        broadcast("column into a matrix f8", &[2048, 1], |to, from| {
            ways(move |threads, _| loops::set(threads, to, (2048, 2048), |row| at(from, row)))
        }),
        cast("cast f4 to f8", Dtype::F32, Dtype::F64, |to, from| {
            elements(to, N, move |i| f64::from(at::<f32>(from, i)))
        }),
        cast("cast i4 to f4", Dtype::I32, Dtype::F32, |to, from| {
            elements(to, N, move |i| at::<i32>(from, i) as f32)
        }),
        cast("cast f8 to f4", Dtype::F64, Dtype::F32, |to, from| {
            elements(to, N, move |i| at::<f64>(from, i) as f32)
        }),
    ]
}
