//! Arrays, where they are, and memory: what these objects hold. Their methods are in `tensor` and `memory`.

use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use usm_array::usm_core::fork::{ForkMutex, ForkOnce};
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::usm_memory::UsmBuffer;
use usm_array::{BufferSource, Dtype, UsmArray};

use crate::errors::OrRaise;

/// usm_ndarray(shape, dtype=None, strides=None, buffer="device", offset=None, order="C", buffer_ctor_kwargs={}, array_namespace=None)
///
/// An n-dimensional array over USM of any kind.
///
/// `buffer` is ``"device"``, ``"shared"`` or ``"host"`` for new memory, or memory or an array whose memory is used. `strides` and
/// `offset` are in elements and may be negative, as long as every element lies within the memory; new memory is as large as
/// they need, and offset 0 or None then stands for the one that makes the lowest element the first. In existing memory None stands
/// for 0; an array as `buffer` stands for its memory, and a view that begins elsewhere needs an explicit offset. `buffer_ctor_kwargs` are `queue`
/// and `alignment` of new memory.
///
/// Raises ValueError when an element would lie outside the memory, USMAllocationError when memory cannot be allocated.
///
/// >>> import usm.tensor as ut
/// >>> a = ut.usm_ndarray((2, 3), dtype="float32", buffer="shared")
/// >>> a[...] = [[1, 2, 3], [4, 5, 6]]
/// >>> a[:, ::-2], a.T.strides, (a > 4).tolist()
/// (usm_ndarray([[3., 1.],
///              [6., 4.]], dtype=float32), (1, 3), [[False, False, False], [False, True, True]])
/// >>> a.shape, a.dtype.name, a.nbytes, a.usm_type, a.flags.c_contiguous, a.usm_data.nbytes
/// ((2, 3), 'float32', 24, 'shared', True, 24)
#[pyclass(frozen, weakref, name = "usm_ndarray", module = "usm.tensor")]
#[derive(Debug)]
pub struct UsmNdarray {
    // In a box, since what is returned to Python is moved half a dozen times.
    array: Box<UsmArray>,
    /// The same array without write access, once that was taken away.
    read_only: OnceLock<Box<UsmArray>>,
    attributes: OnceLock<Box<Attributes>>,
}

impl UsmNdarray {
    /// Wraps an array.
    #[must_use]
    pub fn from_array(array: impl Into<Box<UsmArray>>) -> Self {
        Self { array: array.into(), read_only: OnceLock::new(), attributes: OnceLock::new() }
    }

    /// Those that have been asked for.
    pub(crate) fn attributes(&self) -> &Attributes {
        self.attributes.get_or_init(Box::default)
    }

    /// A new object of an array.
    pub(crate) fn object(py: Python<'_>, array: impl Into<Box<UsmArray>>) -> PyResult<Bound<'_, PyAny>> {
        Ok(Bound::new(py, Self::from_array(array))?.into_any())
    }

    /// The array.
    #[must_use]
    pub fn array(&self) -> &UsmArray {
        self.read_only.get().map_or(&self.array, |array| array)
    }

    /// From now on nothing can be written through this object, nor through views that are made of it.
    pub fn make_read_only(&self) {
        self.read_only.get_or_init(|| Box::new(self.array.read_only()));
    }
}

/// Attributes of an array that are objects of their own, made when they are first asked for: most arrays are asked for none, and the
/// others again and again.
///
/// None of them refers to another Python object that could refer back, so the collector need not know of them.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    shape: ForkOnce<Py<PyTuple>>,
    strides: ForkOnce<Py<PyTuple>>,
    device: ForkOnce<Py<PyDevice>>,
    /// Refers to the memory of the array, and never to the array.
    provided: ForkMutex<Option<Py<PyAny>>>,
}

impl Attributes {
    pub(crate) fn shape<'py>(&self, py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyTuple>> {
        let make = || PyTuple::new(py, array.shape()).map(Bound::unbind);
        self.shape.get_or_try_init(make).map(|shape| shape.bind(py).clone())
    }

    pub(crate) fn strides<'py>(&self, py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyTuple>> {
        let make = || PyTuple::new(py, array.strides()).map(Bound::unbind);
        self.strides.get_or_try_init(make).map(|strides| strides.bind(py).clone())
    }

    pub(crate) fn provided<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.provided.lock().as_ref().map(|provided| provided.bind(py).clone())
    }

    pub(crate) fn provide(&self, provided: Bound<'_, PyAny>) {
        let before = self.provided.lock().replace(provided.unbind());
        drop(before); // may run code of Python, which comes back here
    }

    pub(crate) fn device<'py>(&self, py: Python<'py>, array: &UsmArray) -> PyResult<Bound<'py, PyDevice>> {
        let make = || Py::new(py, PyDevice::of(array));
        self.device.get_or_try_init(make).map(|device| device.bind(py).clone())
    }
}

/// Where an array is, as the array API understands it: a queue, and the kind of the array's memory, which new arrays with ``device=`` get.
/// Devices are equal when their queues are. A device is equal to the SyclDevice whose default queue it stands for, too, so that ``x.device`` is in ``__array_namespace_info__().devices()``.
///
/// There is no constructor; arrays have a device, and `create_device` makes one.
///
/// >>> import usm.tensor as ut
/// >>> device = ut.Device.create_device("host:cpu:0")
/// >>> device, device == ut.zeros(3, device=device).device, device.sycl_device.is_cpu
/// (Device(host:cpu:0), True, True)
#[pyclass(frozen, weakref, name = "Device", module = "usm.tensor")]
#[derive(Debug)]
pub struct PyDevice {
    pub(crate) queue: Queue,
    /// Of the memory of the array that it was asked of.
    pub(crate) kind: UsmKind,
}

impl PyDevice {
    pub(crate) fn of(array: &UsmArray) -> Self {
        Self { queue: array.queue().clone(), kind: array.kind() }
    }

    /// The kind of new memory on a device: that of the array whose Device it is, else device memory.
    pub(crate) fn kind_beside(device: &Bound<'_, PyAny>) -> UsmKind {
        device.cast::<Self>().map_or(UsmKind::Device, |device| device.get().kind)
    }
}

/// What the three memory classes share: a range of bytes of USM.
#[pyclass(frozen, subclass, weakref, mapping, name = "_Memory", module = "usm._usm")]
#[derive(Debug)]
pub struct Memory {
    pub(crate) buffer: UsmBuffer,
}

impl Memory {
    /// The bytes.
    #[must_use]
    pub fn buffer(&self) -> &UsmBuffer {
        &self.buffer
    }

    /// The bytes as an array of one axis.
    pub(crate) fn as_bytes_array(&self) -> PyResult<UsmArray> {
        let source = BufferSource::Existing(self.buffer.clone());
        UsmArray::builder(&[self.buffer.len_bytes()], Dtype::U8).build(source).or_raise()
    }
}
