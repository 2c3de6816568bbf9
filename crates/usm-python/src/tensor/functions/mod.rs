//! The functions of `usm.tensor`: each parses its arguments, calls one function of `usm_array`, and wraps the result.
//!
//! | file | job |
//! |---|---|
//! | `operands.rs` | arguments: arrays, numbers, axes, dtypes, words |
//! | `place.rs` | where: `device=`, `sycl_queue=`, `usm_type=` |
//! | `results.rs` | where results go: the kind of memory that follows from the operands, `out=` |
//! | `placement.rs` | the rules of that as functions |
//! | `create.rs`, `like.rs`, `ranges.rs`, `matrices.rs` | new arrays |
//! | `axes.rs`, `shape.rs`, `join.rs`, `copies.rs` | other axes and shapes, arrays joined and repeated, casts |
//! | `take.rs`, `select.rs` | elements by index and by condition |
//! | `dtypes.rs`, `limits.rs`, `inspect.rs` | what there is to know of dtypes and of the namespace |
//! | `elementwise.rs`, `compare.rs`, `logic.rs`, `classify.rs`, `reduce.rs`, `close.rs` | comparisons and reductions |
//! | `parts.rs` | parts of complex numbers |

mod axes;
mod classify;
mod close;
mod compare;
mod copies;
mod create;
mod dtypes;
mod elementwise;
mod inspect;
mod join;
mod like;
mod limits;
mod logic;
mod matrices;
mod operands;
mod parts;
mod place;
mod placement;
mod ranges;
mod reduce;
pub(super) mod results;
mod select;
mod shape;
mod take;

use super::dtype::object as dtype_object;
pub(in crate::tensor) use place::device_queue;
pub(in crate::tensor) use shape::reshape;

/// All that goes into the native module.
pub(crate) mod exported {
    pub(crate) use super::axes::{
        expand_dims, flip, matrix_transpose, moveaxis, permute_dims, squeeze, swapaxes,
    };
    pub(crate) use super::classify::{isfinite, isinf, isnan, signbit};
    pub(crate) use super::close::{allclose, isclose};
    pub(crate) use super::compare::{equal, greater, greater_equal, less, less_equal, not_equal};
    pub(crate) use super::copies::{astype, copy};
    pub(crate) use super::create::{empty, eye, full, ones, zeros};
    pub(crate) use super::dtypes::{can_cast, isdtype, result_type};
    pub(crate) use super::inspect::{__array_namespace_info__, NamespaceInfo};
    pub(crate) use super::join::{concat, repeat, roll, stack, tile, unstack};
    pub(crate) use super::like::{empty_like, full_like, ones_like, zeros_like};
    pub(crate) use super::limits::{FinfoObject, IinfoObject, finfo, iinfo};
    pub(crate) use super::logic::{
        bitwise_and, bitwise_invert, bitwise_or, bitwise_xor, logical_and, logical_not, logical_or,
        logical_xor,
    };
    pub(crate) use super::matrices::{meshgrid, tril, triu};
    pub(crate) use super::parts::{conj, imag, real};
    pub(crate) use super::placement::{get_coerced_usm_type, get_execution_queue, validate_usm_type};
    pub(crate) use super::ranges::{arange, linspace};
    pub(crate) use super::reduce::{all, any, count_nonzero, max, min, sum};
    pub(crate) use super::select::{extract, nonzero, place, where_};
    pub(crate) use super::shape::{broadcast_arrays, broadcast_shapes, broadcast_to, reshape};
    pub(crate) use super::take::{put, put_along_axis, take, take_along_axis};
}
