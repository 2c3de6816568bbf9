//! New arrays after the model of another one

use usm_memory::usm_core::{Queue, UsmKind};

use super::CreateOptions;
use crate::array::UsmArray;
use crate::dtype::Dtype;
use crate::error::Result;
use crate::scalar::Scalar;

/// In what a new array differs from its model; `None` is as there.
#[derive(Clone, Copy, Debug, Default)]
pub struct LikeOptions<'a> {
    /// Number of indices along each axis
    pub shape: Option<&'a [usize]>,
    /// Element type
    pub dtype: Option<Dtype>,
    /// Kind of the memory
    pub kind: Option<UsmKind>,
    /// Queue, in whose context the memory is allocated
    pub queue: Option<&'a Queue>,
}

impl UsmArray {
    /// A row-major array of the same shape, dtype, kind and queue, whose elements have no particular value.
    ///
    /// ```
    /// use usm_array::usm_core::{Runtime, UsmKind};
    /// use usm_array::{Dtype, LikeOptions, UsmArray};
    ///
    /// let runtime = Runtime::global();
    /// let queue = runtime.default_queue(runtime.host_device())?;
    /// let model = UsmArray::zeros(&queue, UsmKind::Device, &[2, 3], Dtype::F32)?;
    /// let on_host = LikeOptions { kind: Some(UsmKind::Host), ..LikeOptions::default() };
    /// let like = model.transpose().empty_like(&on_host)?;
    /// assert_eq!((like.shape(), like.dtype(), like.kind()), (&[3, 2][..], Dtype::F32, UsmKind::Host));
    /// assert!(like.is_c_contiguous());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`CreateOptions::empty`].
    pub fn empty_like(&self, options: &LikeOptions<'_>) -> Result<Self> {
        self.create_like(options).empty(options.shape.unwrap_or(self.shape()))
    }

    /// As [`empty_like`](Self::empty_like), of zeros.
    ///
    /// # Errors
    /// Those of [`CreateOptions::zeros`].
    pub fn zeros_like(&self, options: &LikeOptions<'_>) -> Result<Self> {
        self.create_like(options).zeros(options.shape.unwrap_or(self.shape()))
    }

    /// As [`empty_like`](Self::empty_like), of ones.
    ///
    /// # Errors
    /// Those of [`CreateOptions::ones`].
    pub fn ones_like(&self, options: &LikeOptions<'_>) -> Result<Self> {
        self.create_like(options).ones(options.shape.unwrap_or(self.shape()))
    }

    /// As [`empty_like`](Self::empty_like), of one value. The value does not change the dtype.
    ///
    /// # Errors
    /// Those of [`CreateOptions::full`].
    pub fn full_like(&self, value: Scalar, options: &LikeOptions<'_>) -> Result<Self> {
        self.create_like(options).full(options.shape.unwrap_or(self.shape()), value)
    }

    fn create_like<'a>(&'a self, options: &LikeOptions<'a>) -> CreateOptions<'a> {
        let (queue, kind) = (options.queue.unwrap_or(self.queue()), options.kind.unwrap_or(self.kind()));
        CreateOptions::new(queue, kind).dtype(Some(options.dtype.unwrap_or(self.dtype())))
    }
}
