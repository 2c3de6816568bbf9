//! Kernels through the C interface.

use std::ffi::{CStr, c_void};
use std::ptr::{self, NonNull};

use sycl_sys::{
    Api, DPCTLKernelArgType, DPCTLSyclAspectType, DPCTLSyclBackendType, DPCTLSyclContextRef,
    DPCTLSyclDeviceRef, DPCTLSyclEventRef, DPCTLSyclKernelRef, DPCTLSyclQueueRef, MDLocalAccessor,
};

use super::{SyclBackend, facts, some};
use crate::backend::{BackendId, RawBundle, RawEvent, RawKernel};
use crate::{ArgumentKind, Error, ExecutionRange, KernelArgument, KernelCode, KernelInfo, Result};

fn kernel(raw: RawKernel) -> DPCTLSyclKernelRef {
    raw.as_ptr().cast()
}

/// # Safety
/// 1. As for [`crate::backend::Backend::create_bundle`].
pub(super) unsafe fn create_bundle(
    api: &Api,
    context: DPCTLSyclContextRef,
    device: DPCTLSyclDeviceRef,
    code: KernelCode<'_>,
    options: &CStr,
) -> Result<RawBundle> {
    let not_supported = |what| Err(Error::NotSupported { backend: BackendId::Sycl, what });
    // SAFETY: the device is live (promise 1).
    match (code, unsafe { (api.DPCTLDevice_GetBackend)(device) }) {
        // Refused below.
        (KernelCode::Ptx(_) | KernelCode::Cubin(_), _)
        | (_, DPCTLSyclBackendType::OPENCL)
        | (KernelCode::Spirv(_), DPCTLSyclBackendType::LEVEL_ZERO) => {}
        (KernelCode::Spirv(_), _) => {
            return not_supported("kernels from SPIR-V on other devices than those of OpenCL and Level Zero");
        }
        (KernelCode::OpenclC(_), _) => {
            return not_supported("kernels from OpenCL C source on other devices than those of OpenCL");
        }
    }
    // SAFETY: the device is live (promise 1).
    if !unsafe { (api.DPCTLDevice_HasAspect)(device, DPCTLSyclAspectType::ONLINE_COMPILER) } {
        return not_supported("building kernels for a device without the aspect online_compiler");
    }
    let bundle = match code {
        KernelCode::Ptx(_) | KernelCode::Cubin(_) => return not_supported("kernels from PTX"),
        KernelCode::Spirv(module) => {
            let start = module.as_ptr().cast();
            // SAFETY: the handles are live (promise 1) and belong together, on a backend that can: for such the call does not throw.
            // The module and the options live through the call.
            unsafe {
                api.DPCTLKernelBundle_CreateFromSpirv.call(
                    context,
                    device,
                    start,
                    module.len(),
                    options.as_ptr(),
                )
            }
        }
        KernelCode::OpenclC(source) => {
            // SAFETY: the handles are live and belong together (promise 1), for which the call does not throw. Both texts end with 0 and
            // live through the call.
            unsafe {
                (api.DPCTLKernelBundle_CreateFromOCLSource)(
                    context,
                    device,
                    source.as_ptr(),
                    options.as_ptr(),
                )
            }
        }
    };
    some(bundle, "KernelBundle_Create").map(RawBundle::new)
}

/// # Safety
/// 1. `bundle` is live.
pub(super) unsafe fn find(api: &Api, bundle: RawBundle, name: &CStr) -> Option<RawKernel> {
    // SAFETY: the bundle is live (promise 1), for which the call does not throw; the name ends with 0.
    let found = unsafe { (api.DPCTLKernelBundle_GetKernel)(bundle.as_ptr().cast(), name.as_ptr()) };
    NonNull::new(found.cast()).map(RawKernel::new)
}

/// # Safety
/// 1. As for [`crate::backend::Backend::kernel_info`].
pub(super) unsafe fn info(api: &Api, raw: RawKernel, device: DPCTLSyclDeviceRef) -> Result<KernelInfo> {
    let size = |get: unsafe extern "C-unwind" fn(DPCTLSyclKernelRef) -> usize| {
        // SAFETY: the kernel is live (promise 1), and every driver must know these facts: the call does not throw.
        unsafe { get(kernel(raw)) }
    };
    // SAFETY: the device is live (promise 1).
    let is_known = unsafe { facts::knows_sub_groups_of_kernels(api, device) };
    let count = |get: unsafe extern "C-unwind" fn(DPCTLSyclKernelRef) -> u32| match is_known {
        // SAFETY: the kernel is live (promise 1), and its driver knows these facts: the call does not throw.
        true => unsafe { get(kernel(raw)) },
        false => 0,
    };
    let num_args = size(api.DPCTLKernel_GetNumArgs);
    let work_group_size = size(api.DPCTLKernel_GetWorkGroupSize);
    if num_args == usize::MAX || work_group_size == 0 {
        return Err(SyclBackend::failed("Kernel_GetNumArgs or Kernel_GetWorkGroupSize"));
    }
    Ok(KernelInfo {
        num_args,
        work_group_size,
        preferred_work_group_size_multiple: api.DPCTLKernel_GetPreferredWorkGroupSizeMultiple.map_or(1, size),
        private_mem_bytes: api.DPCTLKernel_GetPrivateMemSize.map_or(0, size),
        max_num_sub_groups: api.DPCTLKernel_GetMaxNumSubGroups.map_or(0, count),
        max_sub_group_size: api.DPCTLKernel_GetMaxSubGroupSize.map_or(0, count),
        compile_num_sub_groups: api.DPCTLKernel_GetCompileNumSubGroups.map_or(0, count),
        compile_sub_group_size: api.DPCTLKernel_GetCompileSubGroupSize.map_or(0, count),
        registers: 0,
    })
}

const fn argument_type(kind: ArgumentKind) -> DPCTLKernelArgType {
    match kind {
        ArgumentKind::I8 => DPCTLKernelArgType::INT8_T,
        ArgumentKind::U8 => DPCTLKernelArgType::UINT8_T,
        ArgumentKind::I16 => DPCTLKernelArgType::INT16_T,
        ArgumentKind::U16 => DPCTLKernelArgType::UINT16_T,
        ArgumentKind::I32 => DPCTLKernelArgType::INT32_T,
        ArgumentKind::U32 => DPCTLKernelArgType::UINT32_T,
        ArgumentKind::I64 => DPCTLKernelArgType::INT64_T,
        ArgumentKind::U64 => DPCTLKernelArgType::UINT64_T,
        ArgumentKind::F32 => DPCTLKernelArgType::FLOAT32_T,
        ArgumentKind::F64 => DPCTLKernelArgType::FLOAT64_T,
        ArgumentKind::Pointer => DPCTLKernelArgType::VOID_PTR,
        ArgumentKind::LocalMemory => DPCTLKernelArgType::LOCAL_ACCESSOR,
    }
}

/// What the C interface points to: the number itself, in memory order and aligned for every type, or a length of local memory.
struct Value {
    number: u64,
    local: MDLocalAccessor,
}

/// # Safety
/// 1. As for [`crate::backend::Backend::submit_kernel`].
pub(super) unsafe fn submit(
    api: &Api,
    queue: DPCTLSyclQueueRef,
    raw: RawKernel,
    arguments: &[KernelArgument],
    range: &ExecutionRange,
    dependencies: &[RawEvent],
) -> Result<RawEvent> {
    let value = |argument: &KernelArgument| Value {
        number: u64::from_ne_bytes(argument.to_bytes()),
        local: MDLocalAccessor {
            ndim: 1,
            dpctl_type_id: DPCTLKernelArgType::UINT8_T,
            dim0: argument.local_bytes().unwrap_or(0),
            dim1: 0,
            dim2: 0,
        },
    };
    let mut values: Vec<Value> = arguments.iter().map(value).collect();
    let pointer = |(argument, value): (&KernelArgument, &mut Value)| match argument.kind() {
        ArgumentKind::Pointer => ptr::with_exposed_provenance_mut(argument.address().unwrap_or(0)),
        ArgumentKind::LocalMemory => (&raw mut value.local).cast(),
        _ => (&raw mut value.number).cast(),
    };
    let mut pointers: Vec<*mut c_void> = arguments.iter().zip(&mut values).map(pointer).collect();
    let types: Vec<_> = arguments.iter().map(|argument| argument_type(argument.kind())).collect();
    let events: Vec<DPCTLSyclEventRef> = dependencies.iter().map(|event| event.as_ptr().cast()).collect();
    let (pointers, types) = (pointers.as_mut_ptr(), types.as_ptr());
    let (global, local) = (range.global(), range.local());
    let (sizes, dimensions) = (global.sizes().as_ptr(), global.sizes().len());
    let (count, kernel) = (arguments.len(), kernel(raw));
    let event = match &local {
        None => {
            // SAFETY: the handles are live (promise 1); the arrays have the lengths given and live through the call, which copies what
            // the pointers point to; the rest is the caller's promise 1.
            unsafe {
                (api.DPCTLQueue_SubmitRange)(
                    kernel,
                    queue,
                    pointers,
                    types,
                    count,
                    sizes,
                    dimensions,
                    events.as_ptr(),
                    events.len(),
                )
            }
        }
        Some(local) => {
            let local = local.sizes().as_ptr();
            // SAFETY: the handles are live (promise 1); the arrays have the lengths given and live through the call, which copies what the
            // pointers point to. Both ranges have `dimensions` sizes. The rest is the caller's promise 1.
            unsafe {
                (api.DPCTLQueue_SubmitNDRange)(
                    kernel,
                    queue,
                    pointers,
                    types,
                    count,
                    sizes,
                    local,
                    dimensions,
                    events.as_ptr(),
                    events.len(),
                )
            }
        }
    };
    some(event, "Queue_SubmitRange or Queue_SubmitNDRange").map(RawEvent::new)
}

/// # Safety
/// 1. The caller owns a reference to the bundle and uses it no more.
pub(super) unsafe fn release_bundle(api: &Api, bundle: RawBundle) {
    // SAFETY: the caller's own heap copy (promise 1), for which the call does not throw.
    unsafe { (api.DPCTLKernelBundle_Delete)(bundle.as_ptr().cast()) };
}

/// # Safety
/// 1. The caller owns a reference to the kernel and uses it no more.
pub(super) unsafe fn release(api: &Api, raw: RawKernel) {
    // SAFETY: the caller's own heap copy (promise 1), for which the call does not throw.
    unsafe { (api.DPCTLKernel_Delete)(kernel(raw)) };
}

/// The methods of [`Backend`](crate::backend::Backend) about kernels, for the one `impl` in the folder's `mod.rs`.
macro_rules! methods {
    () => {
        unsafe fn create_bundle(
            &self,
            in_context: RawContext,
            for_device: RawDevice,
            code: $crate::KernelCode<'_>,
            options: &::std::ffi::CStr,
        ) -> Result<$crate::backend::RawBundle> {
            let api = self.runtime.enter()?;
            // SAFETY: promise 1 of `Backend::create_bundle`.
            let bundle = unsafe {
                kernel::create_bundle(&api, context(in_context), device(for_device), code, options)
            };
            self.runtime.wait_at_exit(Loaded::Kernels);
            bundle
        }

        unsafe fn bundle_kernel(
            &self,
            bundle: $crate::backend::RawBundle,
            name: &::std::ffi::CStr,
        ) -> Result<Option<$crate::backend::RawKernel>> {
            let api = self.runtime.enter()?;
            // SAFETY: promise 1 of `Backend::bundle_kernel`.
            Ok(unsafe { kernel::find(&api, bundle, name) })
        }

        unsafe fn kernel_info(
            &self,
            raw: $crate::backend::RawKernel,
            of_device: RawDevice,
        ) -> Result<$crate::KernelInfo> {
            let api = self.runtime.enter()?;
            // SAFETY: promise 1 of `Backend::kernel_info`.
            unsafe { kernel::info(&api, raw, device(of_device)) }
        }

        unsafe fn submit_kernel(
            &self,
            on_queue: RawQueue,
            raw: $crate::backend::RawKernel,
            arguments: &[$crate::KernelArgument],
            range: &$crate::ExecutionRange,
            dependencies: &[RawEvent],
        ) -> Result<RawEvent> {
            let api = self.runtime.enter()?;
            let _submitting = self.frees.submit();
            // SAFETY: promises 1 to 4 of `Backend::submit_kernel`.
            unsafe { kernel::submit(&api, queue(on_queue), raw, arguments, range, dependencies) }
        }
    };
}
pub(super) use methods;
