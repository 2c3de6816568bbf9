//! Real and imaginary parts, and the same bytes as another dtype

use crate::array::UsmArray;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::Layout;

impl UsmArray {
    /// The real parts of complex numbers; of other numbers the array itself.
    ///
    /// # Errors
    /// - the errors of [`UsmArray::from_parts`] for arrays without elements and with extreme strides
    pub fn real(&self) -> Result<Self> {
        match part_dtype(self.dtype) {
            Some(dtype) => self.in_dtype(dtype, self.layout.part(false)?, 0),
            None => Ok(self.clone()),
        }
    }

    /// The imaginary parts of complex numbers.
    ///
    /// # Errors
    /// - [`Error::NotComplex`]: the elements are no complex numbers, so that there is no memory to view
    /// - the errors of [`UsmArray::real`]
    pub fn imag(&self) -> Result<Self> {
        let dtype = part_dtype(self.dtype).ok_or(Error::NotComplex { found: self.dtype })?;
        self.in_dtype(dtype, self.layout.part(true)?, 0)
    }

    /// The bytes of the elements as elements of another dtype, with NumPy's rules for `view(dtype)`: for another item size the
    /// last axis must be without gaps, and gets as many elements more or fewer; larger elements must be whole and aligned.
    ///
    /// Unlike in NumPy the last axis may have any stride if its size is 0 or 1.
    ///
    /// ```
    /// use usm_array::{Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let floats = UsmArray::from_slice(&queue, UsmKind::Shared, &[2], &[1.0_f32, -2.0])?;
    /// assert_eq!(floats.reinterpret(Dtype::U32)?.to_vec::<u32>()?, [0x3f80_0000, 0xc000_0000]);
    /// assert_eq!(floats.reinterpret(Dtype::C64)?.shape(), [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Layout`]: the last axis has gaps, or does not hold whole elements; no axes and another item size
    /// - [`Error::BufferMisaligned`]: the elements are not aligned for the dtype
    pub fn reinterpret(&self, dtype: Dtype) -> Result<Self> {
        let (layout, lead_bytes) =
            self.layout.reinterpret(self.dtype.itemsize_bytes(), dtype.itemsize_bytes())?;
        self.in_dtype(dtype, layout, lead_bytes)
    }

    /// An array over the same bytes, with a buffer that starts `lead_bytes` later. All bounds are proved again.
    fn in_dtype(&self, dtype: Dtype, layout: Layout, lead_bytes: usize) -> Result<Self> {
        let buffer = match lead_bytes {
            0 => self.buffer.clone(),
            lead => self.buffer.sub_buffer(lead, self.buffer.len_bytes() - lead)?, // at most up to an element, by A1
        };
        // The published address stays if it is a whole number of new elements away, else it becomes the start of the buffer.
        let itemsize = dtype.itemsize_bytes().cast_signed();
        let origin_bytes = self
            .origin
            .checked_mul(self.itemsize_bytes().cast_signed())
            .and_then(|bytes| bytes.checked_sub(lead_bytes.cast_signed()))
            .filter(|bytes| bytes % itemsize == 0);
        Self::from_parts(buffer, dtype, layout, origin_bytes.map_or(0, |bytes| bytes / itemsize))
    }
}

/// The dtype of the parts of a complex number.
const fn part_dtype(dtype: Dtype) -> Option<Dtype> {
    match dtype {
        Dtype::C64 => Some(Dtype::F32),
        Dtype::C128 => Some(Dtype::F64),
        _ => None,
    }
}
