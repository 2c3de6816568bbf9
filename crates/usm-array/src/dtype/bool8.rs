//! A boolean element that survives any byte another library has written

use std::fmt;

/// One byte read as a boolean: zero is false, everything else is true.
///
/// Rust's `bool` may only ever hold the bytes 0 and 1; memory shared with other libraries can
/// hold any byte, and merely reading a 2 as `bool` would be undefined behaviour. So boolean
/// arrays are viewed through this type and converted on the way out.
///
/// ```
/// use usm_array::Bool8;
///
/// assert_eq!(Bool8::from(true).to_byte(), 1);
/// assert!(Bool8::from_byte(2).to_bool());
/// assert_eq!(Bool8::from_byte(2), Bool8::TRUE);
/// ```
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct Bool8(u8);

impl Bool8 {
    /// The byte 0.
    pub const FALSE: Self = Self(0);
    /// The byte 1.
    pub const TRUE: Self = Self(1);

    /// Takes a byte as it is in memory.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Self {
        Self(byte)
    }

    /// The byte as it is in memory, which need not be 0 or 1.
    #[must_use]
    pub const fn to_byte(self) -> u8 {
        self.0
    }

    /// True for every byte but zero.
    #[must_use]
    pub const fn to_bool(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool8 {
    fn from(value: bool) -> Self {
        Self(u8::from(value))
    }
}

impl From<Bool8> for bool {
    fn from(value: Bool8) -> Self {
        value.to_bool()
    }
}

// Two trues are equal whatever their bytes are.
impl PartialEq for Bool8 {
    fn eq(&self, other: &Self) -> bool {
        self.to_bool() == other.to_bool()
    }
}

impl Eq for Bool8 {}

impl fmt::Debug for Bool8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_bool(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_a_boolean() {
        for byte in 0..=u8::MAX {
            let value = Bool8::from_byte(byte);
            assert_eq!(value.to_bool(), byte != 0);
            assert_eq!(value.to_byte(), byte);
            assert_eq!(value == Bool8::TRUE, byte != 0);
        }
    }
}
