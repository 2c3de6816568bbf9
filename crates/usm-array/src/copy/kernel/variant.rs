//! Which kernels there are: what each is good for, and its SPIR-V module

/// What a kernel does, and how the work is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Any strides; a work-item for each block.
    Rows,
    /// Rows without gaps on both sides.
    Dense,
    /// Rows without gaps, the source's backwards.
    Reversed,
    /// One source element for a row without gaps.
    Repeated,
    /// Every second source element to a row without gaps.
    Even,
    /// Any source strides to rows without gaps, past the caches.
    Stream,
    /// Columns without gaps in the target, rows without gaps in the source.
    Transpose,
    /// The same to rows that are whole lines apart, past the caches.
    StreamTranspose,
    /// Any strides; a work-group for each block.
    Lanes,
    /// One value; a work-item for each block.
    Fill,
    /// One value; a work-group for each block.
    FillLanes,
}

/// A kernel for elements of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Variant {
    pub(super) family: Family,
    pub(super) item_bytes: usize,
}

macro_rules! modules {
    ($($family:ident $name:literal [$($bytes:literal)+];)+) => {
        /// All variants with their modules, which `cargo xtask spirv` has built and found valid.
        pub(super) static MODULES: &[(Variant, &[u8])] = &[
            $($((
                Variant { family: Family::$family, item_bytes: $bytes },
                include_bytes!(concat!("../../../kernels/", $name, "_", $bytes, ".spv")),
            ),)+)+
        ];
    };
}

// As in `xtask/src/tasks/spirv/modules.rs`.
modules! {
    Rows "rows" [1 2 4 8 16];
    Dense "dense" [1 2 4 8 16];
    Reversed "reversed" [1 2 4 8 16];
    Repeated "repeated" [1 2 4 8 16];
    Even "even" [1 2 4];
    Stream "stream" [8];
    Transpose "transpose" [1 2 4 8];
    StreamTranspose "stream_transpose" [4 8];
    Lanes "lanes" [1 2 4 8 16];
    Fill "fill" [1 2 4 8 16];
    FillLanes "fill_lanes" [1 2 4 8 16];
}

/// How many there are.
pub(super) const COUNT: usize = MODULES.len();

impl Variant {
    /// Its place in [`MODULES`]; `None` when there is no such kernel.
    pub(super) fn index(self) -> Option<usize> {
        MODULES.iter().position(|(variant, _)| *variant == self)
    }
}
