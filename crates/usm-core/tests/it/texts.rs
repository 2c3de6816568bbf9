//! Texts of values: what is displayed parses to the same value, and nothing else parses.
#![allow(clippy::unwrap_used)]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use proptest::prelude::*;
use usm_core::{
    AffinityDomain, Aspects, BackendId, CacheType, DeviceType, Error, EventStatus, Filter, PeerAccess,
    UsmKind,
};

use crate::common;

/// Each value comes back from its text.
fn round_trip<T: Display + FromStr<Err = Error> + Debug + PartialEq>(values: impl IntoIterator<Item = T>) {
    for value in values {
        assert_eq!(value.to_string().parse::<T>().unwrap(), value);
        // A width is honoured, as in tables.
        let text = value.to_string();
        assert_eq!(format!("{value:>40}"), format!("{text:>40}"));
    }
}

#[test]
fn every_value_parses_from_its_text() {
    round_trip(UsmKind::ALL);
    round_trip([BackendId::Host, BackendId::Sycl, BackendId::Cuda]);
    round_trip(DeviceType::ALL.iter().copied());
    round_trip(AffinityDomain::ALL.iter().copied());
    round_trip(PeerAccess::ALL.iter().copied());
    round_trip(EventStatus::ALL.iter().copied());
    round_trip(CacheType::ALL.iter().copied());
    for text in ["opencl:gpu:1", "gpu", "3", "host"] {
        round_trip([text.parse::<Filter>().unwrap()]);
    }
}

#[test]
fn an_unknown_text_is_told_with_the_known_ones() {
    let error = "tpu".parse::<DeviceType>().unwrap_err().to_string();
    assert_eq!(error, "\"tpu\" is no device type; allowed are: cpu, gpu, accelerator, custom");
    let error = "opencl".parse::<BackendId>().unwrap_err().to_string();
    assert_eq!(error, "\"opencl\" is no backend; allowed are: host, sycl, cuda");
    assert!("gpu,cpu".parse::<Filter>().unwrap_err().to_string().contains("\"gpu,cpu\" at position 0"));
}

#[test]
fn the_text_of_a_root_device_selects_it_again() {
    let runtime = usm_core::Runtime::global();
    for queue in common::queues() {
        let device = queue.device();
        assert_eq!(device.to_string(), device.filter_string());
        assert_eq!(format!("{device:<30}|"), format!("{:<30}|", device.filter_string()));
        if runtime.devices().contains(device) {
            assert_eq!(&runtime.select(device.to_string()).unwrap(), device);
        }
        let platform = device.platform().unwrap();
        assert_eq!(platform.to_string(), platform.info().name);
    }
    let host = runtime.host_device();
    assert_eq!(&runtime.select(host.to_string()).unwrap(), host);
}

/// What parses is displayed as the same text.
fn is_canonical<T: Display + FromStr<Err = Error>>(text: &str) -> bool {
    text.parse::<T>().map_or(true, |value| value.to_string() == text)
}

proptest! {
    #[test]
    fn every_set_of_aspects_parses_from_its_text(bits in any::<u64>()) {
        let aspects = Aspects::all().iter().enumerate().filter(|(place, _)| bits >> place & 1 == 1);
        let aspects = aspects.fold(Aspects::empty(), |set, (_, one)| set | one);
        prop_assert_eq!(aspects.to_string().parse::<Aspects>().unwrap(), aspects);
    }

    #[test]
    fn nothing_but_the_texts_parses(text in "(cpu|gpu|numa|L4_cache|host|device|sycl|read|complete| |_|,|\\PC){0,4}") {
        prop_assert!(is_canonical::<UsmKind>(&text) && is_canonical::<BackendId>(&text));
        prop_assert!(is_canonical::<DeviceType>(&text) && is_canonical::<AffinityDomain>(&text));
        prop_assert!(is_canonical::<PeerAccess>(&text) && is_canonical::<EventStatus>(&text));
        prop_assert!(is_canonical::<CacheType>(&text));
    }
}
