//! The arithmetic of layouts, in each case of a bounded set: `cargo xtask verify bounds` makes the set large.
//!
//! A case is a layout, or a view of one, with its numbers. It is checked for all of its indices, whatever their number. A view and its
//! definition are affine functions of the index, and two affine functions on a box of indices are equal where they agree at index zero and
//! one step along each axis of two or more indices. An affine function is largest and smallest on a box at its corners, so that an index
//! lies inside an axis where the corners do. The sums are computed in 128 bits (`reference.rs`). Views of up to 64 elements are
//! enumerated, too, element by element.
//!
//! So what is bounded are the numbers that a case is made of, not the sizes:
//!
//! | file | cases |
//! |---|---|
//! | `layouts.rs` | all small layouts of up to three axes; numbers around the limits of 64 bits in all combinations |
//! | `views.rs` | all views of these |
//! | `overlaps.rs` | pairs of all small layouts, at all distances, with items of several sizes |
//! | `arrays.rs` | arrays over memory and interfaces: what is accepted lies inside; random ones, too |
//!
//! `USM_TEST_BOUND` is the largest size and stride of small layouts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use test_stacks as _;

mod arrays;
mod layouts;
mod overlaps;
mod reference;
mod views;

use std::fmt::Display;

use usm_core::testing::campaign;

/// The bound of small layouts with so many axes: `USM_TEST_BOUND`, or `short`.
fn bound(short: usize) -> usize {
    campaign::number("USM_TEST_BOUND", short)
}

/// Whether this is a long run.
fn is_long() -> bool {
    bound(0) > 0
}

fn tell(text: impl Display) {
    eprintln!("{text}");
    campaign::figure(&text.to_string()).unwrap();
}
