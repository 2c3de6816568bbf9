//! The kernels that the library knows by name and really runs, and how modules name them.

use std::ffi::c_void;

/// The range of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    pub(crate) items: usize,
    /// Work items of a work group; `None` without work groups.
    pub(crate) group: Option<usize>,
}

impl Launch {
    /// `None` for sizes that no kernel can be run over.
    pub(crate) fn new(global: &[usize], local: Option<&[usize]>, max_group: usize) -> Option<Self> {
        let items = global.iter().try_fold(1_usize, |product, &size| product.checked_mul(size))?;
        let group = match local {
            Some(local) => {
                let divides =
                    |(&global, &local): (&usize, &usize)| local != 0 && global.is_multiple_of(local);
                let fits = global.iter().zip(local).all(divides);
                Some(local.iter().product()).filter(|&group| fits && group <= max_group).map(Some)?
            }
            None => None,
        };
        (items > 0).then_some(Self { items, group })
    }
}

/// An argument of a kernel.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    U32(u32),
    Usm(*mut c_void),
    LocalBytes(usize),
    Struct(Vec<u8>),
    Other,
}

/// `DPCTL_RAW_KERNEL_ARG`: the argument is an object of the library.
pub(crate) const RAW_KERNEL_ARG: u32 = 13;
/// `DPCTL_UINT32_T`, `DPCTL_VOID_PTR`, `DPCTL_LOCAL_ACCESSOR`.
const UINT32: u32 = 5;
const VOID_PTR: u32 = 10;
const LOCAL_ACCESSOR: u32 = 11;
/// Bytes of the scalar types, in the order of their numbers.
const SCALAR_BYTES: [usize; 10] = [1, 1, 2, 2, 4, 4, 8, 8, 4, 8];

/// `MDLocalAccessor`.
#[derive(Clone, Copy)]
#[repr(C)]
struct LocalAccessor {
    dimensions: usize,
    element_type: u32,
    sizes: [usize; 3],
}

impl Argument {
    /// # Safety
    /// 1. `pointer` leads to a value of that type, as the header says.
    pub(crate) unsafe fn read(pointer: *mut c_void, argument_type: u32) -> Option<Self> {
        if argument_type == VOID_PTR {
            return Some(Self::Usm(pointer));
        }
        if pointer.is_null() {
            return None;
        }
        match argument_type {
            UINT32 => {
                // SAFETY: the caller's promise 1.
                Some(Self::U32(unsafe { pointer.cast::<u32>().read() }))
            }
            LOCAL_ACCESSOR => {
                // SAFETY: the caller's promise 1.
                let local = unsafe { pointer.cast::<LocalAccessor>().read() };
                let sizes = local.sizes.get(..local.dimensions)?;
                let element = SCALAR_BYTES.get(usize::try_from(local.element_type).ok()?)?;
                Some(Self::LocalBytes(sizes.iter().product::<usize>() * element))
            }
            scalar => SCALAR_BYTES.get(usize::try_from(scalar).ok()?).map(|_| Self::Other),
        }
    }
}

/// The work of a known kernel.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// `(global uint *to, uint value)`: every work item writes the value.
    Fill,
    /// `(global uchar *to, global const uchar *from)`: every work item copies a byte.
    Copy,
    /// `(global uint *to, global const uint *from, local uint *scratch)`: the sum of each work group.
    Sum,
    /// `(global uint *to, struct { uint factor; uint offset; } scale)`: every work item scales its word.
    Scale,
}

/// A kernel that the library knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) arguments: usize,
    work: Work,
}

pub(crate) static KNOWN: [Known; 4] = [
    Known { name: "fill_u32", arguments: 2, work: Work::Fill },
    Known { name: "copy_bytes", arguments: 2, work: Work::Copy },
    Known { name: "sum_u32", arguments: 3, work: Work::Sum },
    Known { name: "scale_u32", arguments: 2, work: Work::Scale },
];

impl Known {
    /// The memory that a launch uses, as pointers with lengths in bytes; `None` for arguments of other types.
    pub(crate) fn uses(&self, launch: &Launch, arguments: &[Argument]) -> Option<Vec<(*mut c_void, usize)>> {
        let words = launch.items * 4;
        Some(match (self.work, arguments, launch.group) {
            (Work::Fill, &[Argument::Usm(to), Argument::U32(_)], _) => vec![(to, words)],
            (Work::Copy, &[Argument::Usm(to), Argument::Usm(from)], _) => {
                vec![(to, launch.items), (from, launch.items)]
            }
            (Work::Scale, [Argument::Usm(to), Argument::Struct(scale)], _) => {
                (scale.len() == 8).then(|| vec![(*to, words)])?
            }
            (
                Work::Sum,
                &[Argument::Usm(to), Argument::Usm(from), Argument::LocalBytes(bytes)],
                Some(group),
            ) => (bytes >= group * 4).then(|| vec![(to, words / group), (from, words)])?,
            _ => return None,
        })
    }

    /// # Safety
    /// 1. The memory that [`uses`](Self::uses) returns is valid.
    pub(crate) unsafe fn run(&self, launch: &Launch, arguments: &[Argument]) {
        match (self.work, arguments, launch.group) {
            (Work::Fill, &[Argument::Usm(to), Argument::U32(value)], _) => {
                for item in 0..launch.items {
                    // SAFETY: the caller's promise 1.
                    unsafe { to.cast::<u32>().wrapping_add(item).write_unaligned(value) };
                }
            }
            (Work::Scale, [Argument::Usm(to), Argument::Struct(scale)], _) => {
                let [factor, offset] = [0, 1]
                    .map(|word| scale.as_chunks().0.get(word).map_or(0, |bytes| u32::from_ne_bytes(*bytes)));
                for item in 0..launch.items {
                    let place = to.cast::<u32>().wrapping_add(item);
                    // SAFETY: the caller's promise 1.
                    let value = unsafe { place.read_unaligned() };
                    // SAFETY: the caller's promise 1.
                    unsafe { place.write_unaligned(value.wrapping_mul(factor).wrapping_add(offset)) };
                }
            }
            (Work::Copy, &[Argument::Usm(to), Argument::Usm(from)], _) => {
                // SAFETY: the caller's promise 1.
                unsafe { std::ptr::copy(from.cast::<u8>(), to.cast::<u8>(), launch.items) };
            }
            (Work::Sum, &[Argument::Usm(to), Argument::Usm(from), Argument::LocalBytes(_)], Some(group)) => {
                for first in (0..launch.items).step_by(group) {
                    let mut sum = 0_u32;
                    for item in first..first + group {
                        // SAFETY: the caller's promise 1.
                        let value = unsafe { from.cast::<u32>().wrapping_add(item).read_unaligned() };
                        sum = sum.wrapping_add(value);
                    }
                    // SAFETY: the caller's promise 1.
                    unsafe { to.cast::<u32>().wrapping_add(first / group).write_unaligned(sum) };
                }
            }
            _ => {}
        }
    }
}

/// The names of the functions in OpenCL C source; `None` if it does not build, which `#error` and open braces say.
pub(crate) fn functions(source: &str) -> Option<Vec<String>> {
    let builds = !source.contains("#error") && source.matches('{').count() == source.matches('}').count();
    let after_void = source.split("void ").skip(1);
    let name = |rest: &str| rest.split('(').next().map(|name| name.trim().to_owned());
    builds.then(|| after_void.filter_map(name).collect())
}

/// The names of the entry points of a SPIR-V module; `None` if it is not one.
pub(crate) fn entry_points(module: &[u8]) -> Option<Vec<String>> {
    const MAGIC: u32 = 0x0723_0203;
    const OP_ENTRY_POINT: u32 = 15;
    let (words, []) = module.as_chunks::<4>() else { return None };
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let mut rest = (words.first() == Some(&MAGIC)).then(|| words.get(5..)).flatten()?;
    let mut names = Vec::new();
    while let Some(first) = rest.first() {
        let count = usize::try_from(first >> 16).ok().filter(|&count| count > 0)?;
        let instruction = rest.get(..count)?;
        if first & 0xffff == OP_ENTRY_POINT {
            let bytes: Vec<u8> = instruction.get(3..)?.iter().flat_map(|word| word.to_le_bytes()).collect();
            let name = bytes.split(|&byte| byte == 0).next()?;
            names.push(String::from_utf8(name.to_vec()).ok()?);
        }
        rest = rest.get(count..)?;
    }
    (!names.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::{Launch, entry_points, functions};

    #[test]
    fn source_names_its_functions_or_does_not_build() {
        let source = "kernel void fill_u32(global uint *to, uint value) { }\nvoid other (int x) { }";
        assert_eq!(functions(source).unwrap(), ["fill_u32", "other"]);
        assert_eq!(functions("kernel void f(int x) {"), None);
        assert_eq!(functions("#error no"), None);
    }

    #[test]
    fn modules_name_their_entry_points_or_are_none() {
        let header = [0x0723_0203_u32, 0x1_0000, 0, 5, 0];
        let entry = [5 << 16 | 15, 6, 1, u32::from_le_bytes(*b"fill"), 0];
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let module = [&header[..], &entry[..]].concat();
        assert_eq!(entry_points(&bytes(&module)).unwrap(), ["fill"]);
        assert_eq!(entry_points(&bytes(&module[..9])), None, "cut within an instruction");
        assert_eq!(entry_points(&bytes(&module)[..38]), None, "cut within a word");
        assert_eq!(entry_points(&bytes(&header)), None, "no entry point");
    }

    #[test]
    fn launches_are_whole_work_groups() {
        assert_eq!(Launch::new(&[6, 4], Some(&[3, 2]), 6).unwrap().group, Some(6));
        for (global, local, max) in
            [([6, 4], [4, 2], 8), ([6, 4], [0, 1], 8), ([6, 4], [3, 2], 5), ([0, 4], [1, 1], 8)]
        {
            assert!(Launch::new(&global, Some(&local), max).is_none(), "{global:?} {local:?}");
        }
        assert!(Launch::new(&[usize::MAX, 2], None, 8).is_none());
    }
}
