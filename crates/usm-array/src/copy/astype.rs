//! Arrays of another dtype

use crate::array::UsmArray;
use crate::dtype::{Casting, Dtype};
use crate::error::{Error, Result};

/// Whether an operation that could give a view gives a copy: Python's `copy=True`, `copy=None` and `copy=False`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CopyMode {
    /// A copy in any case.
    #[default]
    Always,
    /// A copy only where there is no other way.
    IfNeeded,
    /// An error where there is no other way than a copy.
    Never,
}

impl UsmArray {
    /// The elements cast to a dtype, in new C-contiguous memory of the same kind and queue; with the same dtype, and unless a copy
    /// is asked for, this array itself.
    ///
    /// Every dtype casts to every other. Integers wrap around, real numbers beyond an integer type become its nearest value and
    /// NaN 0 (NumPy leaves both to the processor), the imaginary part of complex numbers is dropped, and everything but zero is
    /// true.
    ///
    /// ```
    /// use usm_array::usm_core::{Runtime, UsmKind};
    /// use usm_array::{CopyMode, Dtype, UsmArray};
    ///
    /// let runtime = Runtime::global();
    /// let queue = runtime.default_queue(runtime.host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[3], &[1.9_f64, -1.9, 300.0])?;
    /// assert_eq!(array.astype(Dtype::I8, CopyMode::IfNeeded)?.to_vec::<i8>()?, [1, -1, 127]);
    /// assert!(array.astype(Dtype::I8, CopyMode::Never).is_err());
    /// assert_eq!(array.astype(Dtype::F64, CopyMode::Never)?.address(), array.address());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::CopyNeeded`]: another dtype, and no copy is allowed
    /// - those of [`UsmArray::copy`]
    pub fn astype(&self, dtype: Dtype, mode: CopyMode) -> Result<Self> {
        match mode {
            CopyMode::IfNeeded | CopyMode::Never if dtype == self.dtype() => return Ok(self.clone()),
            CopyMode::Never => return Err(Error::CopyNeeded { found: self.dtype(), expected: dtype }),
            CopyMode::Always | CopyMode::IfNeeded => {}
        }
        let cast = Self::empty(self.queue(), self.kind(), self.shape(), dtype)?;
        cast.assign_cast(self, Casting::Unsafe)?;
        Ok(cast)
    }
}
