//! `from_dlpack`.

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use usm_array::dlpack::{DLDevice, DlpackImport, DlpackPlace, DlpackRequest, ManagedTensor, VERSION};
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{CopyMode, UsmArray};

use super::c_import::{Exchange, Exported};
use super::capsule;
use super::device;
use crate::attribute;
use crate::called;
use crate::errors::{OrRaise, OrValueError, text_of, wrong_type};
use crate::objects::PyDevice;
use crate::objects::UsmNdarray;
use crate::sycl::{queue_argument, queue_object, runtime};
use crate::tensor::arguments::copy_mode;
use crate::tensor::transfer;

/// from_dlpack(x, /, *, device=None, copy=None)
///
/// An array over the memory of an object with ``__dlpack__`` and ``__dlpack_device__``.
///
/// USM is used without a copy: kDLOneAPI tensors, those of CUDA (kDLCUDA, kDLCUDAHost, kDLCUDAManaged), whose producers order their work before that of the array's queue,
/// kDLExtDev ones of the host backend, and kDLCPU ones that are USM. Other host memory is copied, by default to device
/// memory. `device` is a device, a filter string or a queue on which the array shall be, or a tuple as ``__dlpack_device__`` gives
/// it; ``(DLDeviceType.kDLCPU, 0)`` stands for memory that host code can touch. `copy` True copies in any case, None where it is
/// needed, False never. The array is read-only if the tensor is; those of producers without versions always are.
///
/// Raises TypeError for other objects, BufferError when a copy is needed but not allowed, or when the object cannot be handed out,
/// ValueError for memory on devices that are not SYCL's and for tensors that cannot be trusted.
///
/// >>> import usm.tensor as ut
/// >>> array = ut.asarray([1, 2, 3], usm_type="shared")
/// >>> view = ut.from_dlpack(array)
/// >>> view[0] = 7
/// >>> array.tolist()
/// [7, 2, 3]
#[pyfunction]
#[pyo3(signature = (x, /, *, device=None, copy=None))]
pub(crate) fn from_dlpack<'py>(
    x: &Bound<'py, PyAny>,
    device: Option<&Bound<'py, PyAny>>,
    copy: Option<bool>,
) -> PyResult<UsmNdarray> {
    let py = x.py();
    let copy = copy_mode(copy);
    let place = place(py, device)?;
    if let Ok(ours) = x.cast::<UsmNdarray>() {
        return of_ours(py, ours.get().array(), &place, copy).map(UsmNdarray::from_array);
    }
    let kind = place.kind(device.map_or(UsmKind::Device, PyDevice::kind_beside));
    if matches!(place, DlpackPlace::Anywhere)
        && let Some(array) = of_exchange(x, UsmKind::Device, copy)?
    {
        return Ok(UsmNdarray::from_array(array));
    }
    let method = attribute::optional(x, intern!(py, "__dlpack__"))?;
    of_producer(&DlpackProducer::with(x, method)?, &place, kind, copy).map(UsmNdarray::from_array)
}

/// Where the array shall be, by the argument `device`.
fn place(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<DlpackPlace> {
    let Some(object) = device else { return Ok(DlpackPlace::Anywhere) };
    if !object.is_instance_of::<PyTuple>() {
        return queue_argument(py, "device", Some(object)).map(DlpackPlace::At);
    }
    let (device, runtime) = (device::pair("device", object)?, runtime::get(py)?);
    py.detach(|| DlpackPlace::of(runtime, device)).or_value_error("device")
}

/// Arrays of our own need no tensor.
fn of_ours(py: Python<'_>, array: &UsmArray, place: &DlpackPlace, copy: CopyMode) -> PyResult<UsmArray> {
    transfer::converted(py, array, &place.conversion(array, copy)).map_err(as_buffer_error)
}

/// An array over the memory of an object with DLPack, for `asarray`: on the queue, or where the memory is.
pub(in crate::tensor) fn import<'py>(
    object: &Bound<'py, PyAny>,
    method: Bound<'py, PyAny>,
    queue: Option<&Queue>,
    kind: UsmKind,
    copy: CopyMode,
) -> PyResult<UsmArray> {
    if queue.is_none()
        && let Some(array) = of_exchange(object, kind, copy)?
    {
        return Ok(array);
    }
    let place = queue.map_or(DlpackPlace::Anywhere, |queue| DlpackPlace::At(queue.clone()));
    of_producer(&DlpackProducer::with(object, Some(method))?, &place, kind, copy)
}

/// An array over the memory of an object whose type has the C exchange API; `None` where the methods are to be called.
fn of_exchange(object: &Bound<'_, PyAny>, kind: UsmKind, copy: CopyMode) -> PyResult<Option<UsmArray>> {
    let Some(exchange) = Exchange::of(object)? else { return Ok(None) };
    let py = object.py();
    let runtime = runtime::get(py)?;
    let Some(Exported { tensor, stream }) = exchange.tensor(object)? else { return Ok(None) };
    let options = DlpackImport { kind, copy, runtime, after: stream, ..DlpackImport::default() };
    // SAFETY: TB1: the memory stays as long as the tensor, and the protocol says who writes it.
    let import = || unsafe { UsmArray::from_dlpack(tensor, &options) };
    // Without a copy this is a look-up, which is sooner done than the interpreter is given up.
    let is_look_up = stream.is_some() && copy != CopyMode::Always;
    let array = if is_look_up { import() } else { py.detach(import) };
    array.or_raise().map(Some)
}

fn of_producer(
    producer: &DlpackProducer<'_>,
    place: &DlpackPlace,
    kind: UsmKind,
    copy: CopyMode,
) -> PyResult<UsmArray> {
    let py = producer.method.py();
    let runtime = runtime::get(py)?;
    let request = DlpackRequest::new(producer.device, place);
    let queue = match request.is_ordered() {
        true => py.detach(|| request.queue(runtime)).or_raise()?,
        false => None,
    };
    let tensor = match producer.tensor(request.device(), copy, queue.as_ref()) {
        Err(error) if request.may_be_in_place() && error.is_instance_of::<PyTypeError>(py) => {
            let array = of_producer(producer, &DlpackPlace::Anywhere, kind, CopyMode::IfNeeded)?;
            return of_ours(py, &array, place, copy);
        }
        tensor => tensor?,
    };
    let options = DlpackImport { queue: queue.as_ref(), kind, copy, runtime, after: None };
    // SAFETY: TB1: that the memory stays as long as the tensor, and who writes it, is the protocol: behind the trust boundary of SECURITY.md.
    py.detach(|| unsafe { request.import(tensor, &options) }).or_raise()
}

/// The methods of an object with DLPack, of which the second one has told its device.
struct DlpackProducer<'py> {
    method: Bound<'py, PyAny>,
    device: DLDevice,
}

impl<'py> DlpackProducer<'py> {
    /// An object and its method `__dlpack__`, if it has one.
    fn with(object: &Bound<'py, PyAny>, method: Option<Bound<'py, PyAny>>) -> PyResult<Self> {
        let py = object.py();
        let device = attribute::optional(object, intern!(py, "__dlpack_device__"))?;
        let (Some(device), Some(method)) = (device, method) else {
            return Err(wrong_type("x", object, "is an object with __dlpack__ and __dlpack_device__"));
        };
        let device = device::pair("__dlpack_device__", &called::python(py, || device.call0())?)?;
        Ok(Self { method, device })
    }

    /// The tensor, asked for with everything that DLPack 1 knows, else as before.
    fn tensor(
        &self,
        device: Option<DLDevice>,
        copy: CopyMode,
        stream: Option<&Queue>,
    ) -> PyResult<ManagedTensor> {
        let py = self.method.py();
        let keywords = PyDict::new(py);
        if let Some(queue) = stream {
            match queue.native_stream() {
                Some(stream) => keywords.set_item(intern!(py, "stream"), stream)?,
                None => keywords.set_item(intern!(py, "stream"), queue_object(py, queue)?)?,
            }
        }
        let old_keywords = keywords.copy()?;
        keywords.set_item(intern!(py, "max_version"), (VERSION.major, VERSION.minor))?;
        if let Some(device) = device {
            keywords.set_item(intern!(py, "dl_device"), (device.device_type.0, device.device_id))?;
        }
        // A copy that is asked for is made here, into USM.
        if copy == CopyMode::Never {
            keywords.set_item(intern!(py, "copy"), false)?;
        }
        let call = |keywords| called::python(py, || self.method.call((), Some(keywords)));
        let capsule = match call(&keywords) {
            Err(error) if device.is_none() && error.is_instance_of::<PyTypeError>(py) => call(&old_keywords),
            called => called,
        }?;
        capsule::take(&capsule)
    }
}

/// `from_dlpack` says `BufferError`.
fn as_buffer_error(error: PyErr) -> PyErr {
    Python::attach(|py| match error.get_type(py).is(py.get_type::<PyValueError>()) {
        true => text_of(&error, py).map_or_else(|raised| raised, PyBufferError::new_err),
        false => error,
    })
}
