//! Arrays: a buffer, an element type and a layout that stays inside the buffer
//!
//! | file | job |
//! |---|---|
//! | `construct.rs` | the one place where the bounds are proved |
//! | `builder.rs` | new arrays as the container specification constructs them |
//! | `inspect.rs` | shape, dtype, addresses and the like |
//! | `kernel.rs` | arrays as arguments of kernels |
//! | `operand.rs` | an array or one value, beside an array, and the memory of what they give |
//! | `views/` | other arrays over the same memory, and which of them can be written |
//! | `exchange.rs` | from and to the interface |
//! | `syclobj.rs` | the entry `syclobj` of CUDA memory |
//! | `publish.rs` | memory for the next operation of another library |
//! | `processes.rs` | arrays of several processes |
//! | `import.rs` | external memory, after a look-up in the runtime |

mod builder;
mod construct;
mod exchange;
mod import;
mod inspect;
mod kernel;
mod operand;
mod processes;
mod publish;
mod syclobj;
mod views;

pub use builder::{BufferSource, UsmArrayBuilder};
pub(crate) use construct::check_bounds;
pub(crate) use import::cuda_device_of;
pub use operand::{ArrayOrScalar, coerced_kind, execution_queue};
pub use processes::ArrayHandle;
pub use publish::Peer;
pub use syclobj::{cuda_syclobj, queue_of_cuda_syclobj};
use usm_memory::UsmBuffer;

use crate::dtype::Dtype;
use crate::layout::Layout;

/// An n-dimensional array over unified shared memory of any kind.
///
/// Cloning and viewing share the memory, which lives as long as one of them. Whether an array is
/// writable is a property of its buffer, so that no view can lose it.
///
/// ```
/// use usm_array::{SliceItem, UsmArray, usm_core::{Runtime, UsmKind}};
///
/// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
/// let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2, 3], &[1_i32, 2, 3, 4, 5, 6])?;
/// // The Python expression array[:, ::-1].
/// let backwards = SliceItem::Slice { start: None, stop: None, step: -1 };
/// let mirrored = array.slice(&[SliceItem::FULL, backwards])?;
/// assert_eq!(mirrored.to_vec::<i32>()?, [3, 2, 1, 6, 5, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct UsmArray {
    // Invariant A1: Every byte of every element lies inside the buffer.
    // Invariant A2: The address of the buffer is a multiple of `dtype.align_bytes()`, and so is the address
    //     of every element, since the item size is one too.
    // Invariant A3: `layout.size_bytes(dtype)` is not `None`.
    // Invariant A4: `origin` elements and `layout.offset()` elements from the start of the buffer there is
    //     an address; the first of them, the published one, is not 0. From it to the second, and
    //     to either end of the buffer, it is at most `isize::MAX` elements.
    buffer: UsmBuffer,
    dtype: Dtype,
    // Its offset counts from the start of the buffer.
    layout: Layout,
    // Elements from the start of the buffer to the address published as `data`: 0 for memory of
    // our own, anything for imported memory, where elements may lie below the published address.
    origin: isize,
}
