//! Arrays whose element type is part of a function's signature.

use std::marker::PhantomData;
use std::ops::Deref;

use pyo3::Borrowed;
use pyo3::prelude::*;
use usm_array::{ArrayView, ArrayViewMut, Element, Result, UsmArray};

use super::array::{PyUsmArray, PyUsmArrayMut, over_array};

fn check<T: Element>(array: &UsmArray) -> PyResult<()> {
    if array.dtype() == T::DTYPE {
        return Ok(());
    }
    let (found, allowed) = (array.dtype(), T::DTYPE);
    Err(type_error!("dtype: found {found}, allowed is {allowed}"))
}

macro_rules! typed {
    ($(#[$doc:meta])* $name:ident over $inner:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<T> {
            /// Its dtype is that of `T`.
            array: $inner,
            _element: PhantomData<fn() -> T>,
        }

        over_array!($name<T>, array);

        impl<'py, T: Element> FromPyObject<'_, 'py> for $name<T> {
            type Error = PyErr;

            fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                let array = object.extract::<$inner>()?;
                check::<T>(&array)?;
                Ok(Self { array, _element: PhantomData })
            }
        }

        impl<T: Element> $name<T> {
            /// Read access of host code to the elements.
            ///
            /// # Errors
            /// Those of [`UsmArray::view`] but for the dtype.
            pub fn view(&self) -> Result<ArrayView<'_, T>> {
                self.array.view()
            }
        }
    };
}

typed!(
    /// As [`PyUsmArray`], with elements of type `T`; others are refused with a `TypeError` that starts with `dtype`.
    PyTypedArray over PyUsmArray
);
typed!(
    /// As [`PyUsmArrayMut`], with elements of type `T`; others are refused with a `TypeError` that starts with `dtype`.
    PyTypedArrayMut over PyUsmArrayMut
);

impl<T: Element> PyTypedArrayMut<T> {
    /// Read and write access of host code to the elements.
    ///
    /// # Errors
    /// Those of [`UsmArray::view_mut`] but for the dtype and read-only memory.
    pub fn view_mut(&self) -> Result<ArrayViewMut<'_, T>> {
        self.array.view_mut()
    }
}
