//! Vectors of vectors as arrays

use usm_memory::usm_core::{Queue, UsmKind};

use crate::array::UsmArray;
use crate::dtype::Element;
use crate::error::{CreateError, Error, Result};

/// Elements, or vectors, arrays and slices of such, to any depth.
pub trait Nested {
    /// The elements in the innermost lists.
    type Element: Element;

    /// Depth of the lists: 0 for an element.
    const DEPTH: usize;

    /// Appends the length of the list, of its first list, of that one's first list, and so on. A missing list has a length of
    /// 0.
    fn first_lengths(&self, lengths: &mut Vec<usize>);

    /// Appends the elements, if each list has the length given for its depth. `index` is where this list is in the outermost one.
    ///
    /// # Errors
    /// - [`CreateError::Ragged`]: another length
    /// - [`Error::OutOfHostMemory`]: no memory for the elements
    fn flatten(
        &self,
        lengths: &[usize],
        index: &mut Vec<usize>,
        elements: &mut Vec<Self::Element>,
    ) -> Result<()>;
}

impl<T: Element> Nested for T {
    type Element = T;
    const DEPTH: usize = 0;

    fn first_lengths(&self, _: &mut Vec<usize>) {}

    fn flatten(&self, _: &[usize], _: &mut Vec<usize>, elements: &mut Vec<T>) -> Result<()> {
        push(elements, *self)
    }
}

impl<N: Nested> Nested for [N] {
    type Element = N::Element;
    const DEPTH: usize = N::DEPTH + 1;

    fn first_lengths(&self, lengths: &mut Vec<usize>) {
        lengths.push(self.len());
        match self.first() {
            Some(first) => first.first_lengths(lengths),
            None => lengths.extend(std::iter::repeat_n(0, N::DEPTH)),
        }
    }

    fn flatten(
        &self,
        lengths: &[usize],
        index: &mut Vec<usize>,
        elements: &mut Vec<N::Element>,
    ) -> Result<()> {
        let (expected, inner) = lengths.split_first().map_or((0, lengths), |(&first, inner)| (first, inner));
        if self.len() != expected {
            return Err(CreateError::Ragged { index: index.clone(), found: self.len(), expected }.into());
        }
        for (i, nested) in self.iter().enumerate() {
            index.push(i);
            nested.flatten(inner, index, elements)?;
            index.pop();
        }
        Ok(())
    }
}

macro_rules! as_slice {
    ($(($($generics:tt)*) $list:ty),*) => {$(
        impl<N: Nested, $($generics)*> Nested for $list {
            type Element = N::Element;
            const DEPTH: usize = N::DEPTH + 1;

            fn first_lengths(&self, lengths: &mut Vec<usize>) {
                self[..].first_lengths(lengths);
            }

            fn flatten(
                &self,
                lengths: &[usize],
                index: &mut Vec<usize>,
                elements: &mut Vec<N::Element>,
            ) -> Result<()> {
                self[..].flatten(lengths, index, elements)
            }
        }
    )*};
}

as_slice!(() Vec<N>, () &[N], (const LEN: usize) [N; LEN]);

/// Appends an element without giving up where there is no memory.
pub(in crate::create) fn push<T: Element>(elements: &mut Vec<T>, element: T) -> Result<()> {
    if elements.len() == elements.capacity() {
        let more = elements.len().max(16);
        let len_bytes = (elements.len() + more).saturating_mul(size_of::<T>());
        elements.try_reserve(more).map_err(|_| Error::OutOfHostMemory { len_bytes })?;
    }
    elements.push(element);
    Ok(())
}

impl UsmArray {
    /// A C-contiguous array of the elements of nested lists, with an axis for each depth.
    ///
    /// ```
    /// use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::from_nested(&queue, UsmKind::Device, &vec![[1_i32, 2, 3], [4, 5, 6]])?;
    /// assert_eq!(array.shape(), [2, 3]);
    /// let ragged = UsmArray::from_nested(&queue, UsmKind::Device, &vec![vec![1.0, 2.0], vec![3.0]]);
    /// let message = ragged.unwrap_err().to_string();
    /// assert_eq!(message, "nested[1]: found 1 entries, allowed are 2 as in the first list of this depth");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`CreateError::Ragged`]: lists of one depth with unequal lengths
    /// - [`Error::OutOfHostMemory`]: no memory to collect the elements in
    /// - the errors of [`UsmArray::from_slice`]
    pub fn from_nested<N: Nested + ?Sized>(queue: &Queue, kind: UsmKind, nested: &N) -> Result<Self> {
        let (mut shape, mut elements) = (Vec::new(), Vec::new());
        nested.first_lengths(&mut shape);
        nested.flatten(&shape, &mut Vec::new(), &mut elements)?;
        Self::from_slice(queue, kind, &shape, &elements)
    }
}
