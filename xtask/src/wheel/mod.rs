//! The Python wheel: building and checking it.

mod build;
mod contents;

pub(crate) use build::{build, build_extension, build_quick};
pub(crate) use contents::Contents;
