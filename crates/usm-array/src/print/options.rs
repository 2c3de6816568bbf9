//! NumPy's print options

use std::borrow::Cow;

/// When a sign is written before numbers that are not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sign {
    /// Never.
    #[default]
    Minus,
    /// Always: `+`.
    Plus,
    /// A space where a sign would be.
    Space,
}

usm_memory::usm_core::texts!(Sign, "sign": Minus = "-", Plus = "+", Space = " ");

/// How many digits floating-point numbers have after the point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FloatMode {
    /// Exactly `precision`.
    Fixed,
    /// The fewest digits that identify the number in its type.
    Unique,
    /// As many as that, but at most `precision`.
    #[default]
    MaxPrec,
    /// As many as `MaxPrec` gives to the number that has most of them, for all numbers.
    MaxPrecEqual,
}

usm_memory::usm_core::texts!(FloatMode, "float mode": Fixed = "fixed", Unique = "unique", MaxPrec = "maxprec", MaxPrecEqual = "maxprec_equal");

/// How arrays are written, with NumPy's names and defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintOptions {
    /// Digits after the point, as `floatmode` understands it: 8.
    pub precision: usize,
    /// Arrays of more elements are summarised: 1000.
    pub threshold: usize,
    /// Elements at either end of each axis in a summary: 3. With 0, NumPy's columns may be wider: it measures all elements then, here
    /// as always those that are shown.
    pub edgeitems: usize,
    /// Columns of a line, which is broken between elements: 75.
    pub linewidth: usize,
    /// Never write exponents because numbers are small or very different: false.
    pub suppress: bool,
    /// Signs of numbers that are not negative.
    pub sign: Sign,
    /// The word for no number: `nan`.
    pub nanstr: Cow<'static, str>,
    /// Infinity: `inf`.
    pub infstr: Cow<'static, str>,
    /// Digits of floating-point numbers.
    pub floatmode: FloatMode,
}

impl Default for PrintOptions {
    fn default() -> Self {
        Self {
            precision: 8,
            threshold: 1000,
            edgeitems: 3,
            linewidth: 75,
            suppress: false,
            sign: Sign::Minus,
            nanstr: Cow::Borrowed("nan"),
            infstr: Cow::Borrowed("inf"),
            floatmode: FloatMode::MaxPrec,
        }
    }
}
