//! The report in words: each place with its result, and the one command that helps.

use std::fmt::{self, Write as _};

use super::names::LIBRARY;
use super::{Outcome, Search, Tried};
use crate::packages::{CPU_DRIVER, RUNTIME};

/// How to get a runtime; the last line of every report that found none.
fn remedy() -> String {
    format!(
        "to get one, run `pip install {RUNTIME} {CPU_DRIVER}` in a virtual environment and activate it, or give the directory of an \
         installation as a root (USM_SYCL_ROOT), and start the program again"
    )
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found => formatter.write_str("found"),
            Self::Loaded => formatter.write_str("loaded"),
            Self::DoesNotExist => formatter.write_str("does not exist"),
            Self::NoLibrary => write!(formatter, "has no {LIBRARY}"),
            Self::Duplicate => formatter.write_str("the same file as above"),
            Self::RuntimeMissing { needs } => write!(
                formatter,
                "found, but {needs} is neither beside it nor in another root; `pip install --target` leaves it out: \
                 install dpctl into a virtual environment instead"
            ),
            Self::LoadFailed(reason) => write!(formatter, "cannot be loaded: {reason}"),
        }
    }
}

impl Tried {
    /// The path and the outcome, without the path that the loader repeats.
    #[must_use]
    pub fn in_one_line(&self) -> String {
        let path = self.path.display().to_string();
        let outcome = self.outcome.to_string().replace(&format!("{path}: "), "");
        format!("{path} {outcome}")
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}: {}", self.origin, self.path.display(), self.outcome)
    }
}

impl fmt::Display for Search {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for tried in &self.tried {
            writeln!(formatter, "{tried}")?;
        }
        match self.candidates.first() {
            None => write!(formatter, "no {LIBRARY} in these places; {}", remedy()),
            Some(first) => match first.driver() {
                Some(driver) => write!(formatter, "OpenCL CPU driver: {}", driver.display()),
                None => write!(formatter, "OpenCL CPU driver: none (`pip install {CPU_DRIVER}` adds it)"),
            },
        }
    }
}

/// The text of [`LoadError::NotFound`](crate::LoadError::NotFound). Its first line stands alone.
pub(crate) fn not_found(tried: &[Tried]) -> String {
    let mut text = String::from("no SYCL runtime that can be loaded was found\ntried in this order:\n");
    for place in tried {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {place}");
    }
    text.push_str(&remedy());
    text
}
