//! Modules of kernels, and launches.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex};
use std::thread;

use super::{export, give, handle};
use crate::codes::{Code, Outcome};
use crate::devices::{MAX_BLOCK_THREADS, attribute};
use crate::host;
use crate::kernels::Launch;
use crate::operations::submit;
use crate::ptx;
use crate::state::{Function, Handle, Module, Object, State, lock};
use crate::streams::Work;

/// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
const ERROR_LOG: [c_int; 2] = [5, 6];

/// A word at an address of the program.
fn word(call: &str, address: usize) -> Outcome<usize> {
    let bytes = bytes(call, address, size_of::<usize>())?;
    Ok(bytes.try_into().map_or(0, usize::from_ne_bytes))
}

fn bytes(call: &str, address: usize, len_bytes: usize) -> Outcome<Vec<u8>> {
    let unreadable = || Code::INVALID_VALUE.fault(format!("{call}: no readable argument is at {address:#x}"));
    host::read(address, len_bytes).ok_or_else(unreadable)
}

/// The module of a text that ends with a zero byte; else a code and a reason.
fn compile(image: *const c_void) -> Result<ptx::Module, (Code, String)> {
    // SAFETY: the header's contract: PTX ends with a zero byte, and this library takes nothing else.
    let text = unsafe { CStr::from_ptr(image.cast()) }.to_string_lossy();
    if !text.contains(".version") {
        return Err((Code::INVALID_IMAGE, "the text has no .version".to_owned()));
    }
    ptx::Module::parse(&text).map_err(|reason| (Code::INVALID_PTX, reason))
}

fn create(state: &mut State, device: usize, compiled: ptx::Module) -> usize {
    let ptx::Module { kernels, variables } = compiled;
    state.create(Object::Module(Module { device, kernels, variables: Arc::new(Mutex::new(variables)) }))
}

export! {
    fn cuModuleLoadData(call, state, module: *mut Handle, image: *const c_void) {
        let device = state.current_device(call)?;
        if module.is_null() || image.is_null() {
            return Err(Code::INVALID_VALUE.refusal());
        }
        let compiled = compile(image).map_err(|(code, reason)| match code {
            Code::INVALID_IMAGE => code.refusal(),
            _ => code.fault(format!("{call}: {reason}")),
        })?;
        let new = create(&mut state, device, compiled);
        // SAFETY: the header's contract: writable.
        unsafe { give(module, handle(new)) }
    }

    // Of the options, the buffer for errors alone has an effect.
    fn cuModuleLoadDataEx(
        call, state, module: *mut Handle, image: *const c_void,
        count: c_uint, options: *const c_int, values: *const *mut c_void,
    ) {
        let device = state.current_device(call)?;
        if module.is_null() || image.is_null() || count > 0 && (options.is_null() || values.is_null()) {
            return Err(Code::INVALID_VALUE.refusal());
        }
        let (mut log, mut log_bytes) = (0, 0);
        for index in 0..count as usize {
            // SAFETY: the header's contract: `count` options.
            let option = unsafe { options.wrapping_add(index).read() };
            // SAFETY: the header's contract: `count` values.
            let value = unsafe { values.wrapping_add(index).read() }.addr();
            if option == ERROR_LOG[0] {
                log = value;
            } else if option == ERROR_LOG[1] {
                log_bytes = value;
            }
        }
        let load = state.settings.load;
        drop(state); // other calls go on
        thread::sleep(load);
        let compiled = compile(image).map_err(|(code, reason)| {
            let text = format!("cuda-loopback: {reason}");
            let len = text.len().min(log_bytes.saturating_sub(1));
            let text = [text.as_bytes().get(..len).unwrap_or_default(), &[0]].concat();
            if log_bytes > 0 && !host::write(log, &text) {
                return Code::INVALID_VALUE.fault(format!("{call}: the log {log:#x} is not writable"));
            }
            code.refusal()
        })?;
        let new = create(&mut lock(), device, compiled);
        // SAFETY: the header's contract: writable.
        unsafe { give(module, handle(new)) }
    }

    fn cuModuleUnload(call, state, module: Handle) {
        state.current_device(call)?;
        state.module(call, module)?;
        let number = module.addr();
        if state.streams.has_pending(|work| matches!(work, Work::Launch(launch) if launch.module == number)) {
            state.fault(format!("{call}: a kernel of the module {module:p} may be running"));
        }
        if state.has_graph_with(number) {
            state.fault(format!("{call}: a graph has a kernel of the module {module:p}"));
        }
        state.remove_functions(number);
        state.remove(number);
        Ok(())
    }

    fn cuModuleGetFunction(call, state, function: *mut Handle, module: Handle, name: *const c_char) {
        let Module { device, kernels, variables } = state.module(call, module)?.clone();
        if function.is_null() || name.is_null() {
            return Err(Code::INVALID_VALUE.refusal());
        }
        // SAFETY: the header's contract: a string.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let kernel = kernels.into_iter().find(|kernel| kernel.name == name);
        let kernel = kernel.ok_or_else(|| Code::NOT_FOUND.refusal())?;
        let new = state.create(Object::Function(Function { device, module: module.addr(), kernel, variables }));
        // SAFETY: the header's contract: writable.
        unsafe { give(function, handle(new)) }
    }

    fn cuFuncGetAttribute(call, state, value: *mut c_int, number: c_int, function: Handle) {
        let kernel = &state.function(call, function)?.kernel;
        let found = match number {
            0 => kernel.max_threads.unwrap_or(MAX_BLOCK_THREADS).min(MAX_BLOCK_THREADS) as usize,
            1 => kernel.shared_bytes,
            2 => 0, // constant memory of the user
            3 => kernel.local_bytes,
            4 => kernel.registers.min(255),
            _ => return Err(Code::INVALID_VALUE.refusal()),
        };
        // SAFETY: the header's contract: writable.
        unsafe { give(value, c_int::try_from(found).unwrap_or(c_int::MAX)) }
    }

    fn cuFuncGetParamInfo(call, state, function: Handle, index: usize, offset: *mut usize, size: *mut usize) {
        let found = state.function(call, function)?.kernel.parameters.get(index).copied();
        let (offset_bytes, len_bytes) = found.ok_or_else(|| Code::INVALID_VALUE.refusal())?;
        // SAFETY: the header's contract: writable.
        unsafe { give(offset, offset_bytes) }?;
        // SAFETY: the header's contract: writable.
        unsafe { give(size, len_bytes) }
    }

    fn cuLaunchKernel(
        call, state, function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_bytes: c_uint, stream: Handle,
        arguments: *mut *mut c_void, extra: *mut *mut c_void,
    ) {
        let Function { device, module, kernel, variables } = state.function(call, function)?.clone();
        let stream = state.stream_to_use(call, stream)?;
        if device != stream.device {
            let name = &kernel.name;
            return Err(Code::INVALID_HANDLE.fault(format!("{call}: {name} was loaded for device {device}")));
        }
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let shared_bytes = shared_bytes as usize;
        // The limits are attributes of the device, in the order of blocks, grids and shared memory.
        let is_within = |number: c_int, size: usize| {
            attribute(device, number).is_some_and(|most| size <= usize::try_from(most).unwrap_or(0))
        };
        let sizes = block.into_iter().chain(grid);
        let is_allowed = (2..).zip(sizes).all(|(number, size)| size > 0 && is_within(number, size as usize))
            && is_within(8, kernel.shared_bytes + shared_bytes);
        let threads = block.iter().fold(1_u32, |threads, &count| threads.saturating_mul(count));
        let most = kernel.max_threads.unwrap_or(MAX_BLOCK_THREADS).min(MAX_BLOCK_THREADS);
        let is_required = kernel.required.is_none_or(|required| required == block);
        if !is_allowed || threads > most || !is_required || !extra.is_null() {
            return Err(Code::INVALID_VALUE.refusal());
        }
        let mut parameters = vec![0; kernel.parameter_bytes()];
        for (index, &(offset, len_bytes)) in kernel.parameters.iter().enumerate() {
            let place = word(call, arguments.addr() + index * size_of::<usize>())?;
            parameters[offset..offset + len_bytes].copy_from_slice(&bytes(call, place, len_bytes)?);
        }
        let launch = Launch { module, kernel, variables, grid, block, shared_bytes, parameters };
        submit(&mut state, stream, Work::Launch(launch)).map(|_| ())
    }
}
