//! Coordinates of the points of a grid

use crate::array::UsmArray;
use crate::error::{CreateError, Result};
use crate::layout::SliceItem;

/// Which of the first two axes of a grid belongs to the first array of coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Indexing {
    /// Cartesian: the second axis belongs to the first array, and the first axis to the second array.
    #[default]
    Xy,
    /// Matrix order: axis `k` belongs to array `k`.
    Ij,
}

usm_memory::usm_core::texts!(Indexing, "indexing": Xy = "xy", Ij = "ij");

impl UsmArray {
    /// The coordinates of all points of the grid that the arrays span, as one array per array of coordinates.
    ///
    /// Arrays without axes count as one coordinate. With `copy` the results are new arrays of the dtype, kind and queue of the
    /// coordinates, otherwise read-only views of them.
    ///
    /// ```
    /// use usm_array::{Indexing, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let x = UsmArray::from_slice(&queue, UsmKind::Device, &[3], &[1_u8, 2, 3])?;
    /// let y = UsmArray::from_slice(&queue, UsmKind::Device, &[2], &[10_u8, 20])?;
    /// let grid = UsmArray::meshgrid(&[&x, &y], Indexing::Xy, true)?;
    /// assert_eq!(grid[0].shape(), [2, 3]);
    /// assert_eq!(grid[0].to_vec::<u8>()?, [1, 2, 3, 1, 2, 3]);
    /// assert_eq!(grid[1].to_vec::<u8>()?, [10, 10, 10, 20, 20, 20]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`CreateError::NotVector`]: an array of several axes
    /// - [`Error::Layout`](crate::Error::Layout), [`Error::TooManyBytes`](crate::Error::TooManyBytes): more arrays than a grid can
    ///   have axes, or more points than memory can have
    /// - the errors of [`UsmArray::copy`]
    pub fn meshgrid(arrays: &[&Self], indexing: Indexing, copy: bool) -> Result<Vec<Self>> {
        if let Some(argument) = arrays.iter().position(|array| array.ndim() > 1) {
            return Err(CreateError::NotVector { argument, ndim: arrays[argument].ndim() }.into());
        }
        let axis_of = |k: usize| match (indexing, k) {
            (Indexing::Xy, 0 | 1) if arrays.len() > 1 => 1 - k,
            _ => k,
        };
        let mut shape = vec![0; arrays.len()];
        for (k, array) in arrays.iter().enumerate() {
            shape[axis_of(k)] = array.size();
        }
        let grid = |(k, array): (usize, &&Self)| {
            let mut items = vec![SliceItem::NewAxis; arrays.len()];
            if array.ndim() == 1 {
                items[axis_of(k)] = SliceItem::FULL;
            }
            let view = array.slice(&items)?.broadcast_to(&shape)?;
            if copy { view.copy() } else { Ok(view) }
        };
        arrays.iter().enumerate().map(grid).collect()
    }
}
