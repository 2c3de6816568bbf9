//! Sub-devices, peers and the facts that kernels care about, against the loopback library.
#![allow(clippy::unwrap_used)]

use sycl_loopback::{Form, Kind, Loopback};
use sycl_sys::{
    AffinityDomain as Domain, Api, DPCTLDeviceVectorRef, DPCTLGlobalMemCacheType, DPCTLPeerAccessType,
    DPCTLSyclDeviceRef, DPCTLSyclDeviceType,
};

/// For each form, a loopback copy with its CPU (8 compute units) and its GPU (64 in two tiles), given back at the end.
fn with_devices(test: impl Fn(&Loopback, &Api, DPCTLSyclDeviceRef, DPCTLSyclDeviceRef)) {
    for form in Form::ALL {
        println!("{form:?}");
        with_devices_of(form, &test);
    }
}

fn with_devices_of(form: Form, test: impl Fn(&Loopback, &Api, DPCTLSyclDeviceRef, DPCTLSyclDeviceRef)) {
    let loopback = Loopback::in_form(form).unwrap();
    // SAFETY: 1., 2. it is the loopback library; 3. there is no SYCL runtime in this process.
    let api = unsafe { Api::load_from(loopback.path()) }.unwrap();
    let [cpu, gpu] = [c"cpu", c"gpu"].map(|name| {
        let selector = call!(api, DPCTLFilterSelector_Create, name.as_ptr());
        let device = call!(api, DPCTLDevice_CreateFromSelector, selector);
        call!(api, DPCTLDeviceSelector_Delete, selector);
        device
    });
    test(&loopback, &api, cpu, gpu);
    call!(api, DPCTLDevice_Delete, cpu);
    call!(api, DPCTLDevice_Delete, gpu);
    assert_eq!(loopback.leaks(), []);
}

fn take(api: &Api, vector: DPCTLDeviceVectorRef) -> Vec<DPCTLSyclDeviceRef> {
    let len = call!(api, DPCTLDeviceVector_Size, vector);
    let devices = (0..len).map(|index| call!(api, DPCTLDeviceVector_GetAt, vector, index)).collect();
    call!(api, DPCTLDeviceVector_Delete, vector);
    devices
}

#[test]
fn devices_are_partitioned_by_number_counts_and_affinity() {
    with_devices(|loopback, api, cpu, gpu| {
        assert_eq!(call!(api, DPCTLDevice_GetPartitionMaxSubDevices, cpu), 8);
        let units = |device: &DPCTLSyclDeviceRef| call!(api, DPCTLDevice_GetMaxComputeUnits, *device);
        let mut counts = [5, 1];
        let by = |domain| api.form().affinity_domain(domain);
        for (root, vector, expected) in [
            (cpu, call!(api, DPCTLDevice_CreateSubDevicesEqually, cpu, 3), [3, 3]),
            (cpu, call!(api, DPCTLDevice_CreateSubDevicesByCounts, cpu, counts.as_mut_ptr(), 2), [5, 1]),
            (
                gpu,
                call!(api, DPCTLDevice_CreateSubDevicesByAffinity, gpu, by(Domain::NextPartitionable)),
                [32, 32],
            ),
        ] {
            let devices = take(api, vector);
            assert_eq!(devices.iter().map(units).collect::<Vec<_>>(), expected);
            assert!(!call!(api, DPCTLDevice_AreEq, devices[0], devices[1]), "parts are distinct");
            for device in devices {
                let parent = call!(api, DPCTLDevice_GetParentDevice, device);
                assert!(call!(api, DPCTLDevice_AreEq, parent, root));
                assert!(!call!(api, DPCTLDevice_AreEq, device, root));
                assert_eq!(call!(api, DPCTLDeviceMgr_GetRelativeId, device), -1, "no root device");
                assert!(call!(api, DPCTLDeviceMgr_GetCachedContext, device).is_null());
                call!(api, DPCTLDevice_Delete, parent);
                call!(api, DPCTLDevice_Delete, device);
            }
        }
        assert!(call!(api, DPCTLDevice_CreateSubDevicesEqually, cpu, 9).is_null());
        assert!(call!(api, DPCTLDevice_CreateSubDevicesEqually, cpu, 0).is_null());
        assert!(call!(api, DPCTLDevice_CreateSubDevicesByAffinity, cpu, by(Domain::Numa)).is_null());
        for domain in
            [Domain::NotApplicable, Domain::L4Cache, Domain::L3Cache, Domain::L2Cache, Domain::L1Cache]
        {
            let parts = call!(api, DPCTLDevice_CreateSubDevicesByAffinity, gpu, by(domain));
            assert!(parts.is_null(), "{domain:?}");
        }
        assert!(call!(api, DPCTLDevice_CreateSubDevicesByCounts, cpu, [4, 5].as_mut_ptr(), 2).is_null());
        assert!(call!(api, DPCTLDevice_CreateSubDevicesByCounts, cpu, [4, 0].as_mut_ptr(), 2).is_null());
        assert_eq!(loopback.faults(), 0);
        assert!(call!(api, DPCTLDevice_CreateSubDevicesByCounts, cpu, counts.as_mut_ptr(), 0).is_null());
        assert_eq!(loopback.faults(), 1, "no counts at all are a misuse");
    });
}

#[test]
fn a_context_holds_the_parts_of_one_platform() {
    with_devices(|loopback, api, cpu, gpu| {
        let mut parts = take(api, call!(api, DPCTLDevice_CreateSubDevicesEqually, cpu, 4));
        let vector = call!(api, DPCTLDeviceVector_CreateFromArray, 2, parts.as_mut_ptr());
        let context = call!(api, DPCTLContext_CreateFromDevices, vector, None, 0);
        assert_eq!(call!(api, DPCTLContext_DeviceCount, context), 2);
        assert!(call!(api, DPCTLQueue_Create, context, cpu, None, 0).is_null(), "the root is not in it");
        let queue = call!(api, DPCTLQueue_Create, context, parts[1], None, 0);
        let memory = call!(api, DPCTLmalloc_device, 64, queue);
        let device = call!(api, DPCTLUSM_GetPointerDevice, memory, context);
        assert!(call!(api, DPCTLDevice_AreEq, device, parts[1]));
        call!(api, DPCTLfree_with_context, memory, context);
        call!(api, DPCTLQueue_Delete, queue);
        call!(api, DPCTLContext_Delete, context);
        call!(api, DPCTLDeviceVector_Delete, vector);
        let mut mixed = [parts[0], gpu];
        let vector = call!(api, DPCTLDeviceVector_CreateFromArray, 2, mixed.as_mut_ptr());
        assert!(call!(api, DPCTLContext_CreateFromDevices, vector, None, 0).is_null());
        call!(api, DPCTLDeviceVector_Delete, vector);
        for device in parts.into_iter().chain([device]) {
            call!(api, DPCTLDevice_Delete, device);
        }
        assert_eq!(loopback.faults(), 0);
    });
}

#[test]
fn peers_are_switched_on_and_off_once() {
    with_devices(|loopback, api, cpu, gpu| {
        let numa = api.form().affinity_domain(Domain::Numa);
        let tiles = take(api, call!(api, DPCTLDevice_CreateSubDevicesByAffinity, gpu, numa));
        let access =
            |a, b| call!(api, DPCTLDevice_CanAccessPeer, a, b, DPCTLPeerAccessType::ACCESS_SUPPORTED);
        assert!(access(tiles[0], tiles[1]) && access(tiles[1], tiles[0]));
        assert!(!access(cpu, gpu) && !access(tiles[0], tiles[0]));
        let atomics = DPCTLPeerAccessType::ATOMICS_SUPPORTED;
        assert!(!call!(api, DPCTLDevice_CanAccessPeer, tiles[0], tiles[1], atomics));
        call!(api, DPCTLDevice_EnablePeerAccess, tiles[0], tiles[1]);
        call!(api, DPCTLDevice_DisablePeerAccess, tiles[0], tiles[1]);
        assert_eq!(loopback.faults(), 0);
        call!(api, DPCTLDevice_DisablePeerAccess, tiles[0], tiles[1]);
        assert_eq!(loopback.faults(), 1, "it was off");
        call!(api, DPCTLDevice_EnablePeerAccess, cpu, gpu);
        assert_eq!(loopback.faults(), 2, "it cannot be");
        tiles.into_iter().for_each(|tile| call!(api, DPCTLDevice_Delete, tile));
    });
}

#[test]
fn facts_and_platform_devices() {
    with_devices(|loopback, api, cpu, gpu| {
        let mut len = 0;
        let sizes = told!(api, DPCTLDevice_GetSubGroupSizes, gpu, &raw mut len);
        // SAFETY: the call made an array of that length.
        assert_eq!(unsafe { std::slice::from_raw_parts(sizes, len) }, [16, 32]);
        let items = told!(api, DPCTLDevice_GetMaxWorkItemSizes3d, cpu);
        // SAFETY: the call made an array of three.
        assert_eq!(unsafe { std::slice::from_raw_parts(items, 3) }, [8192, 8192, 64]);
        assert_eq!(loopback.live(Kind::SizeArray), 2);
        call!(api, DPCTLSize_t_Array_Delete, sizes);
        call!(api, DPCTLSize_t_Array_Delete, items);
        assert_eq!(loopback.faults(), 0);
        call!(api, DPCTLSize_t_Array_Delete, items);
        assert_eq!(loopback.faults(), 1, "deleted twice");
        assert_eq!(told!(api, DPCTLDevice_GetPreferredVectorWidthChar, cpu), 1);
        assert_eq!(told!(api, DPCTLDevice_GetNativeVectorWidthHalf, cpu), 17);
        assert_eq!(told!(api, DPCTLDevice_GetGlobalMemCacheType, cpu), DPCTLGlobalMemCacheType::READ_WRITE);
        let images = [
            told!(api, DPCTLDevice_GetImage2dMaxWidth, gpu),
            told!(api, DPCTLDevice_GetImage2dMaxHeight, gpu),
            told!(api, DPCTLDevice_GetImage3dMaxWidth, gpu),
            told!(api, DPCTLDevice_GetImage3dMaxHeight, gpu),
            told!(api, DPCTLDevice_GetImage3dMaxDepth, gpu),
        ];
        assert_eq!(images, [8192, 4096, 2048, 1024, 512]);
        assert_eq!(told!(api, DPCTLDevice_GetMaxReadImageArgs, gpu), 128);
        assert_eq!(told!(api, DPCTLDevice_GetMaxWriteImageArgs, gpu), 64);
        let platform = call!(api, DPCTLDevice_GetPlatform, gpu);
        let devices = take(api, call!(api, DPCTLPlatform_GetDevices, platform, DPCTLSyclDeviceType::ALL));
        assert!(devices.len() == 1 && call!(api, DPCTLDevice_AreEq, devices[0], gpu));
        let cpus = call!(api, DPCTLPlatform_GetDevices, platform, DPCTLSyclDeviceType::CPU);
        assert_eq!(take(api, cpus), []);
        call!(api, DPCTLDevice_Delete, devices[0]);
        call!(api, DPCTLPlatform_Delete, platform);
    });
}
