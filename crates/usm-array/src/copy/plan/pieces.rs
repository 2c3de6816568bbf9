//! Pieces of a plan whose device memory goes through host memory
//!
//! There is host memory for two pieces at a time, so that a queue works on one while host code works on the other.

use super::{CopyPlan, Side};

/// The most bytes that a piece spans: it is still in the cache when the other side of the copy comes to it.
pub(super) const SPAN_BYTES: usize = 1 << 20;

/// Gaps of more bytes are not copied: an operation of a queue costs about as much as this many bytes.
const GAP_BYTES: usize = 64 << 10;

/// The most bytes of packed elements: enough for what starting a kernel takes, and still in the last cache.
const PACKED_BYTES: usize = 4 << 20;

/// The same where smaller pieces have less than a line in each place of the target.
pub(super) const LARGE_PACKED_BYTES: usize = 16 << 20;

/// What a processor reads and writes at once.
const LINE_BYTES: usize = 64;

/// Runs of elements side by side in both memories, from so many bytes on, host code copies as fast as a kernel.
const LONG_RUN_BYTES: usize = 4 << 10;

/// The most bytes of a piece whose elements are all over the target.
const SCATTERED_BYTES: usize = 256 << 20;

/// How many times as long as its elements the target of a piece is that counts as all over it.
const SCATTERED: usize = 4;

impl CopyPlan {
    /// Parts that span few bytes of the device memory on a side, without large gaps. Host code sorts their elements.
    pub(crate) fn span_pieces(self, side: Side, itemsize_bytes: usize) -> Vec<Self> {
        let mut pieces = Vec::new();
        self.cut_spans(side, itemsize_bytes, SPAN_BYTES, &mut pieces);
        pieces
    }

    fn cut_spans(self, side: Side, itemsize_bytes: usize, limit_bytes: usize, pieces: &mut Vec<Self>) {
        let span = self.span(side).len() * itemsize_bytes;
        let gap = self.farthest(side).map_or(0, |axis| {
            let axis = self.loops[axis];
            let stride = axis.stride(side).unsigned_abs() * itemsize_bytes;
            let inside = span - stride * (axis.count - 1);
            stride.saturating_sub(inside)
        });
        // Several indices of one element, as in windows, count as often as they are.
        let moving = self.loops.iter().filter(|axis| axis.stride(side) != 0);
        let copied = moving.map(|axis| axis.count).product::<usize>();
        let parts = if gap > GAP_BYTES {
            self.steps(side)
        } else if span.max(copied.saturating_mul(itemsize_bytes)) > limit_bytes {
            self.halves(side).map(Vec::from)
        } else {
            None
        };
        match parts {
            Some(parts) => {
                parts.into_iter().for_each(|part| part.cut_spans(side, itemsize_bytes, limit_bytes, pieces));
            }
            None => pieces.push(self),
        }
    }

    /// Parts with few elements, which a kernel packs from the device memory on a side into host memory, or takes from there. `None`
    /// where copies of spans are as good.
    ///
    /// Host code copies a piece in the order in which its elements lie on the other side, and the device, whose memory is faster, does
    /// the rest. Nothing between the elements is moved.
    pub(crate) fn packed_pieces(&self, side: Side, itemsize_bytes: usize) -> Option<Vec<Self>> {
        let row = self.row();
        if row.dst == 1 && row.src == 1 && row.count * itemsize_bytes >= LONG_RUN_BYTES {
            return None;
        }
        let cut = |order, bytes: usize| self.clone().packed_parts(order, bytes / itemsize_bytes);
        if side == Side::Source {
            // In another order a piece of the target has a few bytes of each line of the source, which would be read again for the
            // next one.
            return self.keeps_order().then(|| cut(Side::Target, PACKED_BYTES));
        }
        let cuts = [PACKED_BYTES, LARGE_PACKED_BYTES].into_iter().map(|bytes| cut(Side::Source, bytes));
        // Whole lines of the target, as far as the plan has them.
        let line = row.count.min(LINE_BYTES / itemsize_bytes);
        let fills_lines = |piece: &Self| row.dst != 1 || (piece.row().dst == 1 && piece.row().count >= line);
        cuts.into_iter().find(|pieces| pieces.iter().all(fills_lines))
    }

    /// The pieces that go through host memory as a whole, on the way from device memory to other device memory, which goes through it
    /// in pieces, too.
    ///
    /// In a transposing copy each piece of the source has elements in all of the target. So there are few, then: the target goes
    /// through the host once for each.
    pub(crate) fn pieces_through_host(self, itemsize_bytes: usize) -> Vec<Self> {
        let pieces = self.clone().span_pieces(Side::Source, itemsize_bytes);
        let is_scattered = |piece: &Self| piece.span(Side::Target).len() / SCATTERED > piece.size();
        if pieces.len() < 2 || !pieces.iter().any(is_scattered) {
            return pieces;
        }
        let mut pieces = Vec::new();
        self.cut_spans(Side::Source, itemsize_bytes, SCATTERED_BYTES, &mut pieces);
        pieces
    }
}
