//! The forms of the library, one shared library each.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use crate::library::{Loopback, built};

/// The version of dpctl whose C interface the library has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// dpctl 0.22.
    Dpctl022,
    /// dpctl 0.23: other symbols, another signature, other numbers. A program needs the dev-dependency `sycl-023-loopback`.
    Dpctl023,
}

impl Form {
    /// Every form.
    pub const ALL: [Self; 2] = [Self::Dpctl022, Self::Dpctl023];

    /// The shared library that cargo built in this form.
    pub fn library_path(self) -> PathBuf {
        built(match self {
            Self::Dpctl022 => "sycl_loopback",
            Self::Dpctl023 => "sycl_023_loopback",
        })
    }
}

impl Loopback {
    /// As [`new`](Self::new), which takes the form of 0.22.
    ///
    /// # Errors
    ///
    /// The library was not built, cannot be copied, or cannot be opened.
    pub fn in_form(form: Form) -> io::Result<Self> {
        Self::make(|library| std::fs::copy(form.library_path(), library).map(drop))
    }

    /// As [`in_form`](Self::in_form), without some of the functions: a library of another version.
    ///
    /// # Errors
    ///
    /// As for `in_form`, or there is no function of such a name.
    pub fn lacking(form: Form, functions: &[&str]) -> io::Result<Self> {
        let mut bytes = std::fs::read(form.library_path())?;
        forget(&mut bytes, functions)?;
        Self::make(|library| std::fs::write(library, &bytes))
    }
}

/// Makes names unrecognisable wherever they stand, the symbol table included.
fn forget(bytes: &mut [u8], functions: &[&str]) -> io::Result<()> {
    let names: Vec<_> = functions.iter().map(|name| [name.as_bytes(), &[0]].concat()).collect();
    let mut missing: BTreeSet<_> = functions.iter().copied().collect();
    for at in 0..bytes.len() {
        // Few bytes are the first one of a name.
        if bytes[at] != b'D' {
            continue;
        }
        if let Some(found) = names.iter().position(|name| bytes[at..].starts_with(name)) {
            // The letter before the last one keeps the order of the names, by which Windows searches for one.
            bytes[at + functions[found].len() - 1] -= 1;
            missing.remove(functions[found]);
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(io::Error::other(format!("there is none of {missing:?}"))) }
}
