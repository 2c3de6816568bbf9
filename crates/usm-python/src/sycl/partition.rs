//! The argument `partition`: how a device is parted into sub-devices.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyList, PyString, PyTuple};
use usm_array::usm_core::{AffinityDomain, Partition};

use crate::errors::{SyclSubDeviceCreationError, in_place_of, wrong_type};
use crate::number::{index, item, sequence, shown};

const DOMAINS: [AffinityDomain; 6] = [
    AffinityDomain::Numa,
    AffinityDomain::L4Cache,
    AffinityDomain::L3Cache,
    AffinityDomain::L2Cache,
    AffinityDomain::L1Cache,
    AffinityDomain::NextPartitionable,
];

pub(super) fn argument(name: &str, partition: &Bound<'_, PyAny>) -> PyResult<Partition> {
    if let Ok(text) = partition.cast::<PyString>() {
        let text = text.to_string_lossy();
        if text == "not_applicable" {
            return Err(SyclSubDeviceCreationError::new_err(format!(
                "{name}: by {text:?} nothing is parted"
            )));
        }
        let found = DOMAINS.into_iter().find(|domain| domain.to_string() == text);
        return found.map(Partition::ByAffinity).ok_or_else(|| {
            let allowed = DOMAINS.map(|domain| domain.to_string()).join(", ");
            value_error!("{name}: found {text:?}, allowed are {allowed}")
        });
    }
    if partition.is_instance_of::<PyList>() || partition.is_instance_of::<PyTuple>() {
        let items = sequence(name, partition)?;
        let counts = items.iter().enumerate().map(|(i, count)| units(&item(name, i), count));
        let counts = counts.collect::<PyResult<Vec<_>>>()?;
        if counts.is_empty() {
            return Err(value_error!("{name}: found no count, allowed is at least one"));
        }
        return Ok(Partition::ByCounts(counts));
    }
    let allowed = "are a number of compute units, a list of them, and the name of an affinity domain";
    let wrong = in_place_of::<PyTypeError>(partition.py(), |_| wrong_type(name, partition, allowed));
    units(name, partition).map(Partition::Equally).map_err(wrong)
}

/// A number of compute units. `device.max_compute_units / 2` is a float, and may be whole.
fn units(name: &str, object: &Bound<'_, PyAny>) -> PyResult<usize> {
    let Ok(number) = object.cast::<PyFloat>() else { return index(name, object) };
    let whole = number.call_method0(intern!(object.py(), "is_integer"))?.is_truthy()?;
    if !whole {
        return Err(SyclSubDeviceCreationError::new_err(format!(
            "{name}: found {}, allowed is a whole number of compute units",
            shown(object)?
        )));
    }
    index(name, &number.call_method0(intern!(object.py(), "__int__"))?)
}
