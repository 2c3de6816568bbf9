//! Modules of kernels, and launches.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use super::{export, give, handle};
use crate::codes::{Code, Outcome};
use crate::devices::MAX_BLOCK_THREADS;
use crate::host;
use crate::kernels::{self, Launch};
use crate::operations::submit;
use crate::state::{Function, Handle, Module, Object};
use crate::streams::Work;

/// A word at an address of the program.
fn word(call: &str, address: usize) -> Outcome<u64> {
    let bytes = host::read(address, size_of::<u64>()).and_then(|bytes| bytes.try_into().ok());
    let unreadable = || Code::INVALID_VALUE.fault(format!("{call}: no readable argument is at {address:#x}"));
    bytes.map(u64::from_ne_bytes).ok_or_else(unreadable)
}

export! {
    fn cuModuleLoadData(call, state, module: *mut Handle, image: *const c_void) {
        let device = state.current_device(call)?;
        if module.is_null() || image.is_null() {
            return Err(Code::INVALID_VALUE.refusal());
        }
        // SAFETY: the header's contract: PTX ends with a zero byte, and this library takes nothing else.
        let text = unsafe { CStr::from_ptr(image.cast()) }.to_string_lossy();
        let entries = kernels::entries(&text);
        if entries.is_empty() || !text.contains(".version") {
            return Err(Code::INVALID_IMAGE.refusal());
        }
        let new = state.create(Object::Module(Module { device, entries }));
        // SAFETY: the header's contract: writable.
        unsafe { give(module, handle(new)) }
    }

    fn cuModuleLoadDataEx(
        call, state, module: *mut Handle, image: *const c_void,
        _count: c_uint, _options: *const c_int, _values: *const *mut c_void,
    ) {
        let device = state.current_device(call)?;
        if module.is_null() || image.is_null() {
            return Err(Code::INVALID_VALUE.refusal());
        }
        // SAFETY: the header's contract: PTX ends with a zero byte, and this library takes nothing else.
        let text = unsafe { CStr::from_ptr(image.cast()) }.to_string_lossy();
        let entries = kernels::entries(&text);
        if entries.is_empty() || !text.contains(".version") {
            return Err(Code::INVALID_IMAGE.refusal());
        }
        let new = state.create(Object::Module(Module { device, entries }));
        // SAFETY: the header's contract: writable.
        unsafe { give(module, handle(new)) }
    }

    fn cuModuleUnload(call, state, module: Handle) {
        state.current_device(call)?;
        state.module(call, module)?;
        state.remove(module.addr());
        Ok(())
    }

    fn cuFuncGetAttribute(call, state, value: *mut c_int, attribute: c_int, function: Handle) {
        state.function(call, function)?;
        let found = match attribute {
            0 => 1024,
            1..=3 => 0,
            4 => 32,
            _ => return Err(Code::INVALID_VALUE.refusal()),
        };
        // SAFETY: the header's contract: writable.
        unsafe { give(value, found) }
    }

    fn cuFuncGetParamInfo(call, state, function: Handle, index: usize, offset: *mut usize, size: *mut usize) {
        let kernel = state.function(call, function)?.kernel;
        if index >= kernel.map_or(0, |kernel| kernel.argument_count) {
            return Err(Code::INVALID_VALUE.refusal());
        }
        // SAFETY: the header's contract: writable.
        unsafe { give(offset, 8 * index) }?;
        // SAFETY: the header's contract: writable.
        unsafe { give(size, 8) }
    }

    fn cuModuleGetFunction(call, state, function: *mut Handle, module: Handle, name: *const c_char) {
        let Module { device, entries } = state.module(call, module)?.clone();
        if function.is_null() || name.is_null() {
            return Err(Code::INVALID_VALUE.refusal());
        }
        // SAFETY: the header's contract: a string.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        if !entries.contains(&name) {
            return Err(Code::NOT_FOUND.fault(format!("{call}: the module has no kernel {name}")));
        }
        let new = Function { device, kernel: kernels::find(&name), name };
        let new = state.create(Object::Function(new));
        // SAFETY: the header's contract: writable.
        unsafe { give(function, handle(new)) }
    }

    fn cuLaunchKernel(
        call, state, function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint, _shared_bytes: c_uint, stream: Handle,
        arguments: *mut *mut c_void, extra: *mut *mut c_void,
    ) {
        let Function { device, name, kernel } = state.function(call, function)?.clone();
        let stream = state.stream_to_use(call, stream)?;
        if device != stream.device {
            return Err(Code::INVALID_HANDLE.fault(format!("{call}: {name} was loaded for device {device}")));
        }
        let kernel = kernel.ok_or_else(|| Code::INVALID_IMAGE.fault(format!("{call}: no code for {name}")))?;
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let threads = block.iter().fold(1_u32, |threads, &count| threads.saturating_mul(count));
        if grid.contains(&0) || threads == 0 || threads > MAX_BLOCK_THREADS || !extra.is_null() {
            return Err(Code::INVALID_VALUE.refusal());
        }
        let place = |index| arguments.addr() + index * size_of::<u64>();
        let pointers = (0..kernel.argument_count).map(|index| word(call, place(index)));
        let values = pointers.map(|pointer| word(call, usize::try_from(pointer?).unwrap_or_default()));
        let arguments = values.collect::<Outcome<Vec<_>>>()?;
        submit(&mut state, stream, Work::Launch(Launch { kernel, grid, block, arguments })).map(|_| ())
    }
}
