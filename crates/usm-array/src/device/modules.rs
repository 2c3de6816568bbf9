//! The compiled modules, as `cargo xtask kernels` has made them: those of `xtask/src/tasks/kernels/modules.rs`

use std::fmt;

/// One module in both forms. Its address is its identity.
pub(crate) struct Module {
    name: &'static str,
    /// For SYCL devices, as [`planes`].
    planes: &'static [u8],
    /// For GPUs of NVIDIA.
    pub(super) ptx: &'static str,
}

/// The bytes of words of four: all lowest bytes first, then all second ones, and so on. SPIR-V gets a sixth smaller so in the wheel.
const fn planes<const LEN: usize>(words: &[u8]) -> [u8; LEN] {
    assert!(LEN.is_multiple_of(4) && words.len() == LEN, "words of four bytes");
    let mut planes = [0; LEN];
    let (mut at, count) = (0, LEN / 4);
    while at < count {
        planes[at] = words[4 * at];
        planes[count + at] = words[4 * at + 1];
        planes[2 * count + at] = words[4 * at + 2];
        planes[3 * count + at] = words[4 * at + 3];
        at += 1;
    }
    planes
}

impl Module {
    /// The module for SYCL devices.
    pub(crate) fn spirv(&self) -> Vec<u8> {
        let count = self.planes.len() / 4;
        (0..count).flat_map(|at| [0, 1, 2, 3].map(|plane| self.planes[plane * count + at])).collect()
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! module {
    ($($name:literal)+) => {
        Module {
            name: concat!($($name),+),
            planes: {
                const WORDS: &[u8] = include_bytes!(concat!("../../kernels/", $($name,)+ ".spv"));
                const PLANES: [u8; WORDS.len()] = planes(WORDS);
                &PLANES
            },
            ptx: include_str!(concat!("../../kernels/", $($name,)+ ".ptx")),
        }
    };
}

/// A module for each size of elements: 1, 2, 4, 8 and 16 bytes.
pub(crate) type BySize = [Module; SIZES.len()];

/// Sizes of elements that there are kernels for.
pub(crate) const SIZES: [usize; 5] = [1, 2, 4, 8, 16];

macro_rules! by_size {
    ($($name:literal)+) => {
        [
            module!($($name)+ "_1"),
            module!($($name)+ "_2"),
            module!($($name)+ "_4"),
            module!($($name)+ "_8"),
            module!($($name)+ "_16"),
        ]
    };
}

/// The module of `modules` for elements of so many bytes.
pub(crate) fn of_size(modules: &'static [Module], item_bytes: usize) -> Option<&'static Module> {
    modules.get(SIZES.iter().position(|&size| size == item_bytes)?)
}

/// `linear.cl`: long rows that are dense on both sides, of elements of 1, 2, 4 and 8 bytes.
pub(crate) static LONG_ROWS: [Module; 4] =
    [module!("long_rows_1"), module!("long_rows_2"), module!("long_rows_4"), module!("long_rows_8")];
/// `linear.cl`: short rows that are dense on both sides, of elements of 1 and 2 bytes.
pub(crate) static SHORT_ROWS: [Module; 2] = [module!("short_rows_1"), module!("short_rows_2")];
/// `linear.cl`: other rows that are dense on both sides.
pub(crate) static ROWS: BySize = by_size!("rows");
/// `linear.cl`: dense rows from anywhere.
pub(crate) static SELECT: BySize = by_size!("select");
/// `linear.cl`: one element after the other.
pub(crate) static ELEMENTS: BySize = by_size!("elements");
/// `linear.cl`: fills of dense rows.
pub(crate) static FILL_ROWS: BySize = by_size!("fill_rows");
/// `linear.cl`: fills of one element after the other.
pub(crate) static FILL_ELEMENTS: BySize = by_size!("fill_elements");
/// `linear.cl`: casts from elements of 1, 2, 4 and 8 bytes.
static CAST: [BySize; 4] = [by_size!("cast_1"), by_size!("cast_2"), by_size!("cast_4"), by_size!("cast_8")];
/// `linear.cl`: casts from elements of 16 bytes to smaller ones: there is one dtype.
static CAST_16: [Module; 4] =
    [module!("cast_16_1"), module!("cast_16_2"), module!("cast_16_4"), module!("cast_16_8")];

/// The module for casts along the target from elements of so many bytes to elements of so many.
pub(crate) fn cast(from_bytes: usize, item_bytes: usize) -> Option<&'static Module> {
    let from = SIZES.iter().position(|&size| size == from_bytes)?;
    of_size(CAST.get(from).map_or(&CAST_16[..], |modules| modules), item_bytes)
}

macro_rules! tiled {
    ($($kernel:literal: $($size:literal)+;)+) => {
        [$(($kernel, &[$(($size, module!($kernel "_" $size))),+])),+]
    };
}

/// `tile.cl`: copies that transpose, by kernels and sizes of elements; casts are by the size in the source, too.
static TILED: [(&str, &[(usize, Module)]); 15] = tiled! {
    "tile": 1 2 4 8;
    "tile_box": 1 2 4 8;
    "window": 1 2 4 8 16;
    "window_box": 1 2 4 8 16;
    "split2": 4 8;
    "split3": 1 2 4 8;
    "split4": 1 4;
    "join2": 4 8;
    "join3": 1 2 4 8;
    "join4": 1 4;
    "cast_tile_1": 1 2 4 8;
    "cast_tile_2": 1 2 4 8;
    "cast_tile_4": 1 2 4 8;
    "cast_tile_8": 1 2 4 8 16;
    "cast_tile_16": 8;
};

/// The module of a kernel of `tile.cl` for elements of so many bytes.
pub(crate) fn tiled(kernel: &str, item_bytes: usize) -> Option<&'static Module> {
    let (_, modules) = TILED.iter().find(|(name, _)| *name == kernel)?;
    modules.iter().find(|(size, _)| *size == item_bytes).map(|(_, module)| module)
}

/// The module for casts that transpose from elements of so many bytes to elements of so many; `None` for some with 16 bytes.
pub(crate) fn cast_tile(from_bytes: usize, item_bytes: usize) -> Option<&'static Module> {
    let modules = ["cast_tile_1", "cast_tile_2", "cast_tile_4", "cast_tile_8", "cast_tile_16"];
    tiled(modules[SIZES.iter().position(|&size| size == from_bytes)?], item_bytes)
}

/// `gather.cl`: elements picked by integers.
pub(crate) static GATHER: BySize = by_size!("gather");
/// `index.cl`: places that index arrays name.
pub(crate) static INDEX: Module = module!("index");
/// `mask.cl`: what masks select.
pub(crate) static MASK: Module = module!("mask");
/// `relate.cl`: comparisons, logic, classes of numbers.
pub(crate) static RELATE: Module = module!("relate");
/// `reduce.cl`: many elements to one.
pub(crate) static REDUCE: Module = module!("reduce");
/// `create.cl`: numbers and triangles.
pub(crate) static CREATE: Module = module!("create");

/// All modules.
#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = &'static Module> {
    let by_size = [&ROWS, &SELECT, &ELEMENTS, &FILL_ROWS, &FILL_ELEMENTS, &GATHER];
    let single = [&CREATE, &INDEX, &MASK, &REDUCE, &RELATE];
    let by_size = by_size.into_iter().chain(&CAST).flatten();
    let linear = by_size.chain(&LONG_ROWS).chain(&SHORT_ROWS).chain(&CAST_16);
    let tiled = TILED.iter().flat_map(|(_, modules)| modules.iter().map(|(_, module)| module));
    linear.chain(tiled).chain(single)
}

#[cfg(test)]
mod tests {
    use super::all;

    /// A loop over a batch that is not unrolled keeps the batch in memory of the GPU, and halves the speed of a reduction.
    #[test]
    fn work_items_keep_all_in_registers() {
        for module in all() {
            assert!(!module.ptx.contains(".local"), "{module:?}");
        }
    }
}
