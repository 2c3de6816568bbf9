//! Methods of `Device`: where arrays are, in the words of the array API.

use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use usm_array::usm_core::{BackendId, UsmKind};

use super::functions::device_queue;
use super::peer;
use crate::memory::kind_argument;
use crate::objects::PyDevice;
use crate::sycl::dpctl::own_queue_object;
use crate::sycl::{SyclQueue, own_device, queue_context, queue_device, queue_object, queue_of, runtime};

#[pymethods]
impl PyDevice {
    /// The device of an argument `device`: a queue, a device, a filter string, or None for the default device. Devices stand for
    /// their cached queue.
    ///
    /// Raises ValueError for a device that is a part of another one, SyclDeviceCreationError when there is no such device.
    ///
    /// >>> import usm, usm.tensor as ut
    /// >>> ut.Device.create_device(usm.SyclDevice("host")).sycl_queue == usm.get_device_cached_queue("host")
    /// True
    #[classmethod]
    #[pyo3(signature = (device=None))]
    fn create_device(class: &Bound<'_, PyType>, device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let kind = device.map_or(UsmKind::Device, Self::kind_beside);
        device_queue(class.py(), "device", device).map(|queue| Self { queue, kind })
    }

    /// The queue used for what is computed and copied there.
    #[getter]
    fn sycl_queue<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        queue_object(py, &self.queue)
    }

    /// The kind of the memory of the array whose device it is; new arrays with ``device=`` are in memory of this kind.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.zeros(2, device=ut.zeros(3, usm_type="host").device).usm_type
    /// 'host'
    #[getter]
    fn usm_type(&self) -> &'static str {
        self.kind.as_str()
    }

    /// The context of the queue.
    #[getter]
    fn sycl_context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        queue_context(py, &self.queue)
    }

    /// The device of the queue.
    #[getter]
    fn sycl_device<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        queue_device(py, &self.queue)
    }

    /// Print name, driver version, vendor and filter string of the device.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.Device.create_device("host").print_device_info()  # doctest: +ELLIPSIS
    ///     Name   ...
    fn print_device_info(&self, py: Python<'_>) -> PyResult<()> {
        self.sycl_device(py)?.call_method0("print_device_info").map(drop)
    }

    /// Wait for all that was submitted to the queue.
    ///
    /// >>> import usm.tensor as ut
    /// >>> ut.zeros(3).device.wait()
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        SyclQueue::from_queue(self.queue.clone()).wait(py)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(other) = other.cast::<Self>() {
            return Ok(self.queue == other.get().queue);
        }
        let py = other.py();
        let queue = match peer::device_class(py)? {
            Some(class) if other.is_instance(&class)? => other.getattr(intern!(py, "sycl_queue"))?,
            _ => other.clone(),
        };
        if let Some(queue) = queue_of(&queue)? {
            return Ok(self.queue == queue);
        }
        match own_device(other)? {
            Some(device) if device == *self.queue.device() => {
                Ok(runtime::default_queue_of(py, self.queue.device())? == self.queue)
            }
            _ => Ok(false),
        }
    }

    /// That of the queue, to which it is equal.
    fn __hash__(&self) -> u64 {
        self.queue.hash_value()
    }

    /// How pickles are read.
    #[classmethod]
    fn _from_pickle(class: &Bound<'_, PyType>, queue: &Bound<'_, PyAny>, usm_type: &str) -> PyResult<Self> {
        let kind = kind_argument("usm_type", usm_type)?;
        device_queue(class.py(), "queue", Some(queue)).map(|queue| Self { queue, kind })
    }

    /// A pickle has the queue and the kind.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, device) = (slf.py(), slf.get());
        let make = slf.get_type().getattr(intern!(py, "_from_pickle"))?;
        let state = (own_queue_object(py, &device.queue)?, device.kind.as_str());
        Ok((make, state.into_pyobject(py)?))
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    /// That of dpnp, where the program has imported it: what `isinstance` asks beside the type, so that dpnp takes it for its own.
    #[getter]
    fn __class__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let class = peer::device_class(slf.py())?.filter(|_| slf.get().queue.backend_id() == BackendId::Sycl);
        Ok(class.unwrap_or_else(|| slf.get_type().into_any()))
    }

    fn __repr__(&self) -> String {
        format!("Device({})", self.queue.device().filter_string())
    }
}
