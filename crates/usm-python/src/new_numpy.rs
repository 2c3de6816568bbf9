//! New NumPy arrays, made and found by NumPy's own C interface: `numpy.empty` and the buffer of its result take longer than a
//! small copy, and `numpy.asarray` of an object with a buffer longer than a small sum.
//!
//! Source: the NumPy reference, "NumPy C-API": the numbers of the functions in the table and of the types are those of its headers,
//! which each extension in C is compiled with.

use std::ffi::{c_int, c_long, c_uint, c_void};
use std::ptr::{self, NonNull};
use std::slice;

use pyo3::exceptions::{PyAttributeError, PyImportError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use usm_array::usm_core::fork::ForkOnce;
use usm_array::usm_memory::UsmBuffer;
use usm_array::{Axes, Dtype, UsmArray};

use crate::errors::OrRaise;
use crate::imported;
use crate::interrupt;

/// `PyArray_GetNDArrayCVersion`
type AbiVersion = unsafe extern "C" fn() -> c_uint;
/// `PyArray_New`: class, number of axes, shape, type, strides, memory, bytes of an element, flags, and the array it comes from
type New = unsafe extern "C" fn(
    *mut ffi::PyTypeObject,
    c_int,
    *const isize,
    c_int,
    *const isize,
    *mut c_void,
    c_int,
    c_int,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// `PyArray_SetBaseObject`: an array, and the object that keeps its memory, whose reference becomes the array's
type SetBase = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> c_int;

const ABI_VERSION: usize = 0;
const ARRAY_TYPE: usize = 2;
const NEW: usize = 93;
const SET_BASE: usize = 282;
/// `NPY_ARRAY_WRITEABLE`. NumPy finds the other flags itself where it is given strides.
const WRITEABLE: c_int = 0x0400;
/// NumPy 1 and 2, which differ in nothing that is used here.
const KNOWN_ABIS: [c_uint; 2] = [0x0100_0009, 0x0200_0000];

// The head of an object is known: a reference count and a class.
const _: () = assert!(size_of::<ffi::PyObject>() >= 2 * size_of::<usize>());

/// What is used of NumPy's table.
struct NumpyTable {
    /// Invariant N1: `PyArray_New` of a NumPy whose ABI is known.
    new: New,
    /// Invariant N4: `PyArray_SetBaseObject` of the same NumPy.
    set_base: SetBase,
    /// Invariant N2: the class `numpy.ndarray`, which lives as long as the process.
    array_type: NonNull<ffi::PyTypeObject>,
}

// SAFETY: N1, N2, N4: functions and a class, used with the interpreter attached.
unsafe impl Send for NumpyTable {}
// SAFETY: N1, N2, N4, as for Send.
unsafe impl Sync for NumpyTable {}

impl NumpyTable {
    /// `None` where NumPy has another ABI, or hides its table.
    fn get(py: Python<'_>) -> PyResult<Option<&'static Self>> {
        static TABLE: ForkOnce<Option<NumpyTable>> = ForkOnce::new();
        TABLE.get_or_try_init(|| Self::find(py)).map(Option::as_ref)
    }

    fn find(py: Python<'_>) -> PyResult<Option<Self>> {
        imported::import(py, intern!(py, "numpy"))?;
        let is_missing = |error: &PyErr| {
            error.is_instance_of::<PyImportError>(py) || error.is_instance_of::<PyAttributeError>(py)
        };
        let module = match imported::import(py, intern!(py, "numpy._core._multiarray_umath")) {
            Err(error) if is_missing(&error) => {
                imported::import(py, intern!(py, "numpy.core._multiarray_umath"))
            }
            module => module,
        };
        let table = match module.and_then(|module| module.getattr("_ARRAY_API")) {
            Err(error) if is_missing(&error) => return Ok(None),
            table => table?,
        };
        let Ok(table) = table.cast_into::<PyCapsule>() else { return Ok(None) };
        let Ok(table) = table.pointer_checked(None) else { return Ok(None) };
        let entry = |index| table.cast::<*const c_void>().as_ptr().wrapping_add(index);
        // SAFETY: TB1: a table of functions by its documentation; its first one has been the same in all versions.
        let abi_version = unsafe { entry(ABI_VERSION).cast::<AbiVersion>().read() };
        // SAFETY: TB1: a function without arguments.
        if !KNOWN_ABIS.contains(&unsafe { abi_version() }) {
            return Ok(None);
        }
        // SAFETY: TB1: of a table of a known ABI, which is much longer.
        let array_type = unsafe { entry(ARRAY_TYPE).cast::<*mut ffi::PyTypeObject>().read() };
        // SAFETY: TB1: of a table of a known ABI, which is much longer.
        let new = unsafe { entry(NEW).cast::<New>().read() };
        // SAFETY: TB1: of a table of a known ABI, which is much longer.
        let set_base = unsafe { entry(SET_BASE).cast::<SetBase>().read() };
        // N1, N2, N4: the known ABIs have these there.
        Ok(NonNull::new(array_type).map(|array_type| Self { new, set_base, array_type }))
    }
}

/// NumPy's number of a type; `None` for types of ml_dtypes. NumPy calls the 64-bit integers after C's `long` where that has as many bits.
fn type_number(dtype: Dtype) -> Option<c_int> {
    let [int32, uint32, int64, uint64] = if size_of::<c_long>() == 8 { [5, 6, 7, 8] } else { [7, 8, 9, 10] };
    Some(match dtype {
        Dtype::Bool => 0,
        Dtype::I8 => 1,
        Dtype::U8 => 2,
        Dtype::I16 => 3,
        Dtype::U16 => 4,
        Dtype::I32 => int32,
        Dtype::U32 => uint32,
        Dtype::I64 => int64,
        Dtype::U64 => uint64,
        Dtype::F16 => 23,
        Dtype::F32 => 11,
        Dtype::F64 => 12,
        Dtype::C64 => 14,
        Dtype::C128 => 15,
        Dtype::BF16 | Dtype::F8E4M3Fn | Dtype::F8E4M3Fnuz | Dtype::F8E5M2 | Dtype::F8E5M2Fnuz => return None,
    })
}

/// A row-major NumPy array that nobody else knows yet, with elements of any value.
struct NewArray<'py> {
    array: Bound<'py, PyAny>,
    /// Invariant N3: `len_bytes` bytes of the array's own memory start here; not null.
    start: *mut u8,
    len_bytes: usize,
}

impl<'py> NewArray<'py> {
    /// `len_bytes` is what all elements take. `None` where `numpy.empty` has to make it.
    fn new(py: Python<'py>, dtype: Dtype, shape: &[usize], len_bytes: usize) -> PyResult<Option<Self>> {
        let Some(table) = NumpyTable::get(py)? else { return Ok(None) };
        let (Ok(ndim), class) = (c_int::try_from(shape.len()), table.array_type.as_ptr()) else {
            return Ok(None);
        };
        let Some(type_number) = type_number(dtype) else { return Ok(None) };
        let (none, no_strides) = (ptr::null_mut(), ptr::null());
        // NumPy refuses negative sizes, which is what a size beyond an isize is to it.
        let dims = shape.as_ptr().cast::<isize>();
        // SAFETY: N1, N2; as many sizes as axes, and NumPy is to find strides and memory itself.
        let array =
            unsafe { (table.new)(class, ndim, dims, type_number, no_strides, none, 0, 0, ptr::null_mut()) };
        // SAFETY: PY2: a new reference, or a null pointer with an exception that is set.
        let array = unsafe { Bound::from_owned_ptr_or_err(py, array)? };
        let start = array.as_ptr().wrapping_add(1).cast::<*mut u8>();
        // SAFETY: N2: an object of just that class, where the address follows the head of an object in the known ABIs.
        let start = unsafe { start.read() };
        // N3: NumPy allocates row-major elements where it is given neither strides nor memory.
        Ok(Some(Self { array, start, len_bytes }))
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: N3; nobody else knows of the array. NumPy's allocator has given the bytes, of which the compiler knows nothing, so that
        // they have some value.
        unsafe { slice::from_raw_parts_mut(self.start, self.len_bytes) }
    }
}

/// A row-major NumPy array of this dtype and shape, filled by a job that reads `source`. `None` where the job would keep Ctrl-C
/// waiting, which needs somebody who owns the array, and where `numpy.empty` has to make it.
pub(crate) fn filled<'py, E: Send>(
    py: Python<'py>,
    (dtype, shape): (Dtype, &[usize]),
    source: &UsmBuffer,
    job: impl FnOnce(&mut [u8]) -> Result<(), E> + Send,
) -> PyResult<Option<Bound<'py, PyAny>>>
where
    Result<(), E>: OrRaise<()>,
{
    let len_bytes = shape.iter().try_fold(dtype.itemsize_bytes(), |bytes, &size| bytes.checked_mul(size));
    let Some(len_bytes) = len_bytes.filter(|&bytes| !interrupt::is_long(bytes)) else { return Ok(None) };
    let Some(mut new) = NewArray::new(py, dtype, shape, len_bytes)? else { return Ok(None) };
    let bytes = new.bytes();
    interrupt::detach_unless_small(py, len_bytes, source.is_host_reachable(), || job(bytes)).or_raise()?;
    Ok(Some(new.array))
}

/// A NumPy array over the memory of an array that host code reaches, with `owner` as the object that keeps it. Waits for nothing.
/// `None` where `numpy.asarray` has to make it.
pub(crate) fn view<'py>(owner: &Bound<'py, PyAny>, array: &UsmArray) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = owner.py();
    let Some(table) = NumpyTable::get(py)? else { return Ok(None) };
    let (Ok(ndim), Some(type_number)) = (c_int::try_from(array.ndim()), type_number(array.dtype())) else {
        return Ok(None);
    };
    let itemsize_bytes = array.itemsize_bytes().cast_signed();
    // In range: the bytes of every element lie within one allocation. Unit axes may have any stride, so let those wrap.
    let strides_bytes: Axes<isize> =
        array.strides().iter().map(|&stride| stride.wrapping_mul(itemsize_bytes)).collect();
    let start = ptr::with_exposed_provenance_mut::<c_void>(array.address());
    if start.is_null() {
        return Ok(None); // NumPy would allocate
    }
    let (class, dims) = (table.array_type.as_ptr(), array.shape().as_ptr().cast::<isize>());
    let flags = if array.is_writable() { WRITEABLE } else { 0 };
    let (strides, none) = (strides_bytes.as_ptr(), ptr::null_mut());
    // SAFETY: N1, N2; as many sizes and strides as axes, which lead to elements of the allocation (`UsmArray`).
    let view = unsafe { (table.new)(class, ndim, dims, type_number, strides, start, 0, flags, none) };
    // SAFETY: PY2: a new reference, or a null pointer with an exception that is set.
    let view = unsafe { Bound::from_owned_ptr_or_err(py, view)? };
    // SAFETY: N4; an array that nobody else knows, and a reference that is NumPy's from here on, in an error, too.
    let status = unsafe { (table.set_base)(view.as_ptr(), owner.clone().into_ptr()) };
    if status == 0 { Ok(Some(view)) } else { Err(PyErr::fetch(py)) }
}
