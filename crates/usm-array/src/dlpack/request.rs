//! What a consumer asks the producer of a tensor for: which device, and in the order of which queue

use usm_memory::usm_core::{BackendId, Queue, Runtime, UsmKind};

use super::device::device_with_number;
use super::import::DlpackImport;
use super::managed::ManagedTensor;
use crate::abi::{DLDevice, DLDeviceType};
use crate::array::UsmArray;
use crate::copy::{Conversion, CopyMode};
use crate::error::{DlpackError, Result};

/// Where an array of another library's memory shall be.
#[derive(Clone, Debug)]
pub enum DlpackPlace {
    /// Where the memory is
    Anywhere,
    /// In memory that host code can touch
    HostCode,
    /// In the context of a queue
    At(Queue),
}

impl DlpackPlace {
    /// The place that a device of DLPack stands for: the memory of host code for kDLCPU, else the default queue of the
    /// [device with the number](device_with_number).
    ///
    /// ```
    /// use usm_array::dlpack::{DLDevice, DLDeviceType, DlpackPlace};
    /// use usm_array::usm_core::Runtime;
    ///
    /// let (runtime, host) = (Runtime::global(), DLDevice { device_type: DLDeviceType::EXT_DEV, device_id: 0 });
    /// assert!(matches!(DlpackPlace::of(runtime, DLDevice::CPU)?, DlpackPlace::HostCode));
    /// let place = DlpackPlace::of(runtime, host)?;
    /// assert_eq!(place.queue().map(|queue| queue.device()), Some(runtime.host_device()));
    /// # Ok::<(), usm_array::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`Error::Dlpack`](crate::Error::Dlpack): the runtime has no such device
    /// - [`Error::Memory`](crate::Error::Memory): there is no queue for the device
    pub fn of(runtime: &Runtime, device: DLDevice) -> Result<Self> {
        match device {
            DLDevice::CPU => Ok(Self::HostCode),
            DLDevice { device_type: DLDeviceType::CPU, .. } => Err(DlpackError::device_id(device, 1).into()),
            _ => Ok(Self::At(runtime.default_queue(&device_with_number(runtime, device)?)?)),
        }
    }

    /// The kind of new memory at the place, of `default` where the place does not say.
    #[must_use]
    pub const fn kind(&self, default: UsmKind) -> UsmKind {
        match self {
            Self::HostCode => UsmKind::Host,
            Self::Anywhere | Self::At(_) => default,
        }
    }

    /// The queue that the array shall be on.
    #[must_use]
    pub const fn queue(&self) -> Option<&Queue> {
        match self {
            Self::At(queue) => Some(queue),
            Self::Anywhere | Self::HostCode => None,
        }
    }

    /// What brings an array to the place: arrays of this library need no tensor, which has no words for every context.
    ///
    /// ```
    /// use usm_array::dlpack::DlpackPlace;
    /// use usm_array::usm_core::{Runtime, UsmKind};
    /// use usm_array::{CopyMode, Dtype, UsmArray};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let array = UsmArray::zeros(&queue, UsmKind::Device, &[2], Dtype::F32)?;
    /// let there = DlpackPlace::HostCode.conversion(&array, CopyMode::IfNeeded);
    /// assert_eq!(array.converted(&there)?.kind(), UsmKind::Host);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn conversion(&self, array: &UsmArray, copy: CopyMode) -> Conversion<'_> {
        let kind = match self {
            Self::HostCode if !array.is_host_accessible() => Some(UsmKind::Host),
            _ => None,
        };
        let queue = self.queue().filter(|queue| queue.context() != array.context());
        Conversion { kind, queue, copy, ..Conversion::default() }
    }
}

/// What to ask a producer for that has told its device, so that its tensor becomes an array at a place.
///
/// ```
/// use usm_array::dlpack::{DLDevice, DLDeviceType, DlpackPlace, DlpackRequest};
///
/// let metal = DLDevice { device_type: DLDeviceType(8), device_id: 0 };
/// let request = DlpackRequest::new(metal, &DlpackPlace::HostCode);
/// assert_eq!(request.device(), Some(DLDevice::CPU));
///
/// let ours = DLDevice { device_type: DLDeviceType::EXT_DEV, device_id: 0 };
/// assert_eq!(DlpackRequest::new(ours, &DlpackPlace::Anywhere).device(), None);
/// ```
#[derive(Debug)]
pub struct DlpackRequest<'a> {
    producer: DLDevice,
    place: &'a DlpackPlace,
    asks_for_host: bool,
}

impl<'a> DlpackRequest<'a> {
    /// The request to a producer whose memory is on a device.
    #[must_use]
    pub fn new(producer: DLDevice, place: &'a DlpackPlace) -> Self {
        Self { producer, place, asks_for_host: asks_for_host(producer.device_type, place) }
    }

    /// The device to ask for; `None` is where the memory is.
    #[must_use]
    pub const fn device(&self) -> Option<DLDevice> {
        if self.asks_for_host { Some(DLDevice::CPU) } else { None }
    }

    /// Whether the producer orders its work before that of a [queue](Self::queue).
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        let kind = self.producer.device_type;
        (kind.has_streams() || kind == DLDeviceType::ONE_API) && !self.asks_for_host
    }

    /// The queue that the memory is used on first, before whose work the producer orders its own: that of the default context where the
    /// place is of another one. `None` where nothing is [ordered](Self::is_ordered).
    ///
    /// # Errors
    /// - [`Error::Dlpack`](crate::Error::Dlpack): the runtime has no such device
    /// - [`Error::Memory`](crate::Error::Memory): there is no queue for the device
    pub fn queue(&self, runtime: &Runtime) -> Result<Option<Queue>> {
        if !self.is_ordered() {
            return Ok(None);
        }
        let default = runtime.default_queue(&device_with_number(runtime, self.producer)?)?;
        let asked = self.place.queue().filter(|queue| queue.context() == default.context());
        Ok(Some(asked.cloned().unwrap_or(default)))
    }

    /// Whether a producer that does not know the request for a [device](Self::device) may hand out USM where it is, as producers before
    /// DLPack 1 do. The array is then [brought](DlpackPlace::conversion) to the place.
    #[must_use]
    pub fn may_be_in_place(&self) -> bool {
        let kind = self.producer.device_type;
        self.asks_for_host && (is_usm(kind) || kind == DLDeviceType::EXT_DEV)
    }

    /// The array of the tensor that the producer has given. The queue among the options is the one of this request.
    ///
    /// # Safety
    /// As [`UsmArray::from_dlpack`].
    ///
    /// # Errors
    /// Those of [`UsmArray::from_dlpack`].
    pub unsafe fn import(&self, tensor: ManagedTensor, options: &DlpackImport<'_>) -> Result<UsmArray> {
        let wanted = self.place.queue();
        if let (true, Some(wanted), Some(ordered)) =
            (self.producer.device_type.is_cuda(), wanted, options.queue)
            && wanted != ordered
        {
            // The work that the producer has ordered before this queue comes before that of the wanted one.
            ordered.wait()?;
        }
        let options = DlpackImport { queue: wanted.or(options.queue), ..*options };
        // SAFETY: the caller's promises 1 and 2.
        unsafe { UsmArray::from_dlpack(tensor, &options) }
    }
}

/// Whether memory of a kind of device is USM.
fn is_usm(kind: DLDeviceType) -> bool {
    kind.is_cuda() || kind == DLDeviceType::ONE_API
}

fn asks_for_host(producer: DLDeviceType, place: &DlpackPlace) -> bool {
    match (place, producer) {
        (DlpackPlace::Anywhere, _) | (_, DLDeviceType::CPU) => false,
        (DlpackPlace::HostCode, _) => true,
        (DlpackPlace::At(_), DLDeviceType::ONE_API) => false,
        // SYCL devices of CUDA, too, reach it.
        (DlpackPlace::At(queue), kind) if kind.is_cuda() => queue.device().info().backend_name != "cuda",
        // kDLExtDev is our host backend, or what another library has added: only for the former there is a place here.
        (DlpackPlace::At(queue), DLDeviceType::EXT_DEV) => queue.device().backend_id() != BackendId::Host,
        // Whoever has memory of other kinds of devices can hand it to the host at least.
        (DlpackPlace::At(_), _) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_other_devices_is_asked_for_on_the_host() {
        use DLDeviceType as Kind;
        let runtime = Runtime::global();
        let queue = runtime.default_queue(runtime.host_device()).expect("a queue of the host backend");
        let at = DlpackPlace::At(queue);
        let metal = DLDeviceType(8);
        for (kind, anywhere, host_code, at_host_queue) in [
            (Kind::CPU, false, false, false),
            (Kind::ONE_API, false, true, false),
            (Kind::EXT_DEV, false, true, false),
            (Kind::CUDA, false, true, true),
            (Kind::CUDA_HOST, false, true, true),
            (Kind::CUDA_MANAGED, false, true, true),
            (metal, false, true, true),
        ] {
            assert_eq!(asks_for_host(kind, &DlpackPlace::Anywhere), anywhere, "{kind:?}");
            assert_eq!(asks_for_host(kind, &DlpackPlace::HostCode), host_code, "{kind:?}");
            assert_eq!(asks_for_host(kind, &at), at_host_queue, "{kind:?}");
        }
    }

    #[test]
    fn only_usm_may_be_handed_out_in_place_of_a_copy_on_the_host() {
        let request = |device_type, place| DlpackRequest::new(DLDevice { device_type, device_id: 0 }, place);
        let place = DlpackPlace::HostCode;
        for (kind, may_be) in [
            (DLDeviceType::CPU, false),
            (DLDeviceType::ONE_API, true),
            (DLDeviceType::EXT_DEV, true),
            (DLDeviceType::CUDA, true),
            (DLDeviceType(8), false),
        ] {
            assert_eq!(request(kind, &place).may_be_in_place(), may_be, "{kind:?}");
            assert!(!request(kind, &place).is_ordered(), "{kind:?}");
        }
        assert!(!request(DLDeviceType::EXT_DEV, &DlpackPlace::Anywhere).may_be_in_place());
    }

    #[test]
    fn producers_of_usm_order_their_work_where_it_is() {
        let is_ordered = |device_type| {
            let producer = DLDevice { device_type, device_id: 0 };
            DlpackRequest::new(producer, &DlpackPlace::Anywhere).is_ordered()
        };
        assert!(is_ordered(DLDeviceType::ONE_API) && is_ordered(DLDeviceType::CUDA));
        assert!(!is_ordered(DLDeviceType::CUDA_HOST) && !is_ordered(DLDeviceType::CPU));
        assert!(!is_ordered(DLDeviceType::EXT_DEV) && !is_ordered(DLDeviceType(8)));
    }
}
