//! Elements that a function computes, in memory that host code reaches

use super::host::produce;
use crate::array::UsmArray;
use crate::dtype::Element;
use crate::error::Result;
use crate::view::HostWrite;

/// Sets all elements, where host code reaches them and they lie side by side in row-major order: `fill` computes those from a number
/// on, in no particular order. Otherwise nothing is done, and the answer is false.
///
/// # Errors
/// - [`Error::ReadOnly`](crate::Error::ReadOnly), [`Error::Memory`](crate::Error::Memory): those of a guard
pub(crate) fn compute<T: Element>(
    array: &UsmArray,
    fill: impl Fn(usize, &mut [T]) + Send + Sync + 'static,
) -> Result<bool> {
    if array.itemsize_bytes() != size_of::<T>() || !array.is_c_contiguous() || !array.is_host_reachable() {
        return Ok(false);
    }
    let to = HostWrite::lock(array)?;
    // SAFETY: the guard is over exactly the elements (G2), which lie side by side.
    unsafe { produce(to.as_mut_ptr(), array.size(), fill) };
    Ok(true)
}
