//! `array[index]` and `array[index] = value`

use super::mask::Masked;
use super::resolve::{Resolved, resolve};
use super::{IndexItem, Values};
use crate::array::{ArrayOrScalar, UsmArray};
use crate::dtype::{Casting, Dtype};
use crate::error::Result;

impl UsmArray {
    /// The elements of an index, with the meaning of NumPy's `array[items]`: a view where all items are basic, as by
    /// [`slice`](Self::slice), otherwise a C-contiguous copy in memory of the same kind and queue.
    ///
    /// Index arrays are broadcast to a common shape, whose axes take the place of those that the arrays pick from. If a slice, an
    /// ellipsis or a new axis stands between two of them, the common axes come first. An integer beside index arrays counts as one
    /// of them.
    ///
    /// Each integer must be inside its axis, also where NumPy does not look because the result has no elements.
    ///
    /// ```
    /// use usm_array::{IndexItem, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 3], &[1_i32, 2, 3, 4, 5, 6])?;
    /// // array[:, [2, 0]]
    /// let columns = array.get_index(&[IndexItem::FULL, (&[2, 0]).into()])?;
    /// assert_eq!(columns.shape(), [2, 2]);
    /// assert_eq!(columns.to_vec::<i32>()?, [3, 1, 6, 4]);
    /// // array[[True, False], -1]
    /// let last = array.get_index(&[(&[true, false]).into(), (-1).into()])?;
    /// assert_eq!(last.to_vec::<i32>()?, [3]);
    /// assert!(array.get_index(&[(&[0, 2]).into()]).is_err(), "there are two rows");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Index`](crate::Error::Index): an integer outside its axis, a mask of another size than its axes, an index
    ///   array of real numbers, or index arrays that do not broadcast
    /// - [`Error::Layout`](crate::Error::Layout): too many items, or several ellipses; basic items as for
    ///   [`Layout::slice`](crate::Layout::slice)
    /// - [`Error::TooManyBytes`](crate::Error::TooManyBytes): a result of more than `isize::MAX` bytes
    /// - [`Error::OutOfHostMemory`](crate::Error::OutOfHostMemory): no host memory for the places of elements, or for a copy
    ///   of device memory
    /// - [`Error::Memory`](crate::Error::Memory): the allocation failed, memory is borrowed for writing, or the runtime failed
    pub fn get_index(&self, items: &[IndexItem<'_>]) -> Result<Self> {
        if let Some(masked) = self.masked(items)?
            && let Some(result) = masked.gather()?
        {
            return Ok(result);
        }
        match resolve(self, items)? {
            Resolved::View(items) => self.slice(&items),
            Resolved::Picked(picks) => {
                if let Some(plan) = picks.on_device(self)?
                    && let Some(result) = plan.gather()?
                {
                    return Ok(result);
                }
                picks.plan(self)?.gather(self)
            }
        }
    }

    /// What a mask for the whole array picks, if that is for kernels.
    fn masked(&self, items: &[IndexItem<'_>]) -> Result<Option<Masked>> {
        match items {
            [IndexItem::Array(mask)] if mask.dtype() == Dtype::Bool && mask.shape() == self.shape() => {
                Masked::new(self, mask)
            }
            _ => Ok(None),
        }
    }

    /// Changes the elements of an index: NumPy's `array[items] = value`.
    ///
    /// An array is broadcast to the shape that [`get_index`](Self::get_index) gives and cast to the dtype as by
    /// [`astype`](Self::astype); a [`Scalar`](crate::Scalar) must be one that the dtype holds. If the value shares memory with this
    /// array, the result is as if it had been copied first. If an element is at several indices, it gets the value of the last one
    /// in row-major order. A refused index leaves the array unchanged.
    ///
    /// ```
    /// use usm_array::{IndexItem, Scalar, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[4], &[0.0_f32; 4])?;
    /// let values = UsmArray::from_slice(&queue, UsmKind::Device, &[3], &[1_u8, 2, 3])?;
    /// array.set_index(&[(&[3, 1, 3]).into()], &values)?;
    /// assert_eq!(array.to_vec::<f32>()?, [0.0, 2.0, 0.0, 3.0]);
    /// array.set_index(&[(&[true, false, true, false]).into()], Scalar::Float(0.5))?;
    /// assert_eq!(array.to_vec::<f32>()?, [0.5, 2.0, 0.5, 3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::ReadOnly`](crate::Error::ReadOnly): the array is read-only
    /// - the errors of [`get_index`](Self::get_index), also if the value does not broadcast to the shape
    /// - [`Error::ScalarKind`](crate::Error::ScalarKind), [`Error::ScalarRange`](crate::Error::ScalarRange): a value that the
    ///   dtype does not hold
    /// - [`Error::Memory`](crate::Error::Memory): memory is borrowed, or the runtime failed
    pub fn set_index<'a>(&self, items: &[IndexItem<'_>], value: impl Into<ArrayOrScalar<'a>>) -> Result<()> {
        self.check_writable()?;
        let value = value.into();
        if let Some(masked) = self.masked(items)?
            && masked.scatter(value)?.is_some()
        {
            return Ok(());
        }
        match (resolve(self, items)?, value) {
            (Resolved::View(items), ArrayOrScalar::Array(array)) => {
                self.slice(&items)?.assign_cast(array, Casting::Unsafe)
            }
            (Resolved::View(items), ArrayOrScalar::Scalar(value)) => self.slice(&items)?.fill_scalar(value),
            (Resolved::Picked(picks), value) => {
                if let Some(plan) = picks.on_device(self)?
                    && plan.scatter(value)?.is_some()
                {
                    return Ok(());
                }
                let plan = picks.plan(self)?;
                plan.scatter(self, &Values::broadcast(self, value, plan.shape())?)
            }
        }
    }
}
