//! From Python objects to arguments of kernels.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};
use usm_array::usm_core::KernelArgument;
use usm_array::usm_memory::Argument;

use super::local::{LocalAccessor, WorkGroupMemory};
use crate::buffer_import::HostNumber;
use crate::errors::{OrRaise, wrong_type};
use crate::interface::import::array_if_usm;
use crate::number::{index, item};
use crate::objects::UsmNdarray;

const ALLOWED: &str = "are arrays and memory of USM, numbers of Python, NumPy and ctypes, LocalAccessor and WorkGroupMemory; \
                       usm.tensor.asarray makes an array of other memory";

/// The argument at a position of `args`.
pub(crate) fn argument(position: usize, object: &Bound<'_, PyAny>) -> PyResult<Argument> {
    if let Ok(array) = object.cast::<UsmNdarray>() {
        return array.get().array().to_kernel_argument().or_raise();
    }
    if object.is_instance_of::<PyBool>() {
        return Ok(u8::from(object.is_truthy()?).into());
    }
    // NumPy's float64 is a float of Python, too.
    if object.is_instance_of::<PyFloat>() {
        return Ok(object.extract::<f64>()?.into());
    }
    let name = || item("args", position);
    if object.is_instance_of::<PyInt>() {
        let number: i64 = index(&name(), object)?;
        return Ok(number.into());
    }
    if let Ok(local) = object.cast::<LocalAccessor>() {
        return Ok(KernelArgument::local_memory(local.get().len_bytes()).into());
    }
    if let Ok(local) = object.cast::<WorkGroupMemory>() {
        return Ok(KernelArgument::local_memory(local.get().len_bytes()).into());
    }
    if let Some(array) = array_if_usm(object)? {
        return array.to_kernel_argument().or_raise();
    }
    let number = HostNumber::of(object)?.and_then(|number| of_number(&number));
    number.map(Argument::Value).ok_or_else(|| wrong_type(&name(), object, ALLOWED))
}

/// A number of the width that NumPy or ctypes gave it.
fn of_number(number: &HostNumber) -> Option<KernelArgument> {
    macro_rules! number {
        ($type:ty) => {
            number.bytes().try_into().ok().map(|bytes| <$type>::from_ne_bytes(bytes).into())
        };
    }
    match (number.kind(), number.bytes().len()) {
        ('b' | 'c' | 'h' | 'i' | 'l' | 'q' | 'n', 1) => number!(i8),
        ('h' | 'i' | 'l' | 'q' | 'n', 2) => number!(i16),
        ('h' | 'i' | 'l' | 'q' | 'n', 4) => number!(i32),
        ('h' | 'i' | 'l' | 'q' | 'n', 8) => number!(i64),
        ('?' | 'B', 1) => number!(u8),
        // A half-precision number, by its bits: `half` of OpenCL C, `__half` of CUDA C.
        ('H' | 'I' | 'L' | 'Q' | 'N' | 'e', 2) => number!(u16),
        ('H' | 'I' | 'L' | 'Q' | 'N', 4) => number!(u32),
        ('H' | 'I' | 'L' | 'Q' | 'N', 8) => number!(u64),
        ('f', 4) => number!(f32),
        ('d', 8) => number!(f64),
        _ => None,
    }
}
