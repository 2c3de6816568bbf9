//! Kernel bundles and kernels: which of the known kernels a module names, and running them.

use std::ffi::{c_char, c_void};

use super::{elements, export, memory, text, usm};
use crate::devices::{DEVICES, INTEL};
use crate::kernels::{Argument, KNOWN, Launch, RAW_KERNEL_ARG, entry_points, functions};
use crate::state::{Bundle, Handle, Kernel, Object, State};

/// Work items in a sub-group, of every kernel.
const SUB_GROUP_SIZE: usize = 16;

/// More specialization constants than any module of the tests has.
#[cfg(dpctl_023)]
const MOST_CONSTANTS: usize = 16;

/// `DPCTLSpecConst`.
#[cfg(dpctl_023)]
#[derive(Clone, Copy)]
#[repr(C)]
struct SpecConst {
    _id: u32,
    size: usize,
    value: *const c_void,
}

/// A bundle of the known kernels with the given names. It works for its context and device only.
fn build(state: &mut State, context: Handle, device: Handle, names: Option<Vec<String>>) -> Option<Handle> {
    let context = state.context(context)?;
    let device = state.device(device)?;
    state.expect(context.devices.contains(&device))?;
    let is_named = |kernel: usize| {
        let known = KNOWN.get(kernel)?;
        names.as_ref()?.iter().any(|name| name == known.name).then_some(kernel)
    };
    names.as_ref()?;
    let kernels = (0..KNOWN.len()).filter_map(is_named).collect();
    Some(state.create(Object::Bundle(Bundle { context: context.identity, device, kernels })))
}

fn from_spirv(
    state: &mut State,
    context: Handle,
    device: Handle,
    il: *const c_void,
    length_bytes: usize,
) -> Option<Handle> {
    if il.is_null() {
        return None;
    }
    // SAFETY: the header's contract: `il` has `length_bytes` bytes.
    let module = unsafe { elements(il.cast::<u8>(), length_bytes) };
    build(state, context, device, entry_points(&module))
}

fn find(state: &mut State, bundle: Handle, name: *const c_char) -> Option<Kernel> {
    let handle = bundle;
    let bundle = state.bundle(handle)?;
    // SAFETY: the header's contract: `name` is a zero-terminated string.
    let name = unsafe { text(name) }?;
    let is_wanted = |&&kernel: &&usize| KNOWN.get(kernel).is_some_and(|known| known.name == name);
    let kernel = *bundle.kernels.iter().find(is_wanted)?;
    Some(Kernel { kernel, bundle: handle.addr(), context: bundle.context, device: bundle.device })
}

fn work_group_size(state: &mut State, kernel: Handle) -> Option<usize> {
    let kernel = state.kernel(kernel)?;
    DEVICES.get(kernel.device).map(|device| device.max_work_group)
}

/// The largest work-group, where the driver knows of sub-groups; another one would throw.
fn sub_groups(state: &mut State, kernel: Handle) -> Option<usize> {
    let device = state.kernel(kernel)?.device;
    let knows = state.facts(device)?.vendor == INTEL;
    state.expect(knows)?;
    work_group_size(state, kernel)
}

/// The arguments of a function that submits, in the order of the headers.
struct Submission {
    kernel: Handle,
    queue: Handle,
    arguments: *const *mut c_void,
    types: *const u32,
    argument_count: usize,
    global: *const usize,
    /// NULL for a range without work groups.
    local: *const usize,
    dimensions: usize,
    events: *const Handle,
    event_count: usize,
}

fn submit(state: &mut State, submission: &Submission) -> Option<Handle> {
    let kernel = state.kernel(submission.kernel)?;
    let queue = state.queue(submission.queue)?;
    let after = memory::times_of(state, submission.events, submission.event_count)?;
    // The real library returns NULL here. The loopback library counts a fault: callers have to check the causes beforehand.
    state.expect(kernel.context == queue.context.identity && kernel.device == queue.device)?;
    let known = KNOWN.get(kernel.kernel)?;
    state.expect(submission.argument_count == known.arguments)?;
    state.expect((1..=3).contains(&submission.dimensions))?;
    // SAFETY: the header's contract: as many sizes as there are dimensions.
    let global = unsafe { elements(submission.global, submission.dimensions) };
    let local = (!submission.local.is_null()).then(|| {
        // SAFETY: the header's contract: as many sizes as there are dimensions.
        unsafe { elements(submission.local, submission.dimensions) }
    });
    let launch = Launch::new(&global, local.as_deref(), DEVICES.get(kernel.device)?.max_work_group);
    state.expect(launch.is_some())?;
    // SAFETY: the header's contract: as many arguments as are counted.
    let pointers = unsafe { elements(submission.arguments, submission.argument_count) };
    // SAFETY: the header's contract: as many types as are counted.
    let types = unsafe { elements(submission.types, submission.argument_count) };
    let mut arguments = Vec::new();
    for (pointer, argument_type) in pointers.into_iter().zip(types) {
        if argument_type == RAW_KERNEL_ARG {
            arguments.push(Argument::Struct(state.raw_argument(pointer)?));
            continue;
        }
        // SAFETY: the header's contract: what an argument of this type points to.
        let argument = unsafe { Argument::read(pointer, argument_type) }?;
        if let Argument::Usm(pointer) = argument {
            state.expect(usm::block_of(state, pointer.addr()).is_some())?;
        }
        arguments.push(argument);
    }
    for (pointer, count_bytes) in known.uses(&launch?, &arguments)? {
        memory::check(state, &queue, pointer, count_bytes)?;
    }
    // SAFETY: `check` found that all memory of the kernel lies in live allocations.
    unsafe { known.run(&launch?, &arguments) };
    Some(memory::done_by(state, &queue, [submission.kernel.addr(), kernel.bundle], after))
}

export! {
    #[cfg(not(dpctl_023))]
    fn DPCTLKernelBundle_CreateFromSpirv(
        state, context: Handle, device: Handle, il: *const c_void, length_bytes: usize, _options: *const c_char,
    ) -> Handle {
        from_spirv(state, context, device, il, length_bytes)
    }

    // A call with the five arguments of 0.22 leaves anything in the last two, which counts as a fault.
    #[cfg(dpctl_023)]
    fn DPCTLKernelBundle_CreateFromSpirv(
        state, context: Handle, device: Handle, il: *const c_void, length_bytes: usize, _options: *const c_char,
        constant_count: usize, constants: *const SpecConst,
    ) -> Handle {
        state.expect(constant_count <= MOST_CONSTANTS && (constant_count == 0) == constants.is_null())?;
        // SAFETY: the header's contract: `constants` has `constant_count` elements.
        let constants = unsafe { elements(constants, constant_count) };
        let is_whole = |constant: &SpecConst| matches!(constant.size, 1 | 2 | 4 | 8) && !constant.value.is_null();
        state.expect(constants.iter().all(is_whole))?;
        from_spirv(state, context, device, il, length_bytes)
    }

    fn DPCTLKernelBundle_CreateFromOCLSource(
        state, context: Handle, device: Handle, source: *const c_char, _options: *const c_char,
    ) -> Handle {
        // SAFETY: the header's contract: `source` is a zero-terminated string.
        let source = unsafe { text(source) }?;
        build(state, context, device, functions(&source))
    }

    fn DPCTLRawKernelArg_Create(state, start: *mut c_void, count_bytes: usize) -> Handle {
        state.expect(!start.is_null() && count_bytes > 0)?;
        // SAFETY: the header's contract: `start` has `count_bytes` bytes.
        let bytes = unsafe { elements(start.cast::<u8>(), count_bytes) };
        Some(state.create(Object::RawArgument(bytes)))
    }

    fn DPCTLRawKernelArg_Available(_state) -> bool { Some(true) }

    fn DPCTLKernelBundle_GetKernel(state, bundle: Handle, name: *const c_char) -> Handle {
        let kernel = find(state, bundle, name)?;
        Some(state.create(Object::Kernel(kernel)))
    }

    fn DPCTLKernelBundle_HasKernel(state, bundle: Handle, name: *const c_char) -> bool {
        Some(find(state, bundle, name).is_some())
    }

    fn DPCTLKernel_GetWorkGroupSize(state, kernel: Handle) -> usize { work_group_size(state, kernel) }

    fn DPCTLKernel_GetPreferredWorkGroupSizeMultiple(state, kernel: Handle) -> usize {
        state.kernel(kernel).map(|_| SUB_GROUP_SIZE)
    }

    fn DPCTLKernel_GetPrivateMemSize(state, kernel: Handle) -> usize { state.kernel(kernel).map(|_| 8) }

    fn DPCTLKernel_GetMaxNumSubGroups(state, kernel: Handle) -> u32 {
        u32::try_from(sub_groups(state, kernel)? / SUB_GROUP_SIZE).ok()
    }

    fn DPCTLKernel_GetMaxSubGroupSize(state, kernel: Handle) -> u32 {
        sub_groups(state, kernel)?;
        u32::try_from(SUB_GROUP_SIZE).ok()
    }

    fn DPCTLKernel_GetCompileNumSubGroups(state, kernel: Handle) -> u32 { sub_groups(state, kernel).map(|_| 0) }

    fn DPCTLKernel_GetCompileSubGroupSize(state, kernel: Handle) -> u32 { sub_groups(state, kernel).map(|_| 0) }

    fn DPCTLQueue_SubmitRange(
        state, kernel: Handle, queue: Handle, arguments: *const *mut c_void, types: *const u32,
        argument_count: usize, global: *const usize, dimensions: usize, events: *const Handle, event_count: usize,
    ) -> Handle {
        let local = std::ptr::null();
        submit(state, &Submission {
            kernel, queue, arguments, types, argument_count, global, local, dimensions, events, event_count,
        })
    }

    fn DPCTLQueue_SubmitNDRange(
        state, kernel: Handle, queue: Handle, arguments: *const *mut c_void, types: *const u32,
        argument_count: usize, global: *const usize, local: *const usize, dimensions: usize,
        events: *const Handle, event_count: usize,
    ) -> Handle {
        state.expect(!local.is_null())?;
        submit(state, &Submission {
            kernel, queue, arguments, types, argument_count, global, local, dimensions, events, event_count,
        })
    }
}

/// Unlike other counts, this one fails with the largest number.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "C" fn DPCTLKernel_GetNumArgs(kernel: Handle) -> usize {
    let count = |state: &mut State| Some(KNOWN.get(state.kernel(kernel)?.kernel)?.arguments);
    crate::state::call("DPCTLKernel_GetNumArgs", |state| count(state).map(|count| count + 1)).wrapping_sub(1)
}
