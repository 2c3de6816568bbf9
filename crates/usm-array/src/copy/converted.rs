//! Arrays of another dtype, in other memory or another order, copied only where that is needed

use usm_memory::usm_core::{Queue, UsmKind};

use super::CopyMode;
use crate::array::{BufferSource, UsmArray};
use crate::dtype::{Casting, Dtype};
use crate::error::{Error, Result};
use crate::layout::CopyOrder;

/// What [`UsmArray::converted`] gives; by default an array as it is.
#[derive(Clone, Copy, Debug)]
pub struct Conversion<'a> {
    /// Element type
    pub dtype: Option<Dtype>,
    /// Kind of the memory
    pub kind: Option<UsmKind>,
    /// Queue, in whose context the memory is
    pub queue: Option<&'a Queue>,
    /// Order of the axes in memory
    pub order: CopyOrder,
    /// Whether the result is a copy
    pub copy: CopyMode,
}

impl Default for Conversion<'_> {
    fn default() -> Self {
        Self { dtype: None, kind: None, queue: None, order: CopyOrder::Keep, copy: CopyMode::IfNeeded }
    }
}

impl UsmArray {
    /// The elements with another dtype, in memory of another kind or queue, or in another order; this array itself where it is all
    /// that already, unless a copy is asked for.
    ///
    /// ```
    /// use usm_array::usm_core::{Runtime, UsmKind};
    /// use usm_array::{Conversion, CopyMode, CopyOrder, UsmArray};
    ///
    /// let runtime = Runtime::global();
    /// let queue = runtime.default_queue(runtime.host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[1_u8, 2, 3, 4])?;
    /// let column_major = Conversion { order: CopyOrder::F, ..Conversion::default() };
    /// assert_eq!(array.converted(&column_major)?.strides(), [1, 2]);
    /// let never = Conversion { copy: CopyMode::Never, ..Conversion::default() };
    /// assert_eq!(array.converted(&never)?.address(), array.address());
    /// assert!(array.converted(&Conversion { order: CopyOrder::F, ..never }).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::CopyNeeded`], [`Error::MoveNeeded`]: a copy is needed and not allowed
    /// - those of [`UsmArray::copy`]
    pub fn converted(&self, wanted: &Conversion<'_>) -> Result<Self> {
        if self.is_as(wanted) {
            return Ok(self.clone());
        }
        let dtype = wanted.dtype.unwrap_or(self.dtype());
        if wanted.copy == CopyMode::Never {
            return Err(match self.reason_to_move(wanted) {
                Some(reason) if dtype == self.dtype() => Error::MoveNeeded { reason },
                _ => Error::CopyNeeded { found: self.dtype(), expected: dtype },
            });
        }
        let (kind, queue) = (wanted.kind.unwrap_or(self.kind()), wanted.queue.unwrap_or(self.queue()));
        let packed = self.layout().packed(wanted.order)?;
        let copy = Self::builder(self.shape(), dtype)
            .strides(Some(packed.strides()))
            .build(BufferSource::Allocate { kind, queue })?;
        copy.assign_cast(self, Casting::Unsafe)?;
        Ok(copy)
    }

    /// Whether [`converted`](Self::converted) gives this array itself.
    #[must_use]
    pub fn is_as(&self, wanted: &Conversion<'_>) -> bool {
        wanted.copy != CopyMode::Always
            && wanted.dtype.is_none_or(|dtype| dtype == self.dtype())
            && self.reason_to_move(wanted).is_none()
    }

    /// Why the elements cannot stay where they are.
    fn reason_to_move(&self, wanted: &Conversion<'_>) -> Option<&'static str> {
        if wanted.kind.is_some_and(|kind| kind != self.kind()) {
            Some("memory of another kind")
        } else if wanted.queue.is_some_and(|queue| queue != self.queue()) {
            Some("memory of another queue")
        } else if !wanted.order.is_of(self.layout()) {
            Some("another order of axes")
        } else {
            None
        }
    }
}
