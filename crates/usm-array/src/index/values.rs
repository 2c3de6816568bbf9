//! What is assigned: cast to the target's dtype, then broadcast or repeated

use super::read::HostElements;
use crate::array::{ArrayOrScalar, UsmArray};
use crate::copy::CopyMode;
use crate::error::Result;
use crate::layout::{Layout, Order};
use crate::scalar::Scalar;
use crate::view::with_capacity;

/// Values of a dtype on the host, in the shape in which they are needed.
#[derive(Debug)]
pub(super) struct Values {
    pub(super) elements: HostElements<'static>,
    // Invariant IV1: Its displacements are below the number of elements.
    pub(super) layout: Layout,
}

impl Values {
    /// Values of the target's dtype, broadcast to a shape. As in NumPy, they may have more axes if the first ones have size 1.
    pub(super) fn broadcast(target: &UsmArray, values: ArrayOrScalar<'_>, shape: &[usize]) -> Result<Self> {
        match values {
            ArrayOrScalar::Scalar(value) => Self::one(target, value, shape),
            ArrayOrScalar::Array(array) => {
                let excess = array.ndim().saturating_sub(shape.len());
                let units = array.shape().iter().take(excess).take_while(|&&size| size == 1).count();
                let dense = Layout::contiguous(&array.shape()[units..], Order::C)?;
                let layout = dense.broadcast_to(shape)?;
                Ok(Self { elements: elements_for(target, array)?, layout })
            }
        }
    }

    /// Values of the target's dtype in row-major order, repeated or cut to a number. `None` without values.
    pub(super) fn repeated(
        target: &UsmArray,
        values: ArrayOrScalar<'_>,
        count: usize,
    ) -> Result<Option<Self>> {
        let array = match values {
            ArrayOrScalar::Scalar(value) => return Self::one(target, value, &[count]).map(Some),
            ArrayOrScalar::Array(array) if array.is_empty() => return Ok(None),
            ArrayOrScalar::Array(array) => array,
        };
        let mut elements = elements_for(target, array)?;
        let layout = match array.size() {
            1 => Layout::contiguous(&[1], Order::C)?.broadcast_to(&[count])?,
            size => {
                if size < count {
                    let len_bytes = count * target.itemsize_bytes();
                    let mut repeated = with_capacity(len_bytes)?;
                    repeated.extend(elements.read()?.iter().cycle().take(len_bytes));
                    elements = HostElements::Copied(repeated);
                }
                Layout::contiguous(&[count], Order::C)?
            }
        };
        Ok(Some(Self { elements, layout }))
    }

    fn one(target: &UsmArray, value: Scalar, shape: &[usize]) -> Result<Self> {
        let bytes = value.to_bytes(target.dtype())?;
        let elements = HostElements::Copied(bytes[..target.itemsize_bytes()].to_vec());
        Ok(Self { elements, layout: Layout::contiguous(&[], Order::C)?.broadcast_to(shape)? })
    }
}

/// The elements of an array in the dtype of a target that will be written, in place unless that is the target's own memory.
fn elements_for(target: &UsmArray, array: &UsmArray) -> Result<HostElements<'static>> {
    let cast = array.astype(target.dtype(), CopyMode::IfNeeded)?;
    let (a, b) = (addresses(target), addresses(&cast));
    if a.start < b.end && b.start < a.end {
        return Ok(HostElements::Copied(cast.to_bytes()?));
    }
    HostElements::of(&cast)
}

/// The addresses that the elements of an array span.
fn addresses(array: &UsmArray) -> std::ops::Range<usize> {
    let (start, range) = (array.buffer().address(), array.byte_range());
    start + range.start..start + range.end
}
