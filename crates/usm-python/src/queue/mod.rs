//! Methods of `SyclQueue`, which take memory and arrays.

mod kernel;
mod operations;
mod stream;

pub(crate) use stream::from_cuda_stream;

use pyo3::exceptions::{PyAttributeError, PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyCapsule, PyString};
use usm_array::usm_core::QueueProperties;
use usm_array::usm_memory::flight;

use crate::errors::{OrRaise, SyclQueueCreationError, instead};
use crate::interrupt;
use crate::number::{index, sequence, shown};
use crate::sycl::capsule::{self, QueueOrContext};
use crate::sycl::event::{self, SyclEvent};
use crate::sycl::resolve::{Target, device_argument, first_device, queue_of, target};
use crate::sycl::{SyclQueue, dpctl, enums, listing, pickle, runtime};

fn properties(property: Option<&Bound<'_, PyAny>>) -> PyResult<QueueProperties> {
    let mut properties = QueueProperties::OUT_OF_ORDER;
    let Some(property) = property else { return Ok(properties) };
    let asked = sequence("property", property).unwrap_or_else(|_| vec![property.clone()]);
    for one in asked {
        let word = one.cast::<PyString>().map(|word| word.to_string_lossy().into_owned());
        // The bits of dpctl, for programs that write 0 for no property.
        let number = match one.extract::<u8>() {
            Err(error) if !error.is_instance_of::<PyException>(one.py()) => return Err(error),
            number => number,
        };
        let bits = match (word.as_deref(), number) {
            (Ok("default"), _) | (Err(_), Ok(0)) => 0,
            (Ok("enable_profiling"), _) | (Err(_), Ok(1)) => 1,
            (Ok("in_order"), _) | (Err(_), Ok(2)) => 2,
            (Err(_), Ok(3)) => 3,
            _ => {
                return Err(value_error!(
                    "property: found {}, allowed are \"in_order\", \"enable_profiling\", \"default\" and 0 to 3",
                    shown(&one)?
                ));
            }
        };
        properties.in_order |= bits & 2 != 0;
        properties.profiling |= bits & 1 != 0;
    }
    Ok(properties)
}

#[pymethods]
#[allow(non_snake_case, reason = "dpctl's names `dEvents`, `gS` and `lS`")]
impl SyclQueue {
    #[new]
    #[allow(clippy::new_ret_no_self, reason = "beside dpctl an object of the joint class")]
    #[pyo3(signature = (arg=None, device=None, *, property=None))]
    fn new<'py>(
        py: Python<'py>,
        arg: Option<&Bound<'py, PyAny>>,
        device: Option<&Bound<'py, PyAny>>,
        property: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let wanted = properties(property)?;
        let failed = instead::<SyclQueueCreationError>(py);
        let (context, device) = match (target(py, "arg", arg).map_err(&failed)?, device) {
            (Target::Device(device), None) => (device.default_context().or_raise()?, device),
            (Target::Existing(QueueOrContext::Context(context)), None) => {
                let device = first_device(&context)?;
                (context, device)
            }
            (Target::Existing(QueueOrContext::Context(context)), Some(_)) => {
                (context, device_argument(py, "device", device).map_err(&failed)?)
            }
            (_, Some(_)) => {
                return Err(PyTypeError::new_err("device: allowed only after a context"));
            }
            (Target::Existing(QueueOrContext::Queue(queue)), None) if property.is_none() => {
                return dpctl::own_queue_object(py, &queue);
            }
            (Target::Existing(QueueOrContext::Queue(_)), None) => {
                return Err(PyTypeError::new_err(
                    "property: a queue that exists keeps its properties, allowed is None; make a new one from its device",
                ));
            }
        };
        let queue = py.detach(|| context.create_queue(&device, wanted));
        let queue = queue.map_err(|error| SyclQueueCreationError::new_err(error.to_string()))?;
        dpctl::own_queue_object(py, &queue)
    }

    /// Device of the queue.
    #[getter(sycl_device)]
    fn device<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dpctl::device_object(py, self.queue.device())
    }

    /// Context of the queue.
    #[getter(sycl_context)]
    fn context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dpctl::context_object(py, self.queue.context())
    }

    /// Device of the queue.
    fn get_sycl_device<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.device(py)
    }

    /// Context of the queue.
    fn get_sycl_context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.context(py)
    }

    /// Backend of the device, a `backend_type`.
    #[getter]
    fn backend<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        enums::backend_type(py, self.queue.device().info().backend_name)
    }

    /// Name of the device.
    #[getter]
    fn name(&self) -> &str {
        &self.queue.device().info().name
    }

    /// Version of the device's driver.
    #[getter]
    fn driver_version(&self) -> &str {
        &self.queue.device().info().driver_version
    }

    /// Print name, driver version, vendor and filter string of the device.
    fn print_device_info(&self, py: Python<'_>) -> PyResult<()> {
        listing::print(py, &listing::device(self.queue.device()))
    }

    /// True when events have profiling times.
    #[getter]
    fn has_enable_profiling(&self) -> bool {
        self.queue.properties().profiling
    }

    /// True when operations run in the order of their submission.
    #[getter]
    fn is_in_order(&self) -> bool {
        self.queue.properties().in_order
    }

    /// The `CUstream` of a queue of the CUDA backend, a number; None for other queues. Work of other libraries on it runs in the order
    /// of the queue, as long as that lives.
    #[getter]
    fn native_stream(&self) -> Option<usize> {
        self.queue.native_stream()
    }

    /// A function that returns the version of the protocol and the stream, by which CuPy and cuda.core take the queue.
    ///
    /// AttributeError for queues of other backends.
    #[getter]
    fn __cuda_stream__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCFunction>> {
        let stream = self.queue.native_stream().ok_or_else(|| {
            PyAttributeError::new_err("__cuda_stream__: only queues of the CUDA backend have it")
        })?;
        PyCFunction::new_closure(py, None, None, move |_, _| (0, stream))
    }

    /// Wait for all that was submitted, and for operations of any queue that Ctrl-C has broken off: they go on, and keep their operands.
    ///
    /// Raises UsmError when an operation failed. Ctrl-C ends the waiting, not the operations.
    pub(crate) fn wait(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| flight::wait(&self.queue)).or_raise()?;
        interrupt::wait_for_broken_off(py)
    }

    /// Submit a barrier, which completes when all the events are complete; without any, when all earlier operations are. What
    /// is submitted afterwards starts after it.
    #[pyo3(signature = (dependent_events=None))]
    fn submit_barrier(
        &self,
        py: Python<'_>,
        dependent_events: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<SyclEvent> {
        let events =
            dependent_events.map_or(Ok(Vec::new()), |asked| event::events("dependent_events", asked))?;
        py.detach(|| flight::barrier(&self.queue, events)).map(SyclEvent::from_event).or_raise()
    }

    /// Copy `count` bytes from `src` to `dest`, each USM memory or an object with the buffer protocol, and wait. On an in-order
    /// queue that comes after all that was submitted before.
    fn memcpy(
        &self,
        dest: &Bound<'_, PyAny>,
        src: &Bound<'_, PyAny>,
        count: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        operations::memcpy(&self.queue, dest, src, index("count", count)?)
    }

    /// As memcpy, but return when the copy is submitted, to be done after the events `dEvents`.
    ///
    /// USM on either side remembers the copy: reads, exports and later operations come after it, on any queue, and nothing has to be
    /// asked before. An object with the buffer protocol is kept until the copy is complete; use it only then. So is a memoryview or NumPy
    /// array over USM, which does not wait. Between two objects with the buffer protocol only, the copy is done when this returns.
    #[pyo3(signature = (dest, src, count, dEvents=None))]
    fn memcpy_async(
        &self,
        dest: &Bound<'_, PyAny>,
        src: &Bound<'_, PyAny>,
        count: &Bound<'_, PyAny>,
        dEvents: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<SyclEvent> {
        operations::memcpy_async(&self.queue, dest, src, Some(index("count", count)?), dEvents)
    }

    /// Copy all of `src` to `dest`, of the same number of bytes, each USM memory or an object with the buffer protocol, and wait.
    #[pyo3(signature = (dest, src))]
    fn copy(&self, py: Python<'_>, dest: &Bound<'_, PyAny>, src: &Bound<'_, PyAny>) -> PyResult<()> {
        self.copy_async(dest, src, None)?.wait(py)
    }

    /// As copy, but return when the copy is submitted, to be done after the events `dEvents`.
    #[pyo3(signature = (dest, src, dEvents=None))]
    fn copy_async(
        &self,
        dest: &Bound<'_, PyAny>,
        src: &Bound<'_, PyAny>,
        dEvents: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<SyclEvent> {
        operations::memcpy_async(&self.queue, dest, src, None, dEvents)
    }

    /// Set the first `count` bytes of USM memory to `value`, 0 to 255, and wait; without `count` all of them.
    #[pyo3(signature = (dest, value=0, count=None))]
    fn memset(
        &self,
        py: Python<'_>,
        dest: &Bound<'_, PyAny>,
        value: u8,
        count: Option<usize>,
    ) -> PyResult<()> {
        self.memset_async(dest, value, count, None)?.wait(py)
    }

    /// As memset, but return when the operation is submitted, to be done after the events `dEvents`.
    #[pyo3(signature = (dest, value=0, count=None, dEvents=None))]
    fn memset_async(
        &self,
        dest: &Bound<'_, PyAny>,
        value: u8,
        count: Option<usize>,
        dEvents: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<SyclEvent> {
        operations::fill(&self.queue, dest, &[value], count, dEvents)
    }

    /// Write `count` repetitions of `pattern`, 1 to 16 bytes, to USM memory, and wait; without `count` as many as fit,
    /// which must be a whole number.
    #[pyo3(signature = (dest, pattern, count=None))]
    fn fill(
        &self,
        py: Python<'_>,
        dest: &Bound<'_, PyAny>,
        pattern: &[u8],
        count: Option<usize>,
    ) -> PyResult<()> {
        self.fill_async(dest, pattern, count, None)?.wait(py)
    }

    /// As fill, but return when the operation is submitted, to be done after the events `dEvents`.
    #[pyo3(signature = (dest, pattern, count=None, dEvents=None))]
    fn fill_async(
        &self,
        dest: &Bound<'_, PyAny>,
        pattern: &[u8],
        count: Option<usize>,
        dEvents: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<SyclEvent> {
        operations::fill(&self.queue, dest, pattern, count, dEvents)
    }

    /// Run a kernel of usm.program over a range, and wait.
    ///
    /// `args` is a list with a value for each parameter: an array or memory (the kernel gets a pointer to the first element, and learns
    /// neither shape nor strides), a number, or local memory (LocalAccessor, WorkGroupMemory). Numbers of NumPy and ctypes have the width
    /// of their type; an int of Python is a signed 64-bit integer, a float a double, a bool one byte. `gS` is a list of one to three numbers
    /// of work-items, the last of which varies fastest; `lS` those of a work-group, by default as the runtime likes them. The kernel starts
    /// after the events `dEvents`, and after earlier operations on the same memory.
    ///
    /// What a kernel does is not checked: it must stay within its arguments, and end.
    ///
    /// Raises SyclKernelSubmitError for a wrong number or size of arguments and for memory out of the device's reach,
    /// SyclKernelInvalidRangeError for a range of other sizes, TypeError for other arguments, BufferError for memory in use by host code.
    #[pyo3(signature = (kernel, args, gS, lS=None, dEvents=None))]
    fn submit(
        &self,
        kernel: &Bound<'_, PyAny>,
        args: &Bound<'_, PyAny>,
        gS: &Bound<'_, PyAny>,
        lS: Option<&Bound<'_, PyAny>>,
        dEvents: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<SyclEvent> {
        let event = kernel::submit(&self.queue, kernel, args, (gS, lS), dEvents)?;
        event.wait(kernel.py())?;
        Ok(event)
    }

    /// As submit, but return when the kernel is submitted.
    ///
    /// Arrays and memory remember the kernel: reads, exports and later operations on any queue come after it, and nothing has to be asked
    /// before. Use a memoryview or NumPy array over them only when the kernel is complete.
    #[pyo3(signature = (kernel, args, gS, lS=None, dEvents=None))]
    fn submit_async(
        &self,
        kernel: &Bound<'_, PyAny>,
        args: &Bound<'_, PyAny>,
        gS: &Bound<'_, PyAny>,
        lS: Option<&Bound<'_, PyAny>>,
        dEvents: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<SyclEvent> {
        kernel::submit(&self.queue, kernel, args, (gS, lS), dEvents)
    }

    /// Hint that the device will soon use the first `count` bytes of USM memory, and wait; 0 means all.
    #[pyo3(signature = (mem, count=0))]
    fn prefetch(&self, py: Python<'_>, mem: &Bound<'_, PyAny>, count: usize) -> PyResult<()> {
        self.prefetch_async(mem, count, None)?.wait(py)
    }

    /// As prefetch, but return when the hint is submitted, to be done after the events `dEvents`.
    #[pyo3(signature = (mem, count=0, dEvents=None))]
    fn prefetch_async(
        &self,
        mem: &Bound<'_, PyAny>,
        count: usize,
        dEvents: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<SyclEvent> {
        operations::prefetch(&self.queue, mem, count, dEvents)
    }

    /// Say how the first `count` bytes of USM memory will be used, and wait; 0 means all. What the numbers of `advice` mean is up
    /// to the device's backend; 0 takes earlier advice back.
    #[pyo3(signature = (mem, count, advice))]
    fn mem_advise(&self, py: Python<'_>, mem: &Bound<'_, PyAny>, count: usize, advice: i32) -> PyResult<()> {
        self.mem_advise_async(mem, count, advice, None)?.wait(py)
    }

    /// As mem_advise, but return when the advice is submitted, to be done after the events `dEvents`.
    #[pyo3(signature = (mem, count, advice, dEvents=None))]
    fn mem_advise_async(
        &self,
        mem: &Bound<'_, PyAny>,
        count: usize,
        advice: i32,
        dEvents: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<SyclEvent> {
        operations::mem_advise(&self.queue, mem, count, advice, dEvents)
    }

    /// A new capsule "SyclQueueRef" with a `sycl::queue` of its own.
    ///
    /// Raises ValueError on the host backend, which has no SYCL objects.
    fn _get_capsule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        self.capsule(py)
    }

    /// A capsule by which extensions that link this library take a queue of the host backend; None for other queues.
    fn _get_host_capsule<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyCapsule>>> {
        capsule::export_host(py, runtime::get(py)?, &self.queue)
    }

    /// True for the same SYCL queue, as an object of this package or of dpctl.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(queue_of(other)?.is_some_and(|other| self.queue == other))
    }

    /// The hash of the same queue in dpctl. That of a default queue from before the import of dpctl changes once, with the queue.
    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        if self.queue.is_default() {
            dpctl::join_default_queues(py, &self.queue)?;
        }
        Ok(self.queue.hash_value())
    }

    /// A pickle has the device and the properties. The default queue of a device is that again; another queue is a new one.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<pickle::Reduced<'py>> {
        pickle::queue(py, &self.queue)
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    /// Name of the class.
    #[getter]
    fn __name__(&self) -> &'static str {
        "SyclQueue"
    }

    fn __repr__(&self) -> String {
        let order = if self.is_in_order() { "in order" } else { "out of order" };
        format!("<usm.SyclQueue on {}, {order}>", self.queue.device().filter_string())
    }
}
