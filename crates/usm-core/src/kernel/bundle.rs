//! Bundles of kernels, built for one device of a context, and the kernels in them.

use std::ffi::{CStr, CString};
use std::fmt;
use std::mem::{self, ManuallyDrop};
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(feature = "cuda")]
use super::nvrtc::{CudaImage, Nvrtc};
use super::text::c_string;
use super::{KernelInfo, spirv};
use crate::backend::RawKernel;
use crate::fork::PerProcess;
use crate::pending::{Dropped, Pending};
use crate::{Context, Device, Error, Event, Queue, Result, retired};

owned_handle!(
    /// Owner of a raw bundle.
    BundleHandle, RawBundle, Bundle
);
owned_handle!(
    /// Owner of a raw kernel.
    KernelHandle, RawKernel, Kernel
);

/// What kernels are built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KernelCode<'a> {
    /// A SPIR-V module for OpenCL.
    Spirv(&'a [u8]),
    /// OpenCL C source.
    OpenclC(&'a CStr),
    /// PTX, the assembly language of NVIDIA's GPUs.
    Ptx(&'a CStr),
    /// Machine code of NVIDIA's GPUs.
    Cubin(&'a [u8]),
}

impl KernelCode<'_> {
    /// `"SPIR-V"`, `"OpenCL C"`, `"PTX"` or `"cubin"`.
    #[must_use]
    pub const fn language(&self) -> &'static str {
        match self {
            Self::Spirv(_) => "SPIR-V",
            Self::OpenclC(_) => "OpenCL C",
            Self::Ptx(_) => "PTX",
            Self::Cubin(_) => "cubin",
        }
    }

    /// The module, or the source without the byte that ends it.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Spirv(module) | Self::Cubin(module) => module,
            Self::OpenclC(source) | Self::Ptx(source) => source.to_bytes(),
        }
    }
}

#[derive(Debug)]
struct Inner {
    handle: BundleHandle,
    context: Context,
    device: Device,
}

/// Kernels built for one device, `sycl::kernel_bundle` in the state `executable`. Clones name the same bundle.
///
/// **Keep a bundle for each context; nothing else does.** The runtime caches no build, and it keeps what it built, about 1.8 MB a
/// bundle on the OpenCL CPU runtime, until the process ends, even when the bundle is dropped. A kernel of one line takes there
/// 33 ms to build from source (the first one of a process 180 ms) and 13 ms from SPIR-V; submitting it takes 4 µs, with waiting
/// for it 8 µs.
///
/// **Why a build failed is known on CUDA only.** The C interface of SYCL drops the compiler's log; with `DPCTL_VERBOSITY=warning` in the
/// environment it prints OpenCL's error code to the standard error, and nothing more. Try the code with a compiler of its
/// own, such as `ocloc` or `clang`.
///
/// ```
/// use usm_core::{Error, KernelBundle, Runtime, UsmKind};
///
/// # fn main() -> usm_core::Result<()> {
/// let runtime = Runtime::global();
/// let device = runtime.default_device()?;
/// let queue = runtime.default_queue(&device)?;
/// let source = "kernel void scale(global float *x, float by) { x[get_global_id(0)] *= by; }";
/// let bundle = match KernelBundle::from_opencl_source(queue.context(), &device, source, "") {
///     // The host backend has no compiler.
///     Err(Error::NotSupported { .. }) => return Ok(()),
///     bundle => bundle?,
/// };
/// let scale = bundle.kernel("scale")?;
/// assert_eq!(scale.info().num_args, 2);
///
/// let block = queue.allocate(UsmKind::Shared, 8 * size_of::<f32>())?;
/// // SAFETY: within the block, ended before it goes, since what follows is waited for.
/// let filled = unsafe { queue.fill(block.as_ptr().as_ptr(), &1.5_f32.to_ne_bytes(), 8, &[]) }?;
/// // SAFETY: the kernel reads and writes 8 numbers in the block, after the fill, and is waited for.
/// unsafe { queue.submit_kernel(&scale, &[(&block).into(), 4.0_f32.into()], 8, &[filled]) }?.wait()?;
/// // SAFETY: shared memory, which nothing uses any more; 6.0 has been written to all of it.
/// let numbers = unsafe { std::slice::from_raw_parts(block.as_ptr().cast::<f32>().as_ptr(), 8) };
/// assert_eq!(numbers, [6.0; 8]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct KernelBundle {
    inner: Arc<Inner>,
}

impl KernelBundle {
    /// Builds a SPIR-V module for a device of the context. `options` are those of `clBuildProgram`, or of Level Zero's modules;
    /// empty for none. The call blocks until the build is complete.
    ///
    /// # Safety
    /// 1. `module` is valid SPIR-V for OpenCL, as `spirv-val` finds it. Drivers crash on other modules; only what can be seen
    ///    without understanding it (the errors below) is checked.
    ///
    /// # Errors
    /// - [`Error::InvalidSpirv`]: not a module of whole instructions and functions that starts with SPIR-V's magic number in the
    ///   byte order of this machine.
    /// - [`Error::NulByte`]: a byte of 0 in `options`.
    /// - [`Error::DeviceNotInContext`].
    /// - [`Error::NotSupported`]: the host backend, a device without an online compiler, and backends below SYCL that are
    ///   neither OpenCL nor Level Zero.
    /// - [`Error::KernelBuild`]: the runtime could not build it.
    pub unsafe fn from_spirv(
        context: &Context,
        device: &Device,
        module: &[u8],
        options: &str,
    ) -> Result<Self> {
        spirv::check(module)?;
        Self::build(context, device, KernelCode::Spirv(module), options)
    }

    /// Builds OpenCL C source for a device of the context. `options` are those of `clBuildProgram`, empty for none; without
    /// `-cl-std=CL3.0` or the like the language is OpenCL C 1.2. The call blocks until the build is complete.
    ///
    /// # Errors
    /// - [`Error::NulByte`]: a byte of 0 in `source` or `options`.
    /// - [`Error::DeviceNotInContext`].
    /// - [`Error::NotSupported`]: the host backend, a device without an online compiler, and backends below SYCL other than
    ///   OpenCL.
    /// - [`Error::KernelBuild`]: the runtime could not build it.
    pub fn from_opencl_source(
        context: &Context,
        device: &Device,
        source: &str,
        options: &str,
    ) -> Result<Self> {
        let source = c_string("OpenCL C source", source)?;
        Self::build(context, device, KernelCode::OpenclC(&source), options)
    }

    /// Compiles PTX for a GPU of the context, with the compiler of the CUDA driver. The call blocks until that is done.
    ///
    /// `options` are `-maxrregcount=N`, `-O0` to `-O4` and `-lineinfo`, which mean what they mean to `ptxas`; empty for none.
    ///
    /// A parameter of a kernel takes an argument of its size. A parameter of 4 or 8 bytes takes
    /// [local memory](crate::KernelArgument::local_memory), too: the kernel gets the offset of the memory in its dynamic shared memory
    /// (`.extern .shared`), a multiple of 16.
    ///
    /// A bundle and its kernels keep the code loaded, and so do their operations until these are complete. No drop waits.
    ///
    /// # Safety
    /// 1. `text` is valid PTX. The driver's compiler refuses other texts with a reason, as far as it finds out.
    ///
    /// # Errors
    /// - [`Error::NulByte`]: a byte of 0 in `text` or `options`.
    /// - [`Error::DeviceNotInContext`].
    /// - [`Error::NotSupported`]: another backend than CUDA.
    /// - [`Error::KernelBuild`]: the driver could not compile it, with the compiler's messages; or an unknown option.
    /// - [`Error::Driver`], [`Error::DeviceLost`]: the driver could not load it.
    pub unsafe fn from_ptx(context: &Context, device: &Device, text: &str, options: &str) -> Result<Self> {
        let text = c_string("PTX", text)?;
        Self::build(context, device, KernelCode::Ptx(&text), options)
    }

    /// Compiles CUDA C for a GPU of the context. The call blocks until that is done.
    ///
    /// `options` are those of NVRTC, separated by spaces, such as `-std=c++17 -I/usr/local/cuda/include`; empty for none. Names of C++ are
    /// mangled: declare kernels `extern "C" __global__`. Arguments are those of [`from_ptx`](Self::from_ptx).
    ///
    /// # Errors
    /// - [`Error::NulByte`]: a byte of 0 in `source` or `options`.
    /// - [`Error::DeviceNotInContext`].
    /// - [`Error::NotSupported`]: another backend than CUDA.
    /// - [`Error::KernelBuild`]: it could not be compiled, with the compiler's messages.
    /// - [`Error::Driver`], [`Error::DeviceLost`]: the driver could not load it.
    #[cfg(feature = "cuda")]
    pub fn from_cuda_source(
        context: &Context,
        device: &Device,
        source: &str,
        options: &str,
        nvrtc: &Nvrtc,
    ) -> Result<Self> {
        match nvrtc.compile(device, source, options)? {
            CudaImage::Ptx(text) => Self::build(context, device, KernelCode::Ptx(&text), ""),
            CudaImage::Cubin(image) => Self::build(context, device, KernelCode::Cubin(&image), ""),
        }
    }

    fn build(context: &Context, device: &Device, code: KernelCode<'_>, options: &str) -> Result<Self> {
        let options = c_string("build options", options)?;
        let backend = context.backend();
        if !Arc::ptr_eq(device.backend(), backend) || !context.devices()?.contains(device) {
            return Err(Error::DeviceNotInContext { device: device.filter_string() });
        }
        // SAFETY: both handles are live on this backend (H1), and the device is one of the context.
        let raw = unsafe { backend.create_bundle(context.raw(), device.raw(), code, &options) };
        let raw = raw.map_err(|error| match error {
            Error::Backend { .. } => {
                Error::KernelBuild { language: code.language(), device: device.filter_string(), log: None }
            }
            other => other,
        })?;
        // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
        let handle = unsafe { BundleHandle::from_raw(Arc::clone(backend), raw) };
        let (context, device) = (context.clone(), device.clone());
        Ok(Self { inner: Arc::new(Inner { handle, context, device }) })
    }

    /// The context the kernels were built in.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    /// The device the kernels were built for.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The kernel of that name.
    ///
    /// Look a kernel up once and keep it: a look-up takes 20 µs on the OpenCL CPU runtime, which keeps about 2 KB of each until
    /// the process ends.
    ///
    /// # Errors
    /// [`Error::NoSuchKernel`]; [`Error::Backend`] or [`Error::Driver`] when the runtime tells nothing about it.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let missing = || Error::NoSuchKernel { name: name.to_owned() };
        // No kernel has a name with a zero byte.
        let c_name = CString::new(name).map_err(|_| missing())?;
        let backend = self.inner.handle.backend();
        // SAFETY: the handle is live (H1).
        let raw = unsafe { backend.bundle_kernel(self.inner.handle.raw(), &c_name) }?.ok_or_else(missing)?;
        // SAFETY: a fresh handle of this backend (promise 1 of `Backend`).
        let handle = unsafe { KernelHandle::from_raw(Arc::clone(backend), raw) };
        // SAFETY: both handles are live (H1), and the bundle was built for its device.
        let info = unsafe { backend.kernel_info(raw, self.device().raw()) }?;
        let (handle, name, bundle) = (ManuallyDrop::new(handle), name.to_owned(), self.clone());
        Ok(Kernel {
            inner: Arc::new(KernelInner { handle, name, info, bundle, uses: PerProcess::default() }),
        })
    }

    /// Whether there is a kernel of that name. It is looked up as by [`kernel`](Self::kernel), at the same cost.
    #[must_use]
    pub fn has_kernel(&self, name: &str) -> bool {
        !matches!(self.kernel(name), Err(Error::NoSuchKernel { .. }))
    }
}

impl fmt::Debug for KernelBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KernelBundle({:?})", self.device())
    }
}

#[derive(Debug)]
struct KernelInner {
    /// Invariant K1: taken by the destructor alone.
    handle: ManuallyDrop<KernelHandle>,
    name: String,
    info: KernelInfo,
    bundle: KernelBundle,
    /// The operations that run it. A forked child has no pending ones.
    uses: PerProcess<Mutex<Pending>>,
}

impl KernelInner {
    fn take_uses(&self) -> Pending {
        mem::take(&mut *self.uses.get().lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for KernelInner {
    fn drop(&mut self) {
        let uses = self.take_uses().into_events();
        // SAFETY: K1: this is the destructor.
        let handle = unsafe { ManuallyDrop::take(&mut self.handle) };
        // The bundle is dropped after the kernel.
        retired::release_after((handle, self.bundle.clone()), uses);
    }
}

/// A kernel of a bundle, `sycl::kernel`. It keeps the bundle. Clones name the same kernel, which any number of threads may
/// submit at once, each with arguments of its own.
#[derive(Clone)]
pub struct Kernel {
    inner: Arc<KernelInner>,
}

impl Kernel {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// What is known about it.
    #[must_use]
    pub fn info(&self) -> &KernelInfo {
        &self.inner.info
    }

    /// The bundle it is from.
    #[must_use]
    pub fn bundle(&self) -> &KernelBundle {
        &self.inner.bundle
    }

    pub(super) fn raw(&self) -> RawKernel {
        self.inner.handle.raw()
    }

    /// Remembers an operation that runs the kernel. For each queue the calls come in the order of its operations.
    pub(super) fn note_use(&self, queue: &Queue, event: &Event) -> Dropped {
        let mut uses = self.inner.uses.get().lock().unwrap_or_else(PoisonError::into_inner);
        uses.add(queue.number(), event.clone(), queue.properties().in_order)
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({:?}, {:?})", self.name(), self.bundle().device())
    }
}
