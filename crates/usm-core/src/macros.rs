//! The one shape that all safe handle types share: a backend and an owned raw handle in an `Arc`.

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

            /// Whether both handles name the same SYCL object.
            #[allow(dead_code, reason = "events and kernels have no equality")]
            pub(crate) fn same(&self, other: &Self) -> bool {
                if !std::sync::Arc::ptr_eq(&self.backend, &other.backend) {
                    return false;
                }
                let (a, b) = (
                    $crate::backend::RawHandle::$variant(self.raw),
                    $crate::backend::RawHandle::$variant(other.raw),
                );
                // SAFETY: both handles are live on this backend (H1).
                unsafe { self.backend.same(a, b) }
            }

            /// The same for all handles of one SYCL object.
            #[allow(dead_code, reason = "as `same`")]
            pub(crate) fn hash_value(&self) -> u64 {
                // SAFETY: the handle is live on this backend (H1).
                unsafe { self.backend.hash($crate::backend::RawHandle::$variant(self.raw)) }
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
