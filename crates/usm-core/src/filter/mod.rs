//! Filter selectors: alternatives of the form `backend:device_type:number`, any part of which may be left out.

mod parse;

use std::fmt;

use crate::{DeviceInfo, DeviceType, Error};

/// SYCL's backends (`backend_name` of a device), and `host`; not those of [`BackendId`](crate::BackendId).
const BACKENDS: [&str; 5] = ["host", "opencl", "level_zero", "cuda", "hip"];
const TYPES: [(&str, DeviceType); 4] = [
    ("cpu", DeviceType::Cpu),
    ("gpu", DeviceType::Gpu),
    ("accelerator", DeviceType::Accelerator),
    ("custom", DeviceType::Custom),
];

/// One alternative of a [`FilterSelector`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Filter {
    // At least one of the three is there.
    pub(crate) backend: Option<&'static str>,
    pub(crate) device_type: Option<DeviceType>,
    pub(crate) number: Option<usize>,
}

impl Filter {
    /// The filter of exactly this device; `None` for a device without a number, and for a backend without a name in selectors.
    pub(crate) fn of(info: &DeviceInfo) -> Option<Self> {
        let backend = BACKENDS.into_iter().find(|name| *name == info.backend_name)?;
        let number = Some(info.number?);
        Some(Self { backend: Some(backend), device_type: Some(info.device_type), number })
    }

    /// Name of the backend, if the filter has one.
    #[must_use]
    pub fn backend(&self) -> Option<&'static str> {
        self.backend
    }

    /// Type of the device, if the filter has one.
    #[must_use]
    pub fn device_type(&self) -> Option<DeviceType> {
        self.device_type
    }

    /// Position among the devices that the other parts select, if the filter has one.
    #[must_use]
    pub fn number(&self) -> Option<usize> {
        self.number
    }

    /// Whether backend and type accept a device. The number does not count.
    #[must_use]
    pub fn suits(&self, info: &DeviceInfo) -> bool {
        self.backend.is_none_or(|name| name == info.backend_name)
            && self.device_type.is_none_or(|ty| ty == info.device_type)
    }
}

/// A filter selector of the SYCL extension `sycl_ext_oneapi_filter_selector`.
///
/// One or more filters, separated by commas. A filter is `backend:device_type:number` in this order with at least one part
/// present, such as `opencl:cpu:0`, `gpu`, `level_zero:1` or `2`. The number counts, from 0, the devices that the other parts
/// select. Names are in lower case; there are no blanks and no wildcards: leave out a part to accept anything.
///
/// The order of the filters is no preference, as in the extension: the selector chooses, among all devices that a filter accepts,
/// the one that [`Runtime::default_device`](crate::Runtime::default_device) prefers.
///
/// `host` is this library's embedded backend, which takes the place of SYCL 1.2.1's host device. `host:host` means the same. The
/// type `custom` is an addition.
///
/// ```
/// use usm_core::FilterSelector;
///
/// let selector: FilterSelector = "level_zero:gpu:1,opencl:cpu".parse()?;
/// assert_eq!(selector.filters().len(), 2);
/// assert_eq!(selector.to_string(), "level_zero:gpu:1,opencl:cpu");
/// let error = "opencl:tpu:0".parse::<FilterSelector>().unwrap_err();
/// assert!(error.to_string().contains("\"tpu\" at position 7"));
/// # Ok::<(), usm_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FilterSelector {
    // At least one.
    filters: Vec<Filter>,
}

impl FilterSelector {
    /// The alternatives, at least one.
    #[must_use]
    pub fn filters(&self) -> &[Filter] {
        &self.filters
    }

    /// The selector of exactly this device, where there is a [`Filter::of`] it.
    pub(crate) fn of(info: &DeviceInfo) -> Option<Self> {
        Filter::of(info).map(|filter| Self { filters: vec![filter] })
    }
}

impl TryFrom<&str> for FilterSelector {
    type Error = Error;

    fn try_from(text: &str) -> Result<Self, Error> {
        text.parse()
    }
}

impl TryFrom<String> for FilterSelector {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl TryFrom<&String> for FilterSelector {
    type Error = Error;

    fn try_from(text: &String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<&FilterSelector> for FilterSelector {
    fn from(selector: &FilterSelector) -> Self {
        selector.clone()
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.backend.map(str::to_owned),
            self.device_type.map(|ty| ty.to_string()),
            self.number.map(|number| number.to_string()),
        ];
        f.pad(&parts.into_iter().flatten().collect::<Vec<_>>().join(":"))
    }
}

impl fmt::Display for FilterSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let filters: Vec<_> = self.filters.iter().map(ToString::to_string).collect();
        f.pad(&filters.join(","))
    }
}
