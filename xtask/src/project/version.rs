//! A Python version of three numbers.

use std::fmt;
use std::str::FromStr;

/// `major.minor.micro`, ordered as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    major: u32,
    minor: u32,
    micro: u32,
}

impl Version {
    /// The oldest Python that the wheel runs on: the buffer protocol is in its stable interface.
    pub(crate) const OLDEST: Self = Self { major: 3, minor: 11, micro: 0 };

    /// `3.12` of `3.12.1`: all releases of it have the same interface.
    pub(crate) fn series(self) -> String {
        format!("{}.{}", self.major, self.minor)
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || format!("`{text}` is not a version of three numbers");
        let mut numbers = text.split('.').map(|part| part.parse::<u32>().map_err(|_| bad()));
        let mut next = || numbers.next().ok_or_else(bad)?;
        let version = Self { major: next()?, minor: next()?, micro: next()? };
        if numbers.next().is_some() { Err(bad()) } else { Ok(version) }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        // The first release of a series is named like the series.
        if self.micro == 0 { Ok(()) } else { write!(f, ".{}", self.micro) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert!(version("3.9.18") < Version::OLDEST);
        assert!(version("3.10.99") < Version::OLDEST);
        assert!(version("2.7.18") < Version::OLDEST);
        assert!(version("3.11.0") >= Version::OLDEST);
        assert!(version("3.11.7") >= Version::OLDEST);
        assert!(version("4.0.0") >= Version::OLDEST);
        assert_eq!(version("3.12.1").to_string(), "3.12.1");
        assert_eq!(Version::OLDEST.to_string(), "3.11");
        assert_eq!(version("3.12.1").series(), "3.12");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "3", "3.11", "3.11.7.1", "3.11.x", "3..1", " 3.11.7", "-3.11.7"] {
            assert!(text.parse::<Version>().is_err(), "{text:?} was accepted");
        }
    }
}
