//! Device memory: copies of the pieces that a plan needs, side by side on the host

use std::ops::Range;

use usm_memory::WriteAccess;

use super::Plan;
use crate::array::UsmArray;
use crate::error::Result;
use crate::view::{Reading, with_capacity, zeroed_vec};

/// Granularity of the copied parts, in bytes. An operation of a queue costs about as much as a copy of this length.
const CHUNK_BYTES: usize = 64 << 10;

/// Pieces of an array, in elements counted from its lowest one: from low to high, none of them overlapping.
#[derive(Debug)]
pub(super) struct Pieces(Vec<Range<usize>>);

impl Pieces {
    /// The pieces that hold all elements of a plan. Around axes before the picked places there is one.
    pub(super) fn of(plan: &Plan, itemsize_bytes: usize) -> Result<Self> {
        let Some(span) = plan.span() else { return Ok(Self(vec![])) };
        let (Some(inner), 1) = (plan.inner.extent(), plan.outer.size()) else {
            return Ok(Self(vec![span]));
        };
        let chunk = CHUNK_BYTES / itemsize_bytes;
        let chunks = span.len().div_ceil(chunk);
        let mut needed: Vec<bool> = with_capacity(chunks)?;
        needed.resize(chunks, false);
        for picked in &plan.picked {
            // An element of the array, by Q1: not below the lowest of the plan.
            let first = (picked + inner.min).cast_unsigned() - span.start;
            needed[first / chunk..=(first + inner.len() - 1) / chunk].fill(true);
        }
        let mut pieces = vec![];
        let mut at = span.start;
        for run in needed.chunk_by(|a, b| a == b) {
            let end = span.end.min(at + run.len() * chunk);
            if run[0] {
                pieces.push(at..end);
            }
            at = end;
        }
        Ok(Self(pieces))
    }

    /// The plan for the pieces side by side.
    pub(super) fn side_by_side(&self, plan: &Plan) -> Result<Plan> {
        let inner = plan.inner.extent().map_or(0, |extent| extent.min);
        let lowest = plan.outer.extent().map_or(0, |extent| extent.min) + inner;
        let mut before = with_capacity(self.0.len())?;
        let mut len = 0;
        for piece in &self.0 {
            before.push(piece.start.cast_signed() - len);
            len += piece.len().cast_signed();
        }
        let mut picked = with_capacity(plan.picked.len())?;
        picked.extend(plan.picked.iter().map(|&place| {
            let first = (place + lowest).cast_unsigned();
            let piece = self.0.partition_point(|piece| piece.start <= first);
            place - before[piece - 1] // the first element of the place is in a piece
        }));
        Ok(plan.with_picked(picked))
    }

    /// A zeroed buffer for all pieces, side by side.
    fn side_by_side_bytes(&self, itemsize_bytes: usize) -> Result<Vec<u8>> {
        zeroed_vec(self.0.iter().map(Range::len).sum::<usize>() * itemsize_bytes)
    }

    fn bytes<'a>(&'a self, array: &UsmArray) -> impl Iterator<Item = Range<usize>> + 'a {
        let (lowest, itemsize) = (array.byte_range().start, array.itemsize_bytes());
        self.0.iter().map(move |piece| lowest + piece.start * itemsize..lowest + piece.end * itemsize)
    }

    /// The bytes of all pieces, side by side.
    pub(super) fn read(&self, array: &UsmArray) -> Result<Vec<u8>> {
        let mut bytes = self.side_by_side_bytes(array.itemsize_bytes())?;
        let mut rest = &mut bytes[..];
        for range in self.bytes(array) {
            let (piece, behind) = rest.split_at_mut(range.len());
            array.buffer().copy_to_host(piece, range.start)?;
            rest = behind;
        }
        Ok(bytes)
    }

    /// Changes the bytes of all pieces, side by side, with the elements of an array where the change reads such. No other code touches them
    /// meanwhile, so that no other write gets lost.
    pub(super) fn change(
        &self,
        array: &UsmArray,
        source: Option<&UsmArray>,
        change: impl FnOnce(&mut [u8], Option<Reading>) -> Result<()>,
    ) -> Result<()> {
        let source = source.map(|source| source.spanned(false));
        // Here, since code of the user that runs in a wait may use the memory, unless this thread has an access.
        array.buffer().wait_before_submit()?;
        let (mut accesses, read) = WriteAccess::all(array.buffer(), self.bytes(array), source.as_ref())?;
        let mut bytes = self.side_by_side_bytes(array.itemsize_bytes())?;
        let mut rest = &mut bytes[..];
        for access in &accesses {
            let (piece, behind) = rest.split_at_mut(access.len_bytes());
            access.copy_to_host(piece)?;
            rest = behind;
        }
        change(&mut bytes, read.map(Reading::over))?;
        let mut rest = &bytes[..];
        for access in &mut accesses {
            let (piece, behind) = rest.split_at(access.len_bytes());
            access.copy_from_host(piece)?;
            rest = behind;
        }
        Ok(())
    }
}
