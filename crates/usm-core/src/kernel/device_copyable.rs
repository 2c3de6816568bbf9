//! Values that kernels take by value, as bytes.

use super::ArgumentKind;

/// A value whose bytes mean the same on a device: a number, an array of such values, or a struct of them.
///
/// SYCL 2020 calls such types *device copyable* (§ 3.13.1). A derive proves it for a struct, whose fields a kernel then reads under the
/// same names:
///
/// ```
/// use usm_core::{DeviceCopyable, KernelArgument};
///
/// /// `struct scale { float factor; float offset; uint count; };` in OpenCL C and in CUDA C
/// #[derive(Clone, Copy, DeviceCopyable)]
/// #[repr(C)]
/// struct Scale {
///     factor: f32,
///     offset: f32,
///     count: u32,
/// }
///
/// let argument = KernelArgument::from(Scale { factor: 2.0, offset: 0.5, count: 100 });
/// assert_eq!(argument.len_bytes(), Some(12));
/// ```
///
/// # What the derive refuses
///
/// A struct without `#[repr(C)]` or `#[repr(transparent)]`, since a kernel knows the layout of C alone. Padding, whose bytes are
/// undefined:
///
/// ```compile_fail,E0080
/// # use usm_core::DeviceCopyable;
/// #[derive(Clone, Copy, DeviceCopyable)]
/// #[repr(C)]
/// struct Padded {
///     flag: u8, // 3 bytes of padding follow
///     count: u32,
/// }
/// ```
///
/// Fields that mean something else on a device, or nothing: `bool` and `char`, which have invalid values, `usize` and `isize`, whose size is
/// the device's, and references.
///
/// ```compile_fail,E0277
/// # use usm_core::DeviceCopyable;
/// #[derive(Clone, Copy, DeviceCopyable)]
/// #[repr(C)]
/// struct Sized {
///     count: usize,
/// }
/// ```
///
/// # Pointers to USM
///
/// A raw pointer is fine if it points to USM that the kernel may use. No type tells that, so its field has a mark. CUDA takes such
/// structs; OpenCL C allows no pointers in the arguments of a kernel, and asks for an argument of its own.
///
/// ```
/// # use usm_core::DeviceCopyable;
/// #[derive(Clone, Copy, DeviceCopyable)]
/// #[repr(C)]
/// struct Column {
///     #[device_copyable(usm_pointer)]
///     values: *mut f32,
///     len: u64,
/// }
/// ```
///
/// A crate that reaches this one under another path says so, as in `#[device_copyable(crate = usm_array::usm_core)]` on the struct.
///
/// # Safety
/// 1. The type has the layout that C gives it on the host, and devices have the same.
/// 2. Each byte of each value is initialised: there is no padding.
/// 3. `KIND` is [`ArgumentKind::Struct`], unless the type is a number of that kind.
#[diagnostic::on_unimplemented(
    message = "kernels do not take `{Self}` by value",
    label = "not known to mean the same on a device",
    note = "numbers from 8 to 64 bits, arrays of them, and structs with `#[derive(DeviceCopyable)]` do; `usize` is `u64` for a kernel"
)]
pub unsafe trait DeviceCopyable: Copy + 'static {
    /// The kind of argument that a value of this type is.
    #[doc(hidden)]
    const KIND: ArgumentKind = ArgumentKind::Struct;
}

macro_rules! numbers {
    ($($number:ty, $kind:ident;)+) => {$(
        // SAFETY: promises 1 and 2: a number of C, without padding. 3. Its kind.
        unsafe impl DeviceCopyable for $number {
            const KIND: ArgumentKind = ArgumentKind::$kind;
        }
    )+};
}

numbers!(
    i8, I8;
    u8, U8;
    i16, I16;
    u16, U16;
    i32, I32;
    u32, U32;
    i64, I64;
    u64, U64;
    f32, F32;
    f64, F64;
);

// SAFETY: promises 1 and 2: elements lie without gaps, as in C. 3. The default.
unsafe impl<T: DeviceCopyable, const LEN: usize> DeviceCopyable for [T; LEN] {}

/// The bytes of a value.
pub(super) fn bytes_of<T: DeviceCopyable>(value: &T) -> &[u8] {
    let start = std::ptr::from_ref(value).cast::<u8>();
    // SAFETY: promise 2 of `DeviceCopyable`: that many initialised bytes, borrowed as long as the value.
    unsafe { std::slice::from_raw_parts(start, size_of::<T>()) }
}
