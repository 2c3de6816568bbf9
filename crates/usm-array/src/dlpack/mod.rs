//! DLPack 1.3: arrays handed to and taken from other libraries as C structs
//!
//! This module knows no Python: a binding puts a [`RawTensor`] into a capsule, or takes one out of it.
//! The structs come from the [DLPack specification](https://dmlc.github.io/dlpack/latest/c_api.html).
//!
//! ```
//! use usm_array::dlpack::{DlpackExport, DlpackImport};
//! use usm_array::{UsmArray, usm_core::{Runtime, UsmKind}};
//!
//! let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
//! let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[3], &[1.0_f32, 2.0, 3.0])?;
//! let tensor = array.to_dlpack(&DlpackExport::default())?;
//! // SAFETY: the tensor is one of ours, and no code writes its memory meanwhile.
//! let again = unsafe { UsmArray::from_dlpack(tensor, &DlpackImport { queue: Some(&queue), ..Default::default() }) }?;
//! assert_eq!(again.address(), array.address());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | job |
//! |---|---|
//! | `managed.rs` | a tensor that is owned until its deleter has run |
//! | `dtype.rs` | dtypes as DLPack writes them |
//! | `device.rs` | which device an array is on, in the numbers of DLPack |
//! | `consumer.rs` | who uses the memory of a tensor, on which devices, and what that work comes after |
//! | `export.rs` | an array as a tensor |
//! | `allocate.rs` | a new tensor like another one |
//! | `describe.rs` | every check on the fields of an external tensor |
//! | `import.rs` | a tensor as an array |
//! | `request.rs` | what a consumer asks the producer of a tensor for |
//!
//! The C structs are in the module `abi` below, the refusals in `error/dlpack.rs`.

mod allocate;
mod consumer;
mod describe;
mod device;
mod dtype;
mod export;
mod import;
mod managed;
mod request;

pub use consumer::{Consumer, CudaStream, UsableDevices, current_work_stream};
pub use device::{device_with_number, number_of_device};
pub use export::{DlpackExport, TensorForm};
pub use import::DlpackImport;
pub use managed::{ManagedTensor, RawTensor};
pub use request::{DlpackPlace, DlpackRequest};

pub use crate::abi::{
    DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned,
    DLPackExchangeAPI, DLPackExchangeAPIHeader, DLPackVersion, DLTensor, FLAG_IS_COPIED,
    FLAG_IS_SUBBYTE_TYPE_PADDED, FLAG_READ_ONLY, SetError, VERSION,
};
pub use crate::error::DlpackError;
