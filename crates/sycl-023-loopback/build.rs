//! Turns the sources of `sycl-loopback` into the form of dpctl 0.23, with the soname of the real library.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(dpctl_023)");
    println!("cargo::rustc-cfg=dpctl_023");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libDPCTLSyclInterface.so");
    }
}
