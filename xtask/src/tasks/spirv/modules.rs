//! Which modules there are, and what the compiler is told.

/// The source of all modules.
pub(super) const SOURCE: &str = "strided.cl";

/// One module: the source, compiled for one job and elements of one size.
#[derive(Clone, Copy)]
pub(super) struct Module {
    name: &'static str,
    define: Option<&'static str>,
    item_bytes: usize,
}

/// A name, and what the source is told besides the item size: as in `copy/kernel/cache.rs` of usm-array.
const JOBS: [(&str, Option<&str>); 2] = [("copy", None), ("fill", Some("-DFILL"))];

const SIZES: [usize; 5] = [1, 2, 4, 8, 16];

/// For every module. All OpenCL drivers with SPIR-V accept SPIR-V 1.0.
pub(super) const FLAGS: [&str; 10] = [
    "--target=spirv64v1.0",
    "-x",
    "cl",
    "-cl-std=CL2.0",
    "-cl-no-stdinc",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-c",
];

/// All modules.
pub(super) fn all() -> impl Iterator<Item = Module> {
    JOBS.into_iter().flat_map(|(name, define)| SIZES.map(|item_bytes| Module { name, define, item_bytes }))
}

impl Module {
    pub(super) fn file(&self) -> String {
        format!("{}_{}.spv", self.name, self.item_bytes)
    }

    pub(super) fn defines(&self) -> Vec<String> {
        let define = self.define.map(str::to_owned);
        define.into_iter().chain([format!("-DITEM_BYTES={}", self.item_bytes)]).collect()
    }
}
