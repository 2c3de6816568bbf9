//! Numbers of bytes in messages

use std::fmt;

/// A number of bytes for people: in the largest unit that it fills, with one decimal, rounded down. The exact number follows where
/// the decimal does not say it.
///
/// ```
/// use usm_core::ByteCount;
///
/// let texts = [512, 40 << 30, 25_276_063_744].map(|count| ByteCount(count).to_string());
/// assert_eq!(texts, ["512 bytes", "40.0 GiB", "23.5 GiB (25276063744 bytes)"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(pub u64);

impl ByteCount {
    /// The number in its unit, without the exact number, such as `"23.5 GiB"`.
    #[must_use]
    pub fn rounded(self) -> String {
        let Self(count) = self;
        let units = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        match units.into_iter().find(|(unit, _)| count >= *unit) {
            Some((unit, name)) => format!("{}.{} {name}", count / unit, tenths(count, unit)),
            None if count == 1 => "1 byte".to_owned(),
            None => format!("{count} bytes"),
        }
    }
}

/// Tenths of the unit, beside whole units. No overflow: the rest is below 2^40.
fn tenths(count: u64, unit: u64) -> u64 {
    count % unit * 10 / unit
}

impl From<usize> for ByteCount {
    fn from(count: usize) -> Self {
        Self(count as u64) // no target has more than 64 bits
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count) = *self;
        let units = [1_u64 << 40, 1 << 30, 1 << 20, 1 << 10];
        let unit = units.into_iter().find(|unit| count >= *unit).unwrap_or(1);
        write!(f, "{}", self.rounded())?;
        match count % unit * 10 % unit == 0 {
            true => Ok(()),
            false => write!(f, " ({count} bytes)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ByteCount;

    #[test]
    fn numbers_have_one_decimal_and_are_exact() {
        let texts = [0, 1, 1023, 1024, 1536, (4 << 20) + 1, 80_000_000_000_000, u64::MAX]
            .map(|count| ByteCount(count).to_string());
        let expected = [
            "0 bytes",
            "1 byte",
            "1023 bytes",
            "1.0 KiB",
            "1.5 KiB",
            "4.0 MiB (4194305 bytes)",
            "72.7 TiB (80000000000000 bytes)",
            "16777215.9 TiB (18446744073709551615 bytes)",
        ];
        assert_eq!(texts, expected);
    }
}
