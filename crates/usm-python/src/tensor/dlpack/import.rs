//! `from_dlpack`.

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use usm_array::dlpack::{DLDevice, DLDeviceType, DlpackImport, ManagedTensor, VERSION, device_with_number};
use usm_array::usm_core::{BackendId, Queue, UsmKind};
use usm_array::{Conversion, CopyMode, UsmArray};

use super::c_import::{Exchange, Exported};
use super::capsule;
use super::device::{self, CPU};
use crate::attribute;
use crate::called;
use crate::errors::{OrRaise, wrong_type};
use crate::interrupt;
use crate::objects::PyDevice;
use crate::objects::UsmNdarray;
use crate::sycl::{queue_argument, queue_object, runtime};
use crate::tensor::arguments::copy_mode;

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
    let wanted = WantedPlace::parse(py, device)?;
    if let Ok(ours) = x.cast::<UsmNdarray>() {
        return of_ours(py, ours.get().array(), &wanted, copy).map(UsmNdarray::from_array);
    }
    let kind = match wanted {
        WantedPlace::HostCode => UsmKind::Host,
        _ => device.map_or(UsmKind::Device, PyDevice::kind_beside),
    };
    if matches!(wanted, WantedPlace::Anywhere)
        && let Some(array) = of_exchange(x, UsmKind::Device, copy)?
    {
        return Ok(UsmNdarray::from_array(array));
    }
    let method = attribute::optional(x, intern!(py, "__dlpack__"))?;
    of_producer(&DlpackProducer::with(x, method)?, &wanted, kind, copy).map(UsmNdarray::from_array)
}

/// Where the array shall be.
enum WantedPlace {
    /// Where the memory is
    Anywhere,
    /// In memory that host code can touch
    HostCode,
    /// In the context of a queue
    At(Queue),
}

impl WantedPlace {
    fn parse(py: Python<'_>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(object) = device else { return Ok(Self::Anywhere) };
        if !object.is_instance_of::<PyTuple>() {
            return queue_argument(py, "device", Some(object)).map(Self::At);
        }
        match device::pair("device", object)? {
            CPU => Ok(Self::HostCode),
            DLDevice { device_type: DLDeviceType::CPU, device_id } => Err(PyBufferError::new_err(format!(
                "device: found number {device_id} of kDLCPU, allowed is 0"
            ))),
            device => {
                let runtime = runtime::get(py)?;
                let found = py.detach(|| device_with_number(runtime, device));
                let found = found.map_err(|error| value_error!("device: {error}"))?;
                runtime::default_queue_of(py, &found).map(Self::At)
            }
        }
    }

    fn queue(&self) -> Option<&Queue> {
        match self {
            Self::At(queue) => Some(queue),
            _ => None,
        }
    }
}

/// Arrays of our own need no tensor, which has no words for every context.
fn of_ours(py: Python<'_>, array: &UsmArray, wanted: &WantedPlace, copy: CopyMode) -> PyResult<UsmArray> {
    let kind = match wanted {
        WantedPlace::HostCode if !array.is_host_accessible() => Some(UsmKind::Host),
        _ => None,
    };
    let queue = wanted.queue().filter(|queue| queue.context() != array.context()).cloned();
    let copies = copy == CopyMode::Always || kind.is_some() || queue.is_some();
    let (array, bytes) = (array.clone(), if copies { array.size_bytes() } else { 0 });
    let convert = move || {
        let conversion = Conversion { kind, queue: queue.as_ref(), copy, ..Conversion::default() };
        array.converted(&conversion)
    };
    interrupt::run(py, bytes, convert)?.or_raise().map_err(as_buffer_error)
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
    let wanted = queue.map_or(WantedPlace::Anywhere, |queue| WantedPlace::At(queue.clone()));
    of_producer(&DlpackProducer::with(object, Some(method))?, &wanted, kind, copy)
}

/// An array over the memory of an object whose type has the C exchange API; `None` where the methods are to be called.
fn of_exchange(object: &Bound<'_, PyAny>, kind: UsmKind, copy: CopyMode) -> PyResult<Option<UsmArray>> {
    let Some(exchange) = Exchange::of(object)? else { return Ok(None) };
    let py = object.py();
    let runtime = runtime::get(py)?;
    let Some(Exported { tensor, stream }) = exchange.tensor(object)? else { return Ok(None) };
    let options = DlpackImport { queue: None, kind, copy, runtime };
    let Some(stream) = stream else {
        // SAFETY: TB1: the memory stays as long as the tensor, and the protocol says who writes it.
        return py.detach(|| unsafe { UsmArray::from_dlpack(tensor, &options) }).or_raise().map(Some);
    };
    let place = DlpackImport { copy: CopyMode::Never, ..options };
    // A look-up and no copy, which is sooner done than the interpreter is given up.
    // SAFETY: TB1, as above.
    let array = unsafe { UsmArray::from_dlpack(tensor, &place) }.or_raise()?;
    if !array.is_empty() {
        // SAFETY: TB1: the stream of the producer is live.
        unsafe { array.queue().order_after_cuda_stream(stream) }
            .map_err(usm_array::Error::from)
            .or_raise()?;
    }
    match copy {
        CopyMode::Always => of_ours(py, &array, &WantedPlace::Anywhere, copy).map(Some),
        _ => Ok(Some(array)),
    }
}

fn of_producer(
    producer: &DlpackProducer<'_>,
    wanted: &WantedPlace,
    kind: UsmKind,
    copy: CopyMode,
) -> PyResult<UsmArray> {
    let py = producer.method.py();
    let runtime = runtime::get(py)?;
    let on = producer.device;
    let is_cuda = device::is_cuda(on.device_type);
    let is_usm = is_cuda || on.device_type == DLDeviceType::ONE_API;
    let may_be_usm = is_usm || on.device_type == DLDeviceType::EXT_DEV;
    let ask_for_cpu = match (wanted, on.device_type) {
        (WantedPlace::Anywhere, _) | (_, DLDeviceType::CPU) => false,
        (WantedPlace::HostCode, _) => true,
        (WantedPlace::At(_), DLDeviceType::ONE_API) => false,
        // SYCL devices of CUDA, too, reach it.
        (WantedPlace::At(queue), _) if is_cuda => queue.device().info().backend_name != "cuda",
        // kDLExtDev is our host backend, or what another library has added: only for the former there is a place here.
        (WantedPlace::At(queue), DLDeviceType::EXT_DEV) => queue.device().backend_id() != BackendId::Host,
        // Whoever has memory of other kinds of devices can hand it to the host at least.
        (WantedPlace::At(_), _) => true,
    };
    // The queue that the memory is used on first: that of the default context where the wanted one is of another.
    // Pinned memory is the host's: its producers know no streams.
    let stream = match is_usm && !ask_for_cpu && on.device_type != DLDeviceType::CUDA_HOST {
        true => {
            let device = py.detach(|| device_with_number(runtime, on)).or_raise()?;
            let default = runtime::default_queue_of(py, &device)?;
            let asked = wanted.queue().filter(|queue| queue.context() == default.context());
            Some(asked.cloned().unwrap_or(default))
        }
        false => None,
    };
    let tensor = match producer.tensor(ask_for_cpu.then_some(CPU), copy, stream.as_ref()) {
        // An old producer hands out USM where it is, and knows of no other places.
        Err(error) if ask_for_cpu && may_be_usm && error.is_instance_of::<PyTypeError>(py) => {
            let array = of_producer(producer, &WantedPlace::Anywhere, kind, CopyMode::IfNeeded)?;
            return of_ours(py, &array, wanted, copy);
        }
        tensor => tensor?,
    };
    if let Some(ordered) = stream.as_ref().filter(|_| is_cuda && wanted.queue().is_some()) {
        // The work that the producer has ordered before this queue comes before that of the wanted one.
        py.detach(|| wanted.queue().filter(|queue| *queue != ordered).map_or(Ok(()), |_| ordered.wait()))
            .or_raise()?;
    }
    let queue = wanted.queue().or(stream.as_ref());
    let options = DlpackImport { queue, kind, copy, runtime };
    // SAFETY: TB1: the memory stays as long as the tensor, and the protocol says who writes it.
    py.detach(|| unsafe { UsmArray::from_dlpack(tensor, &options) }).or_raise()
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
        true => PyBufferError::new_err(error.value(py).to_string()),
        false => error,
    })
}
