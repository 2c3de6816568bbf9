//! The forms of the interface: how a library shows its form, what differs, and libraries of no known form.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ptr;

use sycl_loopback::Loopback;
use sycl_sys::{
    AffinityDomain, Api, CreateFromSpirv, DPCTLSpecConst, DPCTLSyclAspectType, DPCTLSyclKernelBundleRef,
    Form, LoadError,
};

const OF_0_22: sycl_loopback::Form = sycl_loopback::Form::Dpctl022;
const OF_0_23: sycl_loopback::Form = sycl_loopback::Form::Dpctl023;
const REMOVED: &str = "DPCTLDevice_GetSubGroupIndependentForwardProgress";
const MARKS: [&str; 2] = ["DPCTLDevice_CanCompileSPIRV", "DPCTLQueue_MemsetWithEvents"];
const EARLIER: [&str; 2] = ["DPCTLIPCMem_Available", "DPCTLDevice_GetVendorId"];

/// The table of a library of that form, without some of its functions.
fn without(form: sycl_loopback::Form, gone: &[&str]) -> Result<Api, LoadError> {
    let loopback = Loopback::lacking(form, gone).unwrap();
    // SAFETY: 1., 2. the loopback library; 3. no SYCL runtime is loaded.
    unsafe { Api::load_from(loopback.path()) }
}

#[test]
fn the_library_tells_its_form() {
    let [old, new] = [OF_0_22, OF_0_23].map(|form| without(form, &[]).unwrap());
    assert_eq!((old.form(), new.form()), (Form::V22, Form::V23));
    assert_eq!((old.form().to_string(), new.form().to_string()), ("dpctl 0.22".into(), "dpctl 0.23".into()));
    assert!(matches!(old.DPCTLKernelBundle_CreateFromSpirv, CreateFromSpirv::V22(_)));
    assert!(matches!(new.DPCTLKernelBundle_CreateFromSpirv, CreateFromSpirv::V23(_)));
    assert!(old.DPCTLDevice_GetSubGroupIndependentForwardProgress.is_some());
    assert!(new.DPCTLDevice_GetSubGroupIndependentForwardProgress.is_none());
    assert!(old.DPCTLQueue_MemsetWithEvents.is_none() && new.DPCTLQueue_MemsetWithEvents.is_some());
}

#[test]
#[cfg_attr(windows, ignore = "names in a DLL are sorted, and a changed name hides others")]
fn each_mark_tells_0_23_and_a_missing_symbol_tells_nothing() {
    for mark in MARKS {
        assert_eq!(without(OF_0_23, &[mark]).unwrap().form(), Form::V23, "{mark} is missing");
    }
    let old = without(OF_0_22, &[REMOVED]).unwrap();
    assert_eq!(old.form(), Form::V22);
    assert!(matches!(old.DPCTLKernelBundle_CreateFromSpirv, CreateFromSpirv::V22(_)));
}

#[test]
#[cfg_attr(windows, ignore = "names in a DLL are sorted, and a changed name hides others")]
fn a_development_version_between_the_forms_is_refused() {
    for kept in EARLIER {
        let gone: Vec<_> = MARKS.into_iter().chain(EARLIER).filter(|name| *name != kept).collect();
        let error = without(OF_0_23, &gone).unwrap_err();
        assert!(matches!(error, LoadError::DevelopmentVersion { has, .. } if has == kept), "{error}");
        let text = error.to_string();
        for part in ["libDPCTLSyclInterface.so", kept, "0.22", "0.23", "pip install \"dpctl>=0.22,<0.24\""] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
    }
}

#[test]
#[cfg_attr(windows, ignore = "names in a DLL are sorted, and a changed name hides others")]
fn what_a_library_of_no_form_lacks_is_listed() {
    for form in [OF_0_22, OF_0_23] {
        let error =
            without(form, &["DPCTLContext_DeviceCount", "DPCTLKernelBundle_CreateFromSpirv"]).unwrap_err();
        let LoadError::MissingSymbols { symbols, .. } = &error else { panic!("{error}") };
        assert_eq!(symbols, &["DPCTLContext_DeviceCount", "DPCTLKernelBundle_CreateFromSpirv"]);
        let text = error.to_string();
        for part in
            ["libDPCTLSyclInterface.so lacks 2 of the", "dpctl 0.22 and 0.23", "DPCTLContext_DeviceCount"]
        {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
    }
}

#[test]
#[cfg_attr(windows, ignore = "names in a DLL are sorted, and a changed name hides others")]
fn functions_that_only_inform_may_be_missing() {
    for form in [OF_0_22, OF_0_23] {
        let mut gone = Api::OPTIONAL.to_vec();
        let kept = if form == OF_0_22 { MARKS.as_slice() } else { &[MARKS[1], REMOVED] };
        gone.retain(|name| !kept.contains(name));
        if form == OF_0_22 {
            gone.retain(|name| !name.starts_with("DPCTLIPCMem"));
        }
        let api = without(form, &gone).unwrap();
        assert_eq!(api.form(), if form == OF_0_22 { Form::V22 } else { Form::V23 });
        assert!(api.DPCTLDevice_GetMaxClockFrequency.is_none() && api.DPCTLService_GetDPCPPVersion.is_none());
    }
}

#[test]
fn the_forms_number_domains_and_aspects_as_their_headers_do() {
    use AffinityDomain::{L1Cache, L2Cache, L3Cache, L4Cache, NextPartitionable, NotApplicable, Numa};
    let domains = [NotApplicable, Numa, L4Cache, L3Cache, L2Cache, L1Cache, NextPartitionable];
    for (form, first) in [(Form::V22, 0), (Form::V23, 1)] {
        for (number, domain) in (first..).zip(domains) {
            let expected = format!("DPCTLPartitionAffinityDomainType({number})");
            assert_eq!(format!("{:?}", form.affinity_domain(domain)), expected, "{form} {domain:?}");
        }
    }
    assert!(!Form::V22.has_aspect_number(DPCTLSyclAspectType::EXT_ONEAPI_IPC_MEMORY));
    assert!(Form::V22.has_aspect_number(DPCTLSyclAspectType::IS_COMPOSITE));
    assert!(Form::V23.has_aspect_number(DPCTLSyclAspectType::EXT_ONEAPI_IPC_MEMORY));
}

/// The bytes of a module that names the kernel `fill_u32`.
fn module() -> Vec<u8> {
    let name = [u32::from_le_bytes(*b"fill"), u32::from_le_bytes(*b"_u32"), 0];
    let words = [0x0723_0203, 0x1_0000, 0, 5, 0, 6 << 16 | 15, 6, 1].into_iter().chain(name);
    words.flat_map(u32::to_le_bytes).collect()
}

#[test]
fn modules_are_built_in_each_form_and_five_arguments_are_not_enough_for_0_23() {
    for form in [OF_0_22, OF_0_23] {
        let loopback = Loopback::in_form(form).unwrap();
        // SAFETY: 1., 2. the loopback library; 3. no SYCL runtime is loaded.
        let api = unsafe { Api::load_from(loopback.path()) }.unwrap();
        // SAFETY: takes nothing.
        let device = unsafe { (api.DPCTLDevice_Create)() };
        // SAFETY: a live device.
        let context = unsafe { (api.DPCTLContext_Create)(device, None, 0) };
        let (module, options) = (module(), c"".as_ptr());
        let (il, len) = (module.as_ptr().cast(), module.len());
        let built = |bundle: DPCTLSyclKernelBundleRef| {
            // SAFETY: NULL, or a bundle that is used no more.
            unsafe { (api.DPCTLKernelBundle_Delete)(bundle) };
            !bundle.is_null()
        };
        // SAFETY: live handles that belong together, and a valid module.
        let bundle = unsafe { api.DPCTLKernelBundle_CreateFromSpirv.call(context, device, il, len, options) };
        assert!(built(bundle), "{form:?}");
        assert_eq!(loopback.faults(), 0);
        if let CreateFromSpirv::V23(create) = api.DPCTLKernelBundle_CreateFromSpirv {
            let value = 7_u32;
            let one = DPCTLSpecConst { id: 3, size: 4, value: (&raw const value).cast() };
            // SAFETY: as above, with one constant.
            assert!(built(unsafe { create(context, device, il, len, options, 1, &raw const one) }));
            assert_eq!(loopback.faults(), 0);
            let odd = DPCTLSpecConst { size: 3, ..one };
            // What a call with five arguments leaves in the registers of the others, and a constant that is none.
            for (count, constants) in
                [(0, &raw const one), (1, ptr::null()), (usize::MAX, &raw const one), (1, &raw const odd)]
            {
                // SAFETY: as above; the loopback library recognises the mistake.
                assert!(!built(unsafe { create(context, device, il, len, options, count, constants) }));
            }
            assert_eq!(loopback.faults(), 4);
        }
        // SAFETY: our own handle, without a later use.
        unsafe { (api.DPCTLContext_Delete)(context) };
        // SAFETY: our own handle, without a later use.
        unsafe { (api.DPCTLDevice_Delete)(device) };
        assert_eq!(loopback.leaks(), []);
    }
}
