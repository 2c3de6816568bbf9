//! Local memory as an argument of a kernel.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use usm_array::DefaultDtypes;

use crate::number::{index, index_sequence};
use crate::tensor::explicit_dtype;

/// LocalAccessor(dtype, shape)
///
/// Local memory of a work-group as an argument of a kernel: elements of that dtype, as many as a shape of one to three sizes has.
///
/// >>> import usm
/// >>> usm.LocalAccessor("f4", (16, 16)).nbytes
/// 1024
#[pyclass(frozen, module = "usm")]
#[derive(Debug)]
pub(crate) struct LocalAccessor {
    /// Bytes of a work-group.
    #[pyo3(get)]
    nbytes: usize,
}

impl LocalAccessor {
    pub(crate) fn len_bytes(&self) -> usize {
        self.nbytes
    }
}

#[pymethods]
impl LocalAccessor {
    #[new]
    fn new(dtype: &Bound<'_, PyAny>, shape: &Bound<'_, PyAny>) -> PyResult<Self> {
        let sizes: Vec<usize> = index_sequence("shape", shape)?;
        if !(1..=3).contains(&sizes.len()) {
            return Err(value_error!("shape: found {} sizes, allowed are 1 to 3", sizes.len()));
        }
        Ok(Self { nbytes: bytes_of(dtype, &sizes)? })
    }

    fn __repr__(&self) -> String {
        format!("<usm.LocalAccessor of {} bytes>", self.nbytes)
    }
}

/// WorkGroupMemory(nbytes)
/// WorkGroupMemory(dtype, count)
///
/// Local memory of a work-group as an argument of a kernel: so many bytes, or so many elements of a dtype.
///
/// >>> import usm
/// >>> usm.WorkGroupMemory("f4", 256).nbytes, usm.WorkGroupMemory(64).nbytes
/// (1024, 64)
#[pyclass(frozen, module = "usm")]
#[derive(Debug)]
pub(crate) struct WorkGroupMemory {
    /// Bytes of a work-group.
    #[pyo3(get)]
    nbytes: usize,
}

impl WorkGroupMemory {
    pub(crate) fn len_bytes(&self) -> usize {
        self.nbytes
    }
}

#[pymethods]
impl WorkGroupMemory {
    #[new]
    #[pyo3(signature = (*args))]
    fn new(args: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let nbytes = match args.len() {
            1 => index("nbytes", &args.get_item(0)?)?,
            2 => bytes_of(&args.get_item(0)?, &[index("count", &args.get_item(1)?)?])?,
            found => {
                return Err(type_error!("found {found} arguments, allowed are nbytes, and dtype with count"));
            }
        };
        Ok(Self { nbytes })
    }

    /// True: kernels take it on each backend that has kernels.
    #[staticmethod]
    fn is_available() -> bool {
        true
    }

    fn __repr__(&self) -> String {
        format!("<usm.WorkGroupMemory of {} bytes>", self.nbytes)
    }
}

/// Bytes of an array of local memory.
fn bytes_of(dtype: &Bound<'_, PyAny>, sizes: &[usize]) -> PyResult<usize> {
    let dtype = explicit_dtype(dtype, &|| DefaultDtypes::WITH_FP64)?;
    let bytes = sizes.iter().try_fold(dtype.itemsize_bytes(), |product, &size| product.checked_mul(size));
    bytes.ok_or_else(|| value_error!("shape: {sizes:?} are more bytes than can be counted"))
}
