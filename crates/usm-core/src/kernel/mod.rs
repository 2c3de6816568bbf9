//! Kernels from SPIR-V modules, OpenCL C source, PTX or CUDA C: built at run time, run with USM pointers and numbers.

mod argument;
mod bundle;
mod device_copyable;
mod info;
#[cfg(feature = "cuda")]
mod nvrtc;
mod range;
mod spirv;
mod submit;
mod text;

pub use argument::{ArgumentKind, KernelArgument};
pub use bundle::{Kernel, KernelBundle, KernelCode};
pub use device_copyable::DeviceCopyable;
pub use info::KernelInfo;
#[cfg(feature = "cuda")]
pub use nvrtc::Nvrtc;
pub use range::{ExecutionRange, NdRange, Range};
#[cfg(feature = "testing")]
pub(crate) use spirv::check as check_spirv;
