//! Where elements are not zero

use super::mask::Mask;
use super::memory::fill;
use super::read::ReadElements;
use crate::array::UsmArray;
use crate::dtype::Dtype;
use crate::error::Result;
use crate::kernel_engine::{INDEX, KernelCall, code};
use crate::layout::LayoutError;
use crate::view::with_capacity;

impl UsmArray {
    /// The indices of the elements that are not zero, in row-major order: for each axis an `int64` array, in memory of the same
    /// kind and queue. They are an index of this array.
    ///
    /// ```
    /// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 2], &[0.0_f32, 1.0, 2.0, -0.0])?;
    /// let places = array.nonzero()?;
    /// assert_eq!(places[0].to_vec::<i64>()?, [0, 1]);
    /// assert_eq!(places[1].to_vec::<i64>()?, [1, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`](crate::Error::Layout): an array without axes
    /// - [`Error::OutOfHostMemory`](crate::Error::OutOfHostMemory): no host memory for the indices or for a copy of device memory
    /// - [`Error::Memory`](crate::Error::Memory): the allocation failed, the memory is borrowed for writing, or the runtime failed
    pub fn nonzero(&self) -> Result<Vec<Self>> {
        if self.ndim() == 0 {
            return Err(LayoutError::TooFewAxes { ndim: 0, needed: 1 }.into());
        }
        if let Some(places) = self.device_places()? {
            let count = [places.size()];
            let axis = |axis| {
                let indices = Self::empty(self.queue(), self.kind(), &count, Dtype::I64)?;
                self.unravelled(&places, axis, &indices, 1)?;
                Ok(indices)
            };
            return (0..self.ndim()).map(axis).collect();
        }
        let truth = ReadElements::truth(self)?;
        let bytes = &*truth.read()?;
        let count = count(bytes);
        let axis = |axis| {
            let indices = Self::empty(self.queue(), self.kind(), &[count], Dtype::I64)?;
            fill(&indices, |out| {
                write_indices(bytes, self.shape(), axis, out.as_chunks_mut().0, 1);
                Ok(())
            })?;
            Ok(indices)
        };
        (0..self.ndim()).map(axis).collect()
    }

    /// The indices of the elements that are not zero, in row-major order: an `int64` array of shape `(count, ndim)`, in memory of
    /// the same kind and queue.
    ///
    /// ```
    /// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[0_u8, 1, 2, 0])?;
    /// assert_eq!(array.argwhere()?.to_vec::<i64>()?, [0, 1, 1, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The last two of [`nonzero`](Self::nonzero).
    pub fn argwhere(&self) -> Result<Self> {
        if self.ndim() == 0 {
            let count = self.count_nonzero_total()?;
            return Self::empty(self.queue(), self.kind(), &[count, 0], Dtype::I64);
        }
        if let Some(places) = self.device_places()? {
            let shape = [places.size(), self.ndim()];
            let indices = Self::empty(self.queue(), self.kind(), &shape, Dtype::I64)?;
            for axis in 0..self.ndim() {
                let along = indices.slice((.., axis.cast_signed()))?;
                self.unravelled(&places, axis, &along, self.ndim())?;
            }
            return Ok(indices);
        }
        let truth = ReadElements::truth(self)?;
        let bytes = &*truth.read()?;
        let indices = Self::empty(self.queue(), self.kind(), &[count(bytes), self.ndim()], Dtype::I64)?;
        fill(&indices, |out| {
            let (out, _) = out.as_chunks_mut();
            for axis in 0..self.ndim() {
                write_indices(
                    bytes,
                    self.shape(),
                    axis,
                    out.get_mut(axis..).unwrap_or_default(),
                    self.ndim(),
                );
            }
            Ok(())
        })?;
        Ok(indices)
    }

    /// The places of the elements, if kernels find them.
    fn device_places(&self) -> Result<Option<Self>> {
        let Some(mask) = Mask::of(self)? else { return Ok(None) };
        if KernelCall::new(self.queue(), &INDEX, "unravel")?.is_none() {
            return Ok(None);
        }
        mask.places()
    }

    /// Writes the indices of places along one axis, at some distance.
    fn unravelled(&self, places: &Self, axis: usize, indices: &Self, step: usize) -> Result<()> {
        let Some(call) = KernelCall::new(self.queue(), &INDEX, "unravel")?.filter(|_| !places.is_empty())
        else {
            return Ok(()); // there is a kernel if there are places
        };
        let inner = self.shape()[axis + 1..].iter().product::<usize>();
        let call = call.write(indices).number(step as i64).read(places).number(code(places.dtype()));
        let call = call.number(inner as u64).number(self.shape()[axis] as u64).count(places.size());
        // SAFETY: promise 1 of `run`: as in `kernels/src/index.cl`. 2. There are as many indices, at that distance, as places. 3. All is in memory of this queue.
        let _event = unsafe { call.run() }?;
        Ok(())
    }
}

/// Writes the index along one axis of each element that is not zero, at some distance from each other.
///
/// Another thread may write the array since its elements were counted: nothing is written behind the last place, and places without an
/// index get 0.
fn write_indices(truth: &[u8], shape: &[usize], axis: usize, out: &mut [[u8; 8]], step: usize) {
    let len = shape.get(axis).copied().unwrap_or(1).max(1);
    let inner = shape.iter().skip(axis + 1).product::<usize>().max(1);
    let mut next = 0;
    if inner == 1 {
        for row in truth.chunks(len) {
            next = write_row(row, out, next, step);
        }
    } else {
        for (number, block) in truth.chunks(inner).enumerate() {
            let index = (number % len) as i64;
            let end = next + count(block) * step;
            let places = out.iter_mut().take(end).skip(next).step_by(step);
            places.for_each(|place| *place = index.to_ne_bytes());
            next = end;
        }
    }
    out.iter_mut().skip(next).step_by(step).for_each(|place| *place = [0; 8]);
}

/// Writes the indices of the elements of a row that are not zero from a place on, and tells the place behind them.
///
/// No jump depends on single elements. Zeros, too, write an index, and what follows them writes over it.
fn write_row(row: &[u8], out: &mut [[u8; 8]], mut next: usize, step: usize) -> usize {
    let mut first = 0;
    for part in row.chunks(32) {
        let (words, rest) = part.as_chunks::<8>();
        if words.iter().all(|word| *word == [0; 8]) && rest.is_empty() {
            first += part.len() as i64;
            continue;
        }
        for word in words {
            let window = out.get_mut(next..).and_then(|out| out.first_chunk_mut::<8>());
            match window.filter(|_| step == 1) {
                Some(window) => {
                    let bits = bits(*word);
                    *window = SET[usize::from(bits)].map(|place| (first + i64::from(place)).to_ne_bytes());
                    next += bits.count_ones() as usize;
                }
                None => next = write_each(word, first, out, next, step),
            }
            first += 8;
        }
        next = write_each(rest, first, out, next, step);
    }
    next
}

/// As [`write_row`], element after element, whose first one has an index.
fn write_each(row: &[u8], first: i64, out: &mut [[u8; 8]], mut next: usize, step: usize) -> usize {
    for (index, &byte) in (first..).zip(row) {
        let Some(place) = out.get_mut(next) else { return next };
        *place = index.to_ne_bytes();
        next += step * usize::from(byte != 0);
    }
    next
}

/// A bit for each byte that is not zero, the lowest one for the first byte.
fn bits(bytes: [u8; 8]) -> u8 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let word = u64::from_le_bytes(bytes);
    // The highest bit of each byte, moved to the lowest.
    let ones = ((((word & LOW) + LOW) | word) & !LOW) >> 7;
    // Byte `i` times 2 to the power of `56 - 7 * i` is bit `56 + i`; the other products do not get there.
    (ones.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// For each number of eight bits the places of those that are set, and then zeros.
static SET: [[u8; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut number = 0;
    while number < 256 {
        let (mut bit, mut next) = (0, 0);
        while bit < 8 {
            if number >> bit & 1 == 1 {
                table[number][next] = bit as u8;
                next += 1;
            }
            bit += 1;
        }
        number += 1;
    }
    table
};

/// The places of all elements, in row-major order, that are not zero.
pub(super) fn true_places(condition: &UsmArray) -> Result<Vec<usize>> {
    let truth = ReadElements::truth(condition)?;
    let bytes = &*truth.read()?;
    let mut places = with_capacity(count(bytes))?;
    places.extend(bytes.iter().enumerate().filter(|&(_, &byte)| byte != 0).map(|(place, _)| place));
    Ok(places)
}

fn count(truth: &[u8]) -> usize {
    // Counted in bytes, sixteen and more at a time; none of the sums has more than a byte.
    let count = |part: &[u8]| part.iter().map(|&byte| u8::from(byte != 0)).sum::<u8>();
    truth.chunks(240).map(|part| usize::from(count(part))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The indices along each axis, with place for `places` of them.
    fn indices(truth: &[u8], shape: &[usize], places: usize) -> Vec<Vec<i64>> {
        let along = |axis| {
            let mut apart = vec![[7; 8]; places * 3];
            write_indices(truth, shape, axis, &mut apart, 3);
            let between = apart.iter().enumerate().filter(|(at, _)| at % 3 != 0);
            assert!(
                between.into_iter().all(|(_, place)| *place == [7; 8]),
                "only every third one is written"
            );
            let apart: Vec<i64> = apart.into_iter().step_by(3).map(i64::from_ne_bytes).collect();
            let mut side_by_side = vec![[7; 8]; places];
            write_indices(truth, shape, axis, &mut side_by_side, 1);
            assert_eq!(side_by_side.into_iter().map(i64::from_ne_bytes).collect::<Vec<_>>(), apart);
            apart
        };
        (0..shape.len()).map(along).collect()
    }

    #[test]
    fn every_pattern_of_eight_bytes() {
        for number in 0..=255_u8 {
            for value in [1, 2, 0x80, 0xff] {
                let bytes = std::array::from_fn(|bit| if number >> bit & 1 == 1 { value } else { 0 });
                assert_eq!(bits(bytes), number);
                let places: Vec<i64> = (0..8).filter(|bit| number >> bit & 1 == 1).collect();
                let len = number.count_ones() as usize;
                assert_eq!(&SET[usize::from(number)].map(i64::from)[..len], places);
            }
        }
    }

    /// Lengths around words, parts of a row and sums of bytes, dense and sparse.
    #[test]
    fn rows_of_every_length() {
        for (len, every) in (0..300).flat_map(|len| [1, 2, 3, 40, 500].map(|every| (len, every))) {
            let truth: Vec<u8> = (0..2 * len).map(|i| if i % every == 0 { 0x40 } else { 0 }).collect();
            let all: Vec<usize> = (0..2 * len).step_by(every).collect();
            assert_eq!(count(&truth), all.len());
            let of = |index: fn(usize, usize) -> usize| -> Vec<i64> {
                all.iter().map(|&place| index(place, len) as i64).collect()
            };
            let expected = [of(|place, len| place / len), of(|place, len| place % len)];
            assert_eq!(indices(&truth, &[2, len], all.len()), expected, "{len} {every}");
            assert_eq!(indices(&truth, &[2 * len], all.len()), [of(|place, _| place)], "{len} {every}");
        }
    }

    #[test]
    fn elements_that_change_after_they_were_counted() {
        let truth = [1, 0, 2, 0, 0, 255];
        assert_eq!(indices(&truth, &[2, 3], 3), [[0, 0, 1], [0, 2, 2]]);
        assert_eq!(indices(&truth, &[2, 3, 1], 3), [[0, 0, 1], [0, 2, 2], [0, 0, 0]]);
        // More of them than places.
        assert_eq!(indices(&truth, &[2, 3], 2), [[0, 0], [0, 2]]);
        assert_eq!(indices(&truth, &[6], 0), [[]; 1]);
        assert_eq!(indices(&truth, &[2, 3], 0), [[]; 2]);
        // Fewer of them: nothing is left as it was.
        assert_eq!(indices(&truth, &[2, 3], 5), [[0, 0, 1, 0, 0], [0, 2, 2, 0, 0]]);
        assert_eq!(indices(&truth, &[6], 5), [[0, 2, 5, 0, 0]]);
        assert_eq!(indices(&[0; 6], &[3, 2], 1), [[0], [0]]);
    }
}
