//! Index operations by kernels, on memory that host code does not reach
//!
//! Kernels check integers. An operation gives `None`, and has changed nothing, where it is none for kernels or an integer is outside of its
//! axis. The host's way does it then, or tells which integer that is.

use std::ops::Range;

use super::given::{PickedValue, copied, operand, overlap, value_for};
use super::mask::Mask;
use super::read::IndexArray;
use super::resolve::{Picks, Sides, common_shape};
use super::{IndexItem, IndexMode};
use crate::array::{ArrayOrScalar, UsmArray};
use crate::copy::CopyMode;
use crate::dtype::Dtype;
use crate::error::Result;
use crate::kernel_engine::{
    Answer, CREATE, INDEX, KernelCall, KernelLoop, Loops, code, is_for_kernels, is_operand, sized,
};
use crate::layout::{Axes, Layout, Order, SliceItem, broadcast_shapes};
use crate::ops::truth;

/// Places of an array of device memory that integers name.
#[derive(Debug)]
struct IndexedPlaces {
    /// The integers, side by side.
    index: UsmArray,
    mode: IndexMode,
    /// How many places there are, and how far they are apart.
    size: usize,
    stride: isize,
    /// Where the first place is, counted from the element of the array with index zero.
    first: isize,
    /// Whether all integers surely name a place.
    checked: bool,
    /// Whether no two of them name the same.
    distinct: bool,
}

impl IndexedPlaces {
    /// Integers of an index array, for an axis of the given size. They are checked here if host code reaches them.
    fn integers(
        array: &UsmArray,
        index: &IndexArray<'_>,
        axis: Option<usize>,
        size: usize,
        mode: IndexMode,
    ) -> Result<Self> {
        if let IndexItem::Array(given) = index.index
            && !given.is_host_reachable()
        {
            let index = operand(given, array, true)?;
            // The other modes have a place for each integer.
            let checked = mode != IndexMode::Raise && size > 0;
            return Ok(Self { index, mode, size, stride: 1, first: 0, checked, distinct: false });
        }
        let places = index.integers(axis, size, mode, usize::cast_signed)?;
        Self::known(array, &places, size)
    }

    /// The places where a mask is true, in row-major order.
    fn mask(array: &UsmArray, index: &IndexArray<'_>) -> Result<Self> {
        if let IndexItem::Array(given) = index.index
            && given.queue() == array.queue()
            && let Some(mask) = Mask::of(given)?
            && let Some(index) = mask.places()?
        {
            let (mode, size) = (IndexMode::Raise, given.size());
            return Ok(Self { index, mode, size, stride: 1, first: 0, checked: true, distinct: true });
        }
        let layout = Layout::contiguous(&index.shape, Order::C)?;
        let places = Self::known(array, &index.masked(&layout)?, layout.size())?;
        Ok(Self { distinct: true, ..places })
    }

    fn known(array: &UsmArray, places: &[isize], size: usize) -> Result<Self> {
        let places: Vec<i64> = places.iter().map(|&place| place as i64).collect();
        let index = UsmArray::from_slice(array.queue(), array.kind(), &[places.len()], &places)?;
        let mode = IndexMode::Raise;
        Ok(Self { index, mode, size, stride: 1, first: 0, checked: true, distinct: false })
    }

    fn count(&self) -> usize {
        self.index.size()
    }

    /// The arguments of a kernel that are about the integers.
    fn of<'a>(&'a self, call: Box<KernelCall<'a>>) -> Box<KernelCall<'a>> {
        let mode = match self.mode {
            IndexMode::Raise => 0_u32,
            IndexMode::Wrap => 1,
            IndexMode::Clip => 2,
        };
        call.read(&self.index).number(code(self.index.dtype())).number(mode).number(self.size as i64)
    }

    /// Looks whether an integer names no place, and, where that is asked for, whether two name the same.
    fn check(&self, asks_twice: bool) -> Result<Option<Check>> {
        let queue = self.index.queue();
        let Some(call) = KernelCall::new(queue, &INDEX, "check")? else { return Ok(None) };
        let words = if asks_twice { self.size.div_ceil(64) } else { 0 };
        let Ok(flags) = UsmArray::zeros(queue, self.index.kind(), &[FLAGS + words], Dtype::U64) else {
            return Ok(None);
        };
        let answer = Answer::new(queue, FLAGS)?;
        let call = self.of(call).count(self.count()).tell(&answer);
        let call = call.number(u32::from(asks_twice)).write(&flags).write_at(&flags, FLAGS.cast_signed());
        // SAFETY: promise 1 of `run`: as in `kernels/src/index.cl`. 2. It reads integers, as many as there are, and uses the bits of places, of which there is one
        // each, by atomic operations; work-items that set a flag set it to the same. 3. The index is in memory of its queue.
        let _event = unsafe { call.run() }?;
        Ok(Some(Check { flags, answer }))
    }

    /// The last one of the integers that name a place, counted from 1, for each place.
    fn owners(&self) -> Result<Option<UsmArray>> {
        let queue = self.index.queue();
        if u32::try_from(self.count()).is_err() {
            return Ok(None);
        }
        let Some(call) = KernelCall::new(queue, &INDEX, "own")? else { return Ok(None) };
        let Ok(owners) = UsmArray::zeros(queue, self.index.kind(), &[self.size], Dtype::U32) else {
            return Ok(None);
        };
        let call = self.of(call).count(self.count()).write(&owners);
        // SAFETY: promise 1 of `run`: as in `kernels/src/index.cl`. 2. It reads integers, as many as there are, and uses the number of a place, of which there is one
        // each, by atomic operations. 3. The index is in memory of its queue.
        let _event = unsafe { call.run() }?;
        Ok(Some(owners))
    }
}

/// Numbers that tell how a check ends.
const FLAGS: usize = 2;

/// A check of integers, under way.
#[derive(Debug)]
struct Check {
    /// What it finds, for kernels that come after it, and then bits of places.
    flags: UsmArray,
    answer: Answer,
}

/// What a check has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    Outside,
    Twice,
}

impl Check {
    /// What it finds, when it is complete.
    fn wait(&self) -> Result<Found> {
        Ok(match self.answer.wait()?[..] {
            [0, 0] => Found::Nothing,
            [0, _] => Found::Twice,
            _ => Found::Outside,
        })
    }
}

/// One of several index arrays.
struct Part {
    places: IndexedPlaces,
    shape: Axes<usize>,
    /// The axes that it picks from.
    axes: Loops,
}

impl Part {
    fn new(places: IndexedPlaces, shape: &[usize], sizes: &[usize], strides: &[isize]) -> Self {
        let axes = Loops::over(sizes, strides, strides);
        Self { places, shape: shape.into(), axes }
    }

    /// The distance of the places, if it is one.
    fn stride(&self) -> Option<isize> {
        match self.axes.rank() {
            0 | 1 => Some(self.axes.innermost().map_or(0, |axis| axis.steps[0])),
            _ => None,
        }
    }
}

/// Displacements of elements of an array: those of the places of all parts, broadcast to a shape, and of axes of that shape with some strides.
fn combined(
    array: &UsmArray,
    parts: &[Part],
    shape: &[usize],
    strides: Option<&[isize]>,
) -> Result<Option<IndexedPlaces>> {
    let queue = array.queue();
    let Some(extent) = array.layout().extent() else { return Ok(None) };
    let count = shape.iter().product();
    let displacements = UsmArray::empty(queue, array.kind(), &[count], Dtype::I64)?;
    let answer = Answer::new(queue, 1)?;
    let zeros = vec![0; shape.len()];
    for (number, part) in parts.iter().enumerate().filter(|_| count > 0) {
        let index = Layout::contiguous(&part.shape, Order::C)?.broadcast_to(shape)?;
        let others = strides.filter(|_| number == 0).unwrap_or(&zeros);
        let loops = Loops::over(shape, others, index.strides());
        let Some(call) = KernelCall::new(queue, &INDEX, "combine")? else { return Ok(None) };
        if !loops.is_for_kernels() || !part.axes.is_for_kernels() {
            return Ok(None);
        }
        let call = call.write(&displacements).number(u32::from(number > 0)).number(-extent.min as i64);
        let call = part.places.of(call);
        let call = call.tell_if((!part.places.checked).then_some(&answer));
        let call = call.count(count).loops(&loops).loops(&part.axes);
        // SAFETY: promise 1 of `run`: as in `kernels/src/index.cl`. 2. The loops visit the integers as often as there are displacements; each is one work-item's.
        // 3. All is in memory of the array's queue.
        let _event = unsafe { call.run() }?;
    }
    if !parts.iter().all(|part| part.places.checked) && answer.wait()?[0] != 0 {
        return Ok(None);
    }
    let distinct = parts.len() == 1 && parts[0].places.distinct;
    let (index, mode, size) = (displacements, IndexMode::Raise, extent.len());
    Ok(Some(IndexedPlaces { index, mode, size, stride: 1, first: extent.min, checked: true, distinct }))
}

/// Picked elements of an array: as [`Plan`](super::Plan), with the picked places in device memory.
#[derive(Debug)]
pub(super) struct DevicePlan {
    /// Where all of them are.
    array: UsmArray,
    outer: Sides,
    places: IndexedPlaces,
    picked_shape: Axes<usize>,
    inner: Sides,
}

impl Picks<'_> {
    /// The elements, if they are for kernels.
    pub(super) fn on_device(&self, array: &UsmArray) -> Result<Option<DevicePlan>> {
        if !is_for_kernels(array) {
            return Ok(None);
        }
        let (sizes, strides) = (array.shape(), array.strides());
        let mut parts = vec![];
        for (index, axes) in &self.arrays {
            let (places, shape) = if index.is_mask() {
                let places = IndexedPlaces::mask(array, index)?;
                let count = places.count();
                (places, vec![count])
            } else {
                let (axis, size) = (axes.start, sizes[axes.start]);
                (
                    IndexedPlaces::integers(array, index, Some(axis), size, IndexMode::Raise)?,
                    index.shape.clone(),
                )
            };
            parts.push(Part::new(places, &shape, &sizes[axes.clone()], &strides[axes.clone()]));
        }
        let view = array.slice(&self.items)?;
        let (outer, inner) = self.around(view.layout());
        let shapes: Vec<&[usize]> = parts.iter().map(|part| &part.shape[..]).collect();
        let picked_shape = common_shape(&shapes)?[..].into();
        DevicePlan::new(view, outer, parts, picked_shape, inner)
    }
}

impl UsmArray {
    /// Places of one axis, or of all elements in row-major order.
    pub(super) fn device_axis_plan(
        &self,
        index: &IndexArray<'_>,
        axis: Option<usize>,
        mode: IndexMode,
    ) -> Result<Option<DevicePlan>> {
        if !is_for_kernels(self) {
            return Ok(None);
        }
        let (sizes, strides) = (self.shape(), self.strides());
        let axes = axis.map_or(0..self.ndim(), |axis| axis..axis + 1);
        let size = sizes[axes.clone()].iter().product();
        let places = IndexedPlaces::integers(self, index, axis, size, mode)?;
        let part = Part::new(places, &index.shape, &sizes[axes.clone()], &strides[axes.clone()]);
        let side = |axes: Range<usize>| (sizes[axes.clone()].into(), strides[axes].into());
        let (outer, inner) = (side(0..axes.start), side(axes.end..self.ndim()));
        DevicePlan::new(self.clone(), outer, vec![part], index.shape[..].into(), inner)
    }

    /// The elements in row-major order for which a mask of as many elements holds.
    pub(super) fn device_mask_plan(&self, mask: &Self) -> Result<Option<DevicePlan>> {
        if !is_for_kernels(self) {
            return Ok(None);
        }
        let mask = mask.astype(Dtype::Bool, CopyMode::IfNeeded)?;
        let Some(index) = IndexArray::new(&IndexItem::Array(&mask))? else { return Ok(None) };
        let places = IndexedPlaces::mask(self, &index)?;
        let shape = [places.count()];
        let part = Part::new(places, &shape, self.shape(), self.strides());
        DevicePlan::new(self.clone(), Sides::default(), vec![part], shape[..].into(), Sides::default())
    }

    /// One place of an axis for each element of the result.
    pub(super) fn device_along_plan(
        &self,
        index: &IndexArray<'_>,
        axis: usize,
        mode: IndexMode,
    ) -> Result<Option<DevicePlan>> {
        if !is_for_kernels(self) {
            return Ok(None);
        }
        let (mut sizes, mut strides) = (self.shape().to_vec(), self.strides().to_vec());
        let (size, stride) = (sizes[axis], strides[axis]);
        let part = Part::new(
            IndexedPlaces::integers(self, index, Some(axis), size, mode)?,
            &index.shape,
            &[size],
            &[stride],
        );
        (sizes[axis], strides[axis]) = (1, 0);
        let shape = broadcast_shapes(&[&index.shape, &sizes])?;
        let others = Layout::new(&sizes, Some(&strides), 0, Order::C)?.broadcast_to(&shape)?;
        if are_unseen(std::slice::from_ref(&part), &shape) {
            return Ok(None);
        }
        let Some(places) = combined(self, &[part], &shape, Some(others.strides()))? else { return Ok(None) };
        Ok(Some(DevicePlan {
            array: self.clone(),
            outer: Sides::default(),
            places,
            picked_shape: shape[..].into(),
            inner: Sides::default(),
        }))
    }
}

/// Whether places are broadcast to a shape without elements: no kernel looks at them, and host code refuses those outside of the array.
fn are_unseen(parts: &[Part], shape: &[usize]) -> bool {
    shape.contains(&0) && parts.iter().any(|part| !part.shape.contains(&0))
}

impl DevicePlan {
    fn new(
        array: UsmArray,
        outer: Sides,
        mut parts: Vec<Part>,
        picked_shape: Axes<usize>,
        inner: Sides,
    ) -> Result<Option<Self>> {
        if are_unseen(&parts, &picked_shape) {
            return Ok(None);
        }
        let alone = if parts.len() == 1 { parts[0].stride() } else { None };
        let places = match alone.zip(parts.pop_if(|_| alone.is_some())) {
            Some((stride, part)) => Some(IndexedPlaces { stride, ..part.places }),
            None => combined(&array, &parts, &picked_shape, None)?,
        };
        Ok(places.map(|places| Self { array, outer, places, picked_shape, inner }))
    }

    pub(super) fn shape(&self) -> Axes<usize> {
        let parts = [&self.outer.0, &self.picked_shape, &self.inner.0];
        parts.into_iter().flat_map(|part| &part[..]).copied().collect()
    }

    /// The elements in a new C-contiguous array of the same dtype, kind and queue.
    pub(super) fn gather(&self) -> Result<Option<UsmArray>> {
        let (array, places) = (&self.array, &self.places);
        let shape = self.shape();
        let result = UsmArray::empty(array.queue(), array.kind(), &shape, array.dtype())?;
        if places.count() == 0 {
            return Ok(Some(result));
        }
        if result.is_empty() {
            let is_fine = places.checked
                || matches!(places.check(false)?, Some(check) if check.wait()? == Found::Nothing);
            return Ok(is_fine.then_some(result));
        }
        let Some((call, nest)) = self.call("gather", &result)? else { return Ok(None) };
        let answer = if places.checked { None } else { Some(Answer::new(array.queue(), 1)?) };
        let call = places.of(call.write(&result).read_at(array, places.first));
        // Places that have been checked need no answer.
        let call = call.tell_if(answer.as_ref());
        let call = call.count(nest.loops.count()).number(nest.picked as u32).loops(&nest.loops);
        // SAFETY: promise 1 of `run`: as in `kernels/src/gather.cl`. 2. The loops visit the elements of the result once, and elements of the array at places that
        // there are, which the kernel checks. 3. All is in memory of the array's queue.
        let _event = unsafe { call.run() }?;
        let is_fine = match answer {
            Some(answer) => answer.wait()?[0] == 0,
            None => true,
        };
        Ok(is_fine.then_some(result))
    }

    /// Writes values, broadcast to the shape of the result. An element at several indices gets the value of the last one.
    pub(super) fn scatter(&self, value: ArrayOrScalar<'_>) -> Result<Option<()>> {
        self.array.check_writable()?;
        let outer = self.outer.0.len();
        let picked = outer..outer + self.picked_shape.len();
        let value = value_for(&self.array, &self.shape(), picked, value)?;
        self.write(&value)
    }

    /// Writes values in row-major order, which are repeated as often as needed.
    pub(super) fn scatter_repeated(&self, value: ArrayOrScalar<'_>) -> Result<Option<()>> {
        self.array.check_writable()?;
        let ArrayOrScalar::Array(values) = value else { return self.scatter(value) };
        let (len, count) = (values.size(), self.places.count());
        if len == 0 || count == 0 {
            return Ok(None);
        }
        let flat = values.reshape(&[-1], Order::C, CopyMode::IfNeeded)?;
        let repeated = match len {
            1 => flat.broadcast_to(&[count])?,
            _ if len >= count => flat.slice(&[SliceItem::between(0, count)])?,
            _ => {
                let numbers: Vec<i64> = (0..count as i64).collect();
                flat.take(&numbers[..], Some(0), IndexMode::Wrap)?
            }
        };
        let repeated = repeated.reshape(&self.signed_shape(), Order::C, CopyMode::IfNeeded)?;
        self.scatter(ArrayOrScalar::Array(&repeated))
    }

    fn signed_shape(&self) -> Vec<isize> {
        self.shape().iter().map(|&size| size.cast_signed()).collect()
    }

    fn write(&self, value: &PickedValue) -> Result<Option<()>> {
        let (array, mut places) = (&self.array, &self.places);
        let distinct = places.distinct || places.count() == 1 || matches!(value, PickedValue::One(_));
        if places.count() == 0 {
            return Ok(Some(()));
        }
        if !Loops::over(array.shape(), array.strides(), array.strides()).is_injective() {
            return Ok(None); // the order of writes matters
        }
        let check = match places.checked && distinct {
            true => None,
            false => match places.check(!distinct)? {
                None => return Ok(None),
                check => check,
            },
        };
        let own_index;
        if overlap(&places.index, array) {
            own_index = IndexedPlaces { index: copied(&places.index, array)?, ..*places };
            places = &own_index;
        }
        // Nobody waits for the check before this is submitted: the kernel writes nothing if the check finds something.
        let is_empty = self.shape().contains(&0);
        if !is_empty && !self.write_to(places, value, check.as_ref(), None)? {
            return Ok(None);
        }
        match check.map_or(Ok(Found::Nothing), |check| check.wait())? {
            Found::Outside => return Ok(None),
            Found::Twice if !is_empty => match places.owners()? {
                Some(owners) if self.write_to(places, value, None, Some(&owners))? => {}
                _ => return Ok(None),
            },
            _ => {}
        }
        Ok(Some(()))
    }

    /// Writes values, unless a check finds something; with `owners` the last one of the integers that name a place does. Tells whether
    /// there is a kernel for it.
    fn write_to(
        &self,
        places: &IndexedPlaces,
        value: &PickedValue,
        check: Option<&Check>,
        owners: Option<&UsmArray>,
    ) -> Result<bool> {
        let (values, one) = match value {
            PickedValue::One(one) => (&self.array, Some(one)),
            PickedValue::Each(values) => (values, None),
        };
        let Some((call, nest)) = self.call("scatter", values)? else { return Ok(false) };
        let call = call.read_if(one.is_none().then_some(values));
        let call = places.of(call.write_at(&self.array, places.first));
        let call = call.number(u32::from(check.is_some())).read_if(check.map(|check| &check.flags));
        let call = call.number(u32::from(owners.is_some())).read_if(owners);
        let call = call.number(u32::from(one.is_some()));
        let (halves, _) = one.unwrap_or(&[0; 16]).as_chunks::<8>();
        let call = halves.iter().fold(call, |call, half| call.number(u64::from_ne_bytes(*half)));
        let call = call.count(nest.loops.count()).number(nest.picked as u32).loops(&nest.loops);
        // SAFETY: promise 1 of `run`: as in `kernels/src/gather.cl`. 2. The loops visit the elements of the values, and elements of the array at places that there are,
        // none of them twice unless with the same value, as the check and the owners see to. 3. All is in memory of the array's queue.
        let _event = unsafe { call.run() }?;
        Ok(true)
    }

    /// The kernel for the largest units that the elements, and those of values of the result's shape, can be moved in.
    fn call<'a>(
        &'a self,
        name: &'static str,
        values: &UsmArray,
    ) -> Result<Option<(Box<KernelCall<'a>>, PickedLoops)>> {
        let itemsize = self.array.itemsize_bytes();
        let fills = std::ptr::eq(values, &raw const self.array);
        let none: Axes<isize> = self.shape().iter().map(|_| 0).collect();
        let strides = if fills { &none[..] } else { values.strides() };
        let (outer, picked) = (self.outer.0.len(), self.outer.0.len() + self.picked_shape.len());
        let mut loops = Loops::over(&self.inner.0, &self.inner.1, &strides[picked..]);
        let number = loops.rank();
        let has_run = loops.innermost().is_some_and(|run| run.steps == [1, 1]);
        let index = Loops::over(&self.picked_shape, &strides[outer..picked], &strides[outer..picked]);
        let step = index.innermost().map_or(0, |axis| axis.steps[1]);
        loops.push(KernelLoop { count: self.places.count(), steps: [self.places.stride, step] });
        loops.surround(&self.outer.0, &self.outer.1, &strides[..outer]);
        let first = self.array.address().wrapping_add_signed(self.places.first * itemsize.cast_signed());
        let is_aligned = |unit: usize| {
            let value = if fills { 0 } else { values.address() };
            first.is_multiple_of(unit) && value.is_multiple_of(unit)
        };
        for unit in [16, 8, 4, 2, 1].into_iter().filter(|&unit| is_aligned(unit)) {
            let nest = match unit == itemsize {
                true => Some(PickedLoops { loops: loops.clone(), picked: number }),
                false
                    if (unit > itemsize && has_run && !fills) || (unit == 8 && itemsize == 16 && !fills) =>
                {
                    let picked = number + usize::from(!has_run);
                    loops.in_units(itemsize, unit, has_run).map(|loops| PickedLoops { loops, picked })
                }
                false => None,
            };
            if let Some(nest) = nest.filter(|nest| nest.loops.is_for_kernels()) {
                let Some(module) = sized("gather", unit) else { return Ok(None) };
                let call = KernelCall::new(self.array.queue(), module, name)?;
                return Ok(call.map(|call| (call, nest)));
            }
        }
        Ok(None)
    }
}

/// Writes elements of `x` where a condition holds, of `y` elsewhere, to a new array; all are broadcast to its shape. Tells whether it has.
pub(super) fn choose(
    result: &UsmArray,
    condition: &UsmArray,
    x: ArrayOrScalar<'_>,
    y: ArrayOrScalar<'_>,
) -> Result<bool> {
    if !is_for_kernels(result) || !is_operand(condition, result.queue()) || result.is_empty() {
        return Ok(false);
    }
    let truth = match condition.dtype() {
        Dtype::Bool => Some(condition.clone()),
        _ => truth(condition)?,
    };
    let (Some(truth), Some(call)) = (truth, KernelCall::new(result.queue(), &CREATE, "choose")?) else {
        return Ok(false);
    };
    let shape = result.shape();
    let (x, truth) = (value_for(result, shape, 0..0, x)?, truth.broadcast_to(shape)?);
    let none = vec![0; shape.len()];
    let (strides, array, one) = match &x {
        PickedValue::One(one) => (&none[..], &truth, Some(*one)),
        PickedValue::Each(array) => (array.strides(), array, None),
    };
    let loops = Loops::over(shape, truth.strides(), strides);
    if !loops.is_for_kernels() {
        return Ok(false);
    }
    match value_for(result, shape, 0..0, y)? {
        PickedValue::One(one) => result.fill_bytes(&one[..result.itemsize_bytes()])?,
        PickedValue::Each(array) => result.assign(&array)?,
    }
    let parts = result.itemsize_bytes().div_ceil(8);
    let call = call.write(result).read(&truth).read(array).number((result.itemsize_bytes() / parts) as u32);
    let call = call.number(parts as u32).number(u32::from(one.is_some()));
    let one = one.unwrap_or_default();
    let call = one.as_chunks::<8>().0.iter().fold(call, |call, half| call.number(u64::from_ne_bytes(*half)));
    let call = call.count(result.size()).loops(&loops);
    // SAFETY: promise 1 of `run`: as in `kernels/src/create.cl`. 2. The loops visit elements of both, and each element of the result is one work-item's. 3. All are
    // operands for the queue of the result.
    let _event = unsafe { call.run() }?;
    Ok(true)
}

/// Loops of a kernel, and which of them is over the integers.
struct PickedLoops {
    loops: Loops,
    picked: usize,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use usm_core::testing::strict_queue;
    use usm_memory::usm_core::UsmKind;

    use super::*;
    use crate::index::read::integer_array;

    /// That the operations below are right is for the tests of `tests/indexing`; here, that it is kernels that do them.
    #[test]
    fn kernels_do_what_they_can() {
        let Some(queue) = strict_queue() else { return };
        let array = UsmArray::from_slice(&queue, UsmKind::Device, &[3, 4], &[7_u16; 12]).unwrap();
        assert!(is_for_kernels(&array));
        let plan = |indices: &[i64], axis| {
            let index = UsmArray::from_slice(&queue, UsmKind::Device, &[indices.len()], indices).unwrap();
            let index = IndexItem::Array(&index);
            array.device_axis_plan(&integer_array(&index).unwrap(), axis, IndexMode::Raise).unwrap().unwrap()
        };
        assert_eq!(plan(&[2, -1, 0], Some(1)).gather().unwrap().unwrap().shape(), [3, 3]);
        assert_eq!(plan(&[-12, 11], None).gather().unwrap().unwrap().to_vec::<u16>().unwrap(), [7, 7]);
        let one = ArrayOrScalar::Scalar(crate::Scalar::Int(1));
        for outside in [[0, 4], [-5, 0]] {
            assert!(plan(&outside, Some(1)).gather().unwrap().is_none());
            assert!(plan(&outside, Some(1)).scatter(one).unwrap().is_none());
        }
        assert_eq!(array.to_vec::<u16>().unwrap(), [7; 12]);
        assert!(plan(&[3, 3, -1], Some(1)).scatter(one).unwrap().is_some());
        let mask = array.equal(1.0).unwrap();
        assert!(array.device_mask_plan(&mask).unwrap().unwrap().gather().unwrap().is_some());
        let along = UsmArray::from_slice(&queue, UsmKind::Device, &[1, 2], &[0_u8, 3]).unwrap();
        let along = integer_array(&IndexItem::Array(&along)).unwrap().shape;
        assert_eq!(along, [1, 2]);
    }

    #[test]
    fn rows_are_moved_in_the_largest_units() {
        let Some(queue) = strict_queue() else { return };
        let array = UsmArray::from_slice(&queue, UsmKind::Device, &[3, 8], &[7_u16; 24]).unwrap();
        assert!(is_for_kernels(&array));
        for (columns, loops) in [(8, [1, 2]), (4, [1, 2]), (6, [3, 2]), (7, [7, 2])] {
            let part = array.slice((.., 0..columns)).unwrap();
            let index = IndexItem::Integers { values: &[2, 0], shape: None };
            let plan = part.device_axis_plan(&integer_array(&index).unwrap(), Some(0), IndexMode::Raise);
            let plan = plan.unwrap().unwrap();
            let result = UsmArray::empty(&queue, UsmKind::Device, &plan.shape(), Dtype::U16).unwrap();
            let (_, nest) = plan.call("gather", &result).unwrap().unwrap();
            assert_eq!((nest.loops.count(), nest.picked), (loops[0] * loops[1], 1), "{columns}");
        }
    }
}
