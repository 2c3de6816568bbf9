//! Results in arrays that the caller gives for them

use crate::array::UsmArray;
use crate::dtype::Dtype;
use crate::error::{ManipulateError, Result};
use crate::layout::broadcast_shapes;

impl UsmArray {
    /// Whether a result may go into this array, whatever its shape and dtype. To ask before the work for the result.
    ///
    /// ```
    /// use usm_array::{Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let out = UsmArray::zeros(&queue, UsmKind::Device, &[2], Dtype::F32)?;
    /// assert!(out.check_out().is_ok() && out.read_only().check_out().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`ManipulateError::OutReadOnly`]: this array is read-only
    pub fn check_out(&self) -> Result<()> {
        if self.is_writable() { Ok(()) } else { Err(ManipulateError::OutReadOnly.into()) }
    }

    /// As [`check_out`](Self::check_out), for a result of that dtype with one element for each index of the operands, which are broadcast.
    ///
    /// ```
    /// use usm_array::{Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let zeros = |shape: &[usize], dtype| UsmArray::zeros(&queue, UsmKind::Device, shape, dtype);
    /// let (row, column) = (zeros(&[2], Dtype::F32)?, zeros(&[3, 1], Dtype::F32)?);
    /// assert!(zeros(&[3, 2], Dtype::Bool)?.check_out_of(&[&row, &column], Dtype::Bool).is_ok());
    /// assert!(zeros(&[2, 3], Dtype::Bool)?.check_out_of(&[&row, &column], Dtype::Bool).is_err());
    /// assert!(row.check_out_of(&[&row], Dtype::Bool).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`ManipulateError::OutDiffers`]: this array has another shape or dtype
    /// - [`Error::Layout`](crate::Error::Layout): the shapes of the operands do not broadcast
    /// - those of [`check_out`](Self::check_out)
    pub fn check_out_of(&self, operands: &[&Self], dtype: Dtype) -> Result<()> {
        self.check_out()?;
        let shapes: Vec<&[usize]> = operands.iter().map(|operand| operand.shape()).collect();
        let shape = broadcast_shapes(&shapes)?;
        if self.shape() == shape && self.dtype() == dtype {
            return Ok(());
        }
        let (found, found_dtype) = (self.shape().to_vec(), self.dtype());
        Err(ManipulateError::OutDiffers { found, found_dtype, expected: shape, expected_dtype: dtype }.into())
    }

    /// Copies a result into an array of the same shape and dtype. Nothing is broadcast and nothing is cast, unlike in
    /// [`assign_cast`](Self::assign_cast).
    ///
    /// ```
    /// use usm_array::{Bool8, Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2], &[1, 2])?;
    /// let out = UsmArray::zeros(&queue, UsmKind::Shared, &[2], Dtype::Bool)?;
    /// array.equal(2)?.give_to(&out)?;
    /// assert_eq!(out.to_vec::<Bool8>()?, [false, true].map(Bool8::from));
    /// assert!(array.give_to(&out).is_err(), "another dtype");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - those of [`check_out_of`](Self::check_out_of)
    /// - the others of [`assign`](Self::assign)
    pub fn give_to(&self, out: &Self) -> Result<()> {
        out.check_out_of(&[self], self.dtype())?;
        out.assign(self)
    }
}
