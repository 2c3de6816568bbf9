//! The Python wheels and the source distribution: building and checking them.

mod build;
mod contents;
mod platform;
mod sbom;

pub(crate) use build::{
    build, build_extension, build_native, build_quick, build_quick_for, build_sanitized, build_sdist,
    path_with_zig,
};
pub(crate) use contents::Contents;
pub(crate) use platform::Platform;
