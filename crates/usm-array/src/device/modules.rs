//! The compiled modules, as `cargo xtask kernels` has made them: those of `xtask/src/tasks/kernels/modules.rs`

use std::fmt;

/// One module in both forms. Its address is its identity.
pub(crate) struct Module {
    name: &'static str,
    /// For SYCL devices.
    pub(crate) spirv: &'static [u8],
    /// For GPUs of NVIDIA.
    pub(super) ptx: &'static str,
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
            spirv: include_bytes!(concat!("../../kernels/", $($name,)+ ".spv")),
            ptx: include_str!(concat!("../../kernels/", $($name,)+ ".ptx")),
        }
    };
}

/// A module for each size of elements: 1, 2, 4, 8 and 16 bytes.
pub(crate) type BySize = [Module; SIZES.len()];

/// Sizes of elements that there are kernels for.
pub(crate) const SIZES: [usize; 5] = [1, 2, 4, 8, 16];

macro_rules! by_size {
    ($name:literal) => {
        [
            module!($name "_1"),
            module!($name "_2"),
            module!($name "_4"),
            module!($name "_8"),
            module!($name "_16"),
        ]
    };
}

/// The module of `modules` for elements of so many bytes.
pub(crate) fn of_size(modules: &'static BySize, item_bytes: usize) -> Option<&'static Module> {
    modules.get(SIZES.iter().position(|&size| size == item_bytes)?)
}

/// `strided.cl`: copies along a nest of loops.
pub(crate) static STRIDED_COPY: BySize = by_size!("copy");
/// `strided.cl`: fills along a nest of loops.
pub(crate) static STRIDED_FILL: BySize = by_size!("fill");
