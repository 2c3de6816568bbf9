//! A Python extension over USM arrays: kernels on the host, on arrays of any library, with any strides.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use usm_python::usm_array::usm_core::UsmKind;
use usm_python::usm_array::{Dtype, Error, UsmArray};
use usm_python::{PyTypedArray, PyTypedArrayMut, PyUsmArray, to_py_err};

/// saxpy(a, x, y)
///
/// Add `a * x` to `y`. Both are float32 arrays of the same shape in host or shared memory.
#[pyfunction]
fn saxpy(py: Python<'_>, a: f32, x: PyTypedArray<f32>, y: PyTypedArrayMut<f32>) -> PyResult<()> {
    if x.shape() != y.shape() {
        return Err(PyValueError::new_err(format!(
            "x: found shape {:?}, allowed is that of y, {:?}",
            x.shape(),
            y.shape()
        )));
    }
    py.detach(|| -> Result<_, Error> {
        // Views hold guards: where x and y overlap, or another thread uses y through usm, this is a BufferError.
        let (from, mut to) = (x.view()?, y.view_mut()?);
        let mut addends = from.iter(); // row-major, as map_in_place is
        to.map_in_place(|element| addends.next().map_or(element, |x| a * x + element));
        Ok(())
    })
    .map_err(|error| to_py_err(py, error))
}

/// histogram(x, bins, low, high)
///
/// How many elements of `x` are in each of `bins` intervals of equal width from `low` to `high`, as an int64 array on the queue of
/// `x`, in memory of the same kind. `x` is a float32 or float64 array in any memory.
#[pyfunction]
fn histogram(py: Python<'_>, x: PyUsmArray, bins: usize, low: f64, high: f64) -> PyResult<PyUsmArray> {
    if bins == 0 || low.partial_cmp(&high) != Some(std::cmp::Ordering::Less) {
        return Err(PyValueError::new_err("bins, low, high: allowed are at least one bin and low < high"));
    }
    let counted = py.detach(|| -> Result<_, Error> {
        let values: Vec<f64> = match host_side(&x)? {
            x if x.dtype() == Dtype::F32 => x.view::<f32>()?.iter().map(f64::from).collect(),
            x => x.view::<f64>()?.to_vec()?,
        };
        let mut counts = vec![0_i64; bins];
        let width = (high - low) / bins as f64;
        for value in values.into_iter().filter(|value| (low..=high).contains(value)) {
            // In range by the filter, which no NaN passes; the last interval is closed, as in NumPy.
            let bin = (((value - low) / width) as usize).min(bins - 1);
            counts[bin] += 1;
        }
        UsmArray::from_slice(x.queue(), x.kind(), &[bins], &counts)
    });
    counted.map(PyUsmArray::from).map_err(|error| to_py_err(py, error))
}

/// The array itself, or a copy that host code can look at.
fn host_side(x: &UsmArray) -> Result<UsmArray, Error> {
    if x.is_host_accessible() { Ok(x.clone()) } else { x.copy_to(x.queue(), UsmKind::Host) }
}

/// reversed(x)
///
/// A view of `x` with all axes backwards: the same memory.
#[pyfunction]
fn reversed(py: Python<'_>, x: PyUsmArray) -> PyResult<PyUsmArray> {
    x.flip(None).map(PyUsmArray::from).map_err(|error| to_py_err(py, error))
}

/// joined(x, y)
///
/// The elements of `x` and then those of `y`, along the first axis, as a new array. Both are on one queue.
#[pyfunction]
fn joined(py: Python<'_>, x: PyUsmArray, y: PyUsmArray) -> PyResult<PyUsmArray> {
    let joined = py.detach(|| UsmArray::concat(&[&x, &y], Some(0)));
    joined.map(PyUsmArray::from).map_err(|error| to_py_err(py, error))
}

/// place(x)
///
/// Where `x` is: the kind of its memory, the filter string of its device, and whether it can be written.
#[pyfunction]
fn place(x: PyUsmArray) -> (&'static str, String, bool) {
    (x.kind().as_str(), x.device().filter_string(), x.is_writable())
}

/// same(x)
///
/// `x` as it came, or as an array of usm over the same memory where it is another library's.
#[pyfunction]
fn same(x: PyUsmArray) -> PyUsmArray {
    x
}

/// zeros(shape, device="")
///
/// A new array of float64 zeros in device memory, allocated by the extension on the device with that filter string.
#[pyfunction]
#[pyo3(signature = (shape, device=""))]
fn zeros(py: Python<'_>, shape: Vec<usize>, device: &str) -> PyResult<PyUsmArray> {
    let runtime = usm_python::runtime(py)?;
    let made = py.detach(|| -> Result<_, Error> {
        let device = match device {
            "" => runtime.default_device()?,
            text => runtime.select(text)?,
        };
        let queue = runtime.default_queue(&device)?;
        UsmArray::zeros(&queue, UsmKind::Device, &shape, Dtype::F64)
    });
    made.map(PyUsmArray::from).map_err(|error| to_py_err(py, error))
}

/// scaled(x, factor)
///
/// The elements of `x`, a float64 array in host or shared memory, times `factor`, as a new array on the queue of `x` in memory of the
/// same kind. The memory comes from the pool of `usm.memory.use_pool`, within its limit.
#[pyfunction]
fn scaled(py: Python<'_>, x: PyTypedArray<f64>, factor: f64) -> PyResult<PyUsmArray> {
    let result = PyUsmArray::empty(py, x.queue(), x.kind(), x.shape(), Dtype::F64)?;
    let fill = || -> Result<_, Error> {
        let (from, mut to) = (x.view()?, result.view_mut::<f64>()?);
        let mut elements = from.iter();
        to.map_in_place(|_| elements.next().map_or(f64::NAN, |x| factor * x)); // as many on both sides
        Ok(())
    };
    py.detach(fill).map_err(|error| to_py_err(py, error))?;
    Ok(result)
}

/// hold(x, call)
///
/// Call `call()` while the elements of `x` are borrowed for writing: whoever uses them through usm meanwhile gets BufferError.
#[pyfunction]
fn hold(py: Python<'_>, x: PyTypedArrayMut<f64>, call: &Bound<'_, PyAny>) -> PyResult<()> {
    let guard = x.view_mut().map_err(|error| to_py_err(py, error))?;
    let called = call.call0();
    drop(guard);
    called.map(drop)
}

/// Kernels over USM arrays of any library.
#[pymodule]
mod usm_pyext_example {
    #[pymodule_export]
    use super::{histogram, hold, joined, place, reversed, same, saxpy, scaled, zeros};
}
