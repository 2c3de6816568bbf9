//! Gives the shared library the soname of the real one, so that the process recognises it as loaded.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The crate `sycl-023-loopback` sets it.
    println!("cargo::rustc-check-cfg=cfg(dpctl_023)");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libDPCTLSyclInterface.so");
    }
}
