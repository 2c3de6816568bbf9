//! DLPack 1.3: arrays handed to and taken from other libraries as C structs
//!
//! Nothing of Python is in here: whoever talks to Python puts a [`RawTensor`] into a capsule, or takes one out of it.
//! The structs are those of the [DLPack specification](https://dmlc.github.io/dlpack/latest/c_api.html).
//!
//! ```
//! use usm_array::dlpack::{DlpackExport, DlpackImport};
//! use usm_array::usm_core::{Runtime, UsmKind};
//! use usm_array::UsmArray;
//!
//! let runtime = Runtime::global();
//! let queue = runtime.default_queue(runtime.host_device())?;
//! let array = UsmArray::from_slice(&queue, UsmKind::Shared, &[3], &[1.0_f32, 2.0, 3.0])?;
//! let tensor = array.to_dlpack(&DlpackExport::default())?;
//! // SAFETY: the tensor is one of ours, and nobody writes its memory meanwhile.
//! let again = unsafe { UsmArray::from_dlpack(tensor, &DlpackImport { queue: Some(&queue), ..Default::default() }) }?;
//! assert_eq!(again.address(), array.address());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | job |
//! |---|---|
//! | `abi.rs` | the C structs |
//! | `codes.rs` | device types and dtype codes, with their names |
//! | `managed.rs` | a tensor that is owned until its deleter has run |
//! | `dtype.rs` | dtypes as DLPack writes them |
//! | `device.rs` | which device an array is on, in the numbers of DLPack |
//! | `export.rs` | an array as a tensor |
//! | `allocate.rs` | a new tensor like another one |
//! | `describe.rs` | every check on the fields of a foreign tensor |
//! | `import.rs` | a tensor as an array |
//! | `error.rs` | the refusals, each starting with the field it is about |

mod abi;
mod allocate;
mod codes;
mod describe;
mod device;
mod dtype;
mod error;
mod export;
mod import;
mod managed;

pub use abi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackExchangeAPI,
    DLPackExchangeAPIHeader, DLPackVersion, DLTensor, SetError,
};
pub use codes::{DLDataTypeCode, DLDeviceType};
pub use device::{device_with_number, number_of_device};
pub use error::DlpackError;
pub use export::{DlpackExport, TensorForm};
pub use import::DlpackImport;
pub use managed::{ManagedTensor, RawTensor};

/// The version of the specification that exported tensors follow. Tensors of every minor version are taken.
pub const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 3 };

/// Flag of a versioned tensor: its memory must not be written.
pub const FLAG_READ_ONLY: u64 = 1;

/// Flag of a versioned tensor: its memory is a copy that nobody else uses.
pub const FLAG_IS_COPIED: u64 = 1 << 1;

/// Flag of a versioned tensor: elements smaller than a byte fill one each. Arrays have no such elements.
pub const FLAG_IS_SUBBYTE_TYPE_PADDED: u64 = 1 << 2;
