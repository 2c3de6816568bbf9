//! Which bytes a copy moves, in which pieces and in which order: arithmetic, no memory touched.

use std::ops::Range;

use crate::{Error, Result};

/// A rectangle of bytes to copy: rows of the same length, each a pitch after the one before, on either side.
///
/// ```
/// use usm_memory::usm_core::{Runtime, UsmKind};
/// use usm_memory::{Copy2d, UsmBuffer};
///
/// # fn main() -> usm_memory::Result<()> {
/// # let runtime = Runtime::global();
/// # let queue = runtime.default_queue(runtime.host_device())?;
/// let image = UsmBuffer::allocate(&queue, UsmKind::Device, 12)?; // 3 rows of 4 bytes
/// image.fill(b".")?;
/// let mut square = Copy2d::packed(2, 2); // 2 rows of 2 bytes, without gaps on both sides
/// square.dst_offset_bytes = 1;
/// square.dst_pitch_bytes = 4;
/// image.copy_2d_from_host(b"abcd", square)?;
/// assert_eq!(image.to_vec()?, b".ab..cd.....");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy2d {
    /// Number of rows.
    pub rows: usize,
    /// Length of a row.
    pub row_bytes: usize,
    /// Start of the first row in the destination.
    pub dst_offset_bytes: usize,
    /// From the start of a row of the destination to that of the next one; at least `row_bytes`.
    pub dst_pitch_bytes: usize,
    /// Start of the first row in the source.
    pub src_offset_bytes: usize,
    /// From the start of a row of the source to that of the next one. 0 repeats one row.
    pub src_pitch_bytes: usize,
}

impl Copy2d {
    /// Rows without gaps from the start of the source to the start of the destination.
    #[must_use]
    pub const fn packed(rows: usize, row_bytes: usize) -> Self {
        Self {
            rows,
            row_bytes,
            dst_offset_bytes: 0,
            dst_pitch_bytes: row_bytes,
            src_offset_bytes: 0,
            src_pitch_bytes: row_bytes,
        }
    }

    /// The copy within a destination and a source of these lengths.
    pub(super) fn within(&self, dst_bytes: usize, src_bytes: usize) -> Result<Placed> {
        let &Self { rows, row_bytes, dst_pitch_bytes, src_pitch_bytes, .. } = self;
        if rows > 1 && dst_pitch_bytes < row_bytes {
            return Err(Error::Copy2d {
                field: "dst_pitch_bytes",
                found: dst_pitch_bytes,
                allowed: format!("at least row_bytes, {row_bytes}, since rows must not overlap there"),
            });
        }
        let dst = Names { side: "destination", offset: "dst_offset_bytes", pitch: "dst_pitch_bytes" };
        let src = Names { side: "source", offset: "src_offset_bytes", pitch: "src_pitch_bytes" };
        Ok(Placed {
            dst: self.range(self.dst_offset_bytes, dst_pitch_bytes, dst_bytes, &dst)?,
            src: self.range(self.src_offset_bytes, src_pitch_bytes, src_bytes, &src)?,
            shape: Shape::new(rows, row_bytes, dst_pitch_bytes, src_pitch_bytes),
        })
    }

    /// The bytes from the first to the last row on one side, which has `buffer_bytes` bytes.
    fn range(
        &self,
        offset_bytes: usize,
        pitch_bytes: usize,
        buffer_bytes: usize,
        names: &Names,
    ) -> Result<Range<usize>> {
        let &Self { rows, row_bytes, .. } = self;
        let side = names.side;
        let refused = |field, found, allowed| Err(Error::Copy2d { field, found, allowed });
        if offset_bytes > buffer_bytes {
            let allowed = format!("at most the {buffer_bytes} bytes of the {side}");
            return refused(names.offset, offset_bytes, allowed);
        }
        if rows == 0 || row_bytes == 0 {
            return Ok(offset_bytes..offset_bytes);
        }
        let left = buffer_bytes - offset_bytes;
        let Some(gaps_bytes) = left.checked_sub(row_bytes) else {
            let allowed = format!("at most {left}: that many of the {side}'s {buffer_bytes} bytes are left");
            return refused("row_bytes", row_bytes, allowed);
        };
        let Some(steps_bytes) = (rows - 1).checked_mul(pitch_bytes).filter(|&bytes| bytes <= gaps_bytes)
        else {
            let end = format!("{rows} rows end within the {buffer_bytes} bytes of the {side}");
            return refused(
                names.pitch,
                pitch_bytes,
                format!("at most {}, so that {end}", gaps_bytes / (rows - 1)),
            );
        };
        Ok(offset_bytes..offset_bytes + steps_bytes + row_bytes)
    }
}

struct Names {
    side: &'static str,
    offset: &'static str,
    pitch: &'static str,
}

/// A copy whose bounds were checked.
pub(super) struct Placed {
    /// Invariant S1: all of the shape's rows lie within these ranges when its pitches count from their starts, and the ranges
    /// within the buffers that were asked about.
    pub(super) dst: Range<usize>,
    pub(super) src: Range<usize>,
    pub(super) shape: Shape,
}

impl Placed {
    /// The other way round, for rows of the same pitch.
    pub(super) fn reversed(self) -> Self {
        Self { dst: self.src, src: self.dst, shape: self.shape }
    }
}

/// A contiguous part of a copy, in bytes from the start of either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) dst_bytes: usize,
    pub(super) src_bytes: usize,
    pub(super) len_bytes: usize,
}

/// In which order pieces must be copied, since the two sides have bytes in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceOrder {
    /// They have none: any order, any number at once.
    Any,
    /// The first one first.
    Forward,
    /// The last one first.
    Backward,
    /// All must be read before the first is written.
    ReadAllFirst,
}

/// Rows and pitches, without a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    rows: usize,
    row_bytes: usize,
    dst_pitch_bytes: usize,
    src_pitch_bytes: usize,
}

impl Shape {
    /// `len_bytes` bytes in a row.
    pub(super) const fn contiguous(len_bytes: usize) -> Self {
        Self { rows: 1, row_bytes: len_bytes, dst_pitch_bytes: len_bytes, src_pitch_bytes: len_bytes }
    }

    /// Of a copy whose bounds were checked, so that no product overflows. Rows without gaps are one.
    fn new(rows: usize, row_bytes: usize, dst_pitch_bytes: usize, src_pitch_bytes: usize) -> Self {
        if rows == 0 || row_bytes == 0 {
            return Self::contiguous(0);
        }
        if rows == 1 || (dst_pitch_bytes == row_bytes && src_pitch_bytes == row_bytes) {
            return Self::contiguous(rows * row_bytes);
        }
        Self { rows, row_bytes, dst_pitch_bytes, src_pitch_bytes }
    }

    /// Whether all is one piece, or nothing.
    pub(super) fn is_contiguous(&self) -> bool {
        self.rows == 1
    }

    /// Bytes to copy.
    pub(super) fn len_bytes(&self) -> usize {
        self.rows * self.row_bytes
    }

    /// The order that a copy between these addresses needs.
    pub(super) fn order(&self, dst: usize, src: usize) -> PieceOrder {
        let span = |pitch_bytes| (self.rows - 1) * pitch_bytes + self.row_bytes;
        if dst + span(self.dst_pitch_bytes) <= src || src + span(self.src_pitch_bytes) <= dst {
            return PieceOrder::Any;
        }
        let pitch_bytes = self.dst_pitch_bytes;
        if pitch_bytes != self.src_pitch_bytes {
            return PieceOrder::ReadAllFirst;
        }
        // Columns of one matrix may lie beside each other.
        let apart = dst.abs_diff(src).checked_rem(pitch_bytes).unwrap_or(0);
        if apart >= self.row_bytes && pitch_bytes - apart >= self.row_bytes {
            return PieceOrder::Any;
        }
        if dst > src { PieceOrder::Backward } else { PieceOrder::Forward }
    }

    /// The pieces in the given order, none longer than `max_bytes`, which is not 0.
    pub(super) fn pieces(self, max_bytes: usize, order: PieceOrder) -> impl Iterator<Item = Piece> {
        let per_row = self.row_bytes.div_ceil(max_bytes);
        let count = self.rows * per_row;
        (0..count).map(move |i| {
            let i = if order == PieceOrder::Backward { count - 1 - i } else { i };
            let (row, start) = (i / per_row, i % per_row * max_bytes);
            Piece {
                dst_bytes: row * self.dst_pitch_bytes + start,
                src_bytes: row * self.src_pitch_bytes + start,
                len_bytes: max_bytes.min(self.row_bytes - start),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Copy2d, Piece, PieceOrder, Shape};

    #[test]
    fn pieces_cover_each_row_in_either_order() {
        let shape = Shape::new(2, 5, 10, 7);
        let piece = |dst_bytes, src_bytes, len_bytes| Piece { dst_bytes, src_bytes, len_bytes };
        let mut expected = [piece(0, 0, 3), piece(3, 3, 2), piece(10, 7, 3), piece(13, 10, 2)];
        assert_eq!(shape.pieces(3, PieceOrder::Any).collect::<Vec<_>>(), expected);
        expected.reverse();
        assert_eq!(shape.pieces(3, PieceOrder::Backward).collect::<Vec<_>>(), expected);
        assert_eq!(Shape::contiguous(0).pieces(3, PieceOrder::Any).count(), 0);
    }

    #[test]
    fn rows_without_gaps_are_one() {
        assert_eq!(Shape::new(4, 5, 5, 5), Shape::contiguous(20));
        assert_eq!(Shape::new(1, 5, 0, 9), Shape::contiguous(5));
        assert_eq!(Shape::new(3, 0, 0, 0), Shape::contiguous(0));
        assert_ne!(Shape::new(4, 5, 5, 6), Shape::contiguous(20));
    }

    #[test]
    fn overlaps_decide_the_order() {
        let bytes = Shape::contiguous(10);
        assert_eq!((bytes.order(0, 10), bytes.order(30, 20)), (PieceOrder::Any, PieceOrder::Any));
        assert_eq!((bytes.order(9, 0), bytes.order(0, 9)), (PieceOrder::Backward, PieceOrder::Forward));
        let columns = Shape::new(3, 4, 10, 10);
        assert_eq!((columns.order(4, 0), columns.order(0, 4)), (PieceOrder::Any, PieceOrder::Any));
        assert_eq!((columns.order(3, 0), columns.order(7, 0)), (PieceOrder::Backward, PieceOrder::Backward));
        assert_eq!(columns.order(16, 0), PieceOrder::Any);
        assert_eq!(Shape::new(3, 4, 10, 9).order(4, 0), PieceOrder::ReadAllFirst);
    }

    #[test]
    fn every_field_is_checked_and_named() {
        let good =
            Copy2d { dst_offset_bytes: 2, dst_pitch_bytes: 6, src_pitch_bytes: 5, ..Copy2d::packed(3, 4) };
        let placed = good.within(18, 14).unwrap_or_else(|error| unreachable!("{error}"));
        assert_eq!((placed.dst, placed.src), (2..18, 0..14));
        let max = usize::MAX;
        for (copy, field) in [
            (Copy2d { dst_pitch_bytes: 3, ..good }, "dst_pitch_bytes"),
            (Copy2d { dst_pitch_bytes: max, ..good }, "dst_pitch_bytes"),
            (Copy2d { src_pitch_bytes: 6, ..good }, "src_pitch_bytes"),
            (Copy2d { src_pitch_bytes: max / 2 + 1, ..good }, "src_pitch_bytes"),
            (Copy2d { dst_offset_bytes: 19, ..good }, "dst_offset_bytes"),
            (Copy2d { src_offset_bytes: max, ..good }, "src_offset_bytes"),
            (Copy2d { dst_offset_bytes: 3, ..good }, "dst_pitch_bytes"),
            (Copy2d { rows: max, ..good }, "dst_pitch_bytes"),
            (Copy2d { row_bytes: 15, dst_pitch_bytes: 15, rows: 1, ..good }, "row_bytes"),
            (Copy2d { row_bytes: max, dst_pitch_bytes: max, ..good }, "row_bytes"),
        ] {
            let error = copy.within(18, 14).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(field), "{error}");
        }
    }
}
