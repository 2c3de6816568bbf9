//! The simulated hardware: the facts of each device.

use std::ffi::c_int;

/// The version of the interface: 1000 × major + 10 × minor.
pub(crate) const DRIVER_VERSION: c_int = 12_040;
/// `CU_DEVICE_CPU`: the host, as a place of managed memory.
pub(crate) const CPU: c_int = -1;
/// `CU_DEVICE_INVALID`.
pub(crate) const NO_DEVICE: c_int = -2;
/// The most threads of a block.
pub(crate) const MAX_BLOCK_THREADS: u32 = 1024;

pub(crate) const NAME: &str = "CUDA loopback";

/// The bus of the first device.
const FIRST_BUS: usize = 0x17;

pub(crate) fn pci_bus_id(device: usize) -> String {
    format!("0000:{:02X}:00.0", FIRST_BUS + device)
}

/// The value of a `CUdevice_attribute`; `None` for an attribute that this driver does not know.
pub(crate) fn attribute(device: usize, attribute: c_int) -> Option<c_int> {
    Some(match attribute {
        1..=3 => 1024,                                   // threads of a block, in all, in x, and in y
        4 => 64,                                         // in z
        5 => c_int::MAX,                                 // blocks of a grid in x
        6 | 7 => 65_535,                                 // in y and z
        8 => 48 << 10,                                   // shared memory of a block
        9 => 64 << 10,                                   // constant memory
        10 => 32,                                        // threads of a warp
        11 => c_int::MAX,                                // pitch
        12 => 65_536,                                    // registers of a block
        13 => 1_980_000,                                 // clock, in kHz
        14 => 512,                                       // alignment of textures
        16 => 132,                                       // multiprocessors
        17 => 0,                                         // limit of the run time of kernels
        18 => 0,                                         // integrated
        19 => 1,                                         // maps host memory
        20 => 0,                                         // compute mode: default
        31 => 1,                                         // concurrent kernels
        32 => 0,                                         // ECC
        33 => c_int::try_from(FIRST_BUS + device).ok()?, // PCI bus
        34 => 0,                                         // PCI device
        35 => 0,                                         // TCC
        36 => 2_619_000,                                 // clock of the memory, in kHz
        37 => 5120,                                      // width of the memory's bus, in bits
        38 => 50 << 20,                                  // L2 cache
        39 => 2048,                                      // threads of a multiprocessor
        40 => 3,                                         // copy engines
        41 => 1,                                         // unified addressing
        50 => 0,                                         // PCI domain
        75 => 9,                                         // compute capability, major
        76 => 0,                                         // and minor
        78 => 1,                                         // priorities of streams
        81 => 228 << 10,                                 // shared memory of a multiprocessor
        83 => 1,                                         // managed memory
        84 => 0,                                         // several GPUs on a board
        86 => 0,  // atomic operations of host and device on the same memory
        88 => 0,  // access to pageable memory
        89 => 1,  // host and device may use managed memory at once
        91 => 1,  // host pointers of registered memory
        115 => 1, // memory pools
        119 => 1, // handles of pools: file descriptors
        _ => return None,
    })
}
