//! Tensors of other libraries by the C exchange API of their types, without calls of Python methods.

use std::ffi::{CStr, c_void};
use std::ptr::{self, NonNull};

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use usm_array::dlpack::{
    CudaStream, DLDataTypeCode, DLDevice, DLDeviceType, DLPackExchangeAPI, DLPackExchangeAPIHeader,
    ManagedTensor, RawTensor, VERSION,
};

use crate::attribute;
use crate::errors::is_refusal;

pub(super) const NAME: &CStr = c"dlpack_exchange_api";

/// The table of functions of a type of tensors.
#[derive(Clone, Copy)]
pub(super) struct Exchange {
    /// Invariant T1: a table of our major version, which lives as long as the process, as DLPack demands.
    table: NonNull<DLPackExchangeAPI>,
}

/// A tensor, and the stream that work on its memory may be pending on.
pub(super) struct Exported {
    pub(super) tensor: ManagedTensor,
    pub(super) stream: Option<CudaStream>,
}

impl Exchange {
    /// The table of an object's type. `None` as well for an object with a gradient, which its method refuses to hand out, but not its table.
    /// An error for a table that leads to one that is not older.
    pub(super) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let py = object.py();
        let class = object.get_type();
        let Some(capsule) = attribute::optional(class.as_any(), intern!(py, "__dlpack_c_exchange_api__"))?
        else {
            return Ok(None);
        };
        let Ok(capsule) = capsule.cast_into::<PyCapsule>() else { return Ok(None) };
        if !capsule.is_valid_checked(Some(NAME)) {
            return Ok(None);
        }
        let mut header = capsule.pointer_checked(Some(NAME))?.as_ptr().cast::<DLPackExchangeAPIHeader>();
        // SAFETY: T1: by the capsule's name a table, each version of which begins with a header, or null. `prev_api` leads to older ones.
        while let Some(found) = unsafe { header.as_ref() } {
            if found.version.major == VERSION.major {
                let has_gradient = attribute::optional(object, intern!(py, "requires_grad"))?;
                let is_plain = match has_gradient {
                    Some(flag) => !flag.is_truthy()?,
                    None => true,
                };
                return Ok(NonNull::new(header.cast()).filter(|_| is_plain).map(|table| Self { table }));
            }
            header = found.prev_api;
            // SAFETY: T1, as above.
            if let Some(next) = unsafe { header.as_ref() }
                && next.version >= found.version
            {
                // Such tables may lead in a circle.
                let [next, found] = [next, found].map(|header| header.version);
                return Err(value_error!(
                    "__dlpack_c_exchange_api__: found prev_api of version {}.{} in a table of version {}.{}, allowed is an older one",
                    next.major,
                    next.minor,
                    found.major,
                    found.minor
                ));
            }
        }
        Ok(None)
    }

    /// The tensor of an object of the type, and its stream. `None` where the method `__dlpack__` has more to say: why the object
    /// cannot be handed out, whether complex elements are to be conjugated, or how other devices than the host's and CUDA's are ordered.
    pub(super) fn tensor(self, object: &Bound<'_, PyAny>) -> PyResult<Option<Exported>> {
        // SAFETY: T1.
        let table = unsafe { self.table.as_ref() };
        let (Some(export), Some(stream_of)) =
            (table.managed_tensor_from_py_object_no_sync, table.current_work_stream)
        else {
            return Ok(None);
        };
        let mut tensor = ptr::null_mut();
        // SAFETY: an object of the type that has the table (T1), and a pointer to be written; the interpreter is attached.
        let status = unsafe { export(object.as_ptr().cast::<c_void>(), &raw mut tensor) };
        let Some(tensor) = NonNull::new(tensor).filter(|_| status == 0) else {
            return match PyErr::take(object.py()) {
                Some(error) if !is_refusal(&error, object.py()) => Err(error),
                _ => Ok(None),
            };
        };
        // SAFETY: promise 1 of `from_raw`: the function gave it to us. 2. and 3. TB1.
        let tensor = unsafe { ManagedTensor::from_raw(RawTensor::Versioned(tensor)) };
        let Ok(fields) = tensor.tensor() else { return Ok(None) };
        let DLDevice { device_type, device_id } = fields.device;
        if fields.dtype.code == DLDataTypeCode::COMPLEX
            || !(device_type == DLDeviceType::CPU || device_type.is_cuda())
        {
            return Ok(None);
        }
        if !device_type.has_streams() {
            return Ok(Some(Exported { tensor, stream: None }));
        }
        let mut stream = ptr::null_mut();
        // SAFETY: T1; a pointer to be written; the interpreter is attached.
        match unsafe { stream_of(device_type, device_id, &raw mut stream) } {
            // SAFETY: TB1: the stream of the producer is live.
            0 => Ok(Some(Exported { tensor, stream: Some(unsafe { CudaStream::new(stream.addr()) }) })),
            _ => Err(PyErr::fetch(object.py())),
        }
    }
}
