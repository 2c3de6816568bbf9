//! Queue, kind, dtype and order of a new array; one value for all elements

use usm_memory::usm_core::{Queue, UsmKind};

use crate::array::{ArrayOrScalar, BufferSource, UsmArray};
use crate::dtype::{Casting, DefaultDtypes, Dtype, WeakScalar, default_dtypes};
use crate::error::Result;
use crate::layout::Order;
use crate::scalar::Scalar;

/// Queue, kind, dtype and order of new arrays.
///
/// Without a dtype each function chooses one: the default of the device for the kind of its numbers, see [`default_dtypes`].
///
/// ```
/// use usm_array::{CreateOptions, Dtype, Scalar, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let new = CreateOptions::new(&queue, UsmKind::Device);
///
/// assert_eq!(new.ones(&[2])?.to_vec::<f64>()?, [1.0, 1.0]);
/// assert_eq!(new.full(&[2], Scalar::Int(7))?.dtype(), Dtype::I64);
/// assert_eq!(new.dtype(Dtype::U8).full(&[2], Scalar::Int(7))?.to_vec::<u8>()?, [7, 7]);
/// assert_eq!(new.full(&[2], &new.ones(&[1])?)?.to_vec::<f64>()?, [1.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct CreateOptions<'a> {
    queue: &'a Queue,
    kind: UsmKind,
    pub(crate) dtype: Option<Dtype>,
    order: Order,
}

impl<'a> CreateOptions<'a> {
    /// Row-major arrays in memory of the given kind, of the queue's context, whose dtype is up to the function.
    pub const fn new(queue: &'a Queue, kind: UsmKind) -> Self {
        Self { queue, kind, dtype: None, order: Order::C }
    }

    /// The element type. By default it is up to the function.
    pub const fn dtype(mut self, dtype: Dtype) -> Self {
        self.dtype = Some(dtype);
        self
    }

    /// The order of the axes in memory, for `empty`, `zeros`, `ones` and `full`; the other functions make row-major arrays.
    pub const fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// An array whose elements have no particular value, by default real numbers.
    ///
    /// # Errors
    /// The errors of [`UsmArrayBuilder::build`](crate::UsmArrayBuilder::build).
    pub fn empty(&self, shape: &[usize]) -> Result<UsmArray> {
        self.allocate(shape, self.dtype_or(WeakScalar::Float))
    }

    /// An array of zeros, by default real numbers.
    ///
    /// # Errors
    /// The errors of [`CreateOptions::empty`], and [`Error::Memory`](crate::Error::Memory) if the fill fails.
    pub fn zeros(&self, shape: &[usize]) -> Result<UsmArray> {
        let array = self.empty(shape)?;
        array.fill_zero()?;
        Ok(array)
    }

    /// An array of ones, by default real numbers.
    ///
    /// # Errors
    /// The errors of [`CreateOptions::zeros`].
    pub fn ones(&self, shape: &[usize]) -> Result<UsmArray> {
        self.dtype(self.dtype_or(WeakScalar::Float)).full(shape, Scalar::Bool(true))
    }

    /// An array of one value, by default of the default dtype of the value's kind; or of the elements of another array, which are broadcast
    /// and cast, by default of the same dtype.
    ///
    /// # Errors
    /// - [`Error::ScalarKind`](crate::Error::ScalarKind), [`Error::ScalarRange`](crate::Error::ScalarRange): the dtype does not
    ///   hold the value
    /// - the errors of [`CreateOptions::zeros`] and of [`UsmArray::assign_cast`]
    pub fn full<'v>(&self, shape: &[usize], value: impl Into<ArrayOrScalar<'v>>) -> Result<UsmArray> {
        let value = match value.into() {
            ArrayOrScalar::Scalar(value) => value,
            ArrayOrScalar::Array(values) => {
                let array = self.allocate(shape, self.dtype.unwrap_or(values.dtype()))?;
                array.assign_cast(values, Casting::Unsafe)?;
                return Ok(array);
            }
        };
        let dtype = self.dtype_or(value.kind());
        let element = value.to_bytes(dtype)?;
        let array = self.allocate(shape, dtype)?;
        array.fill_bytes(&element[..dtype.itemsize_bytes()])?;
        Ok(array)
    }

    pub(crate) const fn queue(&self) -> &Queue {
        self.queue
    }

    pub(crate) const fn kind(&self) -> UsmKind {
        self.kind
    }

    /// Whether host code of this library may follow pointers to the elements.
    pub(crate) fn is_host_reachable(&self) -> bool {
        self.queue.device().host_reachable(self.kind)
    }

    /// The requested dtype, or the default of a kind of numbers.
    pub(super) fn dtype_or(&self, kind: WeakScalar) -> Dtype {
        self.dtype.unwrap_or_else(|| self.defaults().of(kind))
    }

    /// The dtypes of kinds of numbers on the device.
    pub(super) fn defaults(&self) -> DefaultDtypes {
        default_dtypes(self.queue.device())
    }

    fn allocate(&self, shape: &[usize], dtype: Dtype) -> Result<UsmArray> {
        let source = BufferSource::Allocate { kind: self.kind, queue: self.queue };
        UsmArray::builder(shape, dtype).order(self.order).build(source)
    }

    /// A row-major array of one axis.
    pub(super) fn vector(&self, len: usize, dtype: Dtype) -> Result<UsmArray> {
        UsmArray::empty(self.queue, self.kind, &[len], dtype)
    }
}
