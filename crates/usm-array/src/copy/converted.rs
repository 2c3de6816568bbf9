//! Arrays of another dtype, in other memory or another order, copied only where that is needed

use usm_memory::usm_core::{Queue, UsmKind};

use crate::array::{BufferSource, UsmArray};
use crate::dtype::{Casting, Dtype, can_cast};
use crate::error::{Error, Result};
use crate::layout::CopyOrder;

/// Bytes from which on new pages take longer than the copy into them.
const NEW_PAGES_BYTES: usize = 4 << 20;

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

/// What [`UsmArray::converted`] gives; by default an array as it is.
#[derive(Clone, Copy, Debug)]
pub struct Conversion<'a> {
    /// Element type
    pub dtype: Option<Dtype>,
    /// Kind of the memory
    pub kind: Option<UsmKind>,
    /// Queue, in whose context the memory is
    pub queue: Option<&'a Queue>,
    /// Whether an array on another queue of the same device stays there
    pub any_queue: bool,
    /// Order of the axes in memory
    pub order: CopyOrder,
    /// Whether the result is a copy
    pub copy: CopyMode,
    /// Which casts are allowed
    pub casting: Casting,
}

impl Default for Conversion<'_> {
    fn default() -> Self {
        Self::AS_IT_IS
    }
}

impl<'a> Conversion<'a> {
    /// The default.
    const AS_IT_IS: Self = Self {
        dtype: None,
        kind: None,
        queue: None,
        any_queue: false,
        order: CopyOrder::Keep,
        copy: CopyMode::IfNeeded,
        casting: Casting::Unsafe,
    };

    /// The queue that an array has to move to, or its own again.
    pub(crate) fn queue_for(&self, array: &UsmArray) -> Option<&'a Queue> {
        self.queue.filter(|queue| !(self.any_queue && queue.device() == array.device()))
    }

    /// An operand as an operation with another array takes it: in memory of its kind, on its queue. A copy only where it is elsewhere.
    ///
    /// ```
    /// use usm_array::usm_core::{Runtime, UsmKind};
    /// use usm_array::{Conversion, UsmArray};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2], &[1, 2])?;
    /// let operand = UsmArray::from_slice(&queue, UsmKind::Host, &[2], &[1, 3])?;
    /// assert_eq!(operand.converted(&Conversion::beside(&array))?.kind(), UsmKind::Device);
    /// assert!(array.is_as(&Conversion::beside(&array)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn beside(array: &'a UsmArray) -> Self {
        Self { kind: Some(array.kind()), queue: Some(array.queue()), ..Self::default() }
    }
}

impl UsmArray {
    /// The elements in memory of a kind on the same queue: a copy where they are in memory of another one.
    pub(crate) fn in_kind(self, kind: UsmKind) -> Result<Self> {
        if kind == self.kind() { Ok(self) } else { self.copy_to(self.queue(), kind) }
    }

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

    /// The elements with another dtype, in memory of another kind or queue, or in another order; this array itself where it is all
    /// that already, unless a copy is asked for.
    ///
    /// ```
    /// use usm_array::usm_core::{Runtime, UsmKind};
    /// use usm_array::{Casting, Conversion, CopyMode, CopyOrder, Dtype, UsmArray};
    ///
    /// let runtime = Runtime::global();
    /// let queue = runtime.default_queue(runtime.host_device())?;
    /// let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[2, 2], &[1_u8, 2, 3, 4])?;
    /// let column_major = Conversion { order: CopyOrder::F, ..Conversion::default() };
    /// assert_eq!(array.converted(&column_major)?.strides(), [1, 2]);
    /// let never = Conversion { copy: CopyMode::Never, ..Conversion::default() };
    /// assert_eq!(array.converted(&never)?.address(), array.address());
    /// assert!(array.converted(&Conversion { order: CopyOrder::F, ..never }).is_err());
    /// let safe = Conversion { dtype: Some(Dtype::I8), casting: Casting::Safe, ..Conversion::default() };
    /// assert!(array.converted(&safe).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::CastNotAllowed`]: the casting does not allow the dtype
    /// - [`Error::CopyNeeded`], [`Error::MoveNeeded`]: a copy is needed and not allowed
    /// - those of [`UsmArray::copy`]
    pub fn converted(&self, wanted: &Conversion<'_>) -> Result<Self> {
        if self.is_as(wanted) {
            return Ok(self.clone());
        }
        let (from, to, casting) = (self.dtype(), wanted.dtype.unwrap_or(self.dtype()), wanted.casting);
        if !can_cast(from, to, casting) {
            return Err(Error::CastNotAllowed { from, to, casting });
        }
        let queue = wanted.queue_for(self);
        if wanted.copy != CopyMode::Always
            && let Some(queue) = queue
            && let Some(shared) = self.shared_with(queue)?
        {
            return shared.converted(wanted);
        }
        if wanted.copy == CopyMode::Never {
            return Err(match self.reason_to_move(wanted) {
                Some(reason) if to == from => Error::MoveNeeded { reason },
                _ => Error::CopyNeeded { found: from, expected: to },
            });
        }
        let (kind, queue) = (wanted.kind.unwrap_or(self.kind()), queue.unwrap_or(self.queue()));
        let packed = self.layout().packed(wanted.order)?;
        let copy = Self::builder(self.shape(), to)
            .strides(packed.strides())
            .build(BufferSource::Allocate { kind, queue })?;
        copy.assign_cast(self, casting)?;
        Ok(copy)
    }

    /// The same elements for another queue: a view where the queue is of this context, otherwise a copy in memory of the same kind.
    ///
    /// ```
    /// use usm_array::usm_core::{Context, QueueProperties, Runtime, UsmKind};
    /// use usm_array::{Dtype, UsmArray};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Device, &[2], Dtype::F32)?;
    /// let beside = queue.context().create_queue(queue.device(), QueueProperties::OUT_OF_ORDER)?;
    /// assert_eq!(array.to_queue(&beside)?.address(), array.address());
    ///
    /// let context = Context::new(&[queue.device().clone()])?;
    /// let elsewhere = context.create_queue(queue.device(), QueueProperties::OUT_OF_ORDER)?;
    /// assert_ne!(array.to_queue(&elsewhere)?.address(), array.address());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`UsmArray::copy_to`].
    pub fn to_queue(&self, queue: &Queue) -> Result<Self> {
        match queue.context() == self.context() {
            true => self.on_queue(queue),
            false => self.copy_to(queue, self.kind()),
        }
    }

    /// The conversion to a copy that host code keeps, where host USM is the better place for it than memory of the program: a large copy,
    /// since the pool has pages that are there already. `None` for others, on devices whose host memory is pinned, and scarce, and where
    /// the copy would keep a context alive.
    ///
    /// ```
    /// use usm_array::usm_core::{Runtime, UsmKind};
    /// use usm_array::{Dtype, UsmArray};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Shared, &[1000], Dtype::F32)?;
    /// assert!(array.pooled_host_copy().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn pooled_host_copy(&self) -> Option<Conversion<'static>> {
        let is_pooled = self.size_bytes() > NEW_PAGES_BYTES
            && self.context().is_permanent()
            && self.device().host_reachable(UsmKind::Device);
        let (kind, order, copy) = (Some(UsmKind::Host), CopyOrder::Any, CopyMode::Always);
        is_pooled.then_some(Conversion { kind, order, copy, ..Conversion::AS_IT_IS })
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
        } else if wanted.queue_for(self).is_some_and(|queue| queue != self.queue()) {
            Some("memory of another queue")
        } else if !wanted.order.is_of(self.layout()) {
            Some("another order of axes")
        } else {
            None
        }
    }
}
