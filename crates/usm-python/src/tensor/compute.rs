//! What the providers of arithmetic, which are Python code in `usm.compute`, need of arrays: where to compute, memory for results, and
//! the memory of operands for other libraries.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyTuple};
use usm_array::usm_core::{Aspects, UsmKind};
use usm_array::{
    Axes, Conversion, DefaultDtypes, INTERFACE_VERSION, OperandMemory, Peer, Reach, ResultPlace, UsmArray,
    UsmArrayInterface, check_queues,
};

use super::exchange::is_numpy;
use super::operand::NumberOrArray;
use super::ufunc::of_number;
use super::{arguments, construct, numbers, peer, transfer};
use crate::errors::{OrRaise, type_name};
use crate::interface::import::{Producer, array_if_usm, no_usm};
use crate::memory;
use crate::number::index_sequence;
use crate::objects::UsmNdarray;
use crate::sycl::resolve::device_argument;
use crate::sycl::runtime;

/// The end of the word for arrays of narrow floating-point numbers.
const NARROW: &str = "-narrow";

/// How errors call the operands of a function with so many of them.
fn name(position: usize, count: usize) -> String {
    if count == 1 { "x".to_owned() } else { format!("x{}", position + 1) }
}

/// _place(operands, out)
///
/// Where to compute with arrays and numbers: what memory the result is in, as a word that ends with "-narrow" where one has narrow
/// floating-point numbers, and the operands, each of them a
/// usm_ndarray or a number of Python. Other objects with the interface become arrays without a copy, arrays of NumPy are
/// copied to the memory of the first of them, or of `out`.
///
/// Raises ExecutionPlacementError for operands on queues that do not compute together, ValueError for a read-only `out`.
///
/// >>> import usm.tensor as ut
/// >>> from usm._usm import _place
/// >>> _place((ut.zeros(2, device="host", usm_type="host"), 1), None)[0]
/// 'host'
#[pyfunction]
#[pyo3(name = "_place")]
pub(crate) fn place<'py>(
    operands: &Bound<'py, PyTuple>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyString>, Bound<'py, PyTuple>)> {
    let py = operands.py();
    let out = out
        .map(|out| out.cast::<UsmNdarray>().map_err(|_| type_error!("out: {}", no_usm(out))))
        .transpose()?;
    let operands = match operands.iter_borrowed().all(|operand| is_plain(&operand)) {
        true => operands.clone(),
        false => converted(operands, out.map(|out| out.get().array()))?,
    };
    let mut first: Option<Bound<'py, UsmNdarray>> = None;
    let mut memory = OperandMemory::NONE;
    for (i, operand) in operands.iter_borrowed().enumerate() {
        let Ok(operand) = operand.cast_exact::<UsmNdarray>() else { continue };
        let array = operand.get().array();
        memory = memory.with(array);
        match &first {
            None => first = Some((*operand).clone()),
            Some(first) if array.queue() != first.get().array().queue() => {
                let names = (name(0, 2), name(i, operands.len()));
                let first = first.get().array();
                check_queues([(&*names.0, first.into()), (&names.1, array.into())]).or_raise()?;
            }
            Some(_) => {}
        }
    }
    let Some(first) = first else {
        let found = operands.get_item(0)?;
        return Err(type_error!("{}: {}", name(0, operands.len()), no_usm(&found)));
    };
    let array = first.get().array();
    if let Some(out) = out {
        let out = out.get().array();
        check_queues([("x", array.into()), ("out", out.into())]).or_raise()?;
        out.check_out().or_raise()?;
        memory = memory.with(out);
    }
    let word = word(py, memory.reach(array.device()));
    // Few libraries compute with narrow floating-point numbers.
    let word = if memory.is_narrow() { PyString::new(py, &format!("{word}{NARROW}")) } else { word.clone() };
    Ok((word, operands))
}

/// _reaches(device)
///
/// The words of `_place` for memory of each kind that the device has.
///
/// >>> import usm
/// >>> from usm._usm import _reaches
/// >>> _reaches(usm.SyclDevice("host"))
/// ['host', 'protected', 'host']
#[pyfunction]
#[pyo3(name = "_reaches")]
pub(crate) fn reaches<'py>(device: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyString>>> {
    let py = device.py();
    let device = device_argument(py, "device", Some(device))?;
    let kinds = UsmKind::ALL.into_iter().filter(|&kind| device.info().has(Aspects::of_kind(kind)));
    let reach = |kind| Reach::of(&device, kind, device.host_reachable(kind));
    Ok(kinds.map(|kind| word(py, reach(kind)).clone()).collect())
}

/// How providers call memory.
fn word(py: Python<'_>, reach: Reach) -> &Bound<'_, PyString> {
    match reach {
        Reach::Host => intern!(py, "host"),
        Reach::Protected => intern!(py, "protected"),
        Reach::Cuda => intern!(py, "cuda"),
        Reach::CudaShared => intern!(py, "cuda-shared"),
        Reach::Sycl => intern!(py, "sycl"),
        Reach::SyclCpu => intern!(py, "sycl-cpu"),
        Reach::SyclShared => intern!(py, "sycl-shared"),
    }
}

/// Whether an operand stays as it is: numbers of Python and arrays, none of them of a subclass.
fn is_plain(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<UsmNdarray>() || is_number(object)
}

fn is_number(object: &Bound<'_, PyAny>) -> bool {
    of_number(object).is_some()
}

fn converted<'py>(operands: &Bound<'py, PyTuple>, out: Option<&UsmArray>) -> PyResult<Bound<'py, PyTuple>> {
    let py = operands.py();
    let mut found: Vec<Option<Bound<'py, PyAny>>> = Vec::new();
    let mut beside: Option<UsmArray> = None;
    // Arrays in USM first: they say where the others go.
    for operand in operands {
        if operand.is_instance_of::<PyInt>() && !is_number(&operand) {
            // Of a subclass: NumPy takes integers of any size.
            found.push(Some(py.get_type::<PyInt>().call1((operand,))?));
            continue;
        }
        found.push(match is_number(&operand) {
            true => Some(operand),
            false => match array_if_usm(&operand)? {
                Some(array) => {
                    let array = UsmNdarray::from_array(array.into_boxed());
                    beside.get_or_insert_with(|| array.array().clone());
                    let is_ours = operand.is_exact_instance_of::<UsmNdarray>();
                    Some(if is_ours { operand } else { Bound::new(py, array)?.into_any() })
                }
                None => None,
            },
        });
    }
    let beside = beside.or_else(|| out.cloned());
    let mut all = Vec::with_capacity(found.len());
    for (i, (operand, found)) in operands.iter().zip(found).enumerate() {
        let name = name(i, operands.len());
        let refused = || match is_numpy(&operand) {
            Ok(true) => type_error!(
                "{name}: found {}, whose operators are not those of plain arrays, allowed are plain arrays; \
                 numpy.asarray(x) is one over the same elements",
                type_name(&operand)
            ),
            _ => type_error!("{name}: {}", no_usm(&operand)),
        };
        all.push(match found {
            Some(found) => found,
            None => match (NumberOrArray::of(&operand)?, &beside) {
                (Some(NumberOrArray::Scalar(number)), _) => numbers::to_python(py, number)?,
                (Some(NumberOrArray::Array(array)), Some(beside)) => {
                    let array = transfer::converted(py, &array, &Conversion::beside(beside))?;
                    UsmNdarray::object(py, array)?
                }
                _ => return Err(refused()),
            },
        });
    }
    PyTuple::new(py, all)
}

/// _new(operands, shape, dtype)
///
/// A new array for the result of operands as `_place` gives them: on the queue of the first array, and in memory of the kind that
/// follows from all.
///
/// >>> import usm.tensor as ut
/// >>> from usm._usm import _new
/// >>> _new((1, ut.zeros(2, usm_type="host")), (3,), "f4").usm_type
/// 'host'
#[pyfunction]
#[pyo3(name = "_new")]
pub(crate) fn new(
    operands: &Bound<'_, PyTuple>,
    shape: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyAny>,
) -> PyResult<UsmNdarray> {
    let py = operands.py();
    let objects: Vec<_> =
        operands.iter().filter_map(|operand| operand.cast_into_exact::<UsmNdarray>().ok()).collect();
    let arrays: Vec<&UsmArray> = objects.iter().map(|array| array.get().array()).collect();
    let mut sizes = Axes::new();
    arguments::read_shape(shape, &mut sizes)?;
    let Some(place) = ResultPlace::of(&arrays, &sizes) else {
        return Err(type_error!("operands: found no usm_ndarray, allowed is one and more"));
    };
    let dtype = arguments::explicit_dtype(dtype, &|| DefaultDtypes::WITH_FP64)?;
    let new = UsmArray::builder(&sizes, dtype).order(place.order);
    construct::in_new_memory(py, new, place.kind, place.queue).map(UsmNdarray::from_array)
}

/// _span(array)
///
/// The memory from the lowest to the highest element of an array, as a memory object, and the elements from its begin to the element
/// with index zero.
///
/// >>> import usm.tensor as ut
/// >>> from usm._usm import _span
/// >>> _span(ut.zeros(4)[::-1])[1]
/// 3
#[pyfunction]
#[pyo3(name = "_span")]
pub(crate) fn span<'py>(array: &Bound<'py, UsmNdarray>) -> PyResult<(Bound<'py, PyAny>, usize)> {
    let (py, array) = (array.py(), array.get().array());
    let (bytes, offset) = array.span().or_raise()?;
    Ok((memory::wrap(py, bytes)?, offset))
}

/// _dpnp_array(array)
///
/// An array of dpnp over the memory of an array, which it does not keep. The program has imported `dpnp.tensor`.
///
/// Raises TypeError for memory or a dtype that dpnp does not have.
///
/// >>> import usm.tensor as ut
/// >>> from usm._usm import _dpnp_array
/// >>> _dpnp_array(ut.zeros(2, device="host"))
/// Traceback (most recent call last):
///     ...
/// TypeError: array: found float64 on host:cpu:0, which dpnp does not have
#[pyfunction]
#[pyo3(name = "_dpnp_array")]
pub(crate) fn dpnp_array<'py>(array: &Bound<'py, UsmNdarray>) -> PyResult<Bound<'py, PyAny>> {
    let (py, array) = (array.py(), array.get().array());
    peer::over_memory(py, array)?.ok_or_else(|| {
        let place = array.device().filter_string();
        type_error!("array: found {} on {place}, which dpnp does not have", array.dtype())
    })
}

/// _publish(array)
///
/// Makes memory that another library knows already ready for its next operation, in the order of the array's queue on CUDA, else after
/// all work on it. From then on operations of ours come after those of the other library on that queue. Returns what a provider keeps
/// with the array, its own array over the same memory, or None.
///
/// >>> import usm.tensor as ut
/// >>> from usm._usm import _publish
/// >>> _publish(ut.zeros(2))
#[pyfunction]
#[pyo3(name = "_publish")]
pub(crate) fn publish<'py>(array: &Bound<'py, UsmNdarray>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (py, object, array) = (array.py(), array.get(), array.get().array());
    let kept = object.attributes().provided(py);
    let peer = if kept.is_some() { Peer::Known } else { Peer::New };
    if !array.publish_for_at_once(peer).or_raise()? {
        // Work of others may need the interpreter to complete.
        py.detach(|| array.publish_for(peer)).or_raise()?;
    }
    Ok(kept)
}

/// _cuda_stream(array)
///
/// The address of the CUDA stream of the array's queue, and the number of the GPU for its driver.
///
/// Raises ValueError for an array of another backend.
///
/// >>> import usm.tensor as ut
/// >>> from usm._usm import _cuda_stream
/// >>> _cuda_stream(ut.zeros(2, device="host"))
/// Traceback (most recent call last):
///     ...
/// ValueError: array: found an array of host:cpu:0, allowed are those of CUDA devices
#[pyfunction]
#[pyo3(name = "_cuda_stream")]
pub(crate) fn cuda_stream(array: &Bound<'_, UsmNdarray>) -> PyResult<(usize, i32)> {
    let array = array.get().array();
    let ordinal = array.device().info().cuda_ordinal;
    match (array.queue().native_stream(), ordinal) {
        (Some(stream), Some(ordinal)) => Ok((stream, ordinal)),
        _ => Err(value_error!(
            "array: found an array of {}, allowed are those of CUDA devices",
            array.device().filter_string()
        )),
    }
}

/// _adopt(theirs, address, shape, strides, typestr, beside)
///
/// An array over device memory with a result that another library has computed in the order of the queue of `beside`. It is on that
/// queue, keeps the library's array `theirs`, which owns the memory, and has it at hand for the next computation. Strides are elements.
///
/// Raises ValueError for memory or elements that are not of the device.
///
/// >>> import usm.tensor as ut
/// >>> from usm._usm import _adopt
/// >>> _adopt(object(), 0, (2,), None, "<f4", ut.zeros(2, device="host"))
/// Traceback (most recent call last):
///     ...
/// ValueError: data: found address 0, allowed is a USM pointer, also for an empty array
#[pyfunction]
#[pyo3(name = "_adopt")]
pub(crate) fn adopt(
    theirs: &Bound<'_, PyAny>,
    address: u64,
    shape: &Bound<'_, PyAny>,
    strides: Option<&Bound<'_, PyAny>>,
    typestr: String,
    beside: &Bound<'_, UsmNdarray>,
) -> PyResult<UsmNdarray> {
    let beside = beside.get().array();
    let shape = index_sequence("shape", shape)?;
    let strides: Option<Vec<i64>> = strides.map(|strides| index_sequence("strides", strides)).transpose()?;
    let (read_only, offset, version) = (false, 0, INTERFACE_VERSION);
    let interface = UsmArrayInterface { shape, typestr, address, read_only, strides, offset, version };
    let (runtime, owner) = (runtime::get(theirs.py())?, Arc::new(Producer::of(theirs)));
    // SAFETY: TB1: the library's array keeps the memory.
    let array = unsafe { UsmArray::adopt(interface, beside, runtime, owner) }.or_raise()?;
    let array = UsmNdarray::from_array(array);
    array.attributes().provide(theirs.clone());
    Ok(array)
}
