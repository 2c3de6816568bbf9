//! How much a campaign of `cargo xtask verify` tries, and what it counted

use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write};

/// How much a test tries: the number in a variable of the environment, or `default` for a short run.
#[must_use]
pub fn number(variable: &str, default: usize) -> usize {
    env::var(variable).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

/// Adds a line, such as "100,000 schedules, no early free", to the file that `USM_TEST_FIGURES` names, if it names one. The page
/// that `cargo xtask verify` writes has the lines.
///
/// # Errors
/// The file cannot be opened or written.
pub fn figure(text: &str) -> io::Result<()> {
    let Some(path) = env::var_os("USM_TEST_FIGURES") else { return Ok(()) };
    // One line at a time, also where several processes tell theirs.
    OpenOptions::new().create(true).append(true).open(path)?.write_all(format!("{text}\n").as_bytes())
}
