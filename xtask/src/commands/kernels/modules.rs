//! Which modules there are, and what the compiler is told.

use std::path::Path;

use super::strip;

/// What the sources include.
pub(super) const HEADERS: [&str; 4] = ["dialect.h", "convert.h", "elements.h", "place.h"];

/// A source and the modules that are made of it: as in `src/kernel_engine/modules.rs` of usm-array.
struct Family {
    name: &'static str,
    source: &'static str,
    defines: &'static str,
    /// One module for each, with the size in its name and as `ITEM_BYTES`; one module without a size where there is none.
    sizes: &'static [usize],
}

const SIZES: [usize; 5] = [1, 2, 4, 8, 16];

/// Sizes of kernels that elements of 16 bytes need no kernel of their own for.
const SMALLER: [usize; 4] = [1, 2, 4, 8];

const FAMILIES: [Family; 33] = [
    Family { sizes: &SMALLER, ..Family::linear("long_rows", "-DLONG_ROWS") },
    Family { sizes: &[1, 2], ..Family::linear("short_rows", "-DSHORT_ROWS") },
    Family::linear("rows", "-DROWS"),
    Family::linear("select", "-DSELECT"),
    Family::linear("elements", "-DELEMENTS"),
    Family::linear("fill_rows", "-DROWS -DFILL"),
    Family::linear("fill_elements", "-DELEMENTS -DFILL"),
    Family::linear("cast_1", "-DSELECT -DFROM_BYTES=1"),
    Family::linear("cast_2", "-DSELECT -DFROM_BYTES=2"),
    Family::linear("cast_4", "-DSELECT -DFROM_BYTES=4"),
    Family::linear("cast_8", "-DSELECT -DFROM_BYTES=8"),
    // Not to elements of 16 bytes: there is one dtype.
    Family { sizes: &SMALLER, ..Family::linear("cast_16", "-DSELECT -DFROM_BYTES=16") },
    Family::tile("tile", "-DTILE", &SMALLER),
    Family::tile("tile_box", "-DTILE -DBOX", &SMALLER),
    Family::tile("window", "-DWINDOW", &SIZES),
    Family::tile("window_box", "-DWINDOW -DBOX", &SIZES),
    // With elements of 16 bytes only those that a dtype of complex numbers has parts of, or whose parts it takes: the others are rare.
    Family::tile("cast_tile_1", "-DCAST -DFROM_BYTES=1", &SMALLER),
    Family::tile("cast_tile_2", "-DCAST -DFROM_BYTES=2", &SMALLER),
    Family::tile("cast_tile_4", "-DCAST -DFROM_BYTES=4", &SMALLER),
    Family::tile("cast_tile_8", "-DCAST -DFROM_BYTES=8", &SIZES),
    Family::tile("cast_tile_16", "-DCAST -DFROM_BYTES=16", &[8]),
    Family::tile("split2", "-DSPLIT=2", &[4, 8]),
    Family::tile("split3", "-DSPLIT=3", &SMALLER),
    Family::tile("split4", "-DSPLIT=4", &[1, 4]),
    Family::tile("join2", "-DJOIN=2", &[4, 8]),
    Family::tile("join3", "-DJOIN=3", &SMALLER),
    Family::tile("join4", "-DJOIN=4", &[1, 4]),
    Family { name: "gather", source: "gather.cl", defines: "", sizes: &SIZES },
    Family { name: "create", source: "create.cl", defines: "", sizes: &[] },
    Family { name: "index", source: "index.cl", defines: "", sizes: &[] },
    Family { name: "mask", source: "mask.cl", defines: "", sizes: &[] },
    Family { name: "reduce", source: "reduce.cl", defines: "", sizes: &[] },
    Family { name: "relate", source: "relate.cl", defines: "", sizes: &[] },
];

/// One module: a source, compiled with defines.
pub(super) struct Module {
    pub(super) name: String,
    pub(super) source: &'static str,
    pub(super) defines: String,
}

/// All modules.
pub(super) fn all() -> Vec<Module> {
    FAMILIES.iter().flat_map(Family::modules).collect()
}

impl Family {
    const fn linear(name: &'static str, defines: &'static str) -> Self {
        Self { name, source: "linear.cl", defines, sizes: &SIZES }
    }

    const fn tile(name: &'static str, defines: &'static str, sizes: &'static [usize]) -> Self {
        Self { name, source: "tile.cl", defines, sizes }
    }

    fn modules(&self) -> Vec<Module> {
        let Self { name, source, defines, sizes } = *self;
        if sizes.is_empty() {
            return vec![Module { name: name.to_owned(), source, defines: defines.to_owned() }];
        }
        let of_size = |size| {
            let defines = format!("{defines} -DITEM_BYTES={size}").trim_start().to_owned();
            Module { name: format!("{name}_{size}"), source, defines }
        };
        sizes.iter().map(of_size).collect()
    }
}

/// A form of a module.
pub(super) struct Form {
    extension: &'static str,
    target: &'static str,
    /// Takes away what no driver needs; `None` if this is no module.
    pub(super) strip: fn(&[u8]) -> Option<Vec<u8>>,
}

/// For SYCL devices: all OpenCL drivers with SPIR-V accept SPIR-V 1.0.
pub(super) const SPIRV: Form =
    Form { extension: "spv", target: "--target=spirv64v1.0 -c", strip: strip::spirv };

/// For GPUs of NVIDIA: the driver compiles it for the GPU, of any architecture from compute capability 5.0 on.
pub(super) const PTX: Form = Form {
    extension: "ptx",
    target: "--target=nvptx64-nvidia-cuda -march=sm_50 -Xclang -target-feature -Xclang +ptx60 -S",
    strip: strip::ptx,
};

pub(super) const FORMS: [Form; 2] = [SPIRV, PTX];

impl Form {
    pub(super) fn file(&self, module: &Module) -> String {
        format!("{}.{}", module.name, self.extension)
    }

    /// True for a file of this form.
    pub(super) fn is_of(&self, path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension == self.extension)
    }

    /// What the compiler is told for every module of this form.
    pub(super) fn flags(&self) -> String {
        format!("{} -x cl -cl-std=CL2.0 -cl-no-stdinc -O2 -Wall -Wextra -Werror", self.target)
    }
}
