//! CUDA C: what there is to say without NVRTC, and what it compiles where it is installed. Over the stand-in of the driver.
#![cfg(feature = "cuda")]
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::Arc;

use cuda_loopback::Loopback;
use usm_core::backend::Backend;
use usm_core::backend::cuda::CudaBackend;
use usm_core::{BackendId, Device, Error, KernelBundle, Nvrtc, Runtime};

fn gpu() -> (Loopback, Device) {
    let driver = Loopback::new().unwrap();
    // SAFETY: the stand-in of the driver.
    let backend: Arc<dyn Backend> =
        Arc::new(unsafe { CudaBackend::load(driver.path().as_os_str(), 0) }.unwrap());
    let devices = Runtime::with_backend(backend).unwrap().devices();
    let gpu = devices.into_iter().find(|device| device.filter_string().starts_with("cuda:")).unwrap();
    (driver, gpu)
}

#[test]
fn versions_are_facts_of_a_gpu() {
    let (_driver, gpu) = gpu();
    let versions = gpu.info().cuda_versions.unwrap();
    let [[major, minor], capability] = [versions.driver, versions.compute_capability];
    let text = format!("CUDA {major}.{minor}, compute capability {}.{}", capability[0], capability[1]);
    assert!(gpu.info().driver_version.starts_with(&text), "{text}");
    assert_eq!(Runtime::global().host_device().info().cuda_versions, None);
}

#[test]
fn other_devices_take_no_cuda_c() {
    let host = Runtime::global().host_device();
    let error = Nvrtc::find(host, &[]).unwrap_err();
    assert!(matches!(error, Error::NotSupported { backend: BackendId::Host, .. }), "{error}");
}

/// Where this is not found, the error says how to get it; else source becomes code, and errors have the compiler's messages.
#[test]
fn cuda_c_is_compiled_where_nvrtc_is() {
    let (_driver, gpu) = gpu();
    let folders: Vec<_> = std::env::var_os("USM_TEST_NVRTC").map(PathBuf::from).into_iter().collect();
    let nvrtc = match Nvrtc::find(&gpu, &folders) {
        Ok(nvrtc) => nvrtc,
        Err(error) => {
            assert!(folders.is_empty(), "{error}");
            let text = error.to_string();
            assert!(
                matches!(error, Error::NoNvrtc { .. }) && text.contains("pip install nvidia-cuda-nvrtc"),
                "{text}"
            );
            return eprintln!("skipped: {text}");
        }
    };
    assert!(nvrtc.version()[0] >= 12 && format!("{nvrtc:?}").starts_with("NVRTC 1"));
    let context = gpu.default_context().unwrap();
    let build =
        |source: &str, options: &str| KernelBundle::from_cuda_source(&context, &gpu, source, options, nvrtc);
    let source =
        "extern \"C\" __global__ void f(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = NUMBER; }";
    let bundle = build(source, "-DNUMBER=3 --gpu-architecture=compute_75").unwrap();
    assert_eq!(bundle.kernel("f").unwrap().info().num_args, 2);
    for (source, options, text) in
        [(source, "", "NUMBER"), (source, "--nonsense", "--nonsense"), ("?", "", "error")]
    {
        let error = build(source, options).unwrap_err();
        assert!(matches!(error, Error::KernelBuild { language: "CUDA C", .. }), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
    assert!(matches!(build("\0", ""), Err(Error::NulByte { .. })));
    assert!(!nvrtc.path().as_os_str().is_empty());
}
