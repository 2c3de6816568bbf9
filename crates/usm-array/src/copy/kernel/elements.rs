//! How elements get from one side to the other: their sizes, and of casts which dtypes they are

use crate::dtype::Dtype;

/// The elements of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elements {
    pub(crate) from_bytes: usize,
    pub(crate) item_bytes: usize,
    /// The pair of dtypes as `kernels/convert.h` numbers it; `None` where bits stay as they are.
    pub(super) pair: Option<u32>,
}

// The classes of dtypes in `kernels/convert.h`.
const BOOLEAN: u32 = 0;
const SIGNED: u32 = 1;
const UNSIGNED: u32 = 2;
const FLOAT: u32 = 3;
const COMPLEX: u32 = 4;

fn class(dtype: Dtype) -> u32 {
    match dtype.kind() {
        'b' => BOOLEAN,
        'i' => SIGNED,
        'u' => UNSIGNED,
        'f' => FLOAT,
        _ => COMPLEX,
    }
}

impl Elements {
    /// From one dtype to another, or to the same one.
    pub(crate) fn of(src: Dtype, dst: Dtype) -> Self {
        let (from_bytes, item_bytes) = (src.itemsize_bytes(), dst.itemsize_bytes());
        Self { from_bytes, item_bytes, pair: pair(src, dst) }
    }

    /// Whether elements are moved as they are.
    pub(crate) const fn keeps_bits(self) -> bool {
        self.pair.is_none()
    }

    /// Of one dtype, with so many bytes.
    pub(crate) const fn of_size(item_bytes: usize) -> Self {
        Self { from_bytes: item_bytes, item_bytes, pair: None }
    }
}

/// The number of a cast. Those that do the same to bits have one number.
fn pair(src: Dtype, dst: Dtype) -> Option<u32> {
    let (from_bytes, item_bytes) = (src.itemsize_bytes(), dst.itemsize_bytes());
    let is_integer = |class| class == SIGNED || class == UNSIGNED;
    let (from, to) = match (class(src), class(dst)) {
        _ if src == dst => return None,
        (from, to) if is_integer(from) && is_integer(to) && from_bytes == item_bytes => return None,
        // The sign only matters to what gets longer.
        (from, to) if is_integer(from) && is_integer(to) => {
            (if item_bytes < from_bytes { SIGNED } else { from }, SIGNED)
        }
        (UNSIGNED, BOOLEAN) => (SIGNED, BOOLEAN),
        (BOOLEAN, UNSIGNED) => (BOOLEAN, SIGNED),
        other => other,
    };
    Some(from * 5 + to)
}
