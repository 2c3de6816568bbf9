//! Kernels from PTX: modules that the driver compiles, their functions, and launches.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use super::device::{CudaDevice, Current};
use super::driver::{Code, Function, FunctionAttribute, JitOption, Module};
use super::queue::CudaQueue;
use super::submit::submit as submit_operation;
use super::{Handle, ptx, unsupported};
use crate::backend::entry::Loaded;
use crate::backend::{RawEvent, RawKernel, RawQueue};
use crate::{Error, ExecutionRange, KernelArgument, KernelCode, KernelInfo, Range, Result};

/// The most of the compiler's messages that an error has.
const LOG_BYTES: usize = 16 << 10;
/// Threads of a warp, on each GPU so far.
const WARP: usize = 32;
/// Limits of each GPU from compute capability 3.0 on, along x, y and z.
const MAX_BLOCKS: [u32; 3] = [i32::MAX.cast_unsigned(), 65_535, 65_535];
const MAX_THREADS: [u32; 3] = [1024, 1024, 64];
/// Threads of a block that this library chooses, at most.
const PREFERRED_THREADS: usize = 256;
/// Local memory begins at a multiple of this.
const LOCAL_ALIGN_BYTES: usize = 16;
/// A launch with more arguments allocates memory for them.
const FEW_ARGUMENTS: usize = 64;

/// A module of one device.
#[derive(Debug)]
pub(super) struct CudaBundle {
    device: Arc<CudaDevice>,
    /// Invariant CM1: a module of the device's primary context, live as long as this value.
    module: Module,
    /// Only for a driver that does not report the parameters of a function.
    text: Option<CString>,
}

impl CudaBundle {
    /// Lets the driver compile the code.
    pub(super) fn build(device: Arc<CudaDevice>, code: KernelCode<'_>, options: &CStr) -> Result<Self> {
        let (image, text) = match code {
            KernelCode::Ptx(text) => (text.as_ptr().cast(), Some(text)),
            KernelCode::Cubin(image) => (image.as_ptr().cast(), None),
            _ => return unsupported("kernels from SPIR-V or OpenCL C; it takes PTX"),
        };
        let failed = |log: String| Error::KernelBuild {
            language: code.language(),
            device: device.filter_string(),
            log: Some(log),
        };
        let (mut names, mut values) = jit_options(&options.to_string_lossy()).map_err(failed)?;
        let mut log = vec![0_u8; LOG_BYTES];
        names.extend([JitOption::ERROR_LOG_BUFFER, JitOption::ERROR_LOG_BUFFER_SIZE_BYTES]);
        values.extend([log.as_mut_ptr().cast(), number(LOG_BYTES)]);
        let current = device.enter()?;
        let (mut module, count) = (Module::NULL, u32::try_from(names.len()).unwrap_or(0));
        // SAFETY: DR1; the pointer is writable; the text ends with a byte of 0, and machine code knows its length; as many values as options, each as the option demands, and
        // the log's length is that of its buffer.
        let loaded = unsafe {
            (current.cuModuleLoadDataEx)(&raw mut module, image, count, names.as_ptr(), values.as_ptr())
        };
        device.platform.entry.wait_at_exit(Loaded::CudaKernels);
        if loaded.is_of_compiler() {
            let (name, meaning) = current.describe(loaded);
            let log = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy).unwrap_or_default();
            return Err(failed(format!("{name} ({meaning}) {}", log.trim()).trim_end().to_owned()));
        }
        current.check("cuModuleLoadDataEx", loaded)?;
        let text = text.filter(|_| current.cuFuncGetParamInfo.is_none()).map(CStr::to_owned);
        drop(current);
        Ok(Self { device, module, text })
    }
}

impl Drop for CudaBundle {
    fn drop(&mut self) {
        // Elsewhere the module is not this process's any more; the memory of a lost device is gone.
        let Ok(current) = self.device.enter() else { return };
        // SAFETY: DR1; CM1, used no more: the kernels of the module are complete (promise 2 of `Backend::release`).
        let code = unsafe { (current.cuModuleUnload)(self.module) };
        // The caller cannot do anything about a failure; a lost device is remembered.
        let _ = current.check("cuModuleUnload", code);
    }
}

/// A number as the value of an option.
fn number(value: usize) -> *mut c_void {
    ptr::without_provenance_mut(value)
}

/// The driver's options for those of `ptxas`; an error's text for an unknown one.
fn jit_options(options: &str) -> std::result::Result<(Vec<JitOption>, Vec<*mut c_void>), String> {
    let mut all = (Vec::new(), Vec::new());
    for option in options.split_whitespace() {
        let registers = option.strip_prefix("-maxrregcount=").and_then(|count| count.parse::<u32>().ok());
        let level = option.strip_prefix("-O").and_then(|level| level.parse::<u32>().ok());
        let (name, value) = match (option, registers, level) {
            ("-lineinfo", ..) => (JitOption::GENERATE_LINE_INFO, 1),
            (_, Some(count), _) => (JitOption::MAX_REGISTERS, count),
            (_, _, Some(level @ 0..=4)) => (JitOption::OPTIMIZATION_LEVEL, level),
            _ => {
                return Err(format!(
                    "the option {option:?} is unknown; options are -maxrregcount=N, -O0 to -O4 and -lineinfo"
                ));
            }
        };
        all.0.push(name);
        all.1.push(number(value as usize));
    }
    Ok(all)
}

/// A function of a module.
#[derive(Debug)]
pub(super) struct CudaKernel {
    /// Keeps the module.
    bundle: Arc<CudaBundle>,
    name: CString,
    /// Invariant CK1: a function of the bundle's module, which lives as long as this value.
    function: Function,
    /// Size of each parameter, in bytes.
    parameters: Vec<usize>,
    info: KernelInfo,
}

impl CudaKernel {
    /// The kernel of that name; `None` when there is none.
    pub(super) fn find(bundle: Arc<CudaBundle>, name: &CStr) -> Result<Option<Self>> {
        if name.is_empty() {
            return Ok(None);
        }
        let current = bundle.device.enter()?;
        let mut function = Function::NULL;
        // SAFETY: DR1; CM1; the pointer is writable, and the name ends with a byte of 0.
        let code = unsafe { (current.cuModuleGetFunction)(&raw mut function, bundle.module, name.as_ptr()) };
        if code == Code::NOT_FOUND {
            return Ok(None);
        }
        current.check("cuModuleGetFunction", code)?;
        let parameters = parameters(&current, &bundle, function, name)?;
        let attribute = |attribute| function_attribute(&current, function, attribute);
        let threads = attribute(FunctionAttribute::MAX_THREADS_PER_BLOCK)?;
        let info = KernelInfo {
            preferred_work_group_size_multiple: WARP,
            private_mem_bytes: attribute(FunctionAttribute::LOCAL_SIZE_BYTES)?,
            max_num_sub_groups: u32::try_from(threads.div_ceil(WARP)).unwrap_or(0),
            max_sub_group_size: WARP as u32,
            compile_sub_group_size: WARP as u32,
            registers: u32::try_from(attribute(FunctionAttribute::NUM_REGS)?).unwrap_or(0),
            ..KernelInfo::new(parameters.len(), threads)
        };
        drop(current);
        Ok(Some(Self { bundle, name: name.to_owned(), function, parameters, info }))
    }

    pub(super) fn info(&self) -> KernelInfo {
        self.info
    }

    /// Checks the size of each argument. Tells whether some are local memory.
    fn check(&self, arguments: &[KernelArgument]) -> Result<bool> {
        let mut has_local = false;
        for (position, (argument, &expected_bytes)) in arguments.iter().zip(&self.parameters).enumerate() {
            let is_right = match argument.len_bytes() {
                Some(len_bytes) => len_bytes == expected_bytes,
                None => {
                    has_local = true;
                    matches!(expected_bytes, 4 | 8)
                }
            };
            if !is_right {
                return Err(Error::ArgumentSize {
                    kernel: self.name.to_string_lossy().into_owned(),
                    position,
                    found_bytes: argument.len_bytes().unwrap_or(size_of::<u32>()),
                    expected_bytes,
                });
            }
        }
        Ok(has_local)
    }
}

/// The arguments with offsets in place of local memory, and the bytes of local memory in all.
fn with_offsets(arguments: &[KernelArgument]) -> (Vec<KernelArgument>, u32) {
    let mut local_bytes = 0;
    let offset = |argument: &KernelArgument| match argument.local_bytes() {
        None => *argument,
        Some(len_bytes) => {
            let start = local_bytes;
            local_bytes += len_bytes.next_multiple_of(LOCAL_ALIGN_BYTES);
            (start as u64).into()
        }
    };
    let arguments = arguments.iter().map(offset).collect();
    // The limit of the device was checked.
    (arguments, u32::try_from(local_bytes).unwrap_or(u32::MAX))
}

/// Size of each parameter, in bytes.
fn parameters(
    current: &Current<'_>,
    bundle: &CudaBundle,
    function: Function,
    name: &CStr,
) -> Result<Vec<usize>> {
    let Some(get) = current.cuFuncGetParamInfo else {
        let text = bundle.text.as_ref().map(|text| text.to_string_lossy());
        let found = text.and_then(|text| ptx::parameters(&text, &name.to_string_lossy()));
        return found.map_or_else(|| unsupported("kernels with parameters of unknown types"), Ok);
    };
    let mut parameters = Vec::new();
    loop {
        let (mut offset, mut len_bytes) = (0, 0);
        // SAFETY: DR1; the pointers are writable, and the function was just found.
        match unsafe { get(function, parameters.len(), &raw mut offset, &raw mut len_bytes) } {
            Code::INVALID_VALUE => return Ok(parameters),
            code => current.check("cuFuncGetParamInfo", code)?,
        }
        parameters.push(len_bytes);
    }
}

fn function_attribute(
    current: &Current<'_>,
    function: Function,
    attribute: FunctionAttribute,
) -> Result<usize> {
    let mut value: c_int = 0;
    // SAFETY: DR1; the pointer is writable, and the function was just found.
    let code = unsafe { (current.cuFuncGetAttribute)(&raw mut value, attribute, function) };
    current.check("cuFuncGetAttribute", code)?;
    Ok(usize::try_from(value).unwrap_or(0))
}

/// # Safety
/// 1. As for [`crate::backend::Backend::submit_kernel`].
pub(super) unsafe fn submit(
    queue: RawQueue,
    kernel: RawKernel,
    arguments: &[KernelArgument],
    range: &ExecutionRange,
    dependencies: &[RawEvent],
) -> Result<RawEvent> {
    // SAFETY: O1: the handle is live (1).
    let kernel = unsafe { CudaKernel::get(kernel) };
    let LaunchShape { blocks, threads } = LaunchShape::new(range, kernel.info.work_group_size)?;
    let has_local = kernel.check(arguments)?;
    let (placed, shared_bytes) = if has_local { with_offsets(arguments) } else { (Vec::new(), 0) };
    let arguments = if has_local { &placed } else { arguments };
    let (mut few, mut many) = ([ptr::null_mut(); FEW_ARGUMENTS], Vec::new());
    let pointers = match few.get_mut(..arguments.len()) {
        Some(few) => few,
        None => {
            many.resize(arguments.len(), ptr::null_mut());
            &mut many[..]
        }
    };
    for (pointer, argument) in pointers.iter_mut().zip(arguments) {
        *pointer = argument.value().cast_mut().cast::<c_void>();
    }
    let launch = |queue: &CudaQueue, current: &Current<'_>| {
        if let Some(capture) = queue.capture(current)? {
            capture.keep(current, Box::new(Arc::clone(&kernel.bundle)))?;
        }
        // SAFETY: DR1; CQ1; CK1; as many pointers as parameters, each to the 8 bytes of an argument, of which the call copies as many as the
        // parameter has; the kernel's behaviour is defined, and its memory stays valid until the event is complete (1).
        let code = unsafe {
            (current.cuLaunchKernel)(
                kernel.function,
                blocks[0],
                blocks[1],
                blocks[2],
                threads[0],
                threads[1],
                threads[2],
                shared_bytes,
                queue.stream,
                pointers.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        current.check("cuLaunchKernel", code)
    };
    // SAFETY: the caller's promise 1.
    unsafe { submit_operation(queue, dependencies, launch) }
}

/// Blocks of a grid and threads of a block, along x, y and z.
#[derive(Debug, PartialEq, Eq)]
struct LaunchShape {
    blocks: [u32; 3],
    threads: [u32; 3],
}

impl LaunchShape {
    /// The last dimension of a range is x.
    fn new(range: &ExecutionRange, max_threads: usize) -> Result<Self> {
        let global = xyz(&range.global());
        let local = range.local().map_or_else(|| threads_of(global, max_threads), |local| xyz(&local));
        let mut shape = Self { blocks: [1; 3], threads: [1; 3] };
        for axis in 0..3 {
            let within = |count: usize, most: u32| u32::try_from(count).ok().filter(|&count| count <= most);
            let blocks = within(global[axis] / local[axis].max(1), MAX_BLOCKS[axis]);
            let threads = within(local[axis], MAX_THREADS[axis]);
            let (Some(blocks), Some(threads)) = (blocks, threads) else {
                return Err(Error::KernelRange {
                    reason: format!(
                        "{range}: along {}, a GPU has at most {} work-groups of at most {} work-items{}",
                        ["the last dimension", "the last dimension but one", "the first of three dimensions"]
                            [axis],
                        MAX_BLOCKS[axis],
                        MAX_THREADS[axis],
                        if range.local().is_none() {
                            ", and work-groups of equal size divide the range"
                        } else {
                            ""
                        }
                    ),
                });
            };
            (shape.blocks[axis], shape.threads[axis]) = (blocks, threads);
        }
        Ok(shape)
    }
}

/// Sizes along x, y and z.
fn xyz(range: &Range) -> [usize; 3] {
    let mut sizes = [1; 3];
    for (to, from) in sizes.iter_mut().zip(range.sizes().iter().rev()) {
        *to = *from;
    }
    sizes
}

/// Blocks that divide the range, x first, of at most [`PREFERRED_THREADS`] threads. A prime size leaves one thread along its axis.
fn threads_of(global: [usize; 3], max_threads: usize) -> [usize; 3] {
    let mut left = max_threads.clamp(1, PREFERRED_THREADS);
    let mut threads = [1; 3];
    for axis in 0..3 {
        let most = left.min(MAX_THREADS[axis] as usize);
        threads[axis] = (1..=most).rev().find(|&count| global[axis].is_multiple_of(count)).unwrap_or(1);
        left /= threads[axis];
    }
    threads
}

#[cfg(test)]
mod tests {
    use super::{LaunchShape, jit_options};
    use crate::{ExecutionRange, NdRange};

    fn shape(range: impl Into<ExecutionRange>) -> ([u32; 3], [u32; 3]) {
        let LaunchShape { blocks, threads } = LaunchShape::new(&range.into(), 1024).unwrap();
        (blocks, threads)
    }

    #[test]
    fn the_last_dimension_is_x() {
        assert_eq!(shape(NdRange::new([6, 20, 400], [3, 4, 5])), ([80, 5, 2], [5, 4, 3]));
        assert_eq!(shape(NdRange::new([20, 400], [4, 5])), ([80, 5, 1], [5, 4, 1]));
    }

    #[test]
    fn a_plain_range_is_divided_without_a_rest() {
        assert_eq!(shape(1 << 20), ([4096, 1, 1], [256, 1, 1]));
        assert_eq!(shape(1000), ([4, 1, 1], [250, 1, 1]));
        assert_eq!(shape(1009), ([1009, 1, 1], [1, 1, 1]));
        assert_eq!(shape([512, 6, 32]), ([1, 1, 512], [32, 6, 1]));
        assert_eq!(shape([7, 1, 8]), ([1, 1, 1], [8, 1, 7]));
        let small = LaunchShape::new(&1024.into(), 96).unwrap();
        assert_eq!(small.threads, [64, 1, 1]);
    }

    #[test]
    fn what_no_grid_has_is_refused() {
        let refused: [(ExecutionRange, &str); 4] = [
            ((1_usize << 41).into(), "2147483647 work-groups"),
            ([65_537, 1].into(), "last dimension but one, a GPU has at most 65535 work-groups"),
            ([65_537, 1, 1].into(), "first of three dimensions"),
            (NdRange::new([128, 1, 1], [128, 1, 1]).into(), "of at most 64 work-items"),
        ];
        for (range, reason) in refused {
            let error = LaunchShape::new(&range, 1024).unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(&range.to_string()), "{error}");
        }
        assert_eq!(shape([65_535 * 2, 1]).0, [1, 65_535 * 2 / 255, 1], "more than one thread along y");
    }

    #[test]
    fn options_are_those_of_the_assembler() {
        let (names, values) = jit_options(" -maxrregcount=32 -O4  -lineinfo ").unwrap();
        assert_eq!(format!("{names:?}"), "[JitOption(0), JitOption(7), JitOption(13)]");
        assert_eq!(values.iter().map(|value| value.addr()).collect::<Vec<_>>(), [32, 4, 1]);
        for wrong in ["-O5", "-O", "-maxrregcount", "-maxrregcount=x", "x"] {
            let text = jit_options(wrong).unwrap_err();
            assert!(text.contains(&format!("{wrong:?}")) && text.contains("-lineinfo"), "{text}");
        }
    }
}
