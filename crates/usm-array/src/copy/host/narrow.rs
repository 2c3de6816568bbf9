//! A few planes to many short rows and back: colours of pixels, coordinates of points, real and imaginary parts
//!
//! Between `(3, n)` and `(n, 3)` blocks of a transpose have next to no rows. Here as many registers as there are planes are read,
//! and each byte of as many results comes from a byte of one of them, by one shuffle for each pair.

use std::arch::x86_64::{
    _mm_loadu_si128, _mm_or_si128, _mm_setzero_si128, _mm_shuffle_epi8, _mm_storeu_si128, _mm_stream_si128,
};

use usm_memory::usm_core::bulk::{has_avx2, stream::LINE_BYTES};

use super::row::Word;
use super::store::{BLOCK_BYTES, StackBlock, Store};
use crate::copy::cast::Cast;
use crate::copy::plan::{Tiles, for_each_step};

/// The most planes. With more, blocks are as good.
const MAX_PLANES: usize = 8;
/// The fewest rows: a plan costs as much as some dozens.
const MIN_ROWS: usize = 64;
/// Bytes of a plane in a block: the planes of most pixels fit into half of the first level of any cache.
pub(super) const PLANE_BYTES: usize = 2048;
/// Bytes of a register.
const REGISTER_BYTES: usize = 16;

/// A plan whose blocks are as narrow as its planes are few.
#[derive(Clone, Copy)]
pub(super) struct Narrow {
    // Invariant NT1: The tiles have one loop on either side. The element of a plane and a row lies where `to` and `from` say in the target and
    //     in the source.
    planes: usize,
    rows: usize,
    to: Distances,
    from: Distances,
}

/// How many elements planes and rows are apart. On one side the elements of a row lie side by side, and so do the rows; on the other
/// side those of a plane do.
#[derive(Clone, Copy)]
struct Distances {
    plane: isize,
    row: isize,
}

impl Distances {
    fn is_in_planes(self) -> bool {
        self.row == 1
    }

    fn at(self, plane: usize, row: usize) -> isize {
        self.plane * plane.cast_signed() + self.row * row.cast_signed()
    }

    /// Where the registers of so many lanes are that have a group of as many rows.
    fn registers<const N: usize>(self, lanes: usize) -> [isize; N] {
        let step = if self.is_in_planes() { self.plane } else { lanes.cast_signed() };
        let mut registers = [0; N];
        for (register, at) in registers.iter_mut().enumerate() {
            *at = register.cast_signed() * step;
        }
        registers
    }
}

impl Narrow {
    /// `None` for tiles that are not like that, for words as large as registers, and on processors without these shuffles.
    pub(super) fn of<W: Word>(tiles: &Tiles) -> Option<Self> {
        let (&[across], &[along]) = (&tiles.across[..], &tiles.along[..]) else { return None };
        // `across` is dense in the source and `along` in the target: one of them counts planes, the other one rows.
        let [planes, rows] = if across.count <= along.count { [across, along] } else { [along, across] };
        let to = Distances { plane: planes.dst, row: rows.dst };
        let from = Distances { plane: planes.src, row: rows.src };
        let packed = if to.is_in_planes() { from } else { to };
        let is_dense = across.src == 1 && along.dst == 1 && packed.row == planes.count.cast_signed();
        let is_fit = is_dense && planes.count <= MAX_PLANES && rows.count >= MIN_ROWS;
        let narrow = Self { planes: planes.count, rows: rows.count, to, from };
        (is_fit && size_of::<W>() < REGISTER_BYTES && has_avx2()).then_some(narrow)
    }

    /// Carries the tiles out.
    ///
    /// # Safety
    /// Those of [`tiles::execute`](super::tiles::execute) for the tiles that this was made of.
    pub(super) unsafe fn execute<W: Word>(
        self,
        tiles: &Tiles,
        cast: Cast,
        stream: bool,
        dst: *mut u8,
        src: *const W,
    ) {
        let run: unsafe fn(Self, &Tiles, Cast, bool, *mut u8, *const W) = match self.planes {
            2 => run::<W, 2>,
            3 => run::<W, 3>,
            4 => run::<W, 4>,
            5 => run::<W, 5>,
            6 => run::<W, 6>,
            7 => run::<W, 7>,
            _ => run::<W, MAX_PLANES>,
        };
        // SAFETY: the caller's promises 1 to 4; so many planes; there is AVX2 (`of`).
        unsafe { run(self, tiles, cast, stream, dst, src) };
    }
}

/// # Safety
/// Those of [`Narrow::execute`], with `N` planes, and the processor has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn run<W: Word, const N: usize>(
    narrow: Narrow,
    tiles: &Tiles,
    cast: Cast,
    stream: bool,
    dst: *mut u8,
    src: *const W,
) {
    let Narrow { rows, to, from, .. } = narrow;
    let itemsize = cast.dst.itemsize_bytes();
    // Short planes have few whole lines.
    let stream = stream && (!to.is_in_planes() || rows * size_of::<W>() >= PLANE_BYTES);
    let masks = masks::<N>(size_of::<W>(), to.is_in_planes());
    // A block of each plane at a time: several planes in turn are too many lines that are not whole yet, 1.3 to 2 times as slow.
    let in_planes = PLANE_BYTES / size_of::<W>();
    let capacity = if to.is_in_planes() {
        in_planes
    } else {
        BLOCK_BYTES / size_of::<W>() / N / LINE_BYTES * LINE_BYTES
    };
    let mut store = Store::new(cast, stream);
    let mut block: StackBlock<{ MAX_PLANES * PLANE_BYTES }> = StackBlock::new();
    let block = block.as_mut_ptr().cast::<W>();
    for_each_step(&tiles.outer, |outer_dst, outer_src| {
        let target =
            |at: isize| dst.wrapping_offset((tiles.dst_start + outer_dst + at) * itemsize.cast_signed());
        let source = |row: usize| src.wrapping_offset(tiles.src_start + outer_src + from.at(0, row));
        let head =
            if stream { rows_before_line(target(0).addr(), itemsize * to.row.unsigned_abs()) } else { 0 };
        if cast.run().is_none() && !(stream && to.is_in_planes()) {
            let part = |first: usize, count: usize, copy: Transpose<W, N>| {
                let to = (target(to.at(0, first)).cast(), to);
                // SAFETY: by NT1, T1 and T2 these are pairs of the plan; the dtypes are equal; there is AVX2. What is streamed begins
                // where a register does.
                unsafe { copy(to, (source(first), from), count, masks) };
            };
            let is_aligned = target(to.at(0, head)).addr().is_multiple_of(REGISTER_BYTES);
            part(0, head.min(rows), transpose::<W, N, false>);
            let copy = if stream && is_aligned { transpose::<W, N, true> } else { transpose::<W, N, false> };
            part(head.min(rows), rows - head.min(rows), copy);
            return;
        }
        let mut row = 0;
        while row < rows {
            let count = if row < head { head.min(rows) } else { capacity.min(rows - row) };
            // SAFETY: rows of the plan (NT1), as above, into the block, which has place for so many; there is AVX2.
            let load = |to: Distances| unsafe {
                transpose::<W, N, false>((block, to), (source(row), from), count, masks)
            };
            // The compiler knows where a block has its planes or rows.
            if to.is_in_planes() {
                load(Distances { plane: (PLANE_BYTES / size_of::<W>()).cast_signed(), row: 1 });
            } else {
                load(Distances { plane: 1, row: N.cast_signed() });
            }
            let (runs, len) = if to.is_in_planes() { (N, count) } else { (1, count * N) };
            for plane in 0..runs {
                let words = block.wrapping_add(plane * capacity).cast_const();
                // SAFETY: the words were just written; by NT1, T1 and T2 their places are target elements of the plan.
                unsafe { store.put(target(to.at(plane, row)), 1, words, len) };
            }
            row += count;
        }
    });
}

/// How many rows come before the first one that begins a line, if one does soon.
fn rows_before_line(start: usize, row_bytes: usize) -> usize {
    (0..LINE_BYTES).find(|row| (start + row * row_bytes).is_multiple_of(LINE_BYTES)).unwrap_or(0)
}

/// Which byte of source register `j` goes to each byte of result `k`, in `[k][j]`; the highest bit stands for none.
fn masks<const N: usize>(itemsize: usize, is_split: bool) -> [[[u8; REGISTER_BYTES]; N]; N] {
    let mut masks = [[[0x80; REGISTER_BYTES]; N]; N];
    let lanes = REGISTER_BYTES / itemsize;
    for (plane, lane) in (0..N).flat_map(|plane| (0..lanes).map(move |lane| (plane, lane))) {
        for byte in 0..itemsize {
            let in_rows = (lane * N + plane) * itemsize + byte;
            let (register, at) = (in_rows / REGISTER_BYTES, in_rows % REGISTER_BYTES);
            let in_plane = lane * itemsize + byte;
            if is_split {
                masks[plane][register][in_plane] = at as u8;
            } else {
                masks[register][plane][at] = in_plane as u8;
            }
        }
    }
    masks
}

type Transpose<W, const N: usize> =
    unsafe fn((*mut W, Distances), (*const W, Distances), usize, [[[u8; REGISTER_BYTES]; N]; N]);

/// Takes so many rows of `N` planes from one side to the other; `masks` are those of this direction.
///
/// # Safety
/// 1. Their words are readable where the second side says and writable where the first one does. One side is in planes, the other one
///    has `N` words a row without gaps.
/// 2. No word that is written has a byte in common with one that is read or written otherwise.
/// 3. The processor has AVX2.
/// 4. With `STREAM`, rows of the target follow each other without a gap, and the first one is at a multiple of 16.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn transpose<W: Word, const N: usize, const STREAM: bool>(
    (dst, to): (*mut W, Distances),
    (src, from): (*const W, Distances),
    rows: usize,
    masks: [[[u8; REGISTER_BYTES]; N]; N],
) {
    let lanes = REGISTER_BYTES / size_of::<W>();
    let (read, written) = (from.registers::<N>(lanes), to.registers::<N>(lanes));
    let mut shuffles = [[_mm_setzero_si128(); N]; N];
    for (shuffle, mask) in shuffles.as_flattened_mut().iter_mut().zip(masks.as_flattened()) {
        // SAFETY: promise 3; the mask has 16 bytes.
        *shuffle = unsafe { _mm_loadu_si128(mask.as_ptr().cast()) };
    }
    let whole = rows / lanes * lanes;
    for row in (0..whole).step_by(lanes) {
        let mut words = [_mm_setzero_si128(); N];
        for (word, at) in words.iter_mut().zip(read) {
            let at = src.wrapping_offset(at + from.at(0, row)).cast();
            // SAFETY: promise 1: so many rows of words are `N` registers, on either side.
            *word = unsafe { _mm_loadu_si128(at) };
        }
        for (at, shuffles) in written.into_iter().zip(&shuffles) {
            let mut result = _mm_setzero_si128();
            for (&word, &shuffle) in words.iter().zip(shuffles) {
                result = _mm_or_si128(result, _mm_shuffle_epi8(word, shuffle));
            }
            let to = dst.wrapping_offset(at + to.at(0, row)).cast();
            if STREAM {
                // SAFETY: promises 1 and 4, as above.
                unsafe { _mm_stream_si128(to, result) };
            } else {
                // SAFETY: promise 1, as above.
                unsafe { _mm_storeu_si128(to, result) };
            }
        }
    }
    for (row, plane) in (whole..rows).flat_map(|row| (0..N).map(move |plane| (row, plane))) {
        // SAFETY: promise 1.
        let word = unsafe { src.wrapping_offset(from.at(plane, row)).read_unaligned() };
        // SAFETY: promise 1.
        unsafe { dst.wrapping_offset(to.at(plane, row)).write_unaligned(word) };
    }
}
