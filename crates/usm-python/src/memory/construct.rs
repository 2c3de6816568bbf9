//! Memory objects: newly allocated, or over the memory of another object.

use pyo3::prelude::*;
use pyo3::types::PyInt;
use usm_array::Work;
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::usm_memory::UsmBuffer;

use crate::errors::OrRaise;
use crate::interface::import::{Found, array_if_usm, no_usm};
use crate::interrupt;
use crate::number::index;
use crate::objects::Memory;
use crate::sycl::queue_argument;

macro_rules! memory_class {
    ($(#[$doc:meta])* $class:ident, $kind:expr) => {
        $(#[$doc])*
        #[pyclass(frozen, subclass, extends = Memory, weakref, module = "usm.memory")]
        #[derive(Debug)]
        pub struct $class;

        #[pymethods]
        impl $class {
            #[new]
            #[pyo3(signature = (nbytes, *, alignment=0, queue=None, copy=false))]
            fn new(
                nbytes: &Bound<'_, PyAny>,
                alignment: isize,
                queue: Option<&Bound<'_, PyAny>>,
                copy: bool,
            ) -> PyResult<PyClassInitializer<Self>> {
                let alignment = usize::try_from(alignment).unwrap_or(0);
                let buffer = construct($kind, nbytes, alignment, queue, copy)?;
                Ok(PyClassInitializer::from(Memory { buffer }).add_subclass(Self))
            }
        }
    };
}

memory_class!(
    /// MemoryUSMHost(nbytes, *, alignment=0, queue=None, copy=False)
    ///
    /// USM in host memory, which host code and the devices of the context reach.
    ///
    /// `nbytes` is a number of bytes to allocate, or an object with ``__sycl_usm_array_interface__``: of the same kind its memory
    /// is used without a copy unless `copy` is true; of another kind `copy` must be true. `alignment` is a power of two in
    /// bytes; one that is not positive stands for one that suits every element type. `queue` names the context; by default that
    /// of the default device. New memory comes from the pool of the device, where there is one (use_pool).
    ///
    /// Raises USMAllocationError when the memory cannot be allocated, TypeError for an object without the interface, ValueError
    /// for other values.
    ///
    /// >>> from usm.memory import MemoryUSMHost
    /// >>> memory = MemoryUSMHost(8, alignment=64)
    /// >>> memory.nbytes, memory.get_usm_type(), memory._pointer % 64
    /// (8, 'host', 0)
    /// >>> with memoryview(memory) as view:
    /// ...     view[:] = bytes(range(8))
    /// >>> memory[2:5].tobytes()
    /// b'\x02\x03\x04'
    MemoryUSMHost,
    UsmKind::Host
);
memory_class!(
    /// MemoryUSMDevice(nbytes, *, alignment=0, queue=None, copy=False)
    ///
    /// USM on a device, which host code must not touch. Arguments as of MemoryUSMHost.
    ///
    /// >>> from usm.memory import MemoryUSMDevice
    /// >>> memory = MemoryUSMDevice(4)
    /// >>> memory.copy_from_host(b"usm!")
    /// >>> memory.tobytes()
    /// b'usm!'
    MemoryUSMDevice,
    UsmKind::Device
);
memory_class!(
    /// MemoryUSMShared(nbytes, *, alignment=0, queue=None, copy=False)
    ///
    /// USM that migrates between host and device, reached by both. Arguments as of MemoryUSMHost.
    ///
    /// >>> from usm.memory import MemoryUSMDevice, MemoryUSMShared
    /// >>> device = MemoryUSMDevice(4)
    /// >>> device.memset(7)
    /// >>> MemoryUSMShared(device, copy=True).tobytes()
    /// b'\x07\x07\x07\x07'
    MemoryUSMShared,
    UsmKind::Shared
);

fn construct(
    kind: UsmKind,
    argument: &Bound<'_, PyAny>,
    alignment: usize,
    queue: Option<&Bound<'_, PyAny>>,
    copy: bool,
) -> PyResult<UsmBuffer> {
    let py = argument.py();
    // A number, as nearly always, is not asked what else it is.
    let source = if argument.is_exact_instance_of::<PyInt>() { None } else { array_if_usm(argument)? };
    let Some(source) = source else {
        let len_bytes = index("nbytes", argument)?;
        return allocate(py, &queue_argument(py, "queue", queue)?, kind, len_bytes, alignment);
    };
    let (source, _) = source.span().or_raise()?;
    if !copy {
        if source.kind() != kind {
            return Err(value_error!(
                "nbytes: found USM-{} memory, allowed without copy=True is USM-{kind} memory",
                source.kind()
            ));
        }
        return Ok(source);
    }
    let queue = match queue {
        Some(queue) => queue_argument(py, "queue", Some(queue))?,
        None => source.queue().clone(),
    };
    let target = allocate(py, &queue, kind, source.len_bytes(), alignment)?;
    let to = target.clone();
    interrupt::run(py, Work::of_bytes(to.len_bytes(), &[&to, &source]), move || to.copy_from(&source))?
        .or_raise()?;
    Ok(target)
}

fn allocate(
    py: Python<'_>,
    queue: &Queue,
    kind: UsmKind,
    len_bytes: usize,
    alignment: usize,
) -> PyResult<UsmBuffer> {
    if alignment == 0
        && let Some(buffer) = UsmBuffer::allocate_at_once(queue, kind, len_bytes)
    {
        return Ok(buffer);
    }
    // A pool without free memory may have to wait for some.
    py.detach(|| match alignment {
        0 => UsmBuffer::allocate(queue, kind, len_bytes),
        _ => UsmBuffer::allocate_aligned(queue, kind, len_bytes, alignment),
    })
    .or_raise()
}

/// A memory object of the class of its kind.
pub(crate) fn wrap(py: Python<'_>, buffer: UsmBuffer) -> PyResult<Bound<'_, PyAny>> {
    let kind = buffer.kind();
    let memory = PyClassInitializer::from(Memory { buffer });
    Ok(match kind {
        UsmKind::Host => Bound::new(py, memory.add_subclass(MemoryUSMHost))?.into_any(),
        UsmKind::Device => Bound::new(py, memory.add_subclass(MemoryUSMDevice))?.into_any(),
        UsmKind::Shared => Bound::new(py, memory.add_subclass(MemoryUSMShared))?.into_any(),
    })
}

/// as_usm_memory(obj)
///
/// The memory of an object with ``__sycl_usm_array_interface__``, without a copy: the bytes from its lowest to its highest
/// element, as MemoryUSMHost, MemoryUSMDevice or MemoryUSMShared. The object is kept alive.
///
/// Raises ValueError for an object without the interface, TypeError or ValueError that starts with the key of the interface
/// that is wrong.
///
/// >>> import usm.tensor
/// >>> from usm.memory import as_usm_memory
/// >>> array = usm.tensor.zeros((2, 3), "i4", usm_type="shared")
/// >>> memory = as_usm_memory(array[1])
/// >>> memory.nbytes, memory._pointer - array._pointer
/// (12, 12)
#[pyfunction]
pub(crate) fn as_usm_memory<'py>(obj: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    wrap(obj.py(), usm_argument(obj)?.span().or_raise()?.0)
}

/// dpctl documents `ValueError` for an object without the interface.
pub(super) fn usm_argument<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Found<'a>> {
    array_if_usm(object)?.ok_or_else(|| value_error!("obj: {}", no_usm(object)))
}
