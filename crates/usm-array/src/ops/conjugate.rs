//! conj

use num_complex::Complex;

use super::elementwise::map_to;
use crate::array::UsmArray;
use crate::dtype::Dtype;
use crate::error::Result;

impl UsmArray {
    /// A new array of the complex conjugates, which for real numbers and booleans are the elements themselves.
    ///
    /// ```
    /// # use usm_array::{UsmArray, num_complex::Complex, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[1], &[Complex::new(1.0_f32, 2.0)])?;
    /// assert_eq!(array.conj()?.to_vec::<Complex<f32>>()?, [Complex::new(1.0, -2.0)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`UsmArray::isnan`].
    pub fn conj(&self) -> Result<Self> {
        match self.dtype() {
            Dtype::C64 => map_to(self, |z: Complex<f32>| z.conj()),
            Dtype::C128 => map_to(self, |z: Complex<f64>| z.conj()),
            _ => self.copy(),
        }
    }
}
