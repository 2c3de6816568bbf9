//! The entries of a dictionary, each read once, types only: the numbers are checked in `usm_array`.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString, PyTuple};
use usm_array::UsmArrayInterface;

use crate::errors::{in_place_of, type_name, wrong_type};
use crate::number::{index, index_sequence, item, plain, sequence};

/// The parsed dictionary and the object that names the context.
pub(super) struct Entries<'py> {
    /// Everything that is a number or text. Without an entry `data` the address is 0.
    pub(super) interface: UsmArrayInterface,
    pub(super) has_data: bool,
    pub(super) syclobj: Bound<'py, PyAny>,
}

pub(super) fn parse<'py>(dict: &Bound<'py, PyDict>) -> PyResult<Entries<'py>> {
    let py = dict.py();
    let required = |key: &Bound<'py, PyString>| required(dict, key);
    let version = version(&required(intern!(py, "version"))?)?;
    let malformed = in_place_of::<PyTypeError>(py, PyValueError::new_err); // as in dpctl
    let typestr = typestr(&required(intern!(py, "typestr"))?).map_err(&malformed)?;
    let shape = index_sequence("shape", &required(intern!(py, "shape"))?).map_err(&malformed)?;
    let strides = match dict.get_item(intern!(py, "strides"))? {
        Some(strides) if !strides.is_none() => Some(index_sequence("strides", &strides).map_err(&malformed)?),
        _ => None,
    };
    let offset = match dict.get_item(intern!(py, "offset"))? {
        Some(offset) => index("offset", &offset)?,
        None => 0,
    };
    let data = dict.get_item(intern!(py, "data"))?;
    let has_data = data.is_some();
    let (address, read_only) = data.map_or(Ok((0, false)), |pair| data_pair(&pair)).map_err(&malformed)?;
    let syclobj = required(intern!(py, "syclobj"))?;
    let interface = UsmArrayInterface { shape, typestr, address, read_only, strides, offset, version };
    Ok(Entries { interface, has_data, syclobj })
}

/// An entry that has to be there.
pub(super) fn required<'py>(
    dict: &Bound<'py, PyDict>,
    key: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    dict.get_item(key)?.ok_or_else(|| value_error!("{key}: the entry is missing, but it is required"))
}

// Exactly an int: `True` and `1.0` equal 1, but a producer that writes them does not know what it publishes.
fn version(object: &Bound<'_, PyAny>) -> PyResult<i64> {
    if object.is_exact_instance_of::<PyInt>() {
        index("version", object)
    } else {
        Err(wrong_type("version", object, "is the integer 1"))
    }
}

pub(super) fn typestr(object: &Bound<'_, PyAny>) -> PyResult<String> {
    match object.cast::<PyString>() {
        Ok(text) => Ok(text.to_string_lossy().into_owned()),
        Err(_) => Err(wrong_type("typestr", object, "is a string such as \"|f8\"")),
    }
}

pub(super) fn data_pair(object: &Bound<'_, PyAny>) -> PyResult<(u64, bool)> {
    if let Ok(tuple) = object.cast::<PyTuple>()
        && tuple.len() == 2
    {
        return data(&*tuple.get_borrowed_item(0)?, &*tuple.get_borrowed_item(1)?);
    }
    let items = sequence("data", object)?;
    let [address, flag] = items.as_slice() else {
        return Err(value_error!(
            "data: found {} items, allowed is a pair of a pointer and a read-only flag",
            items.len()
        ));
    };
    data(address, flag)
}

fn data(address: &Bound<'_, PyAny>, flag: &Bound<'_, PyAny>) -> PyResult<(u64, bool)> {
    let address = match plain(address) {
        Some(address) => address,
        None => index(&item("data", 0), address)?,
    };
    // NumPy's bool is not Python's.
    let is_bool = flag.is_instance_of::<PyBool>() || matches!(type_name(flag).as_str(), "bool" | "bool_");
    if !is_bool {
        return Err(wrong_type("data[1]", flag, "is a bool: True for read-only memory"));
    }
    Ok((address, flag.is_truthy()?))
}
