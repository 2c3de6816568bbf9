//! The one error of these commands: a text for the person at the terminal.

use std::fmt;

/// Why a command stopped, written for its reader; never a backtrace.
#[derive(Debug)]
pub(crate) struct Failure(String);

/// Result of a step of a command.
pub(crate) type Outcome<T> = Result<T, Failure>;

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<xshell::Error> for Failure {
    fn from(error: xshell::Error) -> Self {
        Self(error.to_string())
    }
}
