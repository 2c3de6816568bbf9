//! What masks select, by kernels, on memory that host code does not reach
//!
//! Their number is all that is waited for.

use usm_memory::{Error as MemoryError, NoWriters};

use super::given::{PickedValue, copied, overlap, value_for};
use crate::array::{ArrayOrScalar, UsmArray};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::kernel_engine::{Answer, KernelCall, Loops, MASK, is_for_kernels};
use crate::layout::SliceItem;
use crate::ops::truth;

/// Bytes of a mask that a work-group takes at a time, and work-items of a group: as in `kernels/src/mask.cl`.
const TILE: usize = 4096;
const ITEMS: usize = 256;

/// The most groups: each sums up what those before it have.
const MAX_GROUPS: usize = 4096;

/// A mask in device memory.
#[derive(Debug)]
pub(super) struct Mask {
    /// Booleans side by side.
    bytes: UsmArray,
    /// Memory of the caller keeps its bytes: what is counted is what is selected.
    unwritten: Option<NoWriters>,
    per_group: usize,
    groups: usize,
}

/// Bytes up to which the memory of a result has space for all elements, so that they are moved before their number is known: that saves a
/// wait, which takes as long as to move 10 MiB. It is not much, since the result keeps all of this memory.
const AT_ONCE_BYTES: usize = 256 << 10;

/// The number of elements that a mask selects, and how many each of several groups of work-items has of them.
#[derive(Debug)]
struct Selected {
    counts: Option<UsmArray>,
    count: usize,
}

/// What becomes of places: as in `kernels/src/mask.cl`.
#[derive(Clone, Copy)]
enum Become {
    Places,
    Gathered,
    Scattered,
    Filled,
}

impl Mask {
    /// The elements that are not zero, if that is for kernels.
    pub(super) fn of(array: &UsmArray) -> Result<Option<Self>> {
        if !is_for_kernels(array) || array.is_empty() {
            return Ok(None);
        }
        let is_dense = array.dtype() == Dtype::Bool && array.is_c_contiguous();
        let (bytes, unwritten) = match is_dense && array.address().is_multiple_of(16) {
            true => (array.clone(), Some(array.buffer().keep_unwritten(array.byte_range())?)),
            false => match truth(array)? {
                Some(truth) => (truth, None),
                None => return Ok(None),
            },
        };
        let per_group = bytes.size().div_ceil(MAX_GROUPS).next_multiple_of(TILE);
        let groups = bytes.size().div_ceil(per_group);
        Ok(Some(Self { bytes, unwritten, per_group, groups }))
    }

    fn call(&self, name: &'static str) -> Result<Option<Box<KernelCall<'_>>>> {
        Ok(KernelCall::new(self.bytes.queue(), &MASK, name)?.filter(|call| call.group_items() == ITEMS))
    }

    /// The arguments that are about the mask.
    fn of_mask<'a>(&'a self, call: Box<KernelCall<'a>>) -> Box<KernelCall<'a>> {
        let call = call.read(&self.bytes).number(self.bytes.size() as u64).number(self.per_group as u64);
        call.groups(self.groups)
    }

    /// How many elements each group has, where there are several: a group sums up those before it. `None` without a kernel.
    fn counts(&self) -> Result<Option<Option<UsmArray>>> {
        if self.groups == 1 {
            return Ok(Some(None));
        }
        let Some(call) = self.call("count")? else { return Ok(None) };
        let counts = UsmArray::empty(self.bytes.queue(), self.bytes.kind(), &[self.groups], Dtype::U64)?;
        // SAFETY: promise 1 of `run`: as in `kernels/src/mask.cl`. 2. The mask has so many bytes, which are aligned as vectors are, and there is a number for each
        // group. 3. All is in memory of the mask's queue.
        let _event = unsafe { self.of_mask(call.write(&counts)).run() }?;
        Ok(Some(Some(counts)))
    }

    fn count(&self) -> Result<Option<Selected>> {
        let queue = self.bytes.queue();
        let answer = Answer::new(queue, 1)?;
        let Some(counts) = self.counts()? else { return Ok(None) };
        let call = match &counts {
            None => self.call("count")?.map(|call| self.of_mask(call.tell(&answer))),
            Some(counts) => {
                self.call("total")?.map(|call| call.tell(&answer).read(counts).number(self.groups as u64))
            }
        };
        let Some(call) = call else { return Ok(None) };
        // SAFETY: promise 1 of `run`: as in `kernels/src/mask.cl`. 2. As for `counts`, of one group; or there are so many numbers. 3. All is in memory of the mask's
        // queue.
        let _event = unsafe { call.run() }?;
        let count = usize::try_from(answer.wait()?[0]).unwrap_or(0); // at most the size
        Ok(Some(Selected { counts, count }))
    }

    /// The places that it selects, in row-major order: unsigned integers.
    pub(super) fn places(&self) -> Result<Option<UsmArray>> {
        let dtype = if u32::try_from(self.bytes.size()).is_ok() { Dtype::U32 } else { Dtype::U64 };
        self.selected(Become::Places, dtype, None)
    }

    /// A new array of what it selects. `array` comes with the distance of its elements.
    fn selected(
        &self,
        what: Become,
        dtype: Dtype,
        array: Option<(&UsmArray, isize)>,
    ) -> Result<Option<UsmArray>> {
        let (queue, size) = (self.bytes.queue(), self.bytes.size());
        let new = |count| UsmArray::empty(queue, self.bytes.kind(), &[count], dtype);
        if size.saturating_mul(dtype.itemsize_bytes()) > AT_ONCE_BYTES {
            let Some(Selected { counts, count }) = self.count()? else { return Ok(None) };
            let result = new(count)?;
            let selection = Selection { array, counts: counts.as_ref(), ..Selection::new(what, &result) };
            return Ok((count == 0 || self.select(&selection)?).then_some(result));
        }
        let Some(counts) = self.counts()? else { return Ok(None) };
        let (result, answer) = (new(size)?, Answer::new(queue, 1)?);
        let selection = Selection { array, counts: counts.as_ref(), ..Selection::new(what, &result) };
        if !self.select(&Selection { answer: Some(&answer), ..selection })? {
            return Ok(None);
        }
        let count = usize::try_from(answer.wait()?[0]).unwrap_or(0); // at most the size
        result.slice(&[SliceItem::between(0, count)]).map(Some)
    }

    /// Moves what it selects, if there is a kernel for it.
    fn select(&self, selection: &Selection<'_>) -> Result<bool> {
        let Selection { what, values, step, array, one, counts, answer } = *selection;
        let Some(call) = self.call("select")? else { return Ok(false) };
        let call = match what {
            Become::Places | Become::Gathered => call.write(values),
            Become::Scattered => call.read(values),
            Become::Filled => call.nothing(),
        };
        let call = call.number(step as i64).number(values.size() as u64);
        let call = match (what, array) {
            (_, None) => call.nothing(),
            (Become::Places | Become::Gathered, Some((elements, _))) => call.read(elements),
            (Become::Scattered | Become::Filled, Some((elements, _))) => call.write(elements),
        };
        let stride = array.map_or(0, |(_, stride)| stride);
        let bytes = array.map_or(values, |(array, _)| array).itemsize_bytes();
        let call = call.number(stride as i64).number(what as u32).number(bytes as u32);
        let (halves, _) = one.as_chunks::<8>();
        let call = halves.iter().fold(call, |call, half| call.number(u64::from_ne_bytes(*half)));
        let call = call.number(u32::from(answer.is_some())).tell_if(answer);
        let call = self.of_mask(call.read_if(counts));
        // SAFETY: promise 1 of `run`: as in `kernels/src/mask.cl`. 2. The array has an element for each byte of the mask, and there is a value for each that is true; the
        // numbers of groups are right. Should another library change the mask meanwhile, the kernel still stays within the values and the array. No
        // two work-items have the same element. 3. All is in memory of the mask's queue.
        let _event = unsafe { call.run() }?;
        Ok(true)
    }
}

/// What becomes of the elements that a mask selects.
#[derive(Clone, Copy)]
struct Selection<'a> {
    what: Become,
    /// Places or values, and how far they are apart.
    values: &'a UsmArray,
    step: isize,
    /// Where the elements are, and how far they are apart.
    array: Option<(&'a UsmArray, isize)>,
    /// The value of a fill.
    one: [u8; 16],
    /// Of several groups; fills need none.
    counts: Option<&'a UsmArray>,
    /// Gets the number of elements.
    answer: Option<&'a Answer>,
}

impl<'a> Selection<'a> {
    /// Values side by side.
    const fn new(what: Become, values: &'a UsmArray) -> Self {
        Self { what, values, step: 1, array: None, one: [0; 16], counts: None, answer: None }
    }
}

/// Elements of an array at one distance from each other, for which a mask of as many holds.
pub(super) struct Masked {
    array: UsmArray,
    stride: isize,
    mask: Mask,
}

impl Masked {
    /// The elements of an array in row-major order, if they are for kernels.
    pub(super) fn new(array: &UsmArray, mask: &UsmArray) -> Result<Option<Self>> {
        let axes = Loops::over(array.shape(), array.strides(), array.strides());
        if !is_for_kernels(array) || axes.rank() > 1 || mask.queue() != array.queue() {
            return Ok(None);
        }
        let stride = axes.innermost().map_or(0, |axis| axis.steps[0]);
        let mask = if overlap(mask, array) { &copied(mask, array)? } else { mask };
        Ok(Mask::of(mask)?.map(|mask| Self { array: array.clone(), stride, mask }))
    }

    pub(super) fn gather(self) -> Result<Option<UsmArray>> {
        self.beside_others(|masked| {
            let elements = Some((&masked.array, masked.stride));
            masked.mask.selected(Become::Gathered, masked.array.dtype(), elements)
        })
    }

    /// Writes a value, broadcast to as many elements.
    pub(super) fn scatter(self, value: ArrayOrScalar<'_>) -> Result<Option<()>> {
        self.beside_others(|masked| masked.scattered(value))
    }

    /// Does something, and where that is refused once more with a copy of the mask, since no other thread wants to write that: one that
    /// uses the mask as its array and the array as its mask would wait for this one, and this one for it.
    fn beside_others<T>(mut self, job: impl Fn(&Self) -> Result<Option<T>>) -> Result<Option<T>> {
        match job(&self) {
            Err(Error::Memory(MemoryError::BorrowConflict { .. })) if self.mask.unwritten.is_some() => {
                let Some(mask) = Mask::of(&self.mask.bytes.copy()?)? else { return Ok(None) };
                self.mask = mask;
                job(&self)
            }
            done => done,
        }
    }

    fn scattered(&self, value: ArrayOrScalar<'_>) -> Result<Option<()>> {
        let array = &self.array;
        let elements = Some((array, self.stride));
        if self.stride == 0 && array.size() > 1 {
            return Ok(None); // the order of writes matters
        }
        let fill = |one| {
            let selection = Selection { array: elements, one, ..Selection::new(Become::Filled, array) };
            Ok(self.mask.select(&selection)?.then_some(()))
        };
        if let ArrayOrScalar::Scalar(value) = value {
            return fill(value.to_bytes(array.dtype())?);
        }
        let Some(Selected { counts, count }) = self.mask.count()? else { return Ok(None) };
        match value_for(array, &[count], 0..1, value)? {
            _ if count == 0 => Ok(Some(())),
            PickedValue::One(one) => fill(one),
            PickedValue::Each(values) => {
                let (step, counts) = (values.strides()[0], counts.as_ref());
                let selection = Selection::new(Become::Scattered, &values);
                let selection = Selection { step, array: elements, counts, ..selection };
                Ok(self.mask.select(&selection)?.then_some(()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use usm_core::testing::{cuda_queue, sycl_queue};
    use usm_memory::UsmBuffer;
    use usm_memory::usm_core::{Queue, UsmKind};

    use super::*;
    use crate::layout::{Layout, Order};

    #[test]
    fn nobody_writes_a_mask_between_counting_and_selecting() {
        for queue in sycl_queue().into_iter().chain(cuda_queue()) {
            let [mask, array] = [Dtype::Bool, Dtype::U64]
                .map(|dtype| UsmArray::zeros(&queue, UsmKind::Device, &[3 * TILE], dtype).unwrap());
            let Some(masked) = Masked::new(&array, &mask).unwrap() else { continue };
            // As another thread may do it: the kernel would write more elements than there is memory for.
            mask.fill_bytes(&[1]).unwrap_err();
            assert_eq!(masked.gather().unwrap().unwrap().size(), 0);
            mask.fill_bytes(&[1]).unwrap();
        }
    }

    #[test]
    fn a_thread_that_waits_for_the_mask_and_has_the_array_is_let_through() {
        for queue in sycl_queue().into_iter().chain(cuda_queue()) {
            let [mask, array] = [Dtype::Bool, Dtype::U64]
                .map(|dtype| UsmArray::zeros(&queue, UsmKind::Device, &[3 * TILE], dtype).unwrap());
            mask.fill_bytes(&[1]).unwrap();
            let Some(masked) = Masked::new(&array, &mask).unwrap() else { continue };
            std::thread::scope(|scope| {
                let (sender, has_array) = std::sync::mpsc::channel();
                let (mask, array) = (&mask, &array);
                let other = scope.spawn(move || {
                    let kept = array.buffer().keep_unwritten(array.byte_range()).unwrap();
                    sender.send(()).unwrap();
                    let written = mask.fill_bytes(&[0]);
                    drop(kept);
                    written
                });
                has_array.recv().unwrap();
                // Until it waits, probably. All orders are right.
                std::thread::sleep(std::time::Duration::from_millis(30));
                masked.scatter(ArrayOrScalar::Scalar(crate::Scalar::Int(7))).unwrap().unwrap();
                other.join().unwrap().unwrap();
            });
            assert_eq!(array.to_vec::<u64>().unwrap(), [7; 3 * TILE]);
            let mut bytes = vec![9; 3 * TILE];
            mask.buffer().copy_to_host(&mut bytes, 0).unwrap();
            assert_eq!(bytes, [0; 3 * TILE]);
        }
    }

    /// As another library does it, whose memory an imported mask is: no guard of ours holds it off.
    fn change(queue: &Queue, memory: &UsmArray, selected: usize) {
        let start: *mut u8 = std::ptr::with_exposed_provenance_mut(memory.address());
        for (value, bytes) in [(0, 0..memory.size()), (1, 0..selected)] {
            // SAFETY: bytes of the array, which lives until the wait.
            let set = unsafe { queue.memset(start.wrapping_add(bytes.start), value, bytes.len(), &[]) };
            set.unwrap().wait().unwrap();
        }
    }

    #[test]
    fn a_mask_that_another_library_changes_reaches_nothing_outside() {
        const MARK: u64 = 0xdead_beef;
        for queue in sycl_queue().into_iter().chain(cuda_queue()) {
            // One group and several; more elements than counted, and fewer.
            for (size, counted, selected) in [
                (2000, 3, 2000),
                (2000, 1999, 1),
                (3 * TILE, 5, 3 * TILE),
                (3 * TILE, TILE + 1, 3 * TILE),
                (3 * TILE, 3 * TILE, 1),
                (3 * TILE, 2 * TILE, 0),
            ] {
                let empty = |size, dtype| UsmArray::empty(&queue, UsmKind::Device, &[size], dtype).unwrap();
                let memory = empty(size, Dtype::Bool);
                change(&queue, &memory, counted);
                let owner = std::sync::Arc::new(memory.clone());
                // SAFETY: 1. The owner keeps the memory. 2. It is one array. 3. The test does so on purpose.
                let imported = unsafe { UsmBuffer::borrow(&queue, memory.address(), size, true, owner) };
                let layout = Layout::contiguous(&[size], Order::C).unwrap();
                let mask = UsmArray::from_parts(imported.unwrap(), Dtype::Bool, layout, 0).unwrap();
                let elements: Vec<u64> = (0..size as u64).collect();
                let array = UsmArray::from_slice(&queue, UsmKind::Device, &[size], &elements).unwrap();
                let Some(masked) = Masked::new(&array, &mask).unwrap() else { continue };
                for what in [Become::Gathered, Become::Places, Become::Scattered] {
                    change(&queue, &memory, counted);
                    let Some(Selected { counts, count }) = masked.mask.count().unwrap() else { continue };
                    assert_eq!(count, counted);
                    change(&queue, &memory, selected);
                    // The values have memory of others behind them.
                    let around = UsmArray::full(&queue, UsmKind::Device, &[count + TILE], MARK).unwrap();
                    let values = around.slice((0..count.cast_signed(),)).unwrap();
                    let elements = (what as u32 != Become::Places as u32).then_some((&array, 1));
                    let selection = Selection::new(what, &values);
                    let selection = Selection { array: elements, counts: counts.as_ref(), ..selection };
                    assert!(masked.mask.select(&selection).unwrap());
                    let (found, behind) = (around.to_vec::<u64>().unwrap(), vec![MARK; TILE]);
                    assert_eq!(found[count..], behind, "{size} {counted} {selected}");
                    if what as u32 == Become::Places as u32 && size > TILE {
                        assert!(
                            found[..count].iter().all(|&place| place < size as u64),
                            "{counted} {selected}"
                        );
                    }
                }
                let written = array.to_vec::<u64>().unwrap();
                let num_written = written.iter().filter(|&&element| element == MARK).count();
                assert_eq!(num_written, counted.min(selected), "no value behind the last one was read");
            }
        }
    }
}
