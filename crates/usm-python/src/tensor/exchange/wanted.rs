//! Where a result shall be, of which dtype, in which order, and whether it may be a view.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use usm_array::usm_core::{Device, Queue, UsmKind};
use usm_array::{Conversion, CopyMode, CopyOrder, Dtype, UsmArray};

use crate::memory::kind_argument;
use crate::objects::PyDevice;
use crate::sycl::{Target, queue_argument, target};
use crate::tensor::{arguments, transfer};

/// The keyword arguments of `asarray`; by default none.
pub(in crate::tensor) struct Wanted<'a, 'py> {
    dtype: Option<&'a Bound<'py, PyAny>>,
    /// In place of `dtype`, for callers that know it.
    known_dtype: Option<Dtype>,
    pub(super) kind: Option<UsmKind>,
    pub(super) order: CopyOrder,
    pub(super) copy: CopyMode,
    /// The kind of new memory where none is asked for.
    new_kind: UsmKind,
    destination: Option<Destination>,
}

/// A queue, or the default queue of a device, in whose place any queue of that device will do.
struct Destination {
    queue: Queue,
    is_device: bool,
}

impl Default for Wanted<'_, '_> {
    fn default() -> Self {
        Self {
            dtype: None,
            known_dtype: None,
            kind: None,
            order: CopyOrder::Keep,
            copy: CopyMode::IfNeeded,
            new_kind: UsmKind::Device,
            destination: None,
        }
    }
}

impl<'a, 'py> Wanted<'a, 'py> {
    pub(super) fn parse(
        py: Python<'py>,
        dtype: Option<&'a Bound<'py, PyAny>>,
        device: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
        usm_type: Option<&str>,
        sycl_queue: Option<&Bound<'py, PyAny>>,
        order: &str,
    ) -> PyResult<Self> {
        Ok(Self {
            dtype: dtype.filter(|dtype| !dtype.is_none()),
            known_dtype: None,
            kind: usm_type.map(|text| kind_argument("usm_type", text)).transpose()?,
            order: arguments::copy_order(order)?,
            copy: arguments::copy_mode(copy),
            new_kind: device.map_or(UsmKind::Device, PyDevice::kind_beside),
            destination: destination(py, device, sycl_queue)?,
        })
    }

    /// Anything in memory of one kind on a queue.
    pub(in crate::tensor) fn at(queue: Queue, kind: UsmKind) -> Self {
        let destination = Some(Destination { queue, is_device: false });
        Self { kind: Some(kind), destination, ..Self::default() }
    }

    /// The same, of that dtype.
    pub(in crate::tensor) fn of_dtype(self, dtype: Option<Dtype>) -> Self {
        Self { known_dtype: dtype, ..self }
    }

    /// The queue that was asked for.
    pub(super) fn queue(&self) -> Option<&Queue> {
        self.destination.as_ref().map(|destination| &destination.queue)
    }

    /// The queue for elements that are on none.
    pub(super) fn queue_or_default(&self, py: Python<'py>) -> PyResult<Queue> {
        self.queue().map_or_else(|| queue_argument(py, "sycl_queue", None), |queue| Ok(queue.clone()))
    }

    /// The kind for elements that are in no USM.
    pub(super) fn kind_or_default(&self) -> UsmKind {
        self.kind.unwrap_or(self.new_kind)
    }

    /// Whether a dtype was asked for.
    pub(super) fn has_dtype(&self) -> bool {
        self.known_dtype.is_some() || self.dtype.is_some()
    }

    /// The dtype that was asked for. The types of Python numbers stand for the default dtypes of the device.
    pub(super) fn dtype_on(&self, device: &Device) -> PyResult<Option<Dtype>> {
        match self.known_dtype {
            Some(dtype) => Ok(Some(dtype)),
            None => self.dtype.map(|dtype| arguments::dtype(Some(dtype), || device)).transpose(),
        }
    }

    /// The array as it was asked for.
    pub(super) fn convert(&self, py: Python<'py>, array: Box<UsmArray>) -> PyResult<Box<UsmArray>> {
        Ok(self.changed(py, &array)?.unwrap_or(array))
    }

    /// As [`convert`](Self::convert), of an array that nobody else has.
    pub(super) fn convert_own(mut self, py: Python<'py>, array: Box<UsmArray>) -> PyResult<Box<UsmArray>> {
        self.copy = CopyMode::IfNeeded;
        self.convert(py, array)
    }

    /// The copy that was asked for, or is needed for what was; `None` where the array itself will do.
    pub(super) fn changed(&self, py: Python<'py>, array: &UsmArray) -> PyResult<Option<Box<UsmArray>>> {
        let (queue, any_queue) =
            (self.queue(), self.destination.as_ref().is_some_and(|place| place.is_device));
        let dtype = self.dtype_on(queue.unwrap_or(array.queue()).device())?;
        let (kind, order, copy) = (self.kind, self.order, self.copy);
        let wanted = Conversion { dtype, kind, queue, any_queue, order, copy, ..Conversion::default() };
        if array.is_as(&wanted) {
            return Ok(None);
        }
        transfer::converted(py, array, &wanted).map(|array| Some(Box::new(array)))
    }

    /// Refuses what cannot be done without a copy.
    pub(super) fn check_copy_allowed(&self, what: &str) -> PyResult<()> {
        if self.copy == CopyMode::Never {
            return Err(value_error!("copy: found False, allowed are None and True: {what} needs a copy"));
        }
        Ok(())
    }
}

fn destination(
    py: Python<'_>,
    device: Option<&Bound<'_, PyAny>>,
    sycl_queue: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Destination>> {
    let given = |argument: Option<&Bound<'_, PyAny>>| argument.is_some_and(|argument| !argument.is_none());
    let queue = match given(sycl_queue) {
        true => Some(queue_argument(py, "sycl_queue", sycl_queue)?),
        false => None,
    };
    if !given(device) {
        return Ok(queue.map(|queue| Destination { queue, is_device: false }));
    }
    let place = target(py, "device", device)?;
    let is_device = matches!(place, Target::Device(_));
    let destination = Destination { queue: place.into_queue(py)?, is_device };
    match queue {
        Some(queue) if queue != destination.queue => Err(PyTypeError::new_err(
            "device, sycl_queue: found two places, allowed is one of the arguments, or the same queue for both",
        )),
        _ => Ok(Some(destination)),
    }
}
