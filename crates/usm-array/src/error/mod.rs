//! The error of every operation on arrays
//!
//! | file | job |
//! |---|---|
//! | `create.rs` | arguments that describe no new array |
//! | `dlpack.rs` | tensors that cannot be taken or handed out |
//! | `index.rs` | index arrays that do not fit their array |
//! | `manipulate.rs` | arrays that cannot be joined, repeated or rolled |
//! | `layout/error.rs` | shapes, strides, offsets and indices that do not go together |
//! | `interface/error.rs` | interface dictionaries that cannot be trusted |
//! | `dtype/error.rs` | why there is no such element type |

mod create;
mod dlpack;
mod index;
mod manipulate;

use thiserror::Error;
use usm_derive::ErrorDebug;
use usm_memory::usm_core::{ByteCount, UsmKind};

use crate::dtype::{Casting, Dtype};
use crate::interface::{ByteSpan, InterfaceError};
use crate::layout::LayoutError;
use crate::scalar::Scalar;

pub use self::create::CreateError;
pub use self::dlpack::DlpackError;
pub use self::index::IndexError;
pub use self::manipulate::ManipulateError;

/// Result of operations on arrays.
pub type Result<T> = std::result::Result<T, Error>;

/// Error of an operation on arrays. No memory has been allocated or changed then, unless a copy
/// failed in the runtime half way.
#[derive(Error, ErrorDebug)]
#[non_exhaustive]
pub enum Error {
    /// Shape, strides, offset or indices do not go together.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Index arrays that do not fit their array.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// An interface dictionary that cannot be trusted.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// Arguments that describe no new array.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// Arrays that cannot be joined, repeated or rolled.
    #[error(transparent)]
    Manipulate(#[from] ManipulateError),
    /// A tensor that cannot be taken or handed out.
    #[error(transparent)]
    Dlpack(#[from] DlpackError),
    /// Refused by the memory below: out of memory, in use, or a failure of the runtime.
    #[error(transparent)]
    Memory(#[from] usm_memory::Error),
    /// Memory to import that differs from its interface.
    #[error("data: {0}")]
    NotImportable(#[source] usm_memory::Error),
    /// An address that no device of the CUDA driver has memory at.
    #[error(
        "data: found address {address:#x}, allowed is live memory of a CUDA device that this process sees"
    )]
    NotCuda {
        /// The address
        address: usize,
    },
    /// A value of a kind that the element type does not hold.
    #[error("cannot store {found} in elements of {dtype}")]
    ScalarKind {
        /// The value
        found: Scalar,
        /// Element type
        dtype: Dtype,
    },
    /// A number that the element type does not hold, among others.
    #[error("numbers[{index}]: {source}")]
    Number {
        /// Its place, counted from 0
        index: usize,
        /// What is wrong with it
        source: Box<Self>,
    },
    /// A number that the element type does not hold.
    #[error("{found} is out of range for elements of {dtype}")]
    ScalarRange {
        /// The value
        found: Scalar,
        /// Element type
        dtype: Dtype,
    },
    /// A request for the single value of an array with none or several.
    #[error("found an array of shape {shape:?}, allowed is one with exactly one element")]
    NotOneElement {
        /// The shape
        shape: Vec<usize>,
    },
    /// An array of more bytes than memory can have.
    #[error("shape {shape:?} needs {len} elements of {dtype}, allowed are at most {} bytes", isize::MAX)]
    TooManyBytes {
        /// The shape
        shape: Vec<usize>,
        /// Elements that memory would have to hold, gaps included
        len: usize,
        /// Element type
        dtype: Dtype,
    },
    /// Elements outside the buffer.
    #[error(
        "strides {strides:?} and offset {offset} with shape {shape:?} reach from element {min} to \
         {max}, allowed are {} of the buffer of {buffer_len_bytes} bytes{}",
        allowed_elements(*buffer_len_bytes, *itemsize_bytes),
        hint_at_bytes(shape, strides, *offset, *buffer_len_bytes, *itemsize_bytes)
    )]
    OutOfBuffer {
        /// The shape
        shape: Vec<usize>,
        /// The strides, in elements
        strides: Vec<isize>,
        /// The offset from the start of the buffer, in elements
        offset: isize,
        /// Lowest element, counted from the start of the buffer
        min: isize,
        /// Highest element, counted from the start of the buffer
        max: isize,
        /// Bytes of one element
        itemsize_bytes: usize,
        /// Bytes of the buffer
        buffer_len_bytes: usize,
    },
    /// A buffer that starts where no element of the dtype can be.
    #[error(
        "buffer at address {address:#x}, allowed for {dtype} are multiples of {} bytes",
        dtype.align_bytes()
    )]
    BufferMisaligned {
        /// Address of the buffer
        address: usize,
        /// Element type
        dtype: Dtype,
    },
    /// A buffer that is not the memory an interface describes.
    #[error(
        "buffer of {buffer_len_bytes} bytes at {buffer_address:#x}, allowed are buffers over the \
         {} bytes at {:#x} that the interface describes, a whole number of elements of {dtype} \
         from address {address:#x}",
        span.len_bytes,
        span.start_address
    )]
    NotTheDescribedMemory {
        /// The addresses of the elements
        span: ByteSpan,
        /// The published address
        address: usize,
        /// Element type
        dtype: Dtype,
        /// Address of the buffer
        buffer_address: usize,
        /// Bytes of the buffer
        buffer_len_bytes: usize,
    },
    /// A published address outside the address space.
    #[error(
        "origin {origin} and offset {offset} of {dtype} from the buffer at {buffer_address:#x}, \
         allowed are those that give addresses"
    )]
    NoAddress {
        /// Elements from the start of the buffer to the published address
        origin: isize,
        /// Elements from the start of the buffer to index zero
        offset: isize,
        /// Element type
        dtype: Dtype,
        /// Address of the buffer
        buffer_address: usize,
    },
    /// Elements of another type than the requested one.
    #[error(
        "found elements of {found}, allowed is {expected}; the Rust type of {found} is `{rust}`: write `::<{rust}>`, or values of that type",
        rust = found.rust_type()
    )]
    DtypeMismatch {
        /// Element type of the operand
        found: Dtype,
        /// Element type that is needed
        expected: Dtype,
    },
    /// A source of another type than the target, which is not converted.
    #[error("found a source of {found}, allowed is {expected}; `assign_cast` converts the elements")]
    SourceDtype {
        /// Element type of the source
        found: Dtype,
        /// Element type of the target
        expected: Dtype,
    },
    /// Imaginary parts of numbers that have none.
    #[error(
        "found elements of {found}, allowed are complex64 and complex128: others have no imaginary parts in memory"
    )]
    NotComplex {
        /// Element type of the operand
        found: Dtype,
    },
    /// An operation that has no meaning for the elements.
    #[error("{operation}: found elements of {found}, allowed are {allowed}")]
    DtypeNotAllowed {
        /// Name of the operation
        operation: &'static str,
        /// Element type of the operand, or the requested one
        found: Dtype,
        /// The types that have a meaning
        allowed: &'static str,
    },
    /// Elements that an interface has no text for: narrow floating-point numbers have neither a typestr nor a buffer format.
    #[error(
        "{interface} cannot describe elements of {found}: exchange them by DLPack, or cast them to float32"
    )]
    NotDescribed {
        /// Name of the interface
        interface: &'static str,
        /// Element type
        found: Dtype,
    },
    /// The least or the greatest of no elements.
    #[error("{operation}: found shape {shape:?}, allowed are axes with one element and more")]
    NothingToReduce {
        /// Name of the operation
        operation: &'static str,
        /// The shape
        shape: Vec<usize>,
    },
    /// A cast that the caller does not allow.
    #[error("casting: found '{casting}', which does not allow {from} to become {to}")]
    CastNotAllowed {
        /// Element type of the source
        from: Dtype,
        /// Element type of the target
        to: Dtype,
        /// The requested casting rule
        casting: Casting,
    },
    /// Another dtype without a copy.
    #[error("found elements of {found}, for {expected} a copy is needed, which is not allowed")]
    CopyNeeded {
        /// Element type of the array
        found: Dtype,
        /// Requested element type
        expected: Dtype,
    },
    /// Other memory or another order without a copy.
    #[error("for {reason} a copy is needed, which is not allowed")]
    MoveNeeded {
        /// The request
        reason: &'static str,
    },
    /// A host slice of another length than the array.
    #[error("found {found} {unit}, allowed are {expected}, one array of shape {shape:?}")]
    LengthMismatch {
        /// Length of the slice
        found: usize,
        /// Length of the array
        expected: usize,
        /// The counted unit: elements or bytes
        unit: &'static str,
        /// Shape of the array
        shape: Vec<usize>,
    },
    /// References to elements that may be at more than one index.
    #[error(
        "shape {shape:?} with strides {strides:?} may have an element at two indices, allowed is one index for each element"
    )]
    SharedElements {
        /// The shape
        shape: Vec<usize>,
        /// The strides, in elements
        strides: Vec<isize>,
    },
    /// A slice of elements that do not follow each other in row-major order.
    #[error(
        "shape {shape:?} with strides {strides:?}, allowed are C-contiguous arrays; `view` takes any strides, `copy` makes a \
         contiguous array"
    )]
    NotContiguous {
        /// The shape
        shape: Vec<usize>,
        /// The strides, in elements
        strides: Vec<isize>,
    },
    /// A view with a fixed number of axes.
    #[error("found {found} axes, allowed are {expected}")]
    AxisCount {
        /// Axes of the operand
        found: usize,
        /// Axes that the type has
        expected: usize,
    },
    /// Writing to a read-only array.
    #[error("array is read-only; `copy()` makes a writable array of it")]
    ReadOnly,
    /// Host code asking for device memory.
    #[error(
        "found an array of {kind} memory, which host code cannot touch; allowed are views of host \
         and shared memory, copies work for every kind"
    )]
    NotHostAccessible {
        /// Kind of the memory
        kind: UsmKind,
    },
    /// No host memory for a copy.
    #[error("no host memory for a copy of {}", ByteCount::from(*len_bytes))]
    OutOfHostMemory {
        /// Requested bytes
        len_bytes: usize,
    },
}

/// For strides that are out of bounds as elements, and within them as bytes.
fn hint_at_bytes(
    shape: &[usize],
    strides: &[isize],
    offset: isize,
    buffer_len_bytes: usize,
    itemsize_bytes: usize,
) -> String {
    let itemsize = itemsize_bytes as i128;
    let whole = |number: isize| number as i128 % itemsize == 0;
    if itemsize == 1 || !strides.iter().all(|&stride| whole(stride)) {
        return String::new();
    }
    let offsets = [Some(offset as i128), whole(offset).then_some(offset as i128 / itemsize)];
    let fits = offsets.into_iter().flatten().any(|offset| {
        let (mut min, mut max) = (offset, offset);
        for (&size, &stride) in shape.iter().zip(strides) {
            // At most 2^63 steps of 2^63 elements, of at most 64 axes.
            let reach = (size.max(1) - 1) as i128 * (stride as i128 / itemsize);
            (min, max) = (min.saturating_add(reach.min(0)), max.saturating_add(reach.max(0)));
        }
        min >= 0 && max < (buffer_len_bytes / itemsize_bytes) as i128
    });
    match fits {
        true => {
            format!("; strides count elements, not bytes: divide them by the item size of {itemsize_bytes}")
        }
        false => String::new(),
    }
}

fn allowed_elements(buffer_len_bytes: usize, itemsize_bytes: usize) -> String {
    match buffer_len_bytes / itemsize_bytes {
        0 => "no elements".to_owned(),
        n => format!("elements 0 to {}", n - 1),
    }
}

impl From<usm_memory::usm_core::Error> for Error {
    fn from(error: usm_memory::usm_core::Error) -> Self {
        Self::Memory(error.into())
    }
}
