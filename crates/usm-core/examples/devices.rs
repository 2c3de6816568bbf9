//! Lists the backends and devices of this machine, and why a backend is missing.

use usm_core::Runtime;

fn main() {
    let runtime = Runtime::global();
    for status in runtime.status() {
        println!("{}: {}", status.backend, status.state);
    }
    for device in runtime.devices() {
        let info = device.info();
        println!(
            "{:16} {} ({}, {} MiB)",
            device.filter_string(),
            info.name,
            info.vendor,
            info.global_mem_bytes >> 20
        );
    }
}
