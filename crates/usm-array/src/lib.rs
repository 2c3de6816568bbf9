//! Dtype-generic strided arrays over SYCL unified shared memory (USM).
//!
//! A [`UsmArray`] is a [`UsmBuffer`](usm_memory::UsmBuffer) of any kind, a [`Dtype`] and a
//! [`Layout`]: shape, strides and offset, all in elements. Slicing, transposing and broadcasting
//! never touch the memory; negative and zero strides are fine. Copies work for every kind of
//! memory; host code looks at host and shared memory through [`ArrayView`] and [`ArrayViewMut`].
//!
//! [`UsmArrayInterface`] carries an array to and from other libraries, as the numbers of
//! `__sycl_usm_array_interface__`; so do the tensors of [`dlpack`]. Arrays are written as NumPy does
//! ([`UsmArray::display`]); with the feature `svg`, `layout_svg` draws where their elements are.
//!
//! ```
//! use usm_array::usm_core::{Runtime, UsmKind};
//! use usm_array::UsmArray;
//!
//! let runtime = Runtime::global();
//! let queue = runtime.default_queue(runtime.host_device())?;
//!
//! let array = UsmArray::zeros(&queue, UsmKind::Shared, &[2, 3], usm_array::Dtype::F32)?;
//! array.view_mut::<f32>()?[[1, 2]] = 7.0;
//!
//! let row = array.slice(-1)?;
//! assert_eq!(row.to_vec::<f32>()?, [0.0, 0.0, 7.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # NumPy's words, and where they are here
//!
//! | NumPy and the array API | here |
//! |---|---|
//! | `ndarray` | [`UsmArray`], whose dtype is known at run time; [`ArrayView`] and [`ArrayViewMut`], typed looks at one that host code reaches |
//! | an array of one dtype | [`TypedArray`], which gives `&[T]` and `&mut [T]` |
//! | `dtype`, `dtype.type` | [`Dtype`], [`Element`]; [`dispatch!`] gets from one to the other |
//! | `shape`, `strides`, `offset`, `flags` | [`Layout`], in elements; [`UsmArray::is_c_contiguous`], [`UsmArray::is_writable`], … |
//! | a Python number | [`Scalar`] |
//! | `a[1:]`, `a[1:, ..., None, ::-1]` | [`UsmArray::slice`] with [`SliceItems`], such as `1..` or [`s![1.., ..., NewAxis, ..;-1]`](s): always a view |
//! | `a[[2, 0], mask]`, `a[index] = b` | [`UsmArray::get_index`], [`UsmArray::set_index`] with [`IndexItem`]s |
//! | `a[...] = b`, `copyto(casting=)` | [`UsmArray::assign`], [`UsmArray::assign_cast`] with a [`Casting`] |
//! | `take(mode=)`, `put`, `nonzero`, `extract`, `place`, `where` | methods of [`UsmArray`] with an [`IndexMode`]; [`where_`] |
//! | `a.T`, `moveaxis`, `squeeze`, `flip`, `diagonal`, `real`, `view(dtype)`, … | methods of [`UsmArray`], the last one is [`reinterpret`](UsmArray::reinterpret) |
//! | `reshape(copy=)`, `astype(copy=)` | [`UsmArray::reshape`], [`UsmArray::astype`] with a [`CopyMode`] |
//! | `broadcast_to`, `broadcast_shapes`, `sliding_window_view` | [`UsmArray::broadcast_to`], [`broadcast_shapes`], [`UsmArray::sliding_window_view`]: read-only views |
//! | `as_strided` | [`UsmArray::as_strided`], within its bounds |
//! | `shares_memory`, `may_share_memory` | [`UsmArray::shares_memory`] with a limit of work, an [`Overlap`] |
//! | `zeros`, `full`, `arange`, `linspace`, `eye`; `zeros_like` | [`CreateOptions`]; [`LikeOptions`]; from typed values [`UsmArray::from_slice`] and related functions |
//! | `ndarray(shape, buffer=, strides=)` | [`UsmArray::builder`], [`UsmArray::from_parts`] |
//! | `concat`, `stack`, `tile`, `repeat`, `roll`, `meshgrid`, `tril` | [`UsmArray::concat`] and related functions |
//! | `==`, `isnan`, `logical_and`, `all`, `sum`, `min`, `allclose` | [`UsmArray::equal`] and related functions, with a [`Tolerance`] |
//! | `result_type`, `can_cast`, `isdtype`, `finfo`, `iinfo` | functions of the same names |
//! | `tolist`, `tobytes`, `nditer` | [`UsmArray::to_vec`], [`UsmArray::to_bytes`]; [`ArrayView::iter`] and related functions |
//! | `str(a)`, `repr(a)`, `printoptions` | [`UsmArray::display`], [`UsmArray::repr`], [`PrintOptions`] |
//! | `__dlpack__`, `from_dlpack`; an interface dictionary | [`dlpack`]; [`UsmArrayInterface`] |
//!
//! # Architecture
//! Arrows point to what is used: `work`, `typed` → `ops`, `print`, `index`, `create`, `manipulate`, `dlpack` → `copy` → `view` → `array` → `error` →
//! `layout`, `interface`, `scalar` → `dtype`; `abi` has the C structs of DLPack; `svg` draws a `layout`.
//! Everything that is arithmetic is safe code and is done before memory is touched: `layout` and
//! `interface` have no unsafe code at all, nor have `print` and `svg`. Memory is touched in `copy` and `view`, through
//! slices under guards in `index`, and in `dlpack` where it is another library's.

#![warn(clippy::missing_errors_doc)]

#[cfg(test)]
use test_stacks as _;

mod abi;
mod array;
mod copy;
mod create;
pub mod dlpack;
mod dtype;
mod error;
mod index;
mod interface;
mod kernel_engine;
mod layout;
mod manipulate;
mod ops;
mod print;
mod scalar;
#[cfg(feature = "svg")]
mod svg;
mod typed;
mod view;
mod work;

pub use array::{
    ArrayHandle, ArrayOrScalar, BufferSource, Peer, UsmArray, UsmArrayBuilder, coerced_kind, cuda_syclobj,
    execution_queue, queue_of_cuda_syclobj,
};
pub use copy::{Conversion, CopyMode};
pub use create::{
    CreateOptions, HostElements, Indexing, LikeOptions, Nested, NestedElements, NestedItem, NoHostElements,
    NumberList, Numbers, ReadNested, ReadNumbers,
};
pub use dtype::{
    Bool8, Casting, DefaultDtypes, Dtype, DtypeError, DtypeKind, Element, F8E4M3Fn, F8E4M3Fnuz, F8E5M2,
    F8E5M2Fnuz, Finfo, Iinfo, PromotionOperand, WeakScalar, can_cast, default_dtypes, finfo, iinfo, isdtype,
    result_type, standard_dtypes,
};
pub use error::{CreateError, Error, IndexError, ManipulateError, Result};
pub use half;
pub use index::{IndexItem, IndexMode, where_, where_dtype};
pub use interface::VERSION as INTERFACE_VERSION;
pub use interface::{
    ByteSpan, CUDA_INTERFACE_VERSION, CudaArrayInterface, InterfaceError, InterfaceRef, UsmArrayInterface,
    ValidInterface,
};
pub use layout::{
    Axes, CopyOrder, Extent, Layout, LayoutError, MAX_NDIM, Offsets, Order, Overlap, SliceItem, SliceItems,
    SliceRange, StridedBytes, broadcast_layouts, broadcast_shapes, product_shape, unravel,
};
pub use manipulate::{OperandMemory, Reach, Repeats, ResultPlace, check_queues, common_order};
/// The crate `ndarray` 0.17, whose views the feature `ndarray` converts from and to.
#[cfg(feature = "ndarray")]
pub use ndarray;
pub use num_complex;
pub use ops::{Tolerance, is_bitwise_of_integers};
pub use print::{FloatMode, PrintOptions, Sign};
pub use scalar::Scalar;
#[cfg(feature = "svg")]
pub use svg::layout_svg;
pub use typed::{SliceReadGuard, SliceWriteGuard, TypedArray};
pub use usm_memory;
pub use usm_memory::usm_core;
pub use usm_memory::usm_core::bulk::{num_threads, set_num_threads};
pub use view::{ArrayView, ArrayViewMut, ElementIndex, IndexedIter, Iter, IterMut, ParIter, SubViews};
pub use work::{Cost, Work};

// Arrays and their views go wherever threads need them.
const _: () = {
    const fn can_be_shared<T: Send + Sync>() {}
    can_be_shared::<UsmArray>();
    can_be_shared::<ArrayView<'_, f64>>();
    can_be_shared::<ArrayViewMut<'_, f64>>();
    can_be_shared::<Error>();
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
