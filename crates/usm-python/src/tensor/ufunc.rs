//! NumPy's functions with an array among their operands, which NumPy hands over to it.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use usm_array::UsmArray;

use super::arithmetic;
use super::exchange::numpy_array;
use crate::objects::UsmNdarray;

/// The method for an operator of ours, and the one that gives the same for the operands in the other order.
fn methods(ufunc: &str) -> Option<(&'static str, &'static str)> {
    Some(match ufunc {
        "less" => ("__lt__", "__gt__"),
        "less_equal" => ("__le__", "__ge__"),
        "equal" => ("__eq__", "__eq__"),
        "not_equal" => ("__ne__", "__ne__"),
        "greater_equal" => ("__ge__", "__le__"),
        "greater" => ("__gt__", "__lt__"),
        "bitwise_and" => ("__and__", "__rand__"),
        "bitwise_or" => ("__or__", "__ror__"),
        "bitwise_xor" => ("__xor__", "__rxor__"),
        _ => return None,
    })
}

/// The result of a function of NumPy, one of whose operands is the array.
pub(super) fn apply<'py>(
    array: &UsmArray,
    ufunc: &Bound<'py, PyAny>,
    method: &str,
    inputs: &Bound<'py, PyTuple>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = ufunc.py();
    let name: String = ufunc.getattr(intern!(py, "__name__"))?.extract()?;
    let is_plain = method == "__call__" && options.is_none_or(|options| options.is_empty());
    if let (true, 2, Some((own, reflected))) = (is_plain, inputs.len(), methods(&name)) {
        let (first, second) = (inputs.get_item(0)?, inputs.get_item(1)?);
        return match first.is_instance_of::<UsmNdarray>() {
            true => first.call_method1(own, (second,)),
            false => second.call_method1(reflected, (first,)),
        };
    }
    let out = options.map(|options| options.get_item(intern!(py, "out"))).transpose()?.flatten();
    if let Some(outputs) = out.and_then(|out| out.cast_into::<PyTuple>().ok())
        && outputs.iter().any(|output| output.is_instance_of::<UsmNdarray>())
    {
        return Err(type_error!(
            "{name}: out: found a usm_ndarray, allowed are arrays of NumPy; numpy.asarray(x) is one over host and shared memory"
        ));
    }
    if !array.is_host_accessible() {
        return Err(arithmetic::refused(array, &name));
    }
    let view = |input: Bound<'py, PyAny>| match input.is_instance_of::<UsmNdarray>() {
        true => numpy_array(&input),
        false => Ok(input),
    };
    let views = inputs.iter().map(view).collect::<PyResult<Vec<_>>>()?;
    ufunc.call_method(method, PyTuple::new(py, views)?, options)
}
