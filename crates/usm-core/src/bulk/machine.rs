//! Caches and processors of this machine, and the sizes that follow from them
//!
//! Linux describes the caches in sysfs. The processor describes itself where sysfs is missing, as in some containers. Elsewhere the
//! sizes are those of a small machine.

use std::fs;
use std::path::Path;

use crate::fork::ForkOnce;
use crate::os;

/// A cache that holds data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1 is next to the processor.
    pub level: u32,
    /// Its size.
    pub bytes: usize,
    /// How many logical processors share it, as far as this machine shows them.
    pub cpus: usize,
}

/// The machine as this process sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    // Invariant MC1: Not empty, the nearest cache first, no size is 0.
    caches: Vec<Cache>,
    cpus: usize,
}

/// A larger cache lies all over its processor.
const NEAR_BYTES: usize = 64 << 20;

/// The caches that are assumed where the machine describes none.
const SMALL_MACHINE: [Cache; 3] = [
    Cache { level: 1, bytes: 32 << 10, cpus: 1 },
    Cache { level: 2, bytes: 512 << 10, cpus: 1 },
    Cache { level: 3, bytes: 32 << 20, cpus: 2 },
];

impl Machine {
    /// This machine, looked at on first use.
    pub fn this() -> &'static Self {
        static THIS: ForkOnce<Machine> = ForkOnce::new();
        THIS.get_or_init(Self::look)
    }

    fn look() -> Self {
        let cpu = os::current_cpu();
        let sysfs = || from_sysfs(Path::new("/sys/devices/system/cpu"), cpu);
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        Self::with(sysfs().or_else(from_processor), cpus)
    }

    /// Caches that were found, in any order.
    fn with(found: Option<Vec<Cache>>, cpus: usize) -> Self {
        let mut caches = found.unwrap_or_default();
        caches.retain(|cache| cache.bytes > 0);
        if caches.is_empty() {
            caches.extend(SMALL_MACHINE);
        }
        caches.sort_by_key(|cache| cache.level);
        Self { caches, cpus }
    }

    /// The caches that hold data of one processor, the nearest first.
    #[must_use]
    pub fn caches(&self) -> &[Cache] {
        &self.caches
    }

    /// The processors that this process may use: those of its affinity mask, or fewer where a control group limits its time.
    #[must_use]
    pub fn cpus(&self) -> usize {
        self.cpus
    }

    /// Results of so many bytes are stored past the caches by a copy: it fills as much again with its source.
    #[must_use]
    pub fn copy_stream_bytes(&self) -> usize {
        self.cached_bytes() / 2
    }

    /// Results of so many bytes are stored past the caches where they are computed and have no source: such a result may fill nearly all
    /// of what a copy shares with its source.
    #[must_use]
    pub fn computed_stream_bytes(&self) -> usize {
        self.cached_bytes().saturating_mul(2)
    }

    /// Results of so many bytes are stored past the caches by a fill, which computes nothing. A large last cache takes results of half its
    /// size faster than memory does, although what is computed or copied is faster past it.
    #[must_use]
    pub fn fill_stream_bytes(&self) -> usize {
        let last = self.caches.last().map_or(0, |last| last.bytes / 2);
        self.computed_stream_bytes().max(last)
    }

    /// Bytes that an operation may touch while ordinary stores into a cache are faster than stores past all caches.
    ///
    /// Half of the last cache counts if a few processors share it, since the program has other data, too. The last cache of a
    /// large processor is spread over the processor: a store that waits for its line there is slower than a streaming store. On
    /// such a processor one and a half times the second caches of all its cores count.
    fn cached_bytes(&self) -> usize {
        let near = self.caches.iter().rfind(|cache| cache.bytes <= NEAR_BYTES);
        match (near, self.caches.last()) {
            (Some(near), Some(last)) if near.level < last.level => {
                (near.bytes / near.cpus.max(1) * self.cpus * 3 / 2).min(last.bytes / 2)
            }
            (_, Some(last)) => last.bytes / 2,
            (_, None) => usize::MAX,
        }
    }
}

/// The caches of a processor in a folder laid out like `/sys/devices/system/cpu`.
fn from_sysfs(cpus: &Path, cpu: usize) -> Option<Vec<Cache>> {
    let folders = fs::read_dir(cpus.join(format!("cpu{cpu}/cache"))).ok()?;
    let caches = folders.flatten().filter_map(|folder| {
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).ok();
        let kind = read("type")?;
        let holds_data = matches!(kind.trim(), "Data" | "Unified");
        let cache = Cache {
            level: read("level")?.trim().parse().ok()?,
            bytes: size(read("size")?.trim())?,
            cpus: read("shared_cpu_list").and_then(|list| count(list.trim())).unwrap_or(1),
        };
        holds_data.then_some(cache)
    });
    Some(caches.collect()).filter(|found: &Vec<Cache>| !found.is_empty())
}

/// Bytes of "32K" or "300M".
fn size(text: &str) -> Option<usize> {
    let (number, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(number) => (number, text.chars().last()),
        None => (text, None),
    };
    let shift = match unit {
        Some('K') => 10,
        Some('M') => 20,
        Some('G') => 30,
        _ => 0,
    };
    number.parse::<usize>().ok()?.checked_mul(1 << shift)
}

/// How many numbers "0-3,8" names.
fn count(list: &str) -> Option<usize> {
    let ranges = list.split(',').map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)
    });
    ranges.sum()
}

/// The caches as the instruction `cpuid` describes them.
#[cfg(target_arch = "x86_64")]
fn from_processor() -> Option<Vec<Cache>> {
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    /// The leaves of Intel and of AMD, which have one format.
    const LEAVES: [u32; 2] = [0x4, 0x8000_001d];
    /// No processor describes more.
    const MOST: u32 = 16;

    let described = |leaf: u32| -> Vec<Cache> {
        // Safe functions since Rust 1.94.
        #[allow(unused_unsafe)]
        // SAFETY: PR1: every x86-64 has this instruction.
        let last = unsafe { __cpuid(leaf & 0x8000_0000) }.eax;
        let leaves = (0..MOST).filter(|_| last >= leaf).map(|index| {
            #[allow(unused_unsafe)]
            // SAFETY: PR1: every x86-64 has this instruction; it answers with zeros beyond the last leaf.
            let found = unsafe { __cpuid_count(leaf, index) };
            [found.eax, found.ebx, found.ecx]
        });
        leaves.take_while(|[kind, ..]| kind & 0x1f != 0).filter_map(cache_of_leaf).collect()
    };
    LEAVES.into_iter().map(described).find(|found| !found.is_empty())
}

#[cfg(not(target_arch = "x86_64"))]
fn from_processor() -> Option<Vec<Cache>> {
    None
}

/// The cache for data that the registers `eax`, `ebx` and `ecx` describe; `None` for other caches.
#[cfg(target_arch = "x86_64")]
fn cache_of_leaf([kind, shape, sets]: [u32; 3]) -> Option<Cache> {
    const INSTRUCTIONS: u32 = 2;
    let bits = |from: u32, len: u32| (shape >> from & ((1 << len) - 1)) as usize + 1;
    let (ways, parts, line_bytes) = (bits(22, 10), bits(12, 10), bits(0, 12));
    (kind & 0x1f != INSTRUCTIONS).then_some(Cache {
        level: kind >> 5 & 0x7,
        bytes: ways * parts * line_bytes * (sets as usize + 1),
        cpus: (kind >> 14 & 0xfff) as usize + 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_lists_are_read() {
        assert_eq!(size("32K"), Some(32 << 10));
        assert_eq!(size("307200K"), Some(300 << 20));
        assert_eq!(size("64"), Some(64));
        assert_eq!(size("2M"), Some(2 << 20));
        for wrong in ["", "K", "x", "1T", "18446744073709551615K"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
        assert_eq!(count("0"), Some(1));
        assert_eq!(count("0-3,8,10-11"), Some(7));
        for wrong in ["", "3-1", "a-b"] {
            assert_eq!(count(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_folder_like_that_of_linux_is_read() {
        let folder = std::env::temp_dir().join(format!("usm-machine-{}", std::process::id()));
        let caches =
            [("1", "Data", "48K", "0"), ("1", "Instruction", "64K", "0"), ("3", "Unified", "300M", "0-15")];
        for (index, (level, kind, size, cpus)) in caches.into_iter().enumerate() {
            let cache = folder.join(format!("cpu3/cache/index{index}"));
            fs::create_dir_all(&cache).unwrap();
            for (name, text) in [("level", level), ("type", kind), ("size", size), ("shared_cpu_list", cpus)]
            {
                fs::write(cache.join(name), format!("{text}\n")).unwrap();
            }
        }
        let found = from_sysfs(&folder, 3);
        assert_eq!(from_sysfs(&folder, 4), None);
        fs::remove_dir_all(&folder).unwrap();
        let first = Cache { level: 1, bytes: 48 << 10, cpus: 1 };
        let last = Cache { level: 3, bytes: 300 << 20, cpus: 16 };
        assert_eq!(Machine::with(found, 16).caches(), [first, last]);
    }

    #[test]
    fn what_is_stored_past_the_caches_follows_from_them() {
        let machine = |caches: [(usize, usize); 3], cpus| {
            let caches =
                caches.into_iter().zip(1..).map(|((bytes, cpus), level)| Cache { level, bytes, cpus });
            Machine::with(Some(caches.collect()), cpus)
        };
        let copies = |machine: Machine| machine.copy_stream_bytes() >> 20;
        let computed = |machine: Machine| machine.computed_stream_bytes() >> 20;
        let fills = |machine: Machine| machine.fill_stream_bytes() >> 20;
        // A last cache of a few processors, and one of many; two of them share a second cache; a last one that is smaller than all of these.
        let small = [(32 << 10, 1), (512 << 10, 1), (32 << 20, 2)];
        assert_eq!((copies(machine(small, 2)), fills(machine(small, 2))), (8, 32));
        let large = [(48 << 10, 1), (2 << 20, 1), (300 << 20, 16)];
        assert_eq!((copies(machine(large, 2)), fills(machine(large, 2))), (3, 150));
        assert_eq!((copies(machine(large, 16)), fills(machine(large, 16))), (24, 150));
        assert_eq!(copies(machine([(48 << 10, 2), (2 << 20, 2), (300 << 20, 16)], 16)), 12);
        assert_eq!((copies(machine(large, 1000)), fills(machine(large, 1000))), (75, 300));
        assert_eq!(
            [(small, 2), (large, 2), (large, 16)].map(|(l, cpus)| computed(machine(l, cpus))),
            [32, 12, 96]
        );
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn registers_are_read() {
        // 8 ways of 64 sets of 64 bytes; then the end of the list.
        let first = [1 | 1 << 5, 63 | 7 << 22, 63];
        assert_eq!(cache_of_leaf(first), Some(Cache { level: 1, bytes: 32 << 10, cpus: 1 }));
        let instructions = [2 | 1 << 5, 63 | 7 << 22, 63];
        assert_eq!(cache_of_leaf(instructions), None);
        let shared = [3 | 3 << 5 | 15 << 14, 63 | 15 << 22, 32767];
        assert_eq!(cache_of_leaf(shared), Some(Cache { level: 3, bytes: 32 << 20, cpus: 16 }));
    }

    #[test]
    fn every_machine_has_sizes() {
        for machine in [Machine::this().clone(), Machine::with(None, 1), Machine::with(from_processor(), 3)] {
            assert!(machine.cpus() > 0 && !machine.caches().is_empty());
            assert!(machine.caches().is_sorted_by_key(|cache| cache.level), "{machine:?}");
            assert!(machine.copy_stream_bytes() >= 4 << 10, "{machine:?}");
            assert!(machine.copy_stream_bytes() <= machine.computed_stream_bytes(), "{machine:?}");
            assert!(machine.computed_stream_bytes() <= machine.fill_stream_bytes(), "{machine:?}");
        }
    }
}
