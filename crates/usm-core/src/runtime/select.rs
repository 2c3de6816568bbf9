//! The choice of a device: default, by filter selector, type, aspects, or a score.

use std::cmp::Reverse;

use super::Runtime;
use crate::{Aspects, BackendId, Device, DeviceType, Error, Filter, FilterSelector, Result};

/// Variable with a filter selector for the default device.
pub(super) const DEFAULT_DEVICE: &str = "USM_DEFAULT_DEVICE";

impl Runtime {
    /// The device for code that requests none: a GPU before a CPU before an accelerator, like SYCL's default selector; of two equal
    /// ones that of the SYCL runtime before that of the CUDA driver; and a host device only when there is no other.
    ///
    /// The variable `USM_DEFAULT_DEVICE` may name another one by a [`FilterSelector`].
    ///
    /// # Errors
    /// [`Error::DefaultDevice`] when the text of the variable selects no device. The [doctor](Self::doctor) reports this, too.
    pub fn default_device(&self) -> Result<Device> {
        match self.device_of_environment() {
            Some(found) => found,
            None => Ok(self.preferred(self.devices()).unwrap_or_else(|| self.host_device().clone())),
        }
    }

    /// The device that `USM_DEFAULT_DEVICE` names, or the reason why it names none; `None` where it is not set.
    pub(super) fn device_of_environment(&self) -> Option<Result<Device>> {
        let wanted = std::env::var_os(DEFAULT_DEVICE).filter(|value| !value.is_empty())?;
        let found = wanted.to_string_lossy();
        Some(self.select(&*found).map_err(|error| Error::DefaultDevice {
            reason: match &error {
                Error::NoSuchDevice { wanted, .. } => format!("no device matches {wanted}"),
                other => other.to_string(),
            },
            found: found.into_owned(),
            available: self.filter_strings(),
        }))
    }

    /// The device that a filter selector names: a text, or a parsed [`FilterSelector`].
    ///
    /// ```
    /// use usm_core::{FilterSelector, Runtime};
    ///
    /// let device = Runtime::global().select("host:cpu")?;
    /// let selector: FilterSelector = device.filter_string().parse()?;
    /// assert_eq!(Runtime::global().select(&selector)?, device);
    /// # Ok::<(), usm_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidFilter`] for a text that is no selector. [`Error::NoSuchDevice`] lists the devices there are; [`Error::BackendUnavailable`] when only a missing SYCL runtime or CUDA
    /// driver could have such a device.
    pub fn select(&self, selector: impl TryInto<FilterSelector, Error: Into<Error>>) -> Result<Device> {
        self.select_by(&selector.try_into().map_err(Into::into)?)
    }

    fn select_by(&self, selector: &FilterSelector) -> Result<Device> {
        let all_are =
            |is: fn(&str) -> bool| selector.filters().iter().all(|filter| filter.backend().is_some_and(is));
        // A request for the host device does not load the SYCL runtime.
        let candidates = if all_are(|name| name == "host") { self.host.clone() } else { self.devices() };
        let accepted = candidates.iter().enumerate();
        let accepted =
            accepted.filter(|(at, _)| selector.filters().iter().any(|f| accepts(f, &candidates, *at)));
        if let Some(device) = self.preferred(accepted.map(|(_, device)| device.clone())) {
            return Ok(device);
        }
        if all_are(|name| name == "cuda") && self.cuda().backend.is_none() {
            return Err(Error::BackendUnavailable {
                backend: BackendId::Cuda,
                state: Box::new(self.cuda().state.clone()),
            });
        }
        if all_are(|name| name != "host") && self.sycl().backend.is_none() {
            return Err(Error::BackendUnavailable {
                backend: BackendId::Sycl,
                state: Box::new(self.sycl().state.clone()),
            });
        }
        Err(self.no_device(format!("the filter selector {:?}", selector.to_string())))
    }

    /// The filter that accepts exactly this root device, with or without its backend and its type. `None` for a sub-device, which no
    /// filter accepts, and for a device of another runtime.
    ///
    /// ```
    /// use usm_core::{Runtime, RuntimeOptions};
    ///
    /// let runtime = Runtime::new(RuntimeOptions::new().host_only());
    /// let filter = |backend, device_type| runtime.filter_of(runtime.host_device(), backend, device_type);
    /// assert_eq!(filter(true, true).map(|filter| filter.to_string()).as_deref(), Some("host:cpu:0"));
    /// assert_eq!(filter(false, true).map(|filter| filter.to_string()).as_deref(), Some("cpu:0"));
    /// ```
    #[must_use]
    pub fn filter_of(&self, device: &Device, with_backend: bool, with_type: bool) -> Option<Filter> {
        let Filter { backend, device_type, .. } = Filter::of(device.info())?;
        let (backend, device_type) = (backend.filter(|_| with_backend), device_type.filter(|_| with_type));
        let filter = Filter { backend, device_type, number: None };
        let devices = self.devices();
        let number =
            devices.iter().filter(|other| filter.suits(other.info())).position(|other| other == device)?;
        Some(Filter { number: Some(number), ..filter })
    }

    /// The preferred device of a type.
    ///
    /// # Errors
    /// [`Error::NoSuchDevice`] lists the devices there are.
    pub fn select_type(&self, device_type: DeviceType) -> Result<Device> {
        let devices = self.devices().into_iter().filter(|device| device.info().device_type == device_type);
        self.preferred(devices).ok_or_else(|| self.no_device(format!("the type {device_type}")))
    }

    /// The preferred device that has all `required` aspects and none of the `forbidden` ones.
    ///
    /// ```
    /// use usm_core::{Aspects, Runtime, RuntimeOptions};
    ///
    /// let runtime = Runtime::new(RuntimeOptions::new().host_only());
    /// let device = runtime.select_with_aspects("fp64, usm_device_allocations".parse()?, Aspects::GPU)?;
    /// assert!(device.info().has(Aspects::FP64));
    /// # Ok::<(), usm_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchDevice`] lists the devices there are.
    pub fn select_with_aspects(&self, required: Aspects, forbidden: Aspects) -> Result<Device> {
        let suits = |device: &Device| {
            let aspects = device.info().aspects;
            aspects.contains(required) && !aspects.intersects(forbidden)
        };
        let device = self.preferred(self.devices().into_iter().filter(suits));
        device.ok_or_else(|| self.no_device(format!("the aspects [{required}] without [{forbidden}]")))
    }

    /// The device with the highest score. The first one in the order of [`devices`](Self::devices) wins a tie. `None` refuses a
    /// device.
    ///
    /// ```
    /// use usm_core::{Runtime, RuntimeOptions};
    ///
    /// let runtime = Runtime::new(RuntimeOptions::new().host_only());
    /// let largest = runtime.select_with(|device| Some(device.info().global_mem_bytes))?;
    /// assert_eq!(&largest, runtime.host_device());
    /// # Ok::<(), usm_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchDevice`] when all were refused; it lists the devices there are.
    pub fn select_with<S: Ord>(&self, score: impl Fn(&Device) -> Option<S>) -> Result<Device> {
        let scored = self.devices().into_iter().filter_map(|device| Some((Reverse(score(&device)?), device)));
        let best = scored.reduce(|best, other| if other.0 < best.0 { other } else { best });
        best.map(|(_, device)| device).ok_or_else(|| self.no_device("the given score".to_owned()))
    }

    /// The first of the best ones, in the runtime's own order.
    fn preferred(&self, devices: impl IntoIterator<Item = Device>) -> Option<Device> {
        let rank = |device: &Device| {
            let of_type = match device.info().device_type {
                DeviceType::Gpu => 0,
                DeviceType::Cpu => 1,
                DeviceType::Accelerator => 2,
                DeviceType::Custom => 3,
            };
            (self.host.contains(device), of_type)
        };
        devices.into_iter().min_by_key(rank)
    }

    fn no_device(&self, wanted: String) -> Error {
        Error::NoSuchDevice { wanted, available: self.filter_strings() }
    }

    fn filter_strings(&self) -> String {
        self.devices().iter().map(Device::filter_string).collect::<Vec<_>>().join(", ")
    }
}

/// Whether a filter accepts the device at a position of a list.
fn accepts(filter: &Filter, devices: &[Device], at: usize) -> bool {
    let suits = |device: &&Device| filter.suits(device.info());
    let before = || devices.iter().take(at).filter(suits).count();
    devices.get(at).as_ref().is_some_and(suits) && filter.number().is_none_or(|number| number == before())
}
