//! `__dlpack_c_exchange_api__`: the functions by which compiled code exchanges tensors with us, without calls of Python methods.

use std::ffi::{CString, c_int, c_void};
use std::ptr::{self, NonNull};

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use usm_array::UsmArray;
use usm_array::dlpack::{
    Consumer, DLDevice, DLDeviceType, DLManagedTensorVersioned, DLPackExchangeAPI, DLPackExchangeAPIHeader,
    DLTensor, DlpackImport, ManagedTensor, RawTensor, SetError, VERSION, current_work_stream,
};
use usm_array::usm_core::unwind::contained;

use super::c_import::NAME;
use super::export::tensor_of;
use crate::errors::{OrRaise, type_name};
use crate::held::with_interpreter;
use crate::objects::UsmNdarray;
use crate::sycl::runtime;

// Invariant CT1: a static that is never changed.
struct ExchangeTable(DLPackExchangeAPI);

// SAFETY: CT1; its functions may be called on any thread that is attached.
unsafe impl Sync for ExchangeTable {}

/// A pointer, or a struct of pointers, that is handed to where it is looked at.
///
/// Invariant CT2: it is not looked at on the way; the code that does names another label.
struct Carried<T>(T);

// SAFETY: CT2.
unsafe impl<T> Send for Carried<T> {}
// SAFETY: CT2, as for Send.
unsafe impl<T> Sync for Carried<T> {}

impl<T: Copy> Carried<T> {
    fn get(&self) -> T {
        self.0
    }
}

static TABLE: ExchangeTable = ExchangeTable(DLPackExchangeAPI {
    header: DLPackExchangeAPIHeader { version: VERSION, prev_api: ptr::null_mut() },
    managed_tensor_allocator: Some(allocate),
    managed_tensor_from_py_object_no_sync: Some(from_object),
    managed_tensor_to_py_object_no_sync: Some(to_object),
    dltensor_from_py_object_no_sync: BORROW,
    current_work_stream: Some(current_queue),
});

#[cfg(target_pointer_width = "64")]
const BORROW: Option<unsafe extern "C" fn(*mut c_void, *mut DLTensor) -> c_int> = Some(borrow);
#[cfg(not(target_pointer_width = "64"))]
const BORROW: Option<unsafe extern "C" fn(*mut c_void, *mut DLTensor) -> c_int> = None;

/// The capsule, which the class has as an attribute.
pub(in crate::tensor) fn exchange_api(py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
    let table = NonNull::from(&TABLE.0).cast();
    // SAFETY: CT1, and no destructor.
    unsafe { PyCapsule::new_with_pointer_and_destructor(py, table, NAME, None) }
}

/// The error of a function that has panicked.
const DEFECT: &str = "a defect in usm";

/// Runs the body of a function of the table with its caller's interpreter: 0, or −1 with the exception set.
fn answer(body: impl FnOnce(Python<'_>) -> PyResult<()>) -> c_int {
    // Attached already, but for an interpreter that ends: there is nobody to tell then.
    let outcome = with_interpreter(|py| {
        let outcome = contained("exchange", || body(py));
        let outcome = outcome.unwrap_or_else(|| Err(PyRuntimeError::new_err(DEFECT)));
        outcome.map_err(|error| error.restore(py))
    });
    if outcome == Some(Ok(())) { 0 } else { -1 }
}

/// The array of a Python object.
///
/// # Safety
/// 1. The pointer is null or to an object of this interpreter that lives until the end of `'py`.
unsafe fn argument<'py>(py: Python<'py>, object: *mut c_void) -> PyResult<Bound<'py, UsmNdarray>> {
    // SAFETY: promise 1.
    let object = unsafe { Bound::from_borrowed_ptr_or_opt(py, object.cast::<ffi::PyObject>()) };
    let object = object.ok_or_else(|| PyTypeError::new_err("found null, allowed is a usm_ndarray"))?;
    object
        .cast_into::<UsmNdarray>()
        .map_err(|error| type_error!("found {}, allowed is a usm_ndarray", type_name(&error.into_inner())))
}

/// # Safety
/// 1. `object` is as for `argument`, and its caller is attached to the interpreter; `out` is where a pointer can be written.
unsafe extern "C" fn from_object(object: *mut c_void, out: *mut *mut DLManagedTensorVersioned) -> c_int {
    answer(|py| {
        // SAFETY: promise 1.
        let array = unsafe { argument(py, object) }?;
        let tensor = tensor_of(py, array.get().array())?;
        if let RawTensor::Versioned(tensor) = tensor.into_raw() {
            // SAFETY: promise 1.
            unsafe { out.write(tensor.as_ptr()) };
        }
        Ok(())
    })
}

/// # Safety
/// 1. `tensor` is null or a live tensor that the caller gives away, success or not; the caller is attached to the interpreter, and
///    `out` is where a pointer can be written.
unsafe extern "C" fn to_object(tensor: *mut DLManagedTensorVersioned, out: *mut *mut c_void) -> c_int {
    answer(|py| {
        let tensor =
            NonNull::new(tensor).ok_or_else(|| PyTypeError::new_err("found null, allowed is a tensor"))?;
        // SAFETY: promise 1; the rest of the promises is TB1.
        let tensor = unsafe { ManagedTensor::from_raw(RawTensor::Versioned(tensor)) };
        let options = DlpackImport { runtime: runtime::get(py)?, ..DlpackImport::default() };
        // SAFETY: TB1: the memory stays as long as the tensor, and the protocol says who writes it.
        let array = py.detach(|| unsafe { UsmArray::from_dlpack(tensor, &options) }).or_raise()?;
        let object = Bound::new(py, UsmNdarray::from_array(array))?;
        // SAFETY: promise 1; the reference is the caller's.
        unsafe { out.write(object.into_ptr().cast()) };
        Ok(())
    })
}

/// # Safety
/// 1. As of `from_object`. What is written is good as long as the object lives, which does not move.
#[cfg(target_pointer_width = "64")]
unsafe extern "C" fn borrow(object: *mut c_void, out: *mut DLTensor) -> c_int {
    answer(|py| {
        // SAFETY: promise 1.
        let array = unsafe { argument(py, object) }?;
        let (array, runtime) = (array.get().array(), runtime::get(py)?);
        let tensor = || {
            let consumer = Consumer::of_exchange(runtime, array.device())?;
            array.borrow_dlpack(runtime, consumer).map(Carried)
        };
        let tensor = py.detach(tensor).or_raise()?;
        // SAFETY: promise 1.
        unsafe { out.write(tensor.get()) };
        Ok(())
    })
}

/// [`current_work_stream`] for C.
///
/// # Safety
/// 1. The caller is attached to the interpreter, and `out` is where a pointer can be written.
unsafe extern "C" fn current_queue(
    device_type: DLDeviceType,
    device_id: i32,
    out: *mut *mut c_void,
) -> c_int {
    answer(|py| {
        let runtime = runtime::get(py)?;
        let stream = || current_work_stream(runtime, DLDevice { device_type, device_id }).map(Carried);
        let stream = py.detach(stream).or_raise()?;
        // SAFETY: promise 1.
        unsafe { out.write(stream.get()) };
        Ok(())
    })
}

/// A new tensor like a prototype. Errors go to the caller's function, since its thread may be detached.
///
/// # Safety
/// 1. `prototype` is null or a tensor with a shape; `out` is where a pointer can be written; `set_error` takes `context`.
unsafe extern "C" fn allocate(
    prototype: *mut DLTensor,
    out: *mut *mut DLManagedTensorVersioned,
    context: *mut c_void,
    set_error: SetError,
) -> c_int {
    let prototype = Carried(prototype);
    let body = || {
        with_interpreter(|py| {
            let runtime = runtime::get(py).map_err(|error| error.to_string())?;
            py.detach(|| {
                // SAFETY: promise 1.
                let prototype = unsafe { prototype.get().as_ref() };
                let prototype = prototype.ok_or("prototype: found null, allowed is a tensor")?;
                // SAFETY: promise 1.
                unsafe { UsmArray::allocate_dlpack(prototype, runtime) }.map_err(|error| error.to_string())
            })
        })
        .unwrap_or_else(|| Err("the interpreter has ended".to_owned()))
    };
    let outcome = contained("allocator", body).unwrap_or_else(|| Err(DEFECT.to_owned()));
    match outcome.map(ManagedTensor::into_raw) {
        Ok(RawTensor::Versioned(tensor)) => {
            // SAFETY: promise 1.
            unsafe { out.write(tensor.as_ptr()) };
            0
        }
        other => {
            let text = CString::new(other.err().unwrap_or_default()).unwrap_or_default();
            // SAFETY: promise 1.
            unsafe { set_error(context, c"BufferError".as_ptr(), text.as_ptr()) };
            -1
        }
    }
}
