//! An operand as elements of one type, block by block

use usm_memory::ReadAccess;

use crate::array::{ArrayOrScalar, UsmArray};
use crate::dtype::Element;
use crate::error::Result;
use crate::layout::SliceItem;
use crate::scalar::Scalar;
use crate::view::{Reading, bytes_of_mut, elements_of, zeroed_vec};

/// An operand, read as elements of `T` in blocks.
#[derive(Debug)]
pub(super) enum Source<T> {
    /// Elements of an array of any dtype.
    Array {
        array: Box<UsmArray>,
        /// All elements as long as the operation lasts, so that all blocks are of one state.
        state: State,
        /// Elements of a block that has to be sorted out or cast
        block: Vec<T>,
    },
    /// As many equal elements as the largest block so far.
    Constant { element: T, block: Vec<T> },
}

/// Elements that nobody writes.
#[derive(Debug)]
pub(super) enum State {
    /// Host code reaches them.
    Read(Reading),
    Kept(#[expect(dead_code, reason = "it keeps writers away until it drops")] ReadAccess),
}

impl State {
    /// Over all bytes that the elements of an array span.
    fn over(array: &UsmArray, access: ReadAccess) -> Self {
        if array.is_host_reachable() { Self::Read(Reading::over(access)) } else { Self::Kept(access) }
    }
}

/// Waits until blocks of memory that only devices reach can be copied at once: code of the user that runs in a wait may use the memory, unless
/// this thread has an access.
fn before_access(array: &UsmArray) -> Result<()> {
    if array.is_host_reachable() { Ok(()) } else { Ok(array.buffer().wait_before_submit()?) }
}

/// Whether there is one element for all of a shape.
fn is_constant(array: &UsmArray, shape: &[usize]) -> bool {
    array.size() == 1 && shape.iter().product::<usize>() != 1
}

/// Elements of a block in memory that host code reaches: a few blocks of the largest elements stay in the caches.
const BLOCK_LEN: usize = 8 << 10;

/// Elements of a block that a queue copies, which costs about as much as copying 64 KiB, and of one that nobody copies.
const LONG_BLOCK_LEN: usize = 256 << 10;

/// The most elements of a block for an operation on some arrays.
pub(super) fn block_len(arrays: &[&UsmArray]) -> usize {
    if arrays.iter().all(|array| array.is_host_reachable()) { BLOCK_LEN } else { LONG_BLOCK_LEN }
}

/// The most elements of a block for an operation that reads an array alone, as elements of `T`.
pub(super) fn block_len_of<T: Element>(array: &UsmArray) -> usize {
    let is_read_in_place = array.dtype() == T::DTYPE && array.is_c_contiguous();
    if is_read_in_place { LONG_BLOCK_LEN } else { block_len(&[array]) }
}

impl<T: Element> Source<T> {
    /// An array or a value that `T` holds.
    pub(super) fn new(operand: ArrayOrScalar<'_>, shape: &[usize]) -> Result<Self> {
        match operand {
            ArrayOrScalar::Array(array) => Self::array(array, shape),
            ArrayOrScalar::Scalar(value) => Self::scalar(value),
        }
    }

    /// Two operands, in their states at one moment: no access is taken while the thread has another one.
    pub(super) fn pair<O: Element>(
        array: &UsmArray,
        other: ArrayOrScalar<'_>,
        shape: &[usize],
    ) -> Result<(Self, Source<O>)> {
        match other {
            _ if is_constant(array, shape) => {
                let array = Self::array(array, shape)?;
                Ok((array, Source::new(other, shape)?))
            }
            ArrayOrScalar::Array(other) if !is_constant(other, shape) => {
                before_access(array)?;
                before_access(other)?;
                let [first, second] = ReadAccess::all([&array.spanned(false), &other.spanned(false)])?;
                let second = Source::of_state(other, State::over(other, second), shape)?;
                Ok((Self::of_state(array, State::over(array, first), shape)?, second))
            }
            _ => {
                let other = Source::new(other, shape)?;
                Ok((Self::array(array, shape)?, other))
            }
        }
    }

    /// An array, broadcast to a shape.
    pub(super) fn array(array: &UsmArray, shape: &[usize]) -> Result<Self> {
        if is_constant(array, shape) {
            let mut element = zeroed_vec::<T>(1)?;
            array.read_as(T::DTYPE, bytes_of_mut(&mut element))?;
            return Ok(Self::Constant { element: element[0], block: Vec::new() });
        }
        before_access(array)?;
        let access = array.buffer().read_access(array.byte_range())?;
        Self::of_state(array, State::over(array, access), shape)
    }

    fn of_state(array: &UsmArray, state: State, shape: &[usize]) -> Result<Self> {
        let array = if array.shape() == shape { array.clone() } else { array.broadcast_to(shape)? };
        Ok(Self::Array { array: Box::new(array), state, block: Vec::new() })
    }

    fn scalar(value: Scalar) -> Result<Self> {
        let mut element = zeroed_vec::<T>(1)?;
        let bytes = bytes_of_mut(&mut element);
        let len_bytes = bytes.len();
        bytes.copy_from_slice(&value.to_bytes(T::DTYPE)?[..len_bytes]);
        Ok(Self::Constant { element: element[0], block: Vec::new() })
    }

    /// The elements of a block of so many.
    pub(super) fn block(&mut self, items: &[SliceItem], len: usize) -> Result<&[T]> {
        match self {
            Self::Array { array, state, block } => {
                let part = array.slice(items)?;
                if part.dtype() == T::DTYPE
                    && array.is_host_reachable()
                    && part.is_c_contiguous()
                    && let State::Read(all_bytes) = state
                {
                    let (all, range) = (array.byte_range(), part.byte_range());
                    let bytes = &all_bytes[range.start - all.start..range.end - all.start];
                    if let Some(elements) = elements_of(bytes) {
                        return Ok(elements);
                    }
                }
                grow(block, len, None)?;
                part.read_as(T::DTYPE, bytes_of_mut(&mut block[..len]))?;
                Ok(&block[..len])
            }
            Self::Constant { element, block } => {
                grow(block, len, Some(*element))?;
                Ok(&block[..len])
            }
        }
    }
}

/// Grows the block to so many elements, all of them equal if one is given.
fn grow<T: Element>(block: &mut Vec<T>, len: usize, element: Option<T>) -> Result<()> {
    if block.len() < len {
        *block = zeroed_vec(len)?;
        if let Some(element) = element {
            block.fill(element);
        }
    }
    Ok(())
}
