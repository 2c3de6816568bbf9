//! Kernels from SPIR-V modules, OpenCL C source or PTX: built at run time, run with USM pointers and numbers.

mod argument;
mod bundle;
mod info;
mod range;
mod spirv;
mod submit;

pub use argument::{ArgumentKind, KernelArgument};
pub use bundle::{Kernel, KernelBundle, KernelCode};
pub use info::KernelInfo;
pub use range::{ExecutionRange, NdRange, Range};
