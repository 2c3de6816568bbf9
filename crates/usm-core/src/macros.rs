//! The shape that all safe handle types share, a backend and an owned raw handle in an `Arc`, and the identity of those that have one.

/// Defines the private owner of one raw handle: released exactly once, on the backend that made it.
macro_rules! owned_handle {
    ($(#[$doc:meta])* $owner:ident, $raw:ident, $variant:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $owner {
            backend: std::sync::Arc<dyn $crate::backend::Backend>,
            /// Invariant H1: a live handle of `backend`, owned by this value alone.
            raw: $crate::backend::$raw,
        }

        impl $owner {
            /// Takes over one reference to `raw`.
            ///
            /// # Safety
            /// 1. `raw` is a live handle of `backend`, and the caller gives its reference away.
            pub(crate) unsafe fn from_raw(
                backend: std::sync::Arc<dyn $crate::backend::Backend>,
                raw: $crate::backend::$raw,
            ) -> Self {
                Self { backend, raw }
            }

            #[allow(dead_code, reason = "a kernel's is that of its bundle")]
            pub(crate) fn backend(&self) -> &std::sync::Arc<dyn $crate::backend::Backend> {
                &self.backend
            }

            /// The handle, live as long as `self`.
            pub(crate) fn raw(&self) -> $crate::backend::$raw {
                self.raw
            }
        }

        impl Drop for $owner {
            fn drop(&mut self) {
                // SAFETY: H1: the handle is live and this is its only release.
                unsafe { self.backend.release($crate::backend::RawHandle::$variant(self.raw)) };
            }
        }
    };
}

/// The texts of an enum without fields: `ALL`, `as_str`, `Display` and `FromStr`, which takes these texts alone. For all library crates.
#[doc(hidden)]
#[macro_export]
macro_rules! texts {
    ($name:ident, $what:literal: $($variant:ident = $text:literal),+ $(,)?) => {
        impl $name {
            #[doc = concat!("Each ", $what, ", in the order of the variants.")]
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            #[doc = concat!("The text of the ", $what, ", which parses to it again.")]
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<Self> {
                let found = Self::ALL.iter().find(|value| value.as_str() == text);
                found.copied().ok_or_else(|| $crate::Error::UnknownText {
                    what: $what,
                    found: text.to_owned(),
                    allowed: &[$($text),+],
                })
            }
        }
    };
}

/// What all safe handle types do whose clones and copies are equal. The type has a field `inner: Arc<_>` and a
/// method `handle`.
macro_rules! identity {
    ($object:ident, $raw:ident, $name:literal) => {
        impl $object {
            /// The handle, live as long as `self`.
            pub(crate) fn raw(&self) -> $crate::backend::$raw {
                self.handle().raw()
            }

            pub(crate) fn backend(&self) -> &std::sync::Arc<dyn $crate::backend::Backend> {
                self.handle().backend()
            }

            #[doc = concat!("The backend that implements the ", $name, ".")]
            #[must_use]
            pub fn backend_id(&self) -> $crate::BackendId {
                self.backend().id()
            }

            #[doc = concat!(
                "The value of SYCL's `std::hash`: equal for equal ", $name, "s, in this and in other libraries."
            )]
            #[must_use]
            pub fn hash_value(&self) -> u64 {
                // SAFETY: the handle is live on this backend (H1).
                unsafe { self.backend().hash($crate::backend::RawHandle::$object(self.raw())) }
            }
        }

        impl PartialEq for $object {
            /// Whether both name the same SYCL object.
            fn eq(&self, other: &Self) -> bool {
                let [a, b] = [self, other].map(|object| $crate::backend::RawHandle::$object(object.raw()));
                std::sync::Arc::ptr_eq(&self.inner, &other.inner)
                    || std::sync::Arc::ptr_eq(self.backend(), other.backend())
                        // SAFETY: both handles are live on this backend (H1).
                        && unsafe { self.backend().same(a, b) }
            }
        }

        impl Eq for $object {}

        impl std::hash::Hash for $object {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                state.write_u64(self.hash_value());
            }
        }
    };
}
