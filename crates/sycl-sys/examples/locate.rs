//! Prints where the SYCL C interface was looked for, loads it, and lists the devices with raw calls.
//!
//! `cargo run -p sycl-sys --example locate [root…]`

use std::error::Error;
use std::ffi::{CStr, c_char, c_int};
use std::process::ExitCode;

use sycl_sys::locate::{SearchOptions, search};
use sycl_sys::{Api, DPCTLSyclBackendType, DPCTLSyclDeviceRef, DPCTLSyclDeviceType};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let options = std::env::args_os().skip(1).fold(SearchOptions::new(), SearchOptions::root);
    println!("{}\n", search(&options));

    // SAFETY: 1. No other thread was started. 2. The user of the example chose the roots.
    let loaded = unsafe { sycl_sys::load(&options) }?;
    println!("loaded {}, the C interface of {}", loaded.library.display(), loaded.api.form());
    for note in &loaded.notes {
        println!("note: {note}");
    }
    list_devices(&loaded.api)
}

fn list_devices(api: &Api) -> Result<(), Box<dyn Error>> {
    let everything = DPCTLSyclBackendType::ALL.0 | DPCTLSyclDeviceType::ALL.0;
    // SAFETY: takes no pointer.
    let devices = unsafe { (api.DPCTLDeviceMgr_GetDevices)(c_int::try_from(everything)?) };
    if devices.is_null() {
        return Err("the runtime could not list the devices".into());
    }
    // SAFETY: the vector is live until it is deleted below.
    let count = unsafe { (api.DPCTLDeviceVector_Size)(devices) };
    println!("{count} devices");
    for index in 0..count {
        // SAFETY: the vector is live, the index is in range.
        let device = unsafe { (api.DPCTLDeviceVector_GetAt)(devices, index) };
        if !device.is_null() {
            print_device(api, device);
            // SAFETY: `GetAt` gave a handle of our own, used for the last time.
            unsafe { (api.DPCTLDevice_Delete)(device) };
        }
    }
    // SAFETY: the vector came from `GetDevices` and is used for the last time.
    unsafe { (api.DPCTLDeviceVector_Delete)(devices) };
    Ok(())
}

fn print_device(api: &Api, device: DPCTLSyclDeviceRef) {
    // SAFETY: the caller passes a live device.
    let backend = unsafe { (api.DPCTLDevice_GetBackend)(device) };
    // SAFETY: the caller passes a live device.
    let device_type = unsafe { (api.DPCTLDevice_GetDeviceType)(device) };
    // SAFETY: the caller passes a live device.
    let number = unsafe { (api.DPCTLDeviceMgr_GetRelativeId)(device) };
    // SAFETY: the caller passes a live device.
    let name = take_string(api, unsafe { (api.DPCTLDevice_GetName)(device) });
    let driver = api.DPCTLDevice_GetDriverVersion.map_or(std::ptr::null(), |get| {
        // SAFETY: the caller passes a live device.
        unsafe { get(device) }
    });
    let driver = take_string(api, driver);
    let backend = match backend {
        DPCTLSyclBackendType::OPENCL => "opencl",
        DPCTLSyclBackendType::LEVEL_ZERO => "level_zero",
        DPCTLSyclBackendType::CUDA => "cuda",
        DPCTLSyclBackendType::HIP => "hip",
        _ => "unknown",
    };
    let device_type = match device_type {
        DPCTLSyclDeviceType::CPU => "cpu",
        DPCTLSyclDeviceType::GPU => "gpu",
        DPCTLSyclDeviceType::ACCELERATOR => "accelerator",
        _ => "unknown",
    };
    println!("{backend}:{device_type}:{number}  {name} (driver {driver})");
}

/// The text of a string of the interface, which is deleted.
fn take_string(api: &Api, string: *const c_char) -> String {
    if string.is_null() {
        return String::from("?");
    }
    // SAFETY: the interface returned a zero-terminated string, live until it is deleted below.
    let text = unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned();
    // SAFETY: the string came from the interface and is used for the last time.
    unsafe { (api.DPCTLCString_Delete)(string) };
    text
}
