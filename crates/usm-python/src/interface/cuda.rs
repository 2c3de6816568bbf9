//! `__cuda_array_interface__`, version 3: dictionaries in and out.

use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use usm_array::{CudaArrayInterface, UsmArray};

use super::import::Producer;
use super::keys;
use crate::attribute;
use crate::builtin::is_builtin;
use crate::called;
use crate::errors::{OrRaise, type_name, wrong_type};
use crate::number::{index, index_sequence, sequence, shown};
use crate::sycl::runtime;

const INTERFACE: &str = "__cuda_array_interface__";

/// The dictionary of an array, or `None` for memory of other devices than CUDA's.
pub(crate) fn export<'py>(py: Python<'py>, array: &UsmArray) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(found) = py.detach(|| array.cuda_interface()).or_raise()? else { return Ok(None) };
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "shape"), PyTuple::new(py, found.shape)?)?;
    dict.set_item(intern!(py, "typestr"), found.typestr)?;
    dict.set_item(intern!(py, "data"), (found.address, found.read_only))?;
    let strides = found.strides_bytes.map(|strides| PyTuple::new(py, strides)).transpose()?;
    dict.set_item(intern!(py, "strides"), strides)?;
    dict.set_item(intern!(py, "stream"), found.stream)?;
    dict.set_item(intern!(py, "version"), found.version)?;
    Ok(Some(dict))
}

/// Whether an object with a buffer is an array of a GPU, which refuses the buffer only when it is asked for it, as CuPy's.
pub(crate) fn is_behind_buffer(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    // The newest type without the interface: in most programs NumPy's. A static type lives as long as the process.
    static PLAIN: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(std::ptr::null_mut());
    let kind = object.get_type_ptr();
    if PLAIN.load(Ordering::Relaxed) == kind || is_builtin(object) {
        return Ok(false);
    }
    let class = object.get_type();
    let has_interface = attribute::optional(class.as_any(), intern!(object.py(), INTERFACE))?.is_some();
    // SAFETY: PY1: the type of a live object.
    if !has_interface && unsafe { ffi::PyType_GetFlags(kind) } & ffi::Py_TPFLAGS_HEAPTYPE == 0 {
        PLAIN.store(kind, Ordering::Relaxed);
    }
    Ok(has_interface)
}

/// The object's interface, or `None` when it has none.
pub(crate) fn interface_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let py = object.py();
    let found = called::python(py, || attribute::optional(object, intern!(py, INTERFACE)))?;
    let dict = found.map(|found| {
        found.cast_into::<PyDict>().map_err(|error| wrong_type(INTERFACE, &error.into_inner(), "is a dict"))
    });
    dict.transpose()
}

/// An array over the memory of an object with that dictionary, after the work of its stream.
pub(crate) fn import(object: &Bound<'_, PyAny>, dict: &Bound<'_, PyDict>) -> PyResult<UsmArray> {
    let (interface, runtime) = (parse(dict)?, runtime::get(object.py())?);
    // A look-up, and an event at most, which is sooner done than the interpreter is given up.
    // SAFETY: TB1: the producer keeps the memory, and the stream is live.
    unsafe { UsmArray::import_cuda(interface, runtime, Arc::new(Producer::of(object))) }.or_raise()
}

/// The entries, each read once.
fn parse<'py>(dict: &Bound<'py, PyDict>) -> PyResult<CudaArrayInterface> {
    let py = dict.py();
    let entry =
        |key: &Bound<'py, PyString>| Ok::<_, PyErr>(dict.get_item(key)?.filter(|entry| !entry.is_none()));
    let version = index("version", &keys::required(dict, intern!(py, "version"))?)?;
    let typestr = keys::typestr(&keys::required(dict, intern!(py, "typestr"))?)?;
    let shape = index_sequence("shape", &keys::required(dict, intern!(py, "shape"))?)?;
    let strides = entry(intern!(py, "strides"))?;
    let strides_bytes = strides.map(|strides| index_sequence("strides", &strides)).transpose()?;
    let (address, read_only) = keys::data_pair(&keys::required(dict, intern!(py, "data"))?)?;
    if let Some(mask) = entry(intern!(py, "mask"))? {
        return Err(value_error!(
            "mask: found {}, allowed is None: masks are not supported",
            type_name(&mask)
        ));
    }
    if let Some(descr) = entry(intern!(py, "descr"))? {
        check_descr(&descr, &typestr)?;
    }
    let stream = entry(intern!(py, "stream"))?.map(|stream| index("stream", &stream)).transpose()?;
    Ok(CudaArrayInterface { shape, typestr, address, read_only, strides_bytes, version, stream })
}

/// The fields of an element: one without a name, of the same type.
fn check_descr(descr: &Bound<'_, PyAny>, typestr: &str) -> PyResult<()> {
    let fields = sequence("descr", descr)?;
    let is_plain = match fields.as_slice() {
        [field] => {
            let parts = sequence("descr[0]", field)?;
            let of_field = parts.get(1).and_then(|part| part.extract::<String>().ok());
            of_field.is_some_and(|found| {
                found.trim_start_matches(['<', '|', '=']) == typestr.trim_start_matches(['<', '|', '='])
            })
        }
        _ => false,
    };
    if is_plain {
        return Ok(());
    }
    Err(value_error!("descr: found {}, allowed is one field of the typestr {typestr:?}", shown(descr)?))
}
