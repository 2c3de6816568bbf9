//! Has the linker put the functions of small calls next to each other (`hot.ld`): spread over the module they are on 16 to 24 pages for
//! one call, whose addresses the processor has to look up.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=hot.ld");
    // The linkers of Rust and of GNU take scripts that add to their own; of others nobody knows.
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let is_chosen =
        env::var_os("RUSTC_LINKER").is_some() || flags.contains("linker=") || flags.contains("fuse-ld");
    let is_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    if is_linux && !is_chosen {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("hot.ld");
        println!("cargo::rustc-link-arg-cdylib=-Wl,--script={}", script.display());
    }
}
