//! Fills with a pattern of 1 to 16 bytes.

use super::device::Current;
use super::driver::{Address, Function, Module, Stream};
use crate::Result;

/// The kernel for patterns of 8 and 16 bytes, which the driver has no function for, in PTX for each GPU from compute capability 5.0 on.
/// The driver compiles it on the first fill of a device.
///
/// Thread `t` stores the 16 bytes `(a, b)` at `first + 16 t`. Thread 0 stores the 8 bytes of `a` at `head` and at `tail`, unless 0.
const KERNEL: &std::ffi::CStr = c"
.version 6.0
.target sm_50
.address_size 64
.visible .entry usm_fill(
    .param .u64 first, .param .u64 vectors, .param .u64 a, .param .u64 b, .param .u64 head, .param .u64 tail)
{
    .reg .pred %p<4>;
    .reg .b32 %r<4>;
    .reg .b64 %d<10>;
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %d0, %r0, %r1;
    cvt.u64.u32 %d1, %r2;
    add.u64 %d0, %d0, %d1;
    ld.param.u64 %d2, [vectors];
    ld.param.u64 %d3, [a];
    ld.param.u64 %d4, [b];
    setp.ge.u64 %p0, %d0, %d2;
    @%p0 bra edges;
    ld.param.u64 %d5, [first];
    shl.b64 %d6, %d0, 4;
    add.u64 %d5, %d5, %d6;
    st.global.v2.u64 [%d5], {%d3, %d4};
edges:
    setp.ne.u64 %p1, %d0, 0;
    @%p1 bra done;
    ld.param.u64 %d7, [head];
    setp.ne.u64 %p2, %d7, 0;
    @%p2 st.global.u64 [%d7], %d3;
    ld.param.u64 %d8, [tail];
    setp.ne.u64 %p3, %d8, 0;
    @%p3 st.global.u64 [%d8], %d3;
done:
    ret;
}
";
/// Bytes that a thread stores at once.
const VECTOR_BYTES: u64 = 16;
const BLOCK_THREADS: u32 = 256;
/// Up to so many bytes the kernel does the fills of the driver, too: it is submitted sooner.
const SMALL_BYTES: usize = 256 << 10;

/// Submits the fill. `is_near`: of memory of the current device.
///
/// # Safety
/// 1. `stream` is live and of the current context.
/// 2. `count` repetitions of the pattern are USM of the context, valid for writing until the stream has done it.
pub(super) unsafe fn fill(
    current: &Current<'_>,
    stream: Stream,
    address: Address,
    pattern: &[u8],
    count: usize,
    is_near: bool,
) -> Result<()> {
    let len_bytes = pattern.len().saturating_mul(count);
    let period = period(pattern);
    let count = len_bytes / period.len().max(1);
    if count == 0 {
        return Ok(());
    }
    if !address.is_multiple_of(period.len() as u64) {
        // SAFETY: the caller's promises 1 and 2.
        return unsafe { doubling(current, stream, address, period, len_bytes) };
    }
    let word = |bytes: [u8; 8]| u64::from_ne_bytes(bytes);
    let is_whole = (address | len_bytes as u64).is_multiple_of(8);
    if is_near && len_bytes <= SMALL_BYTES && is_whole && matches!(period.len(), 1 | 2 | 4) {
        let mut bytes = [0; 8];
        bytes.chunks_exact_mut(period.len()).for_each(|place| place.copy_from_slice(period));
        // SAFETY: the caller's promises 1 and 2; address and length are multiples of 8.
        return unsafe { by_kernel(current, stream, address, [word(bytes); 2], len_bytes) };
    }
    match *period {
        [value] => {
            // SAFETY: DR1; the caller's promises.
            let code = unsafe { (current.cuMemsetD8Async)(address, value, count, stream) };
            current.check("cuMemsetD8Async", code)
        }
        [a, b] => {
            // SAFETY: DR1; the caller's promises; the address is a multiple of 2.
            let code =
                unsafe { (current.cuMemsetD16Async)(address, u16::from_ne_bytes([a, b]), count, stream) };
            current.check("cuMemsetD16Async", code)
        }
        [a, b, c, d] => {
            let value = u32::from_ne_bytes([a, b, c, d]);
            // SAFETY: DR1; the caller's promises; the address is a multiple of 4.
            let code = unsafe { (current.cuMemsetD32Async)(address, value, count, stream) };
            current.check("cuMemsetD32Async", code)
        }
        _ => match period.as_chunks() {
            // SAFETY: the caller's promises 1 and 2; the address is a multiple of the pattern.
            ([one], []) => unsafe { by_kernel(current, stream, address, [word(*one); 2], len_bytes) },
            ([low, high], []) => {
                // SAFETY: the caller's promises 1 and 2; the address is a multiple of the pattern.
                unsafe { by_kernel(current, stream, address, [word(*low), word(*high)], len_bytes) }
            }
            // SAFETY: the caller's promises 1 and 2.
            _ => unsafe { doubling(current, stream, address, period, len_bytes) },
        },
    }
}

/// The shortest pattern of 1, 2, 4 or 8 bytes that repeats as the given one; else the given one.
fn period(pattern: &[u8]) -> &[u8] {
    let repeats = |&len: &usize| {
        let (first, rest) = pattern.split_at(len.min(pattern.len()));
        pattern.len().is_multiple_of(len) && rest.chunks(len).all(|chunk| chunk == first)
    };
    [1, 2, 4, 8].iter().copied().find(repeats).map_or(pattern, |len| &pattern[..len])
}

/// # Safety
/// 1. Those of [`fill`], for `len_bytes` bytes. The length and the address are multiples of 8, or of 16 if the words differ.
unsafe fn by_kernel(
    current: &Current<'_>,
    stream: Stream,
    address: Address,
    [a, b]: [u64; 2],
    len_bytes: usize,
) -> Result<()> {
    let end = address + len_bytes as u64;
    let (first, last) = (address.next_multiple_of(VECTOR_BYTES), end & !(VECTOR_BYTES - 1));
    let vectors = last.saturating_sub(first) / VECTOR_BYTES;
    let head = if first > address { address } else { 0 };
    // One word between two vectors is a head, and no tail.
    let tail = if last < end && last >= first { last } else { 0 };
    let blocks = u32::try_from(vectors.div_ceil(u64::from(BLOCK_THREADS)).max(1)).unwrap_or(u32::MAX);
    let mut values = [first, vectors, a, b, head, tail];
    let mut arguments = values.each_mut().map(|value| std::ptr::from_mut(value).cast());
    let function = current.fill_kernel(|| load_kernel(current))?;
    // SAFETY: DR1; six arguments of the type that the kernel declares, which the call copies; all stores are within the range, which is
    // valid for them (1).
    let code = unsafe {
        (current.cuLaunchKernel)(
            function,
            blocks,
            1,
            1,
            BLOCK_THREADS,
            1,
            1,
            0,
            stream,
            arguments.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    };
    current.check("cuLaunchKernel", code)
}

/// Sets the first repetition byte by byte, then copies what is there behind itself until all is written. The stream keeps the order.
///
/// # Safety
/// 1. Those of [`fill`], for `len_bytes` bytes.
unsafe fn doubling(
    current: &Current<'_>,
    stream: Stream,
    address: Address,
    pattern: &[u8],
    len_bytes: usize,
) -> Result<()> {
    for (to, &value) in (address..).zip(pattern) {
        // SAFETY: DR1; a byte of the range (1).
        let code = unsafe { (current.cuMemsetD8Async)(to, value, 1, stream) };
        current.check("cuMemsetD8Async", code)?;
    }
    let mut done = pattern.len();
    while done < len_bytes {
        let step = done.min(len_bytes - done);
        // SAFETY: DR1; both parts are in the range (1) and do not overlap.
        let code = unsafe { (current.cuMemcpyAsync)(address + done as u64, address, step, stream) };
        current.check("cuMemcpyAsync", code)?;
        done += step;
    }
    Ok(())
}

/// Lets the driver compile the kernel for the current device.
fn load_kernel(current: &Current<'_>) -> Result<Function> {
    let mut module = Module::NULL;
    // SAFETY: DR1; the pointer is writable, and the text ends with a byte of 0.
    let code = unsafe { (current.cuModuleLoadData)(&raw mut module, KERNEL.as_ptr().cast()) };
    current.check("cuModuleLoadData", code)?;
    let mut function = Function::NULL;
    // SAFETY: DR1; the pointer is writable, the module was just loaded and stays, and the name ends with a byte of 0.
    let code = unsafe { (current.cuModuleGetFunction)(&raw mut function, module, c"usm_fill".as_ptr()) };
    current.check("cuModuleGetFunction", code)?;
    Ok(function)
}

#[cfg(test)]
mod tests {
    use super::period;

    #[test]
    fn patterns_are_reduced_to_their_period() {
        assert_eq!(period(&[0; 8]), [0]);
        assert_eq!(period(&[1, 2, 1, 2]), [1, 2]);
        assert_eq!(period(&[1, 2, 3, 4, 1, 2, 3, 4]), [1, 2, 3, 4]);
        assert_eq!(period(&[1, 2, 3]), [1, 2, 3]);
        assert_eq!(period(&[1, 1, 1]), [1]);
        let different: Vec<u8> = (0..16).collect();
        assert_eq!(period(&different), different);
    }
}
