//! Indexing and assignment with NumPy's rules: basic, integer arrays, boolean masks, and mixtures of them
//!
//! Index arrays are read and checked first, whatever memory they are in, and become a [`Plan`]: where the elements are, as
//! numbers. Only then elements are moved, so that a refused index changes no element. All of it is safe code: what host
//! code can touch is a slice under a guard, device memory goes through copies of the pieces that the plan needs.
//!
//! Reference: <https://numpy.org/doc/stable/user/basics.indexing.html#advanced-indexing>.
//!
//! | file | job |
//! |---|---|
//! | `item.rs` | the items of an index expression |
//! | `mode.rs` | modes for integers outside of an axis |
//! | `read.rs` | index arrays and masks, as displacements on the host |
//! | `resolve.rs` | from index items to a plan: which axes, and where the picked ones go |
//! | `plan.rs` | where the elements are: numbers only |
//! | `walk.rs` | the order in which a plan is carried out |
//! | `memory.rs` | elements to and from memory of any kind |
//! | `staging.rs` | copies of the pieces of device memory that a plan needs |
//! | `values.rs` | values for an assignment: cast, broadcast or repeated |
//! | `get_set.rs` | `array[index]` and `array[index] = value` |
//! | `take.rs` | take and put |
//! | `along.rs` | take_along_axis and put_along_axis |
//! | `by_kernels.rs` | index operations by kernels |
//! | `given.rs` | values and other arrays that are given to them |
//! | `mask.rs` | what masks select, by kernels |
//! | `nonzero.rs` | where elements are not zero, and how many |
//! | `extract.rs` | extract and place |
//! | `choose.rs` | where: elements of one array or of another |

mod along;
mod by_kernels;
mod choose;
mod extract;
mod get_set;
mod given;
mod item;
mod mask;
mod memory;
mod mode;
mod nonzero;
mod plan;
mod read;
mod resolve;
mod staging;
mod take;
mod values;
mod walk;

pub use choose::{where_, where_dtype};
pub use item::IndexItem;
pub use mode::IndexMode;
use plan::Plan;
use values::Values;
