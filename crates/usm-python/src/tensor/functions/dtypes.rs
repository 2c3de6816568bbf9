//! Casts, promotion and kinds of dtypes.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use usm_array::{DefaultDtypes, Dtype, DtypeKind, PromotionOperand, default_dtypes};

use super::super::arguments;
use super::dtype_object;
use super::operands;
use crate::errors::{OrValueError, wrong_type};
use crate::number::{item, of_text};

/// can_cast(from_, to, /, *, casting="safe")
///
/// Whether elements of a dtype, or of an array, may be cast to another dtype: with ``"no"`` and ``"equiv"`` to the same only, with
/// ``"safe"`` to those that hold all their values, with ``"same_kind"`` also to smaller ones of their kind, with ``"unsafe"`` to
/// all.
///
/// >>> import usm.tensor as ut
/// >>> ut.can_cast("u1", "i2"), ut.can_cast("f8", "f4"), ut.can_cast("f8", "f4", casting="same_kind")
/// (True, False, True)
#[pyfunction]
#[pyo3(signature = (from_, to, /, *, casting="safe"))]
pub(crate) fn can_cast(from_: &Bound<'_, PyAny>, to: &Bound<'_, PyAny>, casting: &str) -> PyResult<bool> {
    let from = dtype_or_array("from_", from_)?;
    Ok(usm_array::can_cast(from, operands::named_dtype("to", to)?, of_text("casting", casting)?))
}

/// result_type(*arrays_and_dtypes)
///
/// The dtype of an operation on arrays, dtypes and Python numbers. A number takes part by its kind only; numbers alone give the
/// default dtype of the highest kind. bfloat16 and the floating-point dtypes of 8 bits stay beside booleans, integers of 8 bits and real
/// numbers of Python; beside others they count as float32.
///
/// Raises ValueError without arguments, and for arrays on devices with other dtypes.
///
/// >>> import usm.tensor as ut
/// >>> str(ut.result_type("i1", "u1")), str(ut.result_type(ut.ones(1, "f4", device="host"), 1j))
/// ('int16', 'complex64')
#[pyfunction]
#[pyo3(signature = (*arrays_and_dtypes))]
pub(crate) fn result_type<'py>(
    py: Python<'py>,
    arrays_and_dtypes: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    const NAME: &str = "arrays_and_dtypes";
    let mut operands: Vec<PromotionOperand> = Vec::new();
    let mut defaults: Option<DefaultDtypes> = None;
    for (i, argument) in arrays_and_dtypes.iter().enumerate() {
        let name = item(NAME, i);
        if let Some(array) = operands::array_if_named(&name, &argument)? {
            let of_device = default_dtypes(array.device());
            if defaults.is_some_and(|known| known != of_device) {
                return Err(value_error!(
                    "{name}: found an array on {}, allowed are devices that all have 64-bit floats or all not",
                    array.device().filter_string()
                ));
            }
            defaults = Some(of_device);
            operands.push(array.dtype().into());
            continue;
        }
        // A NumPy number has a dtype, a Python number a kind only.
        let is_numpy = argument.getattr_opt("dtype")?.is_some();
        match arguments::scalar(&argument)?.filter(|_| !is_numpy) {
            Some(number) => operands.push(number.kind().into()),
            None if is_numpy => {
                operands.push(operands::named_dtype(&name, &argument.getattr("dtype")?)?.into())
            }
            None => operands.push(operands::named_dtype(&name, &argument)?.into()),
        }
    }
    let defaults = defaults.unwrap_or(DefaultDtypes::WITH_FP64);
    dtype_object(py, defaults.result_type_or_default(&operands).or_value_error(NAME)?)
}

/// isdtype(dtype, kind)
///
/// Whether a dtype is of a kind: ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``, ``"real floating"``,
/// ``"complex floating"``, ``"numeric"``, one other dtype, or a tuple of these. bfloat16 and the floating-point dtypes of 8 bits, which
/// the standard does not have, are of no kind with a name.
///
/// Raises ValueError for another word, TypeError for what is no kind.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.ones(1, "f4", device="host")
/// >>> ut.isdtype(a.dtype, "real floating"), ut.isdtype(a.dtype, ("bool", "integral"))
/// (True, False)
#[pyfunction]
pub(crate) fn isdtype(dtype: &Bound<'_, PyAny>, kind: &Bound<'_, PyAny>) -> PyResult<bool> {
    let dtype = operands::named_dtype("dtype", dtype)?;
    Ok(usm_array::isdtype(dtype, &kinds(kind)?))
}

/// The argument `kind`: one, or a tuple of them.
pub(super) fn kinds(argument: &Bound<'_, PyAny>) -> PyResult<Vec<DtypeKind>> {
    match argument.cast::<PyTuple>() {
        Ok(kinds) => kinds.iter().map(|one| kind(&one)).collect(),
        Err(_) => Ok(vec![kind(argument)?]),
    }
}

/// A kind by its word, or a dtype.
fn kind(object: &Bound<'_, PyAny>) -> PyResult<DtypeKind> {
    if let Ok(word) = object.cast::<PyString>() {
        return word.to_string_lossy().parse().or_value_error("kind");
    }
    if arguments::scalar(object)?.is_some() || object.is_none() {
        return Err(wrong_type("kind", object, "is a kind or a dtype"));
    }
    operands::named_dtype("kind", object).map(DtypeKind::from)
}

/// The dtype of an array, or a dtype.
pub(super) fn dtype_or_array(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Dtype> {
    match operands::array_if_named(name, object)? {
        Some(array) => Ok(array.dtype()),
        None => operands::named_dtype(name, object),
    }
}
