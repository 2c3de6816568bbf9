//! A few planes to many short rows and back: colours of pixels, coordinates of points, real and imaginary parts
//!
//! Between `(3, n)` and `(n, 3)` blocks of a transpose have next to no rows. Here as many registers as there are planes are read,
//! and each byte of as many results comes from a byte of one of them, by one shuffle for each pair.

use std::arch::x86_64::{
    __m128i, _mm_loadu_si128, _mm_or_si128, _mm_setzero_si128, _mm_shuffle_epi8, _mm_storeu_si128,
    _mm_stream_si128,
};

use usm_memory::usm_core::bulk::{
    has_avx2,
    stream::{self, LINE_BYTES},
};

use super::word::{Block, Word};
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
    // N1. The tiles have one loop on either side. On the side of the rows their elements follow each other without a gap; on the
    //     other side those of each plane do, and planes are `plane_step` elements apart.
    planes: usize,
    rows: usize,
    plane_step: isize,
    /// From rows into planes.
    is_split: bool,
}

impl Narrow {
    /// `None` for tiles that are not like that, for words as large as registers, and on processors without these shuffles.
    pub(super) fn of<W: Word>(tiles: &Tiles) -> Option<Self> {
        let (&[across], &[along]) = (&tiles.across[..], &tiles.along[..]) else { return None };
        // `across` is dense in the source and `along` in the target: one of them counts planes, the other one rows.
        let narrow = if across.count <= along.count {
            Self { planes: across.count, rows: along.count, plane_step: across.dst, is_split: true }
        } else {
            Self { planes: along.count, rows: across.count, plane_step: along.src, is_split: false }
        };
        let row_step = if narrow.is_split { along.src } else { across.dst };
        let is_dense = across.src == 1 && along.dst == 1 && row_step == narrow.planes.cast_signed();
        let is_fit = is_dense && narrow.planes <= MAX_PLANES && narrow.rows >= MIN_ROWS;
        (is_fit && size_of::<W>() < REGISTER_BYTES && has_avx2()).then_some(narrow)
    }

    /// Carries the tiles out.
    ///
    /// # Safety
    /// Those of [`tiles::execute`](super::tiles::execute), without a cast, for the tiles that this was made of.
    pub(super) unsafe fn execute<W: Word>(self, tiles: &Tiles, stream: bool, dst: *mut W, src: *const W) {
        let run: unsafe fn(Self, bool, *mut W, *const W) = match self.planes {
            2 => run::<W, 2>,
            3 => run::<W, 3>,
            4 => run::<W, 4>,
            5 => run::<W, 5>,
            6 => run::<W, 6>,
            7 => run::<W, 7>,
            _ => run::<W, MAX_PLANES>,
        };
        for_each_step(&tiles.outer, |outer_dst, outer_src| {
            let dst = dst.wrapping_offset(tiles.dst_start + outer_dst);
            let src = src.wrapping_offset(tiles.src_start + outer_src);
            // SAFETY: by N1, T1 and T2 these are the pairs of the plan; there is AVX2.
            unsafe { run(self, stream, dst, src) };
        });
    }
}

/// # Safety
/// Those of [`Narrow::execute`] for one step of the outer loops, with `N` planes, and the processor has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn run<W: Word, const N: usize>(narrow: Narrow, stream: bool, dst: *mut W, src: *const W) {
    let Narrow { rows, plane_step, is_split, .. } = narrow;
    let lanes = REGISTER_BYTES / size_of::<W>();
    let plane: [isize; N] = std::array::from_fn(|k| k.cast_signed() * plane_step);
    // Short planes have few whole lines.
    let stream = stream && (!is_split || rows * size_of::<W>() >= PLANE_BYTES);
    let head = match (stream, is_split) {
        (true, true) => Some(rows_before_line(dst)),
        (true, false) => head::<W, N>(dst),
        (false, _) => None,
    };
    let (stream, head) = (head.is_some(), head.unwrap_or(0).min(rows));
    let groups = (rows - head) / lanes;
    let end = head + groups * lanes;

    let single = |row: usize| {
        for (k, &plane) in plane.iter().enumerate() {
            let (packed, apart) = ((row * N + k).cast_signed(), row.cast_signed() + plane);
            let (to, from) = if is_split { (apart, packed) } else { (packed, apart) };
            // SAFETY: an element of the source, by N1.
            let word = unsafe { src.wrapping_offset(from).read_unaligned() };
            // SAFETY: an element of the target, by N1.
            unsafe { dst.wrapping_offset(to).write_unaligned(word) };
        }
    };
    (0..head).chain(end..rows).for_each(single);

    // Where the registers of a group are, in elements, and how far the next group is.
    let apart = plane.map(|plane| plane + head.cast_signed());
    let packed: [isize; N] = std::array::from_fn(|j| (head * N + j * lanes).cast_signed());
    let ((to, to_step), (from, from_step)) = match is_split {
        true => ((apart, lanes), (packed, N * lanes)),
        false => ((packed, N * lanes), (apart, lanes)),
    };
    let to = to.map(|at| dst.wrapping_offset(at).cast::<__m128i>());
    let from = from.map(|at| src.wrapping_offset(at).cast::<__m128i>());
    let step = |elements: usize| elements / lanes;
    let masks = masks::<N>(size_of::<W>(), is_split);
    let shuffle = match (stream, is_split) {
        (true, true) => by_blocks::<N>,
        (true, false) => shuffle::<N, true>,
        (false, _) => shuffle::<N, false>,
    };
    // SAFETY: `groups` registers a plane, and as many bytes of rows, are elements on both sides by N1; where stores to rows are
    // streamed, `head` has made their places multiples of 16.
    unsafe { shuffle(to, step(to_step), from, step(from_step), groups, masks) };
}

/// How many rows come before the end of a line of the first plane, if they end there at all: blocks are whole lines then.
fn rows_before_line<W: Word>(dst: *mut W) -> usize {
    let rows = dst.align_offset(LINE_BYTES);
    if rows < LINE_BYTES { rows } else { 0 }
}

/// How many rows come before the first one that is at a multiple of a register's size, if any is.
fn head<W: Word, const N: usize>(dst: *mut W) -> Option<usize> {
    (0..REGISTER_BYTES).find(|row| dst.wrapping_add(row * N).addr().is_multiple_of(REGISTER_BYTES))
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

/// [`shuffle`] to planes past the caches, a block of each at a time: several planes in turn are too many lines that are not whole
/// yet, 1.3 to 2 times as slow.
///
/// # Safety
/// Those of [`shuffle`] with registers that follow each other in the target; they may lie anywhere.
#[target_feature(enable = "avx2")]
unsafe fn by_blocks<const N: usize>(
    to: [*mut __m128i; N],
    _to_step: usize,
    from: [*const __m128i; N],
    from_step: usize,
    groups: usize,
    masks: [[[u8; REGISTER_BYTES]; N]; N],
) {
    const CAPACITY: usize = PLANE_BYTES / REGISTER_BYTES;
    let mut block: Block<{ MAX_PLANES * PLANE_BYTES }> = Block::new();
    let start = block.as_mut_ptr().cast::<__m128i>();
    let planes: [*mut __m128i; N] = std::array::from_fn(|k| start.wrapping_add(k * CAPACITY));
    for first in (0..groups).step_by(CAPACITY) {
        let count = CAPACITY.min(groups - first);
        let from = from.map(|from| from.wrapping_add(first * from_step));
        // SAFETY: groups of the caller's, into the block, which holds so many of each plane.
        unsafe { shuffle::<N, false>(planes, 1, from, from_step, count, masks) };
        for (to, plane) in to.iter().zip(planes) {
            let to = to.wrapping_add(first);
            // SAFETY: registers of the block that were just written, to places of the caller's.
            unsafe { stream::copy(to.cast(), plane.cast_const().cast(), count * REGISTER_BYTES) };
        }
    }
}

/// Takes `groups` times `N` registers to as many others, `step` registers from one group to the next.
///
/// # Safety
/// 1. All registers are readable from `from` and writable from `to`, and none that is written has a byte in common with one that is
///    read or written otherwise.
/// 2. With `STREAM`, all that are written are at multiples of 16.
/// 3. The processor has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn shuffle<const N: usize, const STREAM: bool>(
    to: [*mut __m128i; N],
    to_step: usize,
    from: [*const __m128i; N],
    from_step: usize,
    groups: usize,
    masks: [[[u8; REGISTER_BYTES]; N]; N],
) {
    // SAFETY: 16 bytes each.
    let masks = masks.map(|masks| masks.map(|mask| unsafe { _mm_loadu_si128(mask.as_ptr().cast()) }));
    for group in 0..groups {
        // SAFETY: condition 1.
        let words = from.map(|from| unsafe { _mm_loadu_si128(from.wrapping_add(group * from_step)) });
        for (to, masks) in to.iter().zip(&masks) {
            let parts = words.iter().zip(masks).map(|(&word, &mask)| _mm_shuffle_epi8(word, mask));
            let result = parts.fold(_mm_setzero_si128(), |sum, part| _mm_or_si128(sum, part));
            let to = to.wrapping_add(group * to_step);
            if STREAM {
                // SAFETY: conditions 1 and 2.
                unsafe { _mm_stream_si128(to, result) };
            } else {
                // SAFETY: condition 1.
                unsafe { _mm_storeu_si128(to, result) };
            }
        }
    }
}
