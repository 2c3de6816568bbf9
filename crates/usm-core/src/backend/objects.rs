//! How objects of a backend in Rust travel as raw handles.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

/// An object that travels as a raw handle.
pub(super) trait Handle: Sized {
    /// Invariant O1: a live handle is the pointer that [`into_raw`](Self::into_raw) made of an `Arc` of this very type, and owns one
    /// of its counts.
    type Raw: Copy;

    fn wrap(pointer: NonNull<c_void>) -> Self::Raw;
    fn unwrap(raw: Self::Raw) -> *mut c_void;

    /// Gives one count away as a raw handle.
    fn into_raw(this: Arc<Self>) -> Self::Raw {
        // SAFETY: O1; `Arc::into_raw` never gives null.
        Self::wrap(unsafe { NonNull::new_unchecked(Arc::into_raw(this).cast_mut().cast()) })
    }

    /// A count of its own to the object behind a handle.
    ///
    /// # Safety
    /// 1. `raw` came from `into_raw` of the same type and is live.
    unsafe fn clone_raw(raw: Self::Raw) -> Arc<Self> {
        let pointer = Self::unwrap(raw).cast_const().cast::<Self>();
        // SAFETY: O1: the handle is live (1).
        unsafe { Arc::increment_strong_count(pointer) };
        // SAFETY: O1: the count just added is ours.
        unsafe { Arc::from_raw(pointer) }
    }

    /// The object behind a handle.
    ///
    /// # Safety
    /// 1. `raw` came from `into_raw` of the same type and stays live for `'a`.
    unsafe fn get<'a>(raw: Self::Raw) -> &'a Self {
        // SAFETY: O1: the handle is live (1).
        unsafe { &*Self::unwrap(raw).cast_const().cast::<Self>() }
    }

    /// Takes the handle's own count back.
    ///
    /// # Safety
    /// 1. `raw` came from `into_raw` of the same type and is used no more.
    unsafe fn release_raw(raw: Self::Raw) {
        // SAFETY: O1: the handle owns a count, and is used no more (1).
        drop(unsafe { Arc::from_raw(Self::unwrap(raw).cast_const().cast::<Self>()) });
    }
}

/// Lists the types of a backend's objects with the types of their handles.
macro_rules! handle {
    ($($object:ty => $raw:ident),+ $(,)?) => {$(
        impl $crate::backend::objects::Handle for $object {
            type Raw = $raw;

            fn wrap(pointer: ::std::ptr::NonNull<::std::ffi::c_void>) -> $raw {
                $raw::new(pointer)
            }

            fn unwrap(raw: $raw) -> *mut ::std::ffi::c_void {
                raw.as_ptr()
            }
        }
    )+};
}

pub(super) use handle;
