//! A check that a pointer from a capsule leads to a SYCL object, before C++ code follows it.
//!
//! In DPC++ a `sycl::queue` or `sycl::context` is a `std::shared_ptr`: two words. The second one points to a control block
//! that starts with a virtual table pointer and two reference counts (libstdc++'s `_Sp_counted_base`). All objects of a type
//! have the same table, so the table of an object of our own identifies the type. Reads go through the operating system, which
//! returns an error where a load would fault.

use crate::os::OwnMemory;

const WORD: usize = size_of::<usize>();
/// Far above any count of live copies, and far below text or addresses that are read as a count.
const MAX_COUNT: u32 = 1 << 24;

/// Reads this process's memory without ever faulting.
#[derive(Debug)]
pub(super) struct Probe {
    memory: OwnMemory,
}

impl Probe {
    /// Opened at each use: a file kept over a `fork` would show the parent's memory.
    pub(super) fn open() -> Option<Self> {
        OwnMemory::open().map(|memory| Self { memory })
    }

    fn words<const N: usize>(&self, address: usize) -> Option<[usize; N]> {
        if !address.is_multiple_of(WORD) || address == 0 {
            return None;
        }
        let mut words = [0; N];
        for (i, word) in words.iter_mut().enumerate() {
            let mut bytes = [0; WORD];
            let at = address.checked_add(i * WORD)?;
            self.memory.read(at, &mut bytes).then_some(())?;
            *word = usize::from_ne_bytes(bytes);
        }
        Some(words)
    }

    /// Whether the address can be read at all.
    pub(super) fn is_readable(&self, address: usize) -> bool {
        self.words::<1>(address).is_some()
    }

    /// Address of the virtual table behind a `std::shared_ptr` at `address`, or `None` when there is none.
    pub(super) fn shared_ptr_type(&self, address: usize) -> Option<usize> {
        let [object, control] = self.words(address)?;
        let [table, counts] = self.words(control)?;
        self.words::<1>(object)?;
        self.words::<1>(table)?;
        // Two 32-bit counts, of uses and of weak references. Both are at least 1 for a live object.
        let bytes = counts.to_ne_bytes();
        let (uses, weak) = bytes.split_at(WORD / 2);
        let plausible = |half: &[u8]| {
            half.try_into().map(u32::from_ne_bytes).is_ok_and(|count| (1..MAX_COUNT).contains(&count))
        };
        (plausible(uses) && plausible(weak)).then_some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The layout that the module documents.
    #[repr(C)]
    struct Control {
        table: *const [usize; 4],
        uses: u32,
        weak: u32,
    }

    #[repr(C)]
    struct SharedPtr {
        object: *const u64,
        control: *const Control,
    }

    #[test]
    fn a_shared_pointer_is_told_from_junk() {
        let probe = Probe::open().unwrap();
        let (object, table) = (7_u64, [1_usize; 4]);
        let control = Control { table: &raw const table, uses: 1, weak: 1 };
        let pointer = SharedPtr { object: &raw const object, control: &raw const control };
        let address = (&raw const pointer).addr();
        assert_eq!(probe.shared_ptr_type(address), Some((&raw const table).addr()));

        let orphan = Control { uses: 0, ..control };
        let dangling = SharedPtr { control: &raw const orphan, ..pointer };
        assert_eq!(probe.shared_ptr_type((&raw const dangling).addr()), None, "no owner left");
        assert_eq!(probe.shared_ptr_type(address + 1), None, "misaligned");
        let text = [*b"neither ", *b"one nor ", *b"another!"].map(usize::from_ne_bytes);
        for junk in [0, 8, 0xdead_0000, usize::MAX - 7, (&raw const text).addr(), (&raw const table).addr()] {
            assert_eq!(probe.shared_ptr_type(junk), None, "{junk:#x}");
        }
        assert!(!probe.is_readable(0xdead_0000));
    }
}
