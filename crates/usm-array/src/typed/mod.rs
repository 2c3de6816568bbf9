//! Arrays whose element type the compiler knows. No unsafe code
//!
//! | file | job |
//! |---|---|
//! | `create.rs` | new typed arrays |
//! | `guard.rs` | the elements as a slice under a borrow guard |

mod create;
mod guard;

use std::marker::PhantomData;
use std::ops::Deref;

use usm_memory::usm_core::{Queue, UsmKind};

pub use self::guard::{SliceReadGuard, SliceWriteGuard};
use crate::array::UsmArray;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::layout::{Order, SliceItems};
use crate::view::{ArrayView, ArrayViewMut};

/// A [`UsmArray`] whose elements are of a type that is known when the program is compiled.
///
/// It has all methods of [`UsmArray`], and shares its memory. Those below need no type argument, or give typed arrays again.
///
/// ```
/// use usm_array::{TypedArray, s, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let matrix = TypedArray::from_fn(&queue, UsmKind::Shared, &[2, 3], |i| (10 * i[0] + i[1]) as f32)?;
///
/// // Slices of Rust, under a borrow guard.
/// matrix.write()?[0] = 5.0;
/// assert_eq!(matrix.read()?.iter().sum::<f32>(), 41.0);
///
/// // Views with strides.
/// let column = matrix.slice(s![.., -1])?;
/// column.view_mut()?.map_in_place(|x| -x);
/// assert_eq!(matrix.view()?[[1, 2]], -12.0);
///
/// // From and to arrays of any element type.
/// let any = matrix.into_array();
/// assert_eq!(any.typed::<f32>()?.to_vec()?, [5.0, 1.0, -2.0, 10.0, 11.0, -12.0]);
/// assert!(any.typed::<f64>().is_err(), "the elements are f32");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TypedArray<T> {
    /// Of dtype `T::DTYPE`
    array: UsmArray,
    elements: PhantomData<T>,
}

impl UsmArray {
    /// `array.typed::<f64>()?` is the same array with an element type that the compiler knows; the memory is shared.
    ///
    /// ```
    /// # use usm_array::{Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    /// # let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Shared, &[3], Dtype::I32)?;
    /// let numbers = array.typed::<i32>()?;
    /// numbers.write()?.copy_from_slice(&[1, 2, 3]);
    /// assert_eq!(array.to_vec::<i32>()?, [1, 2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::DtypeMismatch`]: the elements are no `T`; [`astype`](Self::astype) converts them
    pub fn typed<T>(&self) -> Result<TypedArray<T>>
    where
        // The compiler shows the next line to users who write no type.
        T: Element, // write the type of the elements, such as `array.typed::<f64>()?`
    {
        self.clone().try_into()
    }
}

/// # Errors
/// - [`Error::DtypeMismatch`]: the elements are no `T`
impl<T: Element> TryFrom<UsmArray> for TypedArray<T> {
    type Error = Error;

    fn try_from(array: UsmArray) -> Result<Self> {
        if T::DTYPE != array.dtype() {
            return Err(Error::DtypeMismatch { found: array.dtype(), expected: T::DTYPE });
        }
        Ok(Self::new(array))
    }
}

impl<T> From<TypedArray<T>> for UsmArray {
    fn from(typed: TypedArray<T>) -> Self {
        typed.array
    }
}

impl<T> Deref for TypedArray<T> {
    type Target = UsmArray;

    fn deref(&self) -> &UsmArray {
        &self.array
    }
}

impl<T> AsRef<UsmArray> for TypedArray<T> {
    fn as_ref(&self) -> &UsmArray {
        &self.array
    }
}

impl<T: Element> TypedArray<T> {
    /// For arrays of dtype `T::DTYPE`.
    fn new(array: UsmArray) -> Self {
        Self { array, elements: PhantomData }
    }

    /// The array, whose element type is known at run time.
    #[must_use]
    pub fn as_array(&self) -> &UsmArray {
        &self.array
    }

    /// As [`as_array`](Self::as_array), without the typed one.
    #[must_use]
    pub fn into_array(self) -> UsmArray {
        self.array
    }

    /// Read access of host code, with strides: [`UsmArray::view`].
    ///
    /// # Errors
    /// The errors of [`UsmArray::view`].
    pub fn view(&self) -> Result<ArrayView<'_, T>> {
        self.array.view()
    }

    /// Write access of host code, with strides: [`UsmArray::view_mut`].
    ///
    /// # Errors
    /// The errors of [`UsmArray::view_mut`].
    pub fn view_mut(&self) -> Result<ArrayViewMut<'_, T>> {
        self.array.view_mut()
    }

    /// The elements in row-major order, copied to the host from any kind of memory.
    ///
    /// # Errors
    /// The errors of [`UsmArray::to_vec`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.array.to_vec()
    }

    /// Copies the elements in row-major order to a slice, from any kind of memory.
    ///
    /// # Errors
    /// The errors of [`UsmArray::copy_to_slice`].
    pub fn copy_to_slice(&self, elements: &mut [T]) -> Result<()> {
        self.array.copy_to_slice(elements)
    }

    /// Changes the elements, in row-major order, to the elements of a slice, in any kind of memory.
    ///
    /// # Errors
    /// The errors of [`UsmArray::copy_from_slice`].
    pub fn copy_from_slice(&self, elements: &[T]) -> Result<()> {
        self.array.copy_from_slice(elements)
    }

    /// Sets every element to a value.
    ///
    /// # Errors
    /// The errors of [`UsmArray::fill`].
    pub fn fill(&self, value: T) -> Result<()> {
        self.array.fill(value)
    }

    /// Some of the elements: [`UsmArray::slice`].
    ///
    /// # Errors
    /// The errors of [`UsmArray::slice`].
    pub fn slice(&self, items: impl SliceItems) -> Result<Self> {
        self.array.slice(items).map(Self::new)
    }

    /// The axes in reverse order.
    #[must_use]
    pub fn transpose(&self) -> Self {
        Self::new(self.array.transpose())
    }

    /// The axes in the given order: [`UsmArray::permute`].
    ///
    /// # Errors
    /// The errors of [`UsmArray::permute`].
    pub fn permute(&self, axes: &[isize]) -> Result<Self> {
        self.array.permute(axes).map(Self::new)
    }

    /// The elements in another shape, without a copy: [`UsmArray::reshape_view`].
    ///
    /// # Errors
    /// The errors of [`UsmArray::reshape_view`].
    pub fn reshape_view(&self, shape: &[isize], order: Order) -> Result<Self> {
        self.array.reshape_view(shape, order).map(Self::new)
    }

    /// The elements repeated to a larger shape, read-only: [`UsmArray::broadcast_to`].
    ///
    /// # Errors
    /// The errors of [`UsmArray::broadcast_to`].
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self> {
        self.array.broadcast_to(shape).map(Self::new)
    }

    /// A copy in memory of some kind: [`UsmArray::copy_to`].
    ///
    /// # Errors
    /// The errors of [`UsmArray::copy_to`].
    pub fn copy_to(&self, queue: &Queue, kind: UsmKind) -> Result<Self> {
        self.array.copy_to(queue, kind).map(Self::new)
    }
}
