//! Ones on a diagonal

use super::CreateOptions;
use crate::array::UsmArray;
use crate::error::Result;
use crate::scalar::Scalar;

impl CreateOptions<'_> {
    /// A matrix of zeros with ones on the diagonal `k` elements to the right of the main one, or to the left if negative; square
    /// without a number of columns, and by default of real numbers.
    ///
    /// ```
    /// use usm_array::{CreateOptions, Dtype, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let new = CreateOptions::new(&queue, UsmKind::Device).dtype(Dtype::U8);
    /// assert_eq!(new.eye(2, Some(3), 1)?.to_vec::<u8>()?, [0, 1, 0, 0, 0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`CreateOptions::zeros`].
    pub fn eye(&self, rows: usize, columns: Option<usize>, k: isize) -> Result<UsmArray> {
        let matrix = self.zeros(&[rows, columns.unwrap_or(rows)])?;
        matrix.diagonal(k, 0, 1)?.fill_scalar(Scalar::Bool(true))?;
        Ok(matrix)
    }
}
