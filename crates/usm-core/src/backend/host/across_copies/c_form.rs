//! The C forms of the values that pass between the copies: each type that has no C layout becomes one that has.
//!
//! A value that owns memory frees it in the copy that made it, since each copy may have an allocator of its own.

use std::ptr::{self, NonNull};
use std::slice;

use super::DeviceFacts;
use crate::backend::{PointerInfo, QueueProperties, RawContext, RawDevice, RawHandle, RawPlatform, RawQueue};
use crate::unwind::contained;
use crate::{DeviceType, Error, Result, UsmKind};

/// A type that passes between the copies.
pub(super) trait CForm {
    type C;

    fn into_c(self) -> Self::C;

    /// # Safety
    /// 1. `c` came from `into_c` in a copy of this version, and is used only once. What it borrows is live.
    unsafe fn from_c(c: Self::C) -> Self;
}

/// What a function answers that has panicked.
pub(super) trait AfterPanic {
    fn after_panic() -> Self;
}

impl<T> AfterPanic for Result<T> {
    fn after_panic() -> Self {
        Err(Error::OfOtherCopy { text: "a defect in usm".to_owned() })
    }
}

impl<T> AfterPanic for Option<T> {
    fn after_panic() -> Self {
        None
    }
}

impl AfterPanic for () {
    fn after_panic() {}
}

impl AfterPanic for DeviceFacts {
    fn after_panic() -> Self {
        Self::NONE
    }
}

impl AfterPanic for DeviceType {
    fn after_panic() -> Self {
        Self::Custom
    }
}

/// The number of no context.
impl AfterPanic for u64 {
    fn after_panic() -> Self {
        0
    }
}

macro_rules! has_c_layout {
    ($($plain:ty),+ $(,)?) => {$(
        impl CForm for $plain {
            type C = Self;

            fn into_c(self) -> Self {
                self
            }

            unsafe fn from_c(c: Self) -> Self {
                c
            }
        }
    )+};
}

has_c_layout!(
    (),
    u64,
    usize,
    *mut u8,
    *const u8,
    NonNull<u8>,
    Option<NonNull<u8>>,
    UsmKind,
    DeviceType,
    QueueProperties,
    DeviceFacts,
    RawPlatform,
    RawDevice,
    Option<RawDevice>,
    RawContext,
    RawQueue,
    Option<RawQueue>,
    RawHandle,
);

/// A borrowed slice.
#[repr(C)]
pub(super) struct Borrowed<T> {
    first: *const T,
    len: usize,
}

impl<T> CForm for &[T] {
    type C = Borrowed<T>;

    fn into_c(self) -> Borrowed<T> {
        Borrowed { first: self.as_ptr(), len: self.len() }
    }

    unsafe fn from_c(c: Borrowed<T>) -> Self {
        // SAFETY: the parts of a slice, which is live (promise 1).
        unsafe { slice::from_raw_parts(c.first, c.len) }
    }
}

/// A vector, with the function that frees it.
///
/// Invariant CF1: `first` and `len` are the parts of a box that `into_c` gave away, and `free` is called once.
#[repr(C)]
pub(super) struct Owned<T> {
    first: *mut T,
    len: usize,
    free: unsafe extern "C" fn(*mut T, usize),
}

impl<T: Copy> CForm for Vec<T> {
    type C = Owned<T>;

    fn into_c(self) -> Owned<T> {
        unsafe extern "C" fn free<T>(first: *mut T, len: usize) {
            _ = contained("free of a vector", || {
                // SAFETY: the box that `into_c` gave away (CF1).
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(first, len)) });
            });
        }
        let (len, first) = (self.len(), Box::into_raw(self.into_boxed_slice()).cast());
        Owned { first, len, free: free::<T> }
    }

    unsafe fn from_c(c: Owned<T>) -> Self {
        // SAFETY: CF1; this function alone has the value (promise 1).
        let copied = unsafe { slice::from_raw_parts(c.first, c.len) }.to_vec();
        // SAFETY: CF1; the value is used only once (promise 1).
        unsafe { (c.free)(c.first, c.len) };
        copied
    }
}

/// A result; an error is its text.
#[repr(C)]
pub(super) enum CResult<T> {
    Done(T),
    Failed(Owned<u8>),
}

impl<T: CForm> CForm for Result<T> {
    type C = CResult<T::C>;

    fn into_c(self) -> CResult<T::C> {
        match self {
            Ok(value) => CResult::Done(value.into_c()),
            Err(error) => CResult::Failed(error.to_string().into_bytes().into_c()),
        }
    }

    unsafe fn from_c(c: CResult<T::C>) -> Self {
        match c {
            // SAFETY: as for the result (promise 1).
            CResult::Done(value) => Ok(unsafe { T::from_c(value) }),
            CResult::Failed(text) => {
                // SAFETY: as for the result (promise 1).
                let text = unsafe { Vec::from_c(text) };
                Err(Error::OfOtherCopy { text: String::from_utf8_lossy(&text).into_owned() })
            }
        }
    }
}

/// Facts about an address. The length is 0 for an address that is not USM.
#[repr(C)]
pub(super) struct CPointerInfo {
    kind: UsmKind,
    start: usize,
    len_bytes: usize,
}

impl CForm for Option<PointerInfo> {
    type C = CPointerInfo;

    fn into_c(self) -> CPointerInfo {
        let kind = self.map_or(UsmKind::Host, |info| info.kind);
        let (start, len_bytes) = self.and_then(|info| info.block).unwrap_or((0, 0));
        CPointerInfo { kind, start, len_bytes }
    }

    unsafe fn from_c(c: CPointerInfo) -> Self {
        (c.len_bytes > 0).then(|| PointerInfo::new(c.kind, Some((c.start, c.len_bytes))))
    }
}

/// The parts of a queue.
#[repr(C)]
pub(super) struct QueueParts(RawContext, RawDevice, QueueProperties);

impl CForm for (RawContext, RawDevice, QueueProperties) {
    type C = QueueParts;

    fn into_c(self) -> QueueParts {
        QueueParts(self.0, self.1, self.2)
    }

    unsafe fn from_c(c: QueueParts) -> Self {
        (c.0, c.1, c.2)
    }
}
