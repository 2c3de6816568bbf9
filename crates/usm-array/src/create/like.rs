//! New arrays after the model of another one

use usm_memory::usm_core::{Queue, UsmKind};

use crate::array::{ArrayOrScalar, BufferSource, UsmArray};
use crate::dtype::{Casting, Dtype};
use crate::error::{Error, Result};
use crate::layout::{CopyOrder, Layout, Order};
use crate::scalar::Scalar;

/// Differences of a new array from its model. `None` keeps the model's value.
#[derive(Clone, Copy, Debug)]
pub struct LikeOptions<'a> {
    /// Number of indices along each axis
    pub shape: Option<&'a [usize]>,
    /// Element type
    pub dtype: Option<Dtype>,
    /// Kind of the memory
    pub kind: Option<UsmKind>,
    /// Queue, in whose context the memory is allocated
    pub queue: Option<&'a Queue>,
    /// Order of the axes in memory, by default row-major; with another shape the model has none that could be kept
    pub order: CopyOrder,
}

impl Default for LikeOptions<'_> {
    fn default() -> Self {
        Self { shape: None, dtype: None, kind: None, queue: None, order: CopyOrder::C }
    }
}

impl UsmArray {
    /// An array of the same shape, dtype, kind and queue, whose elements have no particular value.
    ///
    /// ```
    /// use usm_array::{Dtype, LikeOptions, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let model = UsmArray::zeros(&queue, UsmKind::Device, &[2, 3], Dtype::F32)?;
    /// let on_host = LikeOptions { kind: Some(UsmKind::Host), ..LikeOptions::default() };
    /// let like = model.transpose().empty_like(&on_host)?;
    /// assert_eq!((like.shape(), like.dtype(), like.kind()), (&[3, 2][..], Dtype::F32, UsmKind::Host));
    /// assert!(like.is_c_contiguous());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`UsmArrayBuilder::build`](crate::UsmArrayBuilder::build).
    pub fn empty_like(&self, options: &LikeOptions<'_>) -> Result<Self> {
        let model = match options.shape {
            None => self.layout().packed(options.order)?,
            Some(shape) => {
                let order = if options.order == CopyOrder::F { Order::F } else { Order::C };
                Layout::contiguous(shape, order)?
            }
        };
        let dtype = options.dtype.unwrap_or(self.dtype());
        let source = BufferSource::Allocate {
            kind: options.kind.unwrap_or(self.kind()),
            queue: options.queue.unwrap_or(self.queue()),
        };
        Self::builder(model.shape(), dtype).strides(model.strides()).build(source)
    }

    /// As [`empty_like`](Self::empty_like), of zeros.
    ///
    /// # Errors
    /// The errors of [`CreateOptions::zeros`](crate::CreateOptions::zeros).
    pub fn zeros_like(&self, options: &LikeOptions<'_>) -> Result<Self> {
        let array = self.empty_like(options)?;
        array.fill_zero()?;
        Ok(array)
    }

    /// The imaginary parts of complex numbers; of other numbers a new array of zeros, whose axes lie in memory as the ones of this array.
    ///
    /// ```
    /// use usm_array::{UsmArray, num_complex::Complex, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let numbers = UsmArray::from_slice(&queue, UsmKind::Device, &[1], &[Complex::new(1.0, 2.0)])?;
    /// assert_eq!(numbers.imag_or_zeros()?.to_vec::<f64>()?, [2.0]);
    /// assert_eq!(numbers.real()?.imag_or_zeros()?.to_vec::<f64>()?, [0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - the errors of [`UsmArray::real`] and of [`UsmArray::zeros_like`]
    pub fn imag_or_zeros(&self) -> Result<Self> {
        match self.imag() {
            Err(Error::NotComplex { .. }) => {
                self.zeros_like(&LikeOptions { order: CopyOrder::Keep, ..LikeOptions::default() })
            }
            part => part,
        }
    }

    /// As [`empty_like`](Self::empty_like), of ones.
    ///
    /// # Errors
    /// The errors of [`CreateOptions::ones`](crate::CreateOptions::ones).
    pub fn ones_like(&self, options: &LikeOptions<'_>) -> Result<Self> {
        self.full_like(Scalar::Bool(true), options)
    }

    /// As [`empty_like`](Self::empty_like), of one value, or of the elements of another array, which are broadcast and cast. They do not
    /// change the dtype.
    ///
    /// # Errors
    /// The errors of [`CreateOptions::full`](crate::CreateOptions::full).
    pub fn full_like<'v>(
        &self,
        value: impl Into<ArrayOrScalar<'v>>,
        options: &LikeOptions<'_>,
    ) -> Result<Self> {
        let value = match value.into() {
            ArrayOrScalar::Scalar(value) => value,
            ArrayOrScalar::Array(values) => {
                let array = self.empty_like(options)?;
                array.assign_cast(values, Casting::Unsafe)?;
                return Ok(array);
            }
        };
        let dtype = options.dtype.unwrap_or(self.dtype());
        let element = value.to_bytes(dtype)?; // refused before anything is allocated
        let array = self.empty_like(options)?;
        array.fill_bytes(&element[..dtype.itemsize_bytes()])?;
        Ok(array)
    }
}
