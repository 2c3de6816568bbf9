//! How errors of the Rust crates become Python exceptions. Only names of dtypes have theirs where they are parsed.

use std::cell::RefCell;

use pyo3::PyTypeInfo;
use pyo3::create_exception;
use pyo3::exceptions::{
    PyAttributeError, PyBufferError, PyException, PyIndexError, PyKeyboardInterrupt, PyMemoryError,
    PyModuleNotFoundError, PyOverflowError, PyRuntimeError, PyTypeError, PyValueError, PyZeroDivisionError,
};
use pyo3::prelude::*;
use pyo3::types::PyString;
use usm_array::dlpack::DlpackError;
use usm_array::usm_memory::{self, usm_core};
use usm_array::{CreateError, LayoutError, ManipulateError, Scalar};

use crate::called;

create_exception!(
    usm,
    UsmError,
    PyException,
    "A failure of a runtime or driver that has no more specific exception."
);
create_exception!(usm, SyclDeviceCreationError, UsmError, "No device is what was asked for.");
create_exception!(usm, SyclSubDeviceCreationError, UsmError, "The device cannot be parted like that.");
create_exception!(usm, SyclContextCreationError, UsmError, "The context cannot be made.");
create_exception!(usm, SyclQueueCreationError, UsmError, "The queue cannot be made.");
create_exception!(usm, SyclKernelInvalidRangeError, UsmError, "No kernel runs over such a range.");
create_exception!(usm, SyclKernelSubmitError, UsmError, "The kernel cannot be run like that.");
create_exception!(usm.program, SyclProgramCompilationError, UsmError, "The program cannot be built.");
create_exception!(
    usm.tensor,
    ExecutionPlacementError,
    PyValueError,
    "The arrays of an operation do not say where to compute: they have different queues."
);
create_exception!(usm, USMAllocationError, PyMemoryError, "The runtime did not give the memory asked for.");

// Of two built-in exceptions, which a class made here cannot be.
pyo3::import_exception!(usm.tensor._errors, AxisError);

/// A `TypeError` with a formatted text.
macro_rules! type_error {
    ($($text:tt)*) => { pyo3::exceptions::PyTypeError::new_err(format!($($text)*)) };
}

/// A `ValueError` with a formatted text.
macro_rules! value_error {
    ($($text:tt)*) => { pyo3::exceptions::PyValueError::new_err(format!($($text)*)) };
}

/// What host code does with device memory instead: what most people want, then what works without NumPy.
pub(crate) const DEVICE_HINT: &str = "USM-device memory is not accessible to host code; usm.tensor.asnumpy(array) copies it to NumPy, \
                                      which needs pip install numpy; usm.tensor.asarray(array, usm_type=\"host\") or \
                                      usm_type=\"shared\" copies it to memory that NumPy views; memory.copy_to_host() copies \
                                      memory without an array";

/// What else helps where no device was found.
const DEVICES_HINT: &str = "python -m usm lists the devices, and says why a backend has none";

/// What helps where no memory was left.
const MEMORY_HINT: &str = "free arrays: str(usm.memory.snapshot()) lists the memory that is live";

/// What numbers of Python are in kernels, and what others there are.
const NUMBERS_HINT: &str = "numbers of Python are `double` and `long`, numpy.float32(x) or ctypes.c_float(x) is a `float`, \
                            numpy.int32(x) or ctypes.c_int(x) an `int`";

/// What NumPy does with an array.
pub(crate) const NUMPY_HINT: &str = "there is no implicit conversion to NumPy; numpy.asarray(array) views host and shared memory \
                                     by the buffer protocol, usm.tensor.asnumpy(array) copies memory of any kind";

/// What works without NumPy, where it is missing.
const NO_NUMPY: &str = "NumPy is not installed: pip install numpy installs it; without it array.tolist() gives the \
                        elements, and memoryview(usm.tensor.asarray(array, usm_type=\"host\")) views a copy on the host";

/// The exception for a missing NumPy, in words that say what works; other exceptions stay as they are.
pub(crate) fn without_numpy(py: Python<'_>, error: PyErr) -> PyErr {
    // Comparisons with strings run no code of other types.
    let is_numpy =
        |name: Bound<'_, PyAny>| name.cast::<PyString>().is_ok_and(|name| name.as_borrowed() == "numpy");
    let is_missing = error.is_instance_of::<PyModuleNotFoundError>(py)
        && error.value(py).getattr(intern!(py, "name")).is_ok_and(is_numpy);
    if !is_missing {
        return error;
    }
    let better = PyModuleNotFoundError::new_err(NO_NUMPY);
    // As the import system does, so that programs that look at the name go on working.
    let named = better.value(py).setattr(intern!(py, "name"), intern!(py, "numpy"));
    better.set_cause(py, Some(error));
    named.err().unwrap_or(better)
}

/// An error that has a Python exception.
pub(crate) trait ToPyErr {
    fn to_py_err(&self) -> PyErr;
}

/// Turns the error of a result into its Python exception.
pub(crate) trait OrRaise<T> {
    fn or_raise(self) -> PyResult<T>;
}

/// Turns the error of a result into a `ValueError` about a part of the input.
pub(crate) trait OrValueError<T> {
    /// As a `ValueError` that starts with the key of the interface, or the argument, that it is about.
    fn or_value_error(self, key: &str) -> PyResult<T>;
}

/// An exception as the error of code in the crates below that calls Python.
pub(crate) struct Raised(PyErr);

impl From<usm_array::Error> for Raised {
    fn from(error: usm_array::Error) -> Self {
        Self(error.to_py_err())
    }
}

impl From<PyErr> for Raised {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

impl From<Raised> for PyErr {
    fn from(raised: Raised) -> Self {
        raised.0
    }
}

impl<T, E: ToPyErr> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| error.to_py_err())
    }
}

impl<T, E: std::fmt::Display> OrValueError<T> for Result<T, E> {
    fn or_value_error(self, key: &str) -> PyResult<T> {
        self.map_err(|error| value_error!("{key}: {error}"))
    }
}

impl ToPyErr for usm_core::Error {
    fn to_py_err(&self) -> PyErr {
        use usm_core::Error as E;
        let text = self.to_string();
        match self {
            E::OutOfMemory { .. } => USMAllocationError::new_err(format!("{text}; {MEMORY_HINT}")),
            E::NoSuchDevice { .. } => SyclDeviceCreationError::new_err(format!("{text}; {DEVICES_HINT}")),
            E::TooLarge { .. } | E::KindNotSupported { .. } | E::AlignmentNotHonoured { .. } => {
                USMAllocationError::new_err(text)
            }
            E::DefaultDevice { .. } | E::BackendUnavailable { .. } | E::InvalidFilter { .. } => {
                SyclDeviceCreationError::new_err(text)
            }
            E::CannotPartition { .. } => SyclSubDeviceCreationError::new_err(text),
            E::DeviceNotInContext { .. } => SyclContextCreationError::new_err(text),
            E::KernelRange { .. } => SyclKernelInvalidRangeError::new_err(text),
            E::KernelMismatch { .. }
            | E::KernelArguments { .. }
            | E::ArgumentSize { .. }
            | E::LocalMemory { .. } => SyclKernelSubmitError::new_err(text),
            E::KernelBuild { .. } | E::InvalidSpirv { .. } | E::NoNvrtc { .. } => {
                SyclProgramCompilationError::new_err(text)
            }
            E::Asynchronous { .. }
            | E::Backend { .. }
            | E::StreamCapture { .. }
            | E::SharedMemory { .. }
            | E::Driver { .. }
            | E::DeviceLost { .. }
            | E::Forked
            | E::ForkedRuntime
            | E::ProcessEnding => UsmError::new_err(text),
            _ => PyValueError::new_err(text),
        }
    }
}

impl ToPyErr for usm_memory::Error {
    fn to_py_err(&self) -> PyErr {
        use usm_memory::Error as E;
        match self {
            E::Core(error) => error.to_py_err(),
            E::OutOfMemory { .. } => USMAllocationError::new_err(format!("{self}; {MEMORY_HINT}")),
            E::Interrupted => raised(),
            E::NotReachable { .. } => {
                SyclKernelSubmitError::new_err(format!("{self}; array.to_device(queue) copies it there"))
            }
            E::KernelRefused { .. } => SyclKernelSubmitError::new_err(format!("{self}; {NUMBERS_HINT}")),
            E::BorrowConflict { .. } => PyBufferError::new_err(self.to_string()),
            E::NotHostAccessible { .. } => PyTypeError::new_err(DEVICE_HINT),
            E::OutOfHostMemory { .. } => PyMemoryError::new_err(self.to_string()),
            E::StaleHandle { .. } | E::Server { .. } => UsmError::new_err(self.to_string()),
            _ => PyValueError::new_err(self.to_string()),
        }
    }
}

impl ToPyErr for LayoutError {
    fn to_py_err(&self) -> PyErr {
        match self {
            Self::IndexOutOfBounds { .. }
            | Self::UnsignedIndexOutOfBounds { .. }
            | Self::TooManyIndices { .. }
            | Self::RepeatedEllipsis { .. } => PyIndexError::new_err(self.to_string()),
            Self::AxisOutOfBounds { .. } => AxisError::new_err(self.to_string()),
            _ => PyValueError::new_err(self.to_string()),
        }
    }
}

impl ToPyErr for usm_array::Error {
    fn to_py_err(&self) -> PyErr {
        use usm_array::Error as E;
        use usm_array::IndexError as I;
        // The class is that of what is wrong with the number, the text also has its place.
        let cause = if let E::Number { source, .. } = self { source } else { self };
        match cause {
            E::Layout(error) => error.to_py_err(),
            E::Index(
                I::OutOfBounds { .. }
                | I::MaskSize { .. }
                | I::ArrayShapes { .. }
                | I::NotAnIndex { .. }
                | I::NotIntegers { .. },
            ) => PyIndexError::new_err(self.to_string()),
            E::Memory(error) => error.to_py_err(),
            E::Manipulate(ManipulateError::QueuesDiffer { name, first, found, expected }) => {
                let place = match found == expected {
                    true => format!(" (both are {found}, but queues of their own)"),
                    false => format!(": {found}, and not {expected}"),
                };
                ExecutionPlacementError::new_err(format!(
                    "{name} is on another queue than {first}{place}; {name}.to_device({first}.device) moves it"
                ))
            }
            E::Create(CreateError::TooManyItems { .. }) => PyMemoryError::new_err(self.to_string()),
            E::Create(CreateError::ZeroStep { .. }) => PyZeroDivisionError::new_err(self.to_string()),
            // Not a number is in no range: ValueError, as of int(nan).
            E::ScalarRange { found: Scalar::Float(found), .. } if found.is_nan() => {
                PyValueError::new_err(self.to_string())
            }
            E::ScalarRange { .. } => PyOverflowError::new_err(self.to_string()),
            E::DtypeMismatch { .. }
            | E::SourceDtype { .. }
            | E::ScalarKind { .. }
            | E::NotComplex { .. }
            | E::CastNotAllowed { .. } => PyTypeError::new_err(self.to_string()),
            E::NotHostAccessible { .. } => PyTypeError::new_err(DEVICE_HINT),
            // So that consumers go on to DLPack.
            E::NotDescribed { .. } => PyAttributeError::new_err(self.to_string()),
            E::OutOfHostMemory { .. } => PyMemoryError::new_err(self.to_string()),
            E::Dlpack(
                DlpackError::CopyNeeded { .. }
                | DlpackError::NotUsm { .. }
                | DlpackError::NoDevice { .. }
                | DlpackError::NotUsable { .. }
                | DlpackError::ReadOnly,
            ) => PyBufferError::new_err(self.to_string()),
            _ => PyValueError::new_err(self.to_string()),
        }
    }
}

thread_local! {
    /// What a signal handler raised while a guard waited on this thread.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Keeps the exception that broke off the wait of a guard on this thread, for its `Error::Interrupted`.
pub(crate) fn set_raised(error: PyErr) {
    RAISED.set(Some(error));
}

fn raised() -> PyErr {
    RAISED.take().unwrap_or_else(|| PyKeyboardInterrupt::new_err("interrupted"))
}

/// The text of an exception. An exception class of others may raise another exception there.
pub(crate) fn text_of(error: &PyErr, py: Python<'_>) -> PyResult<String> {
    Ok(called::python(py, || error.value(py).str())?.to_string_lossy().into_owned())
}

/// Another exception, made from the text of one of class `E`; exceptions of other classes stay as they are.
pub(crate) fn in_place_of<E: PyTypeInfo>(
    py: Python<'_>,
    make: impl Fn(String) -> PyErr,
) -> impl Fn(PyErr) -> PyErr {
    move |error| match error.is_instance_of::<E>(py) {
        true => text_of(&error, py).map_or_else(|raised| raised, &make),
        false => error,
    }
}

/// The first line of a text, which stands alone in errors of ours: lists of what was tried begin below it.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Another exception for a device that does not exist: that of the object which was to be made from it.
pub(crate) fn instead<E: PyTypeInfo>(py: Python<'_>) -> impl Fn(PyErr) -> PyErr {
    in_place_of::<SyclDeviceCreationError>(py, PyErr::new::<E, String>)
}

/// Whether an exception of a producer says that its memory cannot be handed out, and not that the call was broken off or lacked memory.
/// C++ code raises RuntimeError for whatever it refuses.
pub(crate) fn is_refusal(error: &PyErr, py: Python<'_>) -> bool {
    error.is_instance_of::<PyBufferError>(py)
        || error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyValueError>(py)
        || error.is_instance_of::<PyRuntimeError>(py)
}

/// The name of an object's type, for messages.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}

/// The refusal of an argument by its type; `allowed` begins with "is" or "are".
pub(crate) fn wrong_type(name: &str, object: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
    type_error!("{name}: found {}, allowed {allowed}", type_name(object))
}

/// A `TypeError` or `ValueError` with another text; other exceptions stay as they are.
pub(crate) fn reworded(py: Python<'_>, error: PyErr, text: impl FnOnce(&str) -> String) -> PyErr {
    let make = |text| match error.is_instance_of::<PyTypeError>(py) {
        true => Some(PyTypeError::new_err(text)),
        false => error.is_instance_of::<PyValueError>(py).then(|| PyValueError::new_err(text)),
    };
    match text_of(&error, py) {
        Ok(said) => make(text(&said)).unwrap_or(error),
        Err(raised) => raised,
    }
}

/// The attribute that memory of other devices does not have, so that `hasattr` says so.
pub(crate) fn no_cuda() -> PyErr {
    PyAttributeError::new_err("__cuda_array_interface__: only memory of CUDA devices has it")
}
