//! Index arrays and masks, as displacements on the host

use std::ops::Deref;

use super::{IndexItem, IndexMode};
use crate::array::UsmArray;
use crate::copy::CopyMode;
use crate::dtype::Dtype;
use crate::error::{Error, IndexError, Result};
use crate::layout::{Layout, SliceItem, unravel};
use crate::view::{Reading, bytes_of, with_capacity};

/// Elements in row-major order and without gaps, where host code can touch them.
#[derive(Debug)]
pub(super) enum ReadElements<'a> {
    /// Elements of an array that host code reaches, in place.
    InPlace(Box<UsmArray>),
    /// Elements of the host, in place.
    Borrowed(&'a [u8]),
    Copied(Vec<u8>),
}

impl<'a> ReadElements<'a> {
    /// The elements of an array, in place if possible.
    pub(super) fn of(array: &UsmArray) -> Result<Self> {
        if array.is_host_reachable() && array.is_c_contiguous() && !array.is_empty() {
            return Ok(Self::InPlace(Box::new(array.clone())));
        }
        Ok(Self::Copied(array.to_bytes()?))
    }

    /// One byte for each element: 0 for a zero, any other value for another element.
    pub(super) fn truth(array: &UsmArray) -> Result<Self> {
        Self::of(&array.astype(Dtype::Bool, CopyMode::IfNeeded)?)
    }

    /// The bytes, for an operation that reads them.
    pub(super) fn read(&self) -> Result<HostBytes<'_>> {
        Ok(match self {
            Self::InPlace(array) => HostBytes::Reading(Reading::of(array, array.byte_range())?),
            Self::Borrowed(bytes) => HostBytes::Borrowed(bytes),
            Self::Copied(bytes) => HostBytes::Borrowed(bytes),
        })
    }

    /// The array whose elements are read in place.
    pub(super) fn array(&self) -> Option<&UsmArray> {
        match self {
            Self::InPlace(array) => Some(array),
            Self::Borrowed(_) | Self::Copied(_) => None,
        }
    }
}

/// Bytes that an operation reads.
pub(super) enum HostBytes<'a> {
    Reading(Reading),
    Borrowed(&'a [u8]),
}

impl Deref for HostBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Reading(reading) => reading,
            Self::Borrowed(bytes) => bytes,
        }
    }
}

/// An index array or a mask, or an integer.
pub(super) struct IndexArray<'a> {
    pub(super) shape: Vec<usize>,
    dtype: Dtype,
    // An array or integers; the number of elements agrees with the shape.
    pub(super) index: IndexItem<'a>,
}

impl<'a> IndexArray<'a> {
    /// `None` for slices, ellipses and new axes. Integers are arrays without axes.
    pub(super) fn new(index: &IndexItem<'a>) -> Result<Option<Self>> {
        let of_host = |len: usize, shape: Option<&[usize]>, dtype| {
            (len, shape.map_or_else(|| vec![len], <[usize]>::to_vec), dtype)
        };
        let (found, shape, dtype) = match *index {
            IndexItem::Basic(SliceItem::Index(_)) => (1, vec![], Dtype::I64),
            IndexItem::Basic(_) => return Ok(None),
            IndexItem::Array(array) => {
                if !matches!(array.dtype().kind(), 'i' | 'u' | 'b') {
                    return Err(IndexError::NotAnIndex { found: array.dtype() }.into());
                }
                (array.size(), array.shape().to_vec(), array.dtype())
            }
            IndexItem::Integers { values, shape } => of_host(values.len(), shape, Dtype::I64),
            IndexItem::Mask { values, shape } => of_host(values.len(), shape, Dtype::Bool),
        };
        if shape.iter().try_fold(1_usize, |size, &n| size.checked_mul(n)) != Some(found) {
            return Err(IndexError::ValuesLength { found, shape }.into());
        }
        Ok(Some(Self { shape, dtype, index: *index }))
    }

    fn elements(&self) -> Result<ReadElements<'a>> {
        Ok(match self.index {
            IndexItem::Basic(SliceItem::Index(index)) => {
                ReadElements::Copied(bytes_of(&[index as i64]).to_vec())
            }
            IndexItem::Basic(_) => ReadElements::Borrowed(&[]), // never, see above
            IndexItem::Array(array) => ReadElements::of(array)?,
            IndexItem::Integers { values, .. } => ReadElements::Borrowed(bytes_of(values)),
            IndexItem::Mask { values, .. } => {
                let mut bytes = with_capacity(values.len())?;
                bytes.extend(values.iter().map(|&value| u8::from(value)));
                ReadElements::Copied(bytes)
            }
        })
    }

    pub(super) fn is_mask(&self) -> bool {
        self.dtype == Dtype::Bool
    }

    /// The displacement of each integer, for an axis of the given size, or for all elements as if they were one axis. `step` says
    /// how far a place of the axis is.
    pub(super) fn integers(
        &self,
        axis: Option<usize>,
        size: usize,
        mode: IndexMode,
        step: impl Fn(usize) -> isize,
    ) -> Result<Vec<isize>> {
        let elements = self.elements()?;
        let bytes = elements.read()?;
        let refused = |position, index| {
            let position = unravel(position, &self.shape).to_vec();
            Error::from(IndexError::OutOfBounds { axis, index, position, size })
        };
        macro_rules! steps {
            ($type:ty) => {{
                let (elements, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
                let mut steps = with_capacity(elements.len())?;
                // Nearly always all indices are inside, or count from the end: all at once, without a jump for each.
                let from_end = if mode == IndexMode::Clip || <$type>::MIN == 0 { 0 } else { size };
                let mut are_inside = size > 0;
                if are_inside {
                    steps.extend(elements.iter().map(|&element| {
                        let index = <$type>::from_ne_bytes(element) as i64;
                        let place = (index as usize).wrapping_add(if index < 0 { from_end } else { 0 });
                        are_inside &= place < size;
                        step(if place < size { place } else { 0 })
                    }));
                }
                if are_inside {
                    return Ok(steps);
                }
                steps.clear();
                for (position, &element) in elements.iter().enumerate() {
                    let index = <$type>::from_ne_bytes(element).into();
                    steps.push(step(mode.place(index, size).ok_or_else(|| refused(position, index))?));
                }
                Ok(steps)
            }};
        }
        match self.dtype {
            Dtype::I8 => steps!(i8),
            Dtype::I16 => steps!(i16),
            Dtype::I32 => steps!(i32),
            Dtype::I64 => steps!(i64),
            Dtype::U8 => steps!(u8),
            Dtype::U16 => steps!(u16),
            Dtype::U32 => steps!(u32),
            Dtype::U64 => steps!(u64),
            _ => Err(IndexError::NotIntegers { found: "a boolean mask" }.into()),
        }
    }

    /// The displacements of a layout of this mask's shape where the mask is true.
    pub(super) fn masked(&self, layout: &Layout) -> Result<Vec<isize>> {
        let elements = self.elements()?;
        let bytes = elements.read()?;
        let mut steps = with_capacity(bytes.iter().filter(|&&byte| byte != 0).count())?;
        let mut row = |start: isize, step: isize, row: &[u8]| {
            let places = row.iter().enumerate().filter(|&(_, &byte)| byte != 0);
            steps.extend(places.map(|(i, _)| start + step * i.cast_signed()));
        };
        match layout.strides().last() {
            Some(&step) if !layout.is_c_contiguous() => {
                let starts = layout.slice(&[SliceItem::Ellipsis, SliceItem::Index(0)])?;
                let rows = bytes.chunks_exact(bytes.len() / starts.size());
                starts.offsets().zip(rows).for_each(|(start, bytes)| row(start, step, bytes));
            }
            _ => row(layout.offset(), 1, &bytes),
        }
        Ok(steps)
    }
}

/// The integers of an operation that takes only integers.
pub(super) fn integer_array<'a>(index: &IndexItem<'a>) -> Result<IndexArray<'a>> {
    match IndexArray::new(index)? {
        None => Err(IndexError::NotIntegers { found: "a slice, an ellipsis or a new axis" }.into()),
        Some(array) if array.is_mask() => Err(IndexError::NotIntegers { found: "a boolean mask" }.into()),
        Some(array) => Ok(array),
    }
}
