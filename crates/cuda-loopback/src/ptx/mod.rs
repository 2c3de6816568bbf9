//! PTX, the assembly language of NVIDIA's GPUs, by an interpreter.
//!
//! The language is that of NVIDIA's manual "Parallel Thread Execution ISA". Supported is what LLVM's compiler makes of kernels in
//! OpenCL C, and what is written by hand in this style: no calls, no textures, no asynchronous copies, no tensor instructions. A module
//! that needs more is refused, with the line and the name of the instruction.
//!
//! | module | job |
//! |---|---|
//! | `types`, `float` | types and values in registers; rounding |
//! | `alu`, `convert` | a function for each operation and type; conversions |
//! | `instruction` | instructions as they run, kernels |
//! | `lexer`, `parser` | words of the text; a position in it |
//! | `module`, `decode` | directives; instructions of the text |
//! | `run` | blocks, threads, warps and barriers |

mod alu;
mod convert;
mod decode;
mod float;
mod instruction;
mod lexer;
mod module;
mod parser;
mod run;
#[cfg(test)]
mod tests;
mod types;

pub(crate) use instruction::Kernel;
pub(crate) use module::Module;
pub(crate) use run::{Fault, GlobalMemory, Grid};
