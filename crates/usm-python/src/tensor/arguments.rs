//! Arguments of the array functions: shapes, dtypes, orders, indices.

use std::str::FromStr;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyString, PyTuple, PyType};
use usm_array::num_complex::Complex64;
use usm_array::usm_core::{Device, Error as CoreError};
use usm_array::{
    Axes, CopyMode, CopyOrder, CreateOptions, DefaultDtypes, Dtype, DtypeError, Order, Scalar, WeakScalar,
    default_dtypes,
};

use super::known_dtypes;
use crate::builtin::is_builtin;
use crate::errors::wrong_type;
use crate::imported;
use crate::number::{index, index_sequence, of_text, plain};

/// An integer or a tuple or list of integers, none negative.
pub(super) fn shape(object: &Bound<'_, PyAny>) -> PyResult<Axes<usize>> {
    let mut sizes = Axes::new();
    read_shape(object, &mut sizes)?;
    Ok(sizes)
}

/// As [`shape`], into `sizes`, which is empty: what has just been written one by one is slow to move as a whole.
pub(super) fn read_shape(object: &Bound<'_, PyAny>, sizes: &mut Axes<usize>) -> PyResult<()> {
    debug_assert!(sizes.is_empty());
    if read_plain_shape(object, sizes) {
        return Ok(());
    }
    let is_number = object.is_exact_instance_of::<PyInt>()
        || !is_builtin(object) && object.hasattr(intern!(object.py(), "__index__"))?;
    let found: Vec<isize> = match is_number {
        true => vec![index("shape", object)?],
        false => index_sequence("shape", object)?,
    };
    *sizes = Axes::new();
    for (axis, &size) in found.iter().enumerate() {
        sizes.push(
            usize::try_from(size)
                .map_err(|_| value_error!("shape[{axis}]: found {size}, allowed are sizes of 0 and more"))?,
        );
    }
    Ok(())
}

/// A shape of Python's own integers in a tuple, as nearly all are; `false` for others, of which some sizes may have been read.
fn read_plain_shape(object: &Bound<'_, PyAny>, sizes: &mut Axes<usize>) -> bool {
    let mut read = |item: &Bound<'_, PyAny>| plain(item).map(|size| sizes.push(size)).is_some();
    match object.cast_exact::<PyTuple>() {
        Ok(tuple) => tuple.iter_borrowed().all(|item| read(&item)),
        Err(_) => read(object),
    }
}

/// A dtype by its name or typestr, as a NumPy dtype or scalar type, or as a Python number type. `None` is the widest real type
/// the device computes with, which is asked for where it counts.
pub(super) fn dtype<'d>(
    object: Option<&Bound<'_, PyAny>>,
    device: impl Fn() -> &'d Device,
) -> PyResult<Dtype> {
    match object.filter(|object| !object.is_none()) {
        Some(object) => explicit_dtype(object, &|| default_dtypes(device())),
        None => Ok(default_dtypes(device()).real_floating),
    }
}

/// A dtype in every form but `None`; Python number types stand for the defaults of their kind, which are asked for only then.
pub(crate) fn explicit_dtype(
    object: &Bound<'_, PyAny>,
    defaults: &dyn Fn() -> DefaultDtypes,
) -> PyResult<Dtype> {
    if let Some(dtype) = known_dtypes::find(object) {
        return Ok(dtype);
    }
    let parse = |text: &str| {
        text.parse::<Dtype>().or_else(|error| {
            let message = format!("dtype: {error}");
            match (numpy_name(text), error) {
                (Some(dtype), _) => Ok(dtype),
                (None, DtypeError::UnknownName { .. }) => Err(PyTypeError::new_err(message)),
                (None, _) => Err(PyValueError::new_err(message)),
            }
        })
    };
    if let Ok(text) = object.cast::<PyString>() {
        return text.to_str().map_or_else(|_| parse(&text.to_string_lossy()), parse);
    }
    if let Ok(text) = object.cast::<PyBytes>() {
        return parse(&String::from_utf8_lossy(text.as_bytes()));
    }
    if let Ok(class) = object.cast::<PyType>() {
        let py = object.py();
        for (python, kind) in [
            (py.get_type::<PyBool>(), WeakScalar::Bool),
            (py.get_type::<PyInt>(), WeakScalar::Int),
            (py.get_type::<PyFloat>(), WeakScalar::Float),
            (py.get_type::<PyComplex>(), WeakScalar::Complex),
        ] {
            if class.is(&python) {
                return Ok(defaults().of(kind));
            }
        }
        if class.module().is_ok_and(|module| module == "numpy") {
            // Scalar types have names of their own, such as longlong.
            let dtype = imported::import(py, intern!(py, "numpy"))?.getattr("dtype")?.call1((class,))?;
            return explicit_dtype(&dtype, defaults);
        }
        return parse(&class.name()?.to_string_lossy());
    }
    // Our own; and a NumPy dtype tells its byte order here, which its name does not.
    if let Some(typestr) = object.getattr_opt("str")?
        && let Ok(text) = typestr.cast::<PyString>()
    {
        let typestr = text.to_string_lossy();
        return parse(&typestr).or_else(|error| narrow_dtype(object, &typestr)?.ok_or(error));
    }
    Err(wrong_type(
        "dtype",
        object,
        "is a name such as \"float32\", a typestr such as \"|f4\" or a NumPy dtype",
    ))
}

/// The dtype of ml_dtypes, or our own, for narrow floating-point numbers, which have a name but no typestr of numbers.
fn narrow_dtype(object: &Bound<'_, PyAny>, typestr: &str) -> PyResult<Option<Dtype>> {
    let other_order = if cfg!(target_endian = "little") { '>' } else { '<' };
    let name =
        object.getattr_opt(intern!(object.py(), "name"))?.and_then(|name| name.extract::<String>().ok());
    let dtype = name.and_then(|name| name.parse::<Dtype>().ok()).filter(|dtype| dtype.is_narrow());
    Ok(dtype.filter(|dtype| dtype.itemsize_bytes() == 1 || !typestr.starts_with(other_order)))
}

/// The narrow dtype of an array or a number of NumPy by ml_dtypes; `None` for any other object.
pub(super) fn narrow_dtype_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Dtype>> {
    let py = object.py();
    let Some(dtype) = object.getattr_opt(intern!(py, "dtype"))? else { return Ok(None) };
    let Some(typestr) = dtype.getattr_opt(intern!(py, "str"))? else { return Ok(None) };
    typestr.extract::<String>().map_or(Ok(None), |typestr| narrow_dtype(&dtype, &typestr))
}

/// `"C"` or `"F"`.
pub(super) fn order(text: &str) -> PyResult<Order> {
    of_letter("order", text)
}

/// A Python number, or a NumPy one; `None` for any other object.
pub(super) fn scalar(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    match python_number(object)? {
        Some(scalar) => Ok(Some(scalar)),
        None => numpy_number(object),
    }
}

/// A NumPy number; `None` for any other object.
pub(super) fn numpy_number(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    // NumPy's scalars turn into Python's by `item`, those of extended precision by `float` or `complex`; arrays with axes are no scalars.
    let module = object.get_type().module();
    if module.as_ref().is_ok_and(|module| *module == "ml_dtypes") && narrow_dtype_of(object)?.is_some() {
        return object.extract::<f64>().map(|value| Some(Scalar::Float(value)));
    }
    let is_numpy = module.is_ok_and(|module| module == "numpy");
    let Some(ndim) = is_numpy.then(|| object.getattr_opt("ndim")).transpose()?.flatten() else {
        return Ok(None);
    };
    if !ndim.eq(0)? {
        return Ok(None);
    }
    // Times turn into integers.
    let kind = kind(object)?.filter(|kind| "biufc".contains(*kind));
    let Some(kind) = kind else { return Ok(None) };
    let item = object.call_method0("item")?;
    match python_number(&item)? {
        Some(scalar) => Ok(Some(scalar)),
        None if kind == 'c' => {
            let value = object.py().get_type::<PyComplex>().call1((object,))?;
            python_number(&value)
        }
        None => object.extract::<f64>().map(|value| Some(Scalar::Float(value))),
    }
}

/// A Python number; `None` for any other object.
pub(super) fn python_number(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(Some(Scalar::Bool(value.is_true())));
    }
    if object.is_instance_of::<PyInt>() {
        return int(object).map(Some);
    }
    if let Ok(value) = object.cast::<PyFloat>() {
        return Ok(Some(Scalar::Float(value.value())));
    }
    let complex = object.cast::<PyComplex>().ok();
    Ok(complex.map(|value| Scalar::Complex(Complex64::new(value.real(), value.imag()))))
}

/// The letter for the kind of NumPy's dtype.
fn kind(object: &Bound<'_, PyAny>) -> PyResult<Option<char>> {
    let Some(dtype) = object.getattr_opt(intern!(object.py(), "dtype"))? else { return Ok(None) };
    dtype.getattr(intern!(object.py(), "kind"))?.extract().map(Some)
}

fn int(object: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    if let Ok(value) = object.extract::<i64>() {
        return Ok(Scalar::Int(value.into()));
    }
    // Wider integers have no conversion in the limited API. No element type holds them, but the error can show them.
    let digits = object.py().get_type::<PyInt>().call_method1("__repr__", (object,));
    if let Some(value) = digits.ok().and_then(|digits| digits.to_string().parse::<i128>().ok()) {
        return Ok(Scalar::Int(value));
    }
    object.extract::<f64>().map(Scalar::Float)
}

/// The dtype of one of NumPy's names for the types of C, or of its letters, which are not those of the array API.
fn numpy_name(text: &str) -> Option<Dtype> {
    let long =
        if size_of::<std::ffi::c_long>() == 8 { (Dtype::I64, Dtype::U64) } else { (Dtype::I32, Dtype::U32) };
    Some(match text {
        "?" | "bool_" => Dtype::Bool,
        "b" | "byte" => Dtype::I8,
        "B" | "ubyte" => Dtype::U8,
        "h" | "short" => Dtype::I16,
        "H" | "ushort" => Dtype::U16,
        "i" | "intc" => Dtype::I32,
        "I" | "uintc" => Dtype::U32,
        "l" | "long" => long.0,
        "L" | "ulong" => long.1,
        "q" | "longlong" | "p" | "n" | "intp" | "int" | "int_" => Dtype::I64,
        "Q" | "ulonglong" | "P" | "N" | "uintp" | "uint" => Dtype::U64,
        "e" | "half" => Dtype::F16,
        "f" | "single" => Dtype::F32,
        "d" | "double" | "float" => Dtype::F64,
        "F" | "csingle" => Dtype::C64,
        "D" | "cdouble" | "complex" => Dtype::C128,
        _ => return None,
    })
}

/// Python's `copy=None`, `copy=False` and `copy=True`.
pub(super) fn copy_mode(copy: Option<bool>) -> CopyMode {
    match copy {
        None => CopyMode::IfNeeded,
        Some(false) => CopyMode::Never,
        Some(true) => CopyMode::Always,
    }
}

pub(super) fn copy_order(text: &str) -> PyResult<CopyOrder> {
    of_letter("order", text)
}

/// The value of a letter, which NumPy takes in both cases.
fn of_letter<T: FromStr<Err = CoreError>>(name: &str, text: &str) -> PyResult<T> {
    text.parse().or_else(|_| text.to_uppercase().parse()).or_else(|_| of_text(name, text))
}

/// The options for new arrays, of a dtype where one was asked for.
pub(in crate::tensor) fn of_dtype(options: CreateOptions<'_>, dtype: Option<Dtype>) -> CreateOptions<'_> {
    match dtype {
        Some(dtype) => options.dtype(dtype),
        None => options,
    }
}
