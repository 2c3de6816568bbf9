//! Whether views have equal, or nearly equal, elements

use super::{ArrayView, bytes_of};
use crate::dtype::Element;
use crate::scalar::{Scalar, modulus};

/// Equal shapes and equal elements; a NaN is equal to nothing.
impl<T: Element> PartialEq<ArrayView<'_, T>> for ArrayView<'_, T> {
    fn eq(&self, other: &ArrayView<'_, T>) -> bool {
        self.shape() == other.shape() && self.iter().eq(other.iter())
    }
}

impl<T: Element> ArrayView<'_, T> {
    /// Whether shapes are equal and no two elements are further apart than `max_difference`; equal infinite numbers are not, and
    /// a NaN is from everything.
    ///
    /// ```
    /// # use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let a = UsmArray::from_slice(&queue, UsmKind::Shared, &[2], &[1.0_f32, 2.0])?;
    /// let b = UsmArray::from_slice(&queue, UsmKind::Shared, &[2], &[1.0_f32, 2.25])?;
    /// assert!(a.view::<f32>()?.abs_diff_eq(&b.view()?, 0.25));
    /// assert!(!a.view::<f32>()?.abs_diff_eq(&b.view()?, 0.1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn abs_diff_eq(&self, other: &ArrayView<'_, T>, max_difference: f64) -> bool {
        let near = |(a, b): (T, T)| a == b || difference(a, b).is_some_and(|found| found <= max_difference);
        self.shape() == other.shape() && self.iter().zip(other.iter()).all(near)
    }
}

/// How far elements are apart; integers are subtracted exactly.
fn difference<T: Element>(a: T, b: T) -> Option<f64> {
    let value = |element: T| Scalar::from_bytes(T::DTYPE, bytes_of(&[element]));
    Some(match (value(a)?, value(b)?) {
        (Scalar::Bool(a), Scalar::Bool(b)) => f64::from(u8::from(a != b)),
        (Scalar::Int(a), Scalar::Int(b)) => a.abs_diff(b) as f64,
        (Scalar::Float(a), Scalar::Float(b)) => (a - b).abs(),
        (Scalar::Complex(a), Scalar::Complex(b)) => modulus(a - b),
        _ => return None, // both are of one dtype
    })
}
