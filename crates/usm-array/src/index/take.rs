//! take and put: integers along one axis, or for all elements in row-major order

use super::read::integer_array;
use super::{IndexItem, IndexMode, Plan, Values};
use crate::array::{ArrayOrScalar, UsmArray};
use crate::error::{IndexError, Result};
use crate::layout::normalise_axis;

impl UsmArray {
    /// The elements at the given places of an axis, or of all elements in row-major order without an axis; a C-contiguous copy on the
    /// same queue, in memory of the kind that [follows](crate::coerced_kind) from the array and the indices. The axes of the indices take the place of the axis.
    ///
    /// ```
    /// use usm_array::{IndexMode, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 3], &[1_i32, 2, 3, 4, 5, 6])?;
    /// let columns = array.take(&[2, 0], Some(-1), IndexMode::Raise)?;
    /// assert_eq!(columns.to_vec::<i32>()?, [3, 1, 6, 4]);
    /// assert_eq!(array.take(&[4, 99], None, IndexMode::Clip)?.to_vec::<i32>()?, [5, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Index`](crate::Error::Index): no integers, or one outside the axis that the mode does not admit
    /// - [`Error::Layout`](crate::Error::Layout): no such axis, or too many axes or elements in the result
    /// - the others of [`get_index`](Self::get_index)
    pub fn take<'a>(
        &self,
        indices: impl Into<IndexItem<'a>>,
        axis: Option<isize>,
        mode: IndexMode,
    ) -> Result<Self> {
        let indices = indices.into();
        self.taken(&indices, axis, mode)?.in_kind(indices.kind_with(self))
    }

    /// As `take`, in memory of the same kind.
    fn taken(&self, indices: &IndexItem<'_>, axis: Option<isize>, mode: IndexMode) -> Result<Self> {
        let axis = axis.map(|axis| normalise_axis("axis", axis, self.ndim())).transpose()?;
        if let Some(plan) = self.device_axis_plan(&integer_array(indices)?, axis, mode)?
            && let Some(result) = plan.gather()?
        {
            return Ok(result);
        }
        match axis {
            None => self.flat_plan(indices, mode)?.gather(self),
            Some(axis) => self.axis_plan(indices, axis, mode)?.gather(self),
        }
    }

    /// The axis that [`take`](Self::take) of the array API means: the given one, or without one that of an array of one axis. `None` for
    /// an array without axes, whose element is at place 0 of axis 0.
    ///
    /// ```
    /// use usm_array::{Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let of_axes = |shape: &[usize]| UsmArray::zeros(&queue, UsmKind::Device, shape, Dtype::U8);
    /// assert_eq!(of_axes(&[3])?.only_axis(None)?, Some(0));
    /// assert_eq!(of_axes(&[])?.only_axis(Some(0))?, None);
    /// assert!(of_axes(&[2, 3])?.only_axis(None).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`IndexError::NoAxis`]: no axis where there are several
    pub fn only_axis(&self, axis: Option<isize>) -> Result<Option<isize>> {
        match (self.ndim(), axis) {
            (0, Some(0) | None) => Ok(None),
            (1, None) => Ok(Some(0)),
            (ndim, None) => Err(IndexError::NoAxis { ndim }.into()),
            (_, axis) => Ok(axis),
        }
    }

    /// Changes the elements that [`take`](Self::take) gives for an axis. Values are broadcast and cast as by
    /// [`set_index`](Self::set_index); the last of several values for one element wins.
    ///
    /// ```
    /// use usm_array::{IndexMode, Scalar, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 2], &[1_u8, 2, 3, 4])?;
    /// array.put_on_axis(&[-1], Scalar::Int(9), 1, IndexMode::Raise)?;
    /// assert_eq!(array.to_vec::<u8>()?, [1, 9, 3, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::ReadOnly`](crate::Error::ReadOnly): the array is read-only
    /// - the errors of [`take`](Self::take) and [`set_index`](Self::set_index)
    pub fn put_on_axis<'a, 'b>(
        &self,
        indices: impl Into<IndexItem<'a>>,
        values: impl Into<ArrayOrScalar<'b>>,
        axis: isize,
        mode: IndexMode,
    ) -> Result<()> {
        self.check_writable()?;
        let (indices, values) = (indices.into(), values.into());
        let axis = normalise_axis("axis", axis, self.ndim())?;
        if let Some(plan) = self.device_axis_plan(&integer_array(&indices)?, Some(axis), mode)?
            && plan.scatter(values)?.is_some()
        {
            return Ok(());
        }
        let plan = self.axis_plan(&indices, axis, mode)?;
        plan.scatter(self, &Values::broadcast(self, values, plan.shape())?)
    }

    /// Places of one axis.
    fn axis_plan(&self, indices: &IndexItem<'_>, axis: usize, mode: IndexMode) -> Result<Plan> {
        let layout = self.layout_from_lowest()?;
        let (sizes, strides) = (layout.shape(), layout.strides());
        let indices = integer_array(indices)?;
        // The displacement of a place of the axis. Like the sum, it does not overflow.
        let step = |place: usize| layout.offset() + strides[axis] * place.cast_signed();
        let picked = indices.integers(Some(axis), sizes[axis], mode, step)?;
        let outer = (&sizes[..axis], &strides[..axis]);
        let inner = (&sizes[axis + 1..], &strides[axis + 1..]);
        Ok(Plan::new(outer, &indices.shape, picked, inner)?)
    }

    /// Changes the elements at the given places of all elements in row-major order. Values are taken in row-major order and
    /// repeated as often as needed; without values the call has no effect, as in NumPy. The last of several values for one element wins.
    ///
    /// ```
    /// use usm_array::{IndexMode, Scalar, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 2], &[1_u8, 2, 3, 4])?;
    /// array.put(&[-1, 4], Scalar::Int(9), IndexMode::Wrap)?;
    /// assert_eq!(array.to_vec::<u8>()?, [9, 2, 3, 9]);
    /// assert!(array.put(&[0, 4], Scalar::Int(7), IndexMode::Raise).is_err());
    /// assert_eq!(array.to_vec::<u8>()?, [9, 2, 3, 9], "nothing was written");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::ReadOnly`](crate::Error::ReadOnly): the array is read-only
    /// - [`Error::Index`](crate::Error::Index): no integers, or one outside that the mode does not admit
    /// - the others of [`set_index`](Self::set_index)
    pub fn put<'a, 'b>(
        &self,
        indices: impl Into<IndexItem<'a>>,
        values: impl Into<ArrayOrScalar<'b>>,
        mode: IndexMode,
    ) -> Result<()> {
        self.check_writable()?;
        let (indices, values) = (indices.into(), values.into());
        if let Some(plan) = self.device_axis_plan(&integer_array(&indices)?, None, mode)?
            && plan.scatter_repeated(values)?.is_some()
        {
            return Ok(());
        }
        let plan = self.flat_plan(&indices, mode)?;
        match Values::repeated(self, values, plan.picked.len())? {
            Some(values) => Plan::of_places(&[plan.picked.len()], plan.picked)?.scatter(self, &values),
            None => Ok(()),
        }
    }

    /// Places of all elements in row-major order.
    pub(super) fn flat_plan(&self, indices: &IndexItem<'_>, mode: IndexMode) -> Result<Plan> {
        let indices = integer_array(indices)?;
        let layout = self.layout_from_lowest()?;
        let picked = match layout.is_c_contiguous() {
            true => indices.integers(None, self.size(), mode, |place| place.cast_signed()),
            false => indices.integers(None, self.size(), mode, |place| layout.offset_of_number(place)),
        };
        Ok(Plan::of_places(&indices.shape, picked?)?)
    }
}
