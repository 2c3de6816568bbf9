//! Which modules there are: the source of each, and what the compiler is told.

/// One module: a source, compiled for elements of one size.
#[derive(Clone, Copy)]
pub(super) struct Module {
    name: &'static str,
    pub(super) source: &'static str,
    literals: &'static [&'static str],
    item_bytes: usize,
}

/// A name, its source, what the source is told besides the item size, and the item sizes.
type Family = (&'static str, &'static str, &'static [&'static str], &'static [usize]);

const ALL: &[usize] = &[1, 2, 4, 8, 16];

/// As in `copy/kernel/variant.rs` of usm-array.
const FAMILIES: [Family; 11] = [
    ("rows", "rows.cl", &[], ALL),
    ("dense", "rows.cl", &["-DCOL_DST=1", "-DCOL_SRC=1"], ALL),
    ("reversed", "rows.cl", &["-DCOL_DST=1", "-DCOL_SRC=-1"], ALL),
    ("repeated", "rows.cl", &["-DCOL_DST=1", "-DCOL_SRC=0"], ALL),
    ("even", "even.cl", &[], &[1, 2, 4]),
    ("stream", "stream.cl", &[], &[8]),
    ("transpose", "transpose.cl", &[], &[1, 2, 4, 8]),
    ("stream_transpose", "transpose.cl", &["-DSTREAM"], &[4, 8]),
    ("lanes", "lanes.cl", &[], ALL),
    ("fill", "fill.cl", &[], ALL),
    ("fill_lanes", "fill.cl", &["-DLANES"], ALL),
];

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

/// All modules, in the order of the manifest.
pub(super) fn all() -> impl Iterator<Item = Module> {
    FAMILIES.into_iter().flat_map(|(name, source, literals, sizes)| {
        sizes.iter().map(move |&item_bytes| Module { name, source, literals, item_bytes })
    })
}

impl Module {
    pub(super) fn file(&self) -> String {
        format!("{}_{}.spv", self.name, self.item_bytes)
    }

    pub(super) fn defines(&self) -> Vec<String> {
        let literals = self.literals.iter().map(ToString::to_string);
        literals.chain([format!("-DITEM_BYTES={}", self.item_bytes)]).collect()
    }
}
