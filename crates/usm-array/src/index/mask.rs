//! What masks select, by kernels, on memory that host code does not reach
//!
//! Their number is all that is waited for.

use usm_memory::Unwritten;

use super::given::{Value, copied, overlap, value_for};
use crate::array::{ArrayOrScalar, UsmArray};
use crate::device::{Answer, Loops, MASK, Task, is_for_kernels};
use crate::dtype::Dtype;
use crate::error::Result;
use crate::ops::truth;

/// Bytes of a mask that a work-group takes at a time, and work-items of a group: as in `kernels/mask.cl`.
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
    _unwritten: Option<Unwritten>,
    per_group: usize,
    groups: usize,
}

/// The number of elements that a mask selects, and how many each group of work-items has of them.
#[derive(Debug)]
pub(super) struct Selected {
    counts: UsmArray,
    pub(super) count: usize,
}

/// What becomes of places: as in `kernels/mask.cl`.
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
        let (bytes, unwritten) = match is_dense && (array.address() + array.first_byte()).is_multiple_of(16) {
            true => (array.clone(), Some(array.buffer().keep_unwritten(array.byte_range())?)),
            false => match truth(array)? {
                Some(truth) => (truth, None),
                None => return Ok(None),
            },
        };
        let per_group = bytes.size().div_ceil(MAX_GROUPS).next_multiple_of(TILE);
        let groups = bytes.size().div_ceil(per_group);
        Ok(Some(Self { bytes, _unwritten: unwritten, per_group, groups }))
    }

    fn task(&self, name: &'static str) -> Option<Task<'_>> {
        Task::new(self.bytes.queue(), &MASK, name).filter(|task| task.group_items() == ITEMS)
    }

    /// The arguments that are about the mask.
    fn of_mask<'a>(&'a self, task: Task<'a>) -> Task<'a> {
        let task = task.read(&self.bytes).number(self.bytes.size() as u64).number(self.per_group as u64);
        task.groups(self.groups)
    }

    pub(super) fn count(&self) -> Result<Option<Selected>> {
        let (Some(task), Some(total)) = (self.task("count"), self.task("total")) else { return Ok(None) };
        let queue = self.bytes.queue();
        let answer = Answer::new(queue, 1)?;
        let counts = UsmArray::empty(queue, self.bytes.kind(), &[self.groups], Dtype::U64)?;
        let told = if self.groups == 1 { answer.array() } else { &counts };
        // SAFETY: 1. As in `kernels/mask.cl`. 2. The mask has so many bytes, which are aligned as vectors are, and there is a number for each
        // group. 3. All is in memory of the mask's queue.
        let _event = unsafe { self.of_mask(task.write(told)).run() }?;
        if self.groups > 1 {
            let total = total.write(answer.array()).read(&counts).number(self.groups as u64);
            // SAFETY: as above, of one group.
            let _event = unsafe { total.run() }?;
        }
        let count = usize::try_from(answer.wait()?[0]).unwrap_or(0); // at most the size
        Ok(Some(Selected { counts, count }))
    }

    /// The places that it selects, in row-major order: unsigned integers.
    pub(super) fn places(&self, selected: &Selected) -> Result<Option<UsmArray>> {
        let dtype = if u32::try_from(self.bytes.size()).is_ok() { Dtype::U32 } else { Dtype::U64 };
        let places = UsmArray::empty(self.bytes.queue(), self.bytes.kind(), &[selected.count], dtype)?;
        let is_done = selected.count == 0
            || self.select(Become::Places, &places, 1, None, [0; 16], Some(selected))?.is_some();
        Ok(is_done.then_some(places))
    }

    /// `array` comes with the distance of its elements. What has no use for the number of elements needs no count.
    fn select(
        &self,
        what: Become,
        values: &UsmArray,
        step: isize,
        array: Option<(&UsmArray, isize)>,
        one: [u8; 16],
        selected: Option<&Selected>,
    ) -> Result<Option<()>> {
        let Some(task) = self.task("select") else { return Ok(None) };
        // Pointers that the kernel does not follow are those of the mask.
        let task = match what {
            Become::Places | Become::Gathered => task.write(values),
            Become::Scattered => task.read(values),
            Become::Filled => task.read(&self.bytes),
        };
        let task = task.number(step as i64);
        let (elements, stride) = array.unwrap_or((&self.bytes, 0));
        let task = match what {
            Become::Places | Become::Gathered => task.read(elements),
            Become::Scattered | Become::Filled => task.write(elements),
        };
        let bytes = array.map_or(values, |(array, _)| array).itemsize_bytes();
        let task = task.number(stride as i64).number(what as u32).number(bytes as u32);
        let (halves, _) = one.as_chunks::<8>();
        let task = halves.iter().fold(task, |task, half| task.number(u64::from_ne_bytes(*half)));
        let task = self.of_mask(task.read(selected.map_or(&self.bytes, |selected| &selected.counts)));
        // SAFETY: 1. As in `kernels/mask.cl`. 2. The array has an element for each byte of the mask, and there is a value for each that is true; the
        // numbers of groups are right. No two work-items have the same element. 3. All is in memory of the mask's queue.
        let _event = unsafe { task.run() }?;
        Ok(Some(()))
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

    pub(super) fn gather(&self) -> Result<Option<UsmArray>> {
        let Some(selected) = self.mask.count()? else { return Ok(None) };
        let array = &self.array;
        let result = UsmArray::empty(array.queue(), array.kind(), &[selected.count], array.dtype())?;
        let elements = Some((array, self.stride));
        let is_done = selected.count == 0
            || self.mask.select(Become::Gathered, &result, 1, elements, [0; 16], Some(&selected))?.is_some();
        Ok(is_done.then_some(result))
    }

    /// Writes a value, broadcast to as many elements.
    pub(super) fn scatter(&self, value: ArrayOrScalar<'_>) -> Result<Option<()>> {
        let (array, elements) = (&self.array, Some((&self.array, self.stride)));
        if self.stride == 0 && array.size() > 1 {
            return Ok(None); // the order of writes matters
        }
        if let ArrayOrScalar::Scalar(value) = value {
            let one = value.to_bytes(array.dtype())?;
            return self.mask.select(Become::Filled, array, 0, elements, one, None);
        }
        let Some(selected) = self.mask.count()? else { return Ok(None) };
        match value_for(array, &[selected.count], 0..1, value)? {
            _ if selected.count == 0 => Ok(Some(())),
            Value::One(one) => self.mask.select(Become::Filled, array, 0, elements, one, None),
            Value::Each(values) => {
                let step = values.strides()[0];
                self.mask.select(Become::Scattered, &values, step, elements, [0; 16], Some(&selected))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use usm_core::testing::{cuda_queue, sycl_queue};
    use usm_memory::usm_core::UsmKind;

    use super::*;

    #[test]
    fn nobody_writes_a_mask_between_counting_and_selecting() {
        for queue in sycl_queue().into_iter().chain(cuda_queue()) {
            let [mask, array] = [Dtype::Bool, Dtype::U64]
                .map(|dtype| UsmArray::zeros(&queue, UsmKind::Device, &[3 * TILE], dtype).unwrap());
            let Some(masked) = Masked::new(&array, &mask).unwrap() else { continue };
            // As another thread may do it: the kernel would write more elements than there is memory for.
            mask.fill_bytes(&[1]).unwrap_err();
            assert_eq!(masked.gather().unwrap().unwrap().size(), 0);
            drop(masked);
            mask.fill_bytes(&[1]).unwrap();
        }
    }
}
