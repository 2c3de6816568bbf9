//! take_along_axis and put_along_axis: one index for each element of the result

use super::by_kernels::DevicePlan;
use super::read::integer_array;
use super::{IndexItem, IndexMode, Plan, Values};
use crate::array::{ArrayOrScalar, UsmArray};
use crate::error::{IndexError, Result};
use crate::layout::{Layout, Order, broadcast_shapes, normalise_axis};
use crate::view::with_capacity;

impl UsmArray {
    /// For each element of `indices` the element of this array at that place of the axis, and at the same index of the other axes;
    /// along these the two are broadcast. A C-contiguous copy on the same queue, in memory of the kind that
    /// [follows](crate::coerced_kind) from the array and the indices. Without an axis all elements in
    /// row-major order are one.
    ///
    /// ```
    /// use usm_array::{IndexItem, IndexMode, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 3], &[1_i32, 2, 3, 4, 5, 6])?;
    /// let indices = IndexItem::Integers { values: &[2, 0], shape: Some(&[2, 1]) };
    /// assert_eq!(array.take_along_axis(indices, Some(1), IndexMode::Raise)?.to_vec::<i32>()?, [3, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Index`](crate::Error::Index): no integers, one outside the axis that the mode does not admit, or
    ///   another number of axes than this array has
    /// - [`Error::Layout`](crate::Error::Layout): no such axis, or the other axes do not broadcast
    /// - the others of [`get_index`](Self::get_index)
    pub fn take_along_axis<'a>(
        &self,
        indices: impl Into<IndexItem<'a>>,
        axis: Option<isize>,
        mode: IndexMode,
    ) -> Result<Self> {
        let indices = indices.into();
        self.taken_along(&indices, axis, mode)?.in_kind(indices.kind_with(self))
    }

    /// As `take_along_axis`, in memory of the same kind.
    fn taken_along(&self, indices: &IndexItem<'_>, axis: Option<isize>, mode: IndexMode) -> Result<Self> {
        if let Some(plan) = self.along_device_plan(indices, axis, mode)?
            && let Some(result) = plan.gather()?
        {
            return Ok(result);
        }
        self.along_plan(indices, axis, mode)?.gather(self)
    }

    /// Changes the elements that [`take_along_axis`](Self::take_along_axis) gives. Values are broadcast and cast as by
    /// [`set_index`](Self::set_index); the last of several values for one element wins.
    ///
    /// ```
    /// use usm_array::{IndexItem, IndexMode, Scalar, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[1_i32, 2, 3, 4])?;
    /// let indices = IndexItem::Integers { values: &[1, 0], shape: Some(&[2, 1]) };
    /// array.put_along_axis(indices, Scalar::Int(9), Some(-1), IndexMode::Raise)?;
    /// assert_eq!(array.to_vec::<i32>()?, [1, 9, 9, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::ReadOnly`](crate::Error::ReadOnly): the array is read-only
    /// - the errors of [`take_along_axis`](Self::take_along_axis) and [`set_index`](Self::set_index)
    pub fn put_along_axis<'a, 'b>(
        &self,
        indices: impl Into<IndexItem<'a>>,
        values: impl Into<ArrayOrScalar<'b>>,
        axis: Option<isize>,
        mode: IndexMode,
    ) -> Result<()> {
        self.check_writable()?;
        let (indices, values) = (indices.into(), values.into());
        if let Some(plan) = self.along_device_plan(&indices, axis, mode)?
            && plan.scatter(values)?.is_some()
        {
            return Ok(());
        }
        let plan = self.along_plan(&indices, axis, mode)?;
        plan.scatter(self, &Values::broadcast(self, values, plan.shape())?)
    }

    fn along_device_plan(
        &self,
        index: &IndexItem<'_>,
        axis: Option<isize>,
        mode: IndexMode,
    ) -> Result<Option<DevicePlan>> {
        let indices = integer_array(index)?;
        match axis {
            _ if indices.shape.len() != axis.map_or(1, |_| self.ndim()) => Ok(None), // refused below
            None => self.device_axis_plan(&indices, None, mode),
            Some(axis) => self.device_along_plan(&indices, normalise_axis("axis", axis, self.ndim())?, mode),
        }
    }

    fn along_plan(&self, index: &IndexItem<'_>, axis: Option<isize>, mode: IndexMode) -> Result<Plan> {
        let indices = integer_array(index)?;
        let expected = if axis.is_some() { self.ndim() } else { 1 };
        if indices.shape.len() != expected {
            return Err(IndexError::IndicesNdim { found: indices.shape.len(), expected }.into());
        }
        let Some(axis) = axis else {
            return self.flat_plan(index, mode);
        };
        let axis = normalise_axis("axis", axis, self.ndim())?;
        let layout = self.layout_from_lowest()?;
        let stride = layout.strides()[axis];
        // The displacement of a place of the axis. Like the sum below, it does not overflow.
        let step = |place: usize| stride * place.cast_signed();
        let steps = indices.integers(Some(axis), layout.shape()[axis], mode, step)?;

        // The array with its axis replaced by one of stride 0, and the indices, in the shape of the result.
        let (mut sizes, mut strides) = (layout.shape().to_vec(), layout.strides().to_vec());
        (sizes[axis], strides[axis]) = (1, 0);
        let shape = broadcast_shapes(&[&indices.shape, &sizes])?;
        let others = Layout::new(&sizes, Some(&strides), layout.offset(), Order::C)?.broadcast_to(&shape)?;
        let places = Layout::contiguous(&indices.shape, Order::C)?.broadcast_to(&shape)?;
        let mut picked = with_capacity(shape.iter().product())?;
        let pairs = others.offsets().zip(places.offsets());
        picked.extend(pairs.map(|(other, place)| other + steps[place.cast_unsigned()]));
        Ok(Plan::of_places(&shape, picked)?)
    }
}
