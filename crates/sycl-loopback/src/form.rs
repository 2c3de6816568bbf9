//! The forms of the library, one shared library each.

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
        for function in functions {
            forget(&mut bytes, function)?;
        }
        Self::make(|library| std::fs::write(library, &bytes))
    }
}

/// Makes a name unrecognisable wherever it stands, the symbol table included.
fn forget(bytes: &mut [u8], function: &str) -> io::Result<()> {
    let name = [function.as_bytes(), &[0]].concat();
    let mut found = false;
    let mut from = 0;
    // Few bytes are the first one of a name.
    while let Some(next) = bytes.get(from..).and_then(|rest| rest.iter().position(|byte| *byte == b'D')) {
        let at = from + next;
        if bytes.get(at..).is_some_and(|rest| rest.starts_with(&name)) {
            bytes[at] = b'_';
            found = true;
        }
        from = at + 1;
    }
    found.then_some(()).ok_or_else(|| io::Error::other(format!("there is no {function}")))
}
