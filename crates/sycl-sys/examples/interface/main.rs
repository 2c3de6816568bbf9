//! Compares the table of this crate with another version of the C interface: a folder of headers, or a library.
//!
//! `cargo run -p sycl-sys --example interface PATH`. It fails if the table does not fit. CONTRIBUTING.md says when to run it.

mod comparison;

use std::path::PathBuf;
use std::process::ExitCode;

use comparison::{Comparison, Interface};

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: interface PATH, a folder of headers or a library");
        return ExitCode::FAILURE;
    };
    let comparison = match Interface::read(&path) {
        Ok(interface) => Comparison::new(&interface),
        Err(reason) => {
            eprintln!("{}: {reason}", path.display());
            return ExitCode::FAILURE;
        }
    };
    println!("{}: {comparison}", path.display());
    if comparison.fits() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
