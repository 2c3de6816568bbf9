//! Filter selectors: `backend:device_type:number`, any part of which may be left out.

use std::fmt;
use std::str::FromStr;

use crate::{DeviceInfo, DeviceType, Error};

const BACKENDS: [&str; 5] = ["host", "opencl", "level_zero", "cuda", "hip"];
const TYPES: [(&str, DeviceType); 4] = [
    ("cpu", DeviceType::Cpu),
    ("gpu", DeviceType::Gpu),
    ("accelerator", DeviceType::Accelerator),
    ("custom", DeviceType::Custom),
];

/// A filter selector of the SYCL extension `ext_oneapi_filter_selector`, for one device.
///
/// The grammar is `backend:device_type:number` in this order with at least one part present, such as `opencl:cpu:0`, `gpu`,
/// `level_zero:1` or `2`. The number counts the devices that the other parts select.
///
/// ```
/// use usm_core::FilterSelector;
///
/// let selector: FilterSelector = "opencl:cpu".parse()?;
/// assert_eq!(selector.to_string(), "opencl:cpu:0");
/// assert!("opencl:tpu".parse::<FilterSelector>().is_err());
/// # Ok::<(), usm_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FilterSelector {
    backend: Option<&'static str>,
    device_type: Option<DeviceType>,
    number: usize,
}

impl FilterSelector {
    /// Name of the backend, when the selector asks for one.
    #[must_use]
    pub fn backend(&self) -> Option<&'static str> {
        self.backend
    }

    /// Type of the device, when the selector asks for one.
    #[must_use]
    pub fn device_type(&self) -> Option<DeviceType> {
        self.device_type
    }

    /// Position among the devices that the other parts select.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// Whether backend and type suit a device; the number is not looked at.
    #[must_use]
    pub fn suits(&self, info: &DeviceInfo) -> bool {
        self.backend.is_none_or(|name| name == info.backend_name)
            && self.device_type.is_none_or(|ty| ty == info.device_type)
    }
}

impl FromStr for FilterSelector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let invalid = |reason: String| Error::InvalidFilter { found: text.to_owned(), reason };
        let mut parts = text.split(':').peekable();
        let mut next = |parse: &dyn Fn(&str) -> bool| parts.next_if(|part| parse(part));

        let backend = next(&|part| BACKENDS.contains(&part));
        let device_type = next(&|part| TYPES.iter().any(|(name, _)| *name == part));
        let number = next(&|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
        if let Some(rest) = parts.next() {
            return Err(invalid(format!(
                "{rest:?} is out of place; the form is backend:device_type:number, where a part may be left out, backend is \
                 one of {BACKENDS:?}, device_type one of {:?}, number counts from 0",
                TYPES.map(|(name, _)| name)
            )));
        }
        let number = match number {
            None => 0,
            Some(digits) => {
                digits.parse().map_err(|_| invalid(format!("the number {digits} is too large")))?
            }
        };
        Ok(Self {
            backend: backend.and_then(|part| BACKENDS.into_iter().find(|name| *name == part)),
            device_type: device_type
                .and_then(|part| TYPES.into_iter().find(|(name, _)| *name == part))
                .map(|(_, ty)| ty),
            number,
        })
    }
}

impl fmt::Display for FilterSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(backend) = self.backend {
            write!(f, "{backend}:")?;
        }
        if let Some(device_type) = self.device_type {
            write!(f, "{device_type}:")?;
        }
        write!(f, "{}", self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::FilterSelector;

    #[test]
    fn partial_selectors_parse() {
        for (text, shown) in [
            ("opencl:cpu:0", "opencl:cpu:0"),
            ("level_zero:gpu", "level_zero:gpu:0"),
            ("gpu:3", "gpu:3"),
            ("host", "host:0"),
            ("7", "7"),
        ] {
            let selector: FilterSelector = text.parse().unwrap();
            assert_eq!(selector.to_string(), shown);
        }
    }

    #[test]
    fn errors_name_the_part() {
        for (text, part) in [
            ("", "\"\" is out of place"),
            ("opencl:", "\"\" is out of place"),
            ("cpu:opencl", "\"opencl\" is out of place"),
            ("opencl:tpu:0", "\"tpu\" is out of place"),
            ("opencl:cpu:-1", "\"-1\" is out of place"),
            ("opencl:cpu:0:0", "\"0\" is out of place"),
            ("cpu:99999999999999999999999", "too large"),
        ] {
            let error = text.parse::<FilterSelector>().unwrap_err().to_string();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
