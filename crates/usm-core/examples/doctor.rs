//! Whether `usm` works on this machine, in plain words, or with all details: `cargo run -p usm-core --example doctor -- --verbose`.

use std::process::ExitCode;

use usm_core::Runtime;

fn main() -> ExitCode {
    let report = Runtime::global().doctor();
    match std::env::args().any(|argument| argument == "--verbose") {
        true => println!("{report}"),
        false => println!("{}", report.summary()),
    }
    if report.works() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
