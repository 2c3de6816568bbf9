//! How elements get from one side to the other: their sizes, and of casts which dtypes they are

use crate::dtype::{Class, Dtype, Special};

/// The elements of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elements {
    pub(crate) from_bytes: usize,
    pub(crate) item_bytes: usize,
    /// The pair of dtypes as `kernels/src/convert.h` numbers it; `None` where bits stay as they are.
    pub(super) pair: Option<u32>,
}

// The classes of dtypes in `kernels/src/convert.h`.
const BOOLEAN: u32 = 0;
const SIGNED: u32 = 1;
const UNSIGNED: u32 = 2;
const FLOAT: u32 = 3;
const COMPLEX: u32 = 4;

// Pairs with a narrow dtype, also there: the format of 8 bits is above the lowest byte.
const FROM_NARROW: u32 = 25;
const TO_NARROW: u32 = 26;
const BOTH_NARROW: u32 = 27;

/// `None` for narrow dtypes.
fn class(dtype: Dtype) -> Option<u32> {
    match dtype.class() {
        Class::Bool => Some(BOOLEAN),
        Class::Signed => Some(SIGNED),
        Class::Unsigned => Some(UNSIGNED),
        Class::Real => Some(FLOAT),
        Class::Complex => Some(COMPLEX),
        Class::Narrow => None,
    }
}

impl Elements {
    /// From one dtype to another, or to the same one; `None` where no kernel casts the one to the other. Two casts by way of `float32`
    /// do it then.
    pub(crate) fn of(src: Dtype, dst: Dtype) -> Option<Self> {
        let (from_bytes, item_bytes) = (src.itemsize_bytes(), dst.itemsize_bytes());
        let pair = if src == dst { None } else { Some(pair(src, dst)?) };
        Some(Self { from_bytes, item_bytes, pair: pair.flatten() })
    }

    /// Whether elements are moved as they are.
    pub(crate) const fn keeps_bits(self) -> bool {
        self.pair.is_none()
    }

    /// Whether they are cast from or to a narrow dtype.
    pub(super) const fn is_narrow(self) -> bool {
        matches!(self.pair, Some(pair) if pair & 0xff >= FROM_NARROW)
    }

    /// Of one dtype, with so many bytes.
    pub(crate) const fn of_size(item_bytes: usize) -> Self {
        Self { from_bytes: item_bytes, item_bytes, pair: None }
    }
}

/// The number of a cast between two dtypes, `None` where it keeps the bits. Those that do the same to bits have one number.
fn pair(src: Dtype, dst: Dtype) -> Option<Option<u32>> {
    if src.is_narrow() || dst.is_narrow() {
        return narrow_pair(src, dst).map(Some);
    }
    let (from_bytes, item_bytes) = (src.itemsize_bytes(), dst.itemsize_bytes());
    let is_integer = |class| class == SIGNED || class == UNSIGNED;
    let (from, to) = match (class(src)?, class(dst)?) {
        (from, to) if is_integer(from) && is_integer(to) && from_bytes == item_bytes => return Some(None),
        // The sign only matters to what gets longer.
        (from, to) if is_integer(from) && is_integer(to) => {
            (if item_bytes < from_bytes { SIGNED } else { from }, SIGNED)
        }
        (UNSIGNED, BOOLEAN) => (SIGNED, BOOLEAN),
        (BOOLEAN, UNSIGNED) => (BOOLEAN, SIGNED),
        other => other,
    };
    Some(Some(from * 5 + to))
}

/// The number of a cast from or to a narrow dtype.
fn narrow_pair(src: Dtype, dst: Dtype) -> Option<u32> {
    let is_float = |dtype| matches!(dtype, Dtype::F16 | Dtype::F32);
    let number = match (src.is_narrow(), dst.is_narrow()) {
        (true, false) if is_float(dst) => FROM_NARROW,
        (false, true) if is_float(src) => TO_NARROW,
        (true, true) if src.itemsize_bytes() != dst.itemsize_bytes() => BOTH_NARROW,
        _ => return None,
    };
    let format = src.format().or(dst.format()).map_or(0, |format| {
        let special = match format.special {
            Special::Ieee => 0,
            Special::Finite => 1,
            Special::UnsignedZero => 2,
        };
        format.fraction | (format.bias << 4) | (special << 12)
    });
    Some(number | (format << 8))
}
