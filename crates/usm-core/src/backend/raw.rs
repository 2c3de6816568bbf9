//! Opaque handles: tokens that only the backend that made them understands.

use std::ffi::c_void;
use std::ptr::NonNull;

macro_rules! raw_handle {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(NonNull<c_void>);

        impl $name {
            /// Wraps a backend's own pointer.
            #[must_use]
            pub const fn new(pointer: NonNull<c_void>) -> Self {
                Self(pointer)
            }

            /// The backend's own pointer.
            #[must_use]
            pub const fn as_ptr(self) -> *mut c_void {
                self.0.as_ptr()
            }
        }

        // SAFETY: a token without access of its own; a backend promises that handles work on any thread (promise 1 of `Backend`).
        unsafe impl Send for $name {}
        // SAFETY: shared access only copies the pointer value; handles work on any thread (promise 1 of `Backend`).
        unsafe impl Sync for $name {}
    )+};
}

raw_handle!(
    /// A platform.
    RawPlatform,
    /// A device.
    RawDevice,
    /// A context.
    RawContext,
    /// A queue.
    RawQueue,
    /// An event.
    RawEvent,
    /// A kernel bundle.
    RawBundle,
    /// A kernel.
    RawKernel,
);

/// A handle of any type, for the calls that treat them alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)] // copies of this library pass it (`host/across_copies/`)
pub enum RawHandle {
    /// A platform.
    Platform(RawPlatform),
    /// A device.
    Device(RawDevice),
    /// A context.
    Context(RawContext),
    /// A queue.
    Queue(RawQueue),
    /// An event.
    Event(RawEvent),
    /// A kernel bundle.
    Bundle(RawBundle),
    /// A kernel.
    Kernel(RawKernel),
}

impl RawHandle {
    /// The backend's own pointer as a number.
    pub(crate) fn address(self) -> u64 {
        let pointer = match self {
            Self::Platform(raw) => raw.as_ptr(),
            Self::Device(raw) => raw.as_ptr(),
            Self::Context(raw) => raw.as_ptr(),
            Self::Queue(raw) => raw.as_ptr(),
            Self::Event(raw) => raw.as_ptr(),
            Self::Bundle(raw) => raw.as_ptr(),
            Self::Kernel(raw) => raw.as_ptr(),
        };
        u64::try_from(pointer.addr()).unwrap_or(u64::MAX)
    }
}
