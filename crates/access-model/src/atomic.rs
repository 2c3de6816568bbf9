//! Atomic values of which loom tries all orders
//!
//! Loom remembers the last access to a value alone. A thread that loads a value before it stores to it hides the earlier load of another
//! thread, and loom does not try the store before that load. So each access here begins with a store to a value beside, which orders
//! nothing else, and which all accesses depend on.

use loom::sync::atomic;
pub(crate) use loom::sync::atomic::Ordering;

macro_rules! atomics {
    ($($name:ident($value:ty) { $($method:ident($($argument:ident: $type:ty),*) -> $result:ty;)* })*) => {$(
        pub(crate) struct $name {
            value: atomic::$name,
            touched: atomic::AtomicUsize,
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($name))
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(<$value>::default())
            }
        }

        impl $name {
            pub(crate) fn new(value: $value) -> Self {
                Self { value: atomic::$name::new(value), touched: atomic::AtomicUsize::new(0) }
            }

            fn touch(&self) {
                self.touched.fetch_add(1, Ordering::Relaxed);
            }

            pub(crate) fn load(&self, order: Ordering) -> $value {
                self.touch();
                self.value.load(order)
            }

            pub(crate) fn store(&self, value: $value, order: Ordering) {
                self.touch();
                self.value.store(value, order);
            }

            $(pub(crate) fn $method(&self, $($argument: $type),*) -> $result {
                self.touch();
                self.value.$method($($argument),*)
            })*
        }
    )*};
}

atomics! {
    AtomicBool(bool) {}
    AtomicU8(u8) {
        fetch_and(value: u8, order: Ordering) -> u8;
        fetch_or(value: u8, order: Ordering) -> u8;
    }
    AtomicU32(u32) {
        fetch_add(value: u32, order: Ordering) -> u32;
        fetch_sub(value: u32, order: Ordering) -> u32;
        fetch_update(set: Ordering, fetch: Ordering, update: impl FnMut(u32) -> Option<u32>) -> Result<u32, u32>;
    }
    AtomicU64(u64) {
        fetch_add(value: u64, order: Ordering) -> u64;
    }
    AtomicUsize(usize) {
        fetch_add(value: usize, order: Ordering) -> usize;
        fetch_sub(value: usize, order: Ordering) -> usize;
    }
}
