//! The compiled modules, as `cargo xtask kernels` has made them: those of `xtask/src/commands/kernels/modules.rs`

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
                const WORDS: &[u8] = include_bytes!(concat!("../../kernels/modules/", $($name,)+ ".spv"));
                const PLANES: [u8; WORDS.len()] = planes(WORDS);
                &PLANES
            },
            ptx: include_str!(concat!("../../kernels/modules/", $($name,)+ ".ptx")),
        }
    };
}

/// Sizes of elements that there are kernels for.
pub(crate) const SIZES: [usize; 5] = [1, 2, 4, 8, 16];

macro_rules! sized {
    ($($name:literal: $($size:literal)+;)+) => {
        [$(($name, &[$(($size, module!($name "_" $size))),+])),+]
    };
}

/// Copies, fills, casts, and elements picked by integers: the modules of a name for sizes of elements in bytes. Names of casts have the size
/// in the source.
static SIZED: [(&str, &[(usize, Module)]); 28] = sized! {
    // linear.cl
    "long_rows": 1 2 4 8;
    "rows": 1 2 4 8 16;
    "short_rows": 1 2;
    "select": 1 2 4 8 16;
    "elements": 1 2 4 8 16;
    "fill_rows": 1 2 4 8 16;
    "fill_elements": 1 2 4 8 16;
    "cast_1": 1 2 4 8 16;
    "cast_2": 1 2 4 8 16;
    "cast_4": 1 2 4 8 16;
    "cast_8": 1 2 4 8 16;
    "cast_16": 1 2 4 8;
    // tile.cl
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
    // gather.cl
    "gather": 1 2 4 8 16;
};

/// The module of a name for elements of so many bytes.
pub(crate) fn sized(name: &str, item_bytes: usize) -> Option<&'static Module> {
    let (_, modules) = SIZED.iter().find(|(other, _)| *other == name)?;
    modules.iter().find(|(size, _)| *size == item_bytes).map(|(_, module)| module)
}

/// The module for casts along the target from elements of so many bytes to elements of so many.
pub(crate) fn cast(from_bytes: usize, item_bytes: usize) -> Option<&'static Module> {
    let names = ["cast_1", "cast_2", "cast_4", "cast_8", "cast_16"];
    sized(names[SIZES.iter().position(|&size| size == from_bytes)?], item_bytes)
}

/// The module for casts that transpose from elements of so many bytes to elements of so many; `None` for some with 16 bytes.
pub(crate) fn cast_tile(from_bytes: usize, item_bytes: usize) -> Option<&'static Module> {
    let names = ["cast_tile_1", "cast_tile_2", "cast_tile_4", "cast_tile_8", "cast_tile_16"];
    sized(names[SIZES.iter().position(|&size| size == from_bytes)?], item_bytes)
}

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
    let sized = SIZED.iter().flat_map(|(_, modules)| modules.iter().map(|(_, module)| module));
    sized.chain([&CREATE, &INDEX, &MASK, &REDUCE, &RELATE])
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
