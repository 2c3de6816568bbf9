//! Lists of devices: root devices, sub-devices, composite devices, and parents.

use std::ptr::NonNull;

use sycl_sys::{
    AffinityDomain as Domain, Api, DPCTLSyclBackendType, DPCTLSyclDeviceRef, DPCTLSyclDeviceType,
};

use super::SyclBackend;
use super::vector::take_devices;
use crate::Result;
use crate::backend::{AffinityDomain, Composites, Partition, RawDevice};

impl SyclBackend {
    pub(super) fn list_root_devices(api: &Api) -> Result<Vec<RawDevice>> {
        let all = DPCTLSyclBackendType::ALL.0 | DPCTLSyclDeviceType::ALL.0;
        // SAFETY: S1; any combination of bits may be asked for.
        let vector = unsafe { (api.DPCTLDeviceMgr_GetDevices)(all.cast_signed()) };
        // SAFETY: the vector was made for us (S1).
        unsafe { take_devices(api, vector, "DeviceMgr_GetDevices") }
    }

    /// # Safety
    /// 1. `device` is live.
    pub(super) unsafe fn partition(
        api: &Api,
        device: DPCTLSyclDeviceRef,
        partition: &Partition,
    ) -> Result<Vec<RawDevice>> {
        let (vector, call) = match partition {
            Partition::Equally(units) => {
                // SAFETY: the caller's promise 1; a live device reports its partitions, so the call does not throw.
                let vector = unsafe { (api.DPCTLDevice_CreateSubDevicesEqually)(device, *units) };
                (vector, "Device_CreateSubDevicesEqually")
            }
            Partition::ByCounts(counts) => {
                let call = "Device_CreateSubDevicesByCounts";
                let mut counts = counts.clone();
                // The C++ code reads the first count unconditionally.
                if counts.is_empty() {
                    return Err(Self::failed(call));
                }
                let (first, len) = (counts.as_mut_ptr(), counts.len());
                // SAFETY: the caller's promise 1; the array lives through the call and has an element.
                (unsafe { (api.DPCTLDevice_CreateSubDevicesByCounts)(device, first, len) }, call)
            }
            Partition::ByAffinity(domain) => {
                let domain = match domain {
                    AffinityDomain::Numa => Domain::Numa,
                    AffinityDomain::L4Cache => Domain::L4Cache,
                    AffinityDomain::L3Cache => Domain::L3Cache,
                    AffinityDomain::L2Cache => Domain::L2Cache,
                    AffinityDomain::L1Cache => Domain::L1Cache,
                    AffinityDomain::NextPartitionable => Domain::NextPartitionable,
                };
                let domain = api.form().affinity_domain(domain);
                // SAFETY: the caller's promise 1.
                let vector = unsafe { (api.DPCTLDevice_CreateSubDevicesByAffinity)(device, domain) };
                (vector, "Device_CreateSubDevicesByAffinity")
            }
        };
        // SAFETY: the vector was made for us (S1).
        let parts = unsafe { take_devices(api, vector, call) }?;
        if parts.is_empty() {
            return Err(Self::failed(call));
        }
        Ok(parts)
    }

    /// A library without the functions knows no composite devices.
    ///
    /// # Safety
    /// 1. The platform or device is live.
    pub(super) unsafe fn list_composites(api: &Api, asked: Composites) -> Result<Vec<RawDevice>> {
        let (vector, call) = match asked {
            Composites::OfPlatform(platform) => {
                let Some(list) = api.DPCTLPlatform_GetCompositeDevices else { return Ok(Vec::new()) };
                // SAFETY: the caller's promise 1.
                (unsafe { list(super::platform(platform)) }, "Platform_GetCompositeDevices")
            }
            Composites::ComponentsOf(device) => {
                let Some(list) = api.DPCTLDevice_GetComponentDevices else { return Ok(Vec::new()) };
                // SAFETY: the caller's promise 1.
                (unsafe { list(super::device(device)) }, "Device_GetComponentDevices")
            }
            Composites::WithComponent(device) => {
                let Some(get) = api.DPCTLDevice_GetCompositeDevice else { return Ok(Vec::new()) };
                // SAFETY: the caller's promise 1.
                let whole = unsafe { get(super::device(device)) };
                return Ok(NonNull::new(whole.cast()).map(RawDevice::new).into_iter().collect());
            }
        };
        // SAFETY: the vector was made for us (S1).
        unsafe { take_devices(api, vector, call) }
    }

    /// # Safety
    /// 1. `device` is live.
    pub(super) unsafe fn parent(api: &Api, device: DPCTLSyclDeviceRef) -> Result<Option<RawDevice>> {
        // SAFETY: the caller's promise 1.
        let parent = unsafe { (api.DPCTLDevice_GetParentDevice)(device) };
        if let Some(parent) = NonNull::new(parent.cast()) {
            return Ok(Some(RawDevice::new(parent)));
        }
        // Null is a root device or a failure. Root devices have a number.
        // SAFETY: the caller's promise 1.
        if unsafe { (api.DPCTLDeviceMgr_GetRelativeId)(device) } >= 0 {
            return Ok(None);
        }
        Err(Self::failed("Device_GetParentDevice"))
    }
}
