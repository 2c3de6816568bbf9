//! Random layouts and dtypes in every place: spans, overlaps and copies against an enumeration of all indices in 128 bits

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use common::cast::{bytes_of, convert, same};
use common::{displacements, injective_layouts, places};
use proptest::prelude::*;
use usm_array::{Casting, Dtype, Layout, Order, Overlap, Scalar, SliceItem, UsmArray};

/// Bytes for the largest layout of the largest elements, and for what must stay as it is around it.
const MEMORY_BYTES: usize = 16 << 10;

/// Three blocks of bytes in each place: tests that run at the same time use different ones.
static MEMORIES: LazyLock<Vec<[UsmArray; 3]>> = LazyLock::new(|| {
    let block = |(queue, kind)| UsmArray::zeros(queue, kind, &[MEMORY_BYTES], Dtype::U8).unwrap();
    places().iter().map(|(queue, kind)| [(); 3].map(|()| block((queue, *kind)))).collect()
});

fn dtype() -> impl Strategy<Value = Dtype> {
    prop::sample::select(&Dtype::ALL[..])
}

/// A target without two indices for one element, and a source that broadcasts to it, both some elements into their memory.
fn pairs() -> impl Strategy<Value = (Layout, Layout)> {
    let target = (injective_layouts(), 0_isize..8);
    target.prop_flat_map(|(target, shift)| {
        let source = (prop::collection::vec(-9_isize..=9, target.ndim()), any::<u8>(), 0_isize..8);
        (Just(target), Just(shift), source).prop_map(|(target, shift, (strides, units, source_shift))| {
            // Some axes of the source have size 1 and are repeated, some leading ones are missing.
            let missing = units as usize % 4 % (target.ndim() + 1);
            let unit = |axis: usize| units >> (axis + 2) & 3 == 3;
            let shape: Vec<usize> =
                (missing..target.ndim()).map(|k| if unit(k) { 1 } else { target.shape()[k] }).collect();
            let source = Layout::with_automatic_offset(&shape, Some(&strides[missing..]), Order::C).unwrap();
            let shifted = |layout: &Layout, shift| layout.with_offset(layout.offset() + shift).unwrap();
            (shifted(&target, shift), shifted(&source, source_shift))
        })
    })
}

/// Bytes of a seed: any at all, or such as zeros, ones and the numbers around infinity are made of.
fn pattern(seed: u32, len_bytes: usize) -> Vec<u8> {
    const COMMON: [u8; 8] = [0, 0, 0, 1, 0x3c, 0x3f, 0x7f, 0xff];
    let mut state = u64::from(seed) << 1 | 1;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let bytes = std::iter::repeat_with(next).take(len_bytes);
    if seed.is_multiple_of(2) { bytes.collect() } else { bytes.map(|b| COMMON[b as usize % 8]).collect() }
}

/// The first bytes of a block.
fn head(memory: &UsmArray, len_bytes: usize) -> UsmArray {
    let items = SliceItem::Slice { start: Some(0), stop: Some(len_bytes.cast_signed()), step: 1 };
    memory.slice(&[items]).unwrap()
}

fn over(memory: &UsmArray, dtype: Dtype, layout: &Layout) -> UsmArray {
    UsmArray::from_parts(memory.buffer().clone(), dtype, layout.clone(), 0).unwrap()
}

/// The bytes of each element, counted from the start of the memory.
fn elements(layout: &Layout, dtype: Dtype) -> Vec<Range<usize>> {
    let itemsize = dtype.itemsize_bytes();
    displacements(layout).into_iter().map(|place| place * itemsize..(place + 1) * itemsize).collect()
}

/// Bytes that both arrays and some elements around them fit in.
fn used_bytes(arrays: [(&Layout, Dtype); 2]) -> usize {
    let ends = arrays.map(|(layout, dtype)| (layout.required_len() + 8) * dtype.itemsize_bytes());
    ends[0].max(ends[1])
}

fn check_span(array: &UsmArray) -> Result<(), TestCaseError> {
    let elements = elements(array.layout(), array.dtype());
    let start = elements.iter().map(|bytes| bytes.start).min();
    let end = elements.iter().map(|bytes| bytes.end).max();
    match start.zip(end) {
        None => prop_assert!(array.byte_range().is_empty()),
        Some((start, end)) => prop_assert_eq!(array.byte_range(), start..end),
    }
    Ok(())
}

/// What assigning `source` to `target` must leave in the memory of the target, which held `before`.
fn check_assigned(
    found: &[u8],
    before: &[u8],
    source_bytes: &[u8],
    (target, to): (&Layout, Dtype),
    (source, from): (&Layout, Dtype),
) -> Result<(), TestCaseError> {
    let mut expected = before.to_vec();
    let sources = elements(&source.broadcast_to(target.shape()).unwrap(), from);
    for (target, source) in elements(target, to).into_iter().zip(sources) {
        let stored = &source_bytes[source];
        let element = match from == to {
            true => stored.to_vec(),
            false => bytes_of(convert(Scalar::from_bytes(from, stored).unwrap(), to), to),
        };
        let written = &found[target.clone()];
        prop_assert!(same(written, &element, to), "{stored:?} became {written:?} instead of {element:?}");
        expected[target].copy_from_slice(written);
    }
    prop_assert!(found == expected, "bytes beside the elements were written");
    Ok(())
}

proptest! {

    #[test]
    fn copies_between_places((a, b) in any::<(prop::sample::Index, prop::sample::Index)>(), pair in pairs(), from in dtype(), to in dtype(), seed in any::<u32>()) {
        let (target, source) = pair;
        let (target_memory, source_memory) = (&a.get(&MEMORIES)[0], &b.get(&MEMORIES)[1]);
        let len_bytes = used_bytes([(&target, to), (&source, from)]);
        let (before, source_bytes) = (pattern(seed, len_bytes), pattern(seed.rotate_left(9) ^ 1, len_bytes));
        head(target_memory, len_bytes).copy_from_host_contiguous(&before).unwrap();
        head(source_memory, len_bytes).copy_from_host_contiguous(&source_bytes).unwrap();

        let (target_array, source_array) = (over(target_memory, to, &target), over(source_memory, from, &source));
        check_span(&target_array)?;
        check_span(&source_array)?;
        prop_assert_eq!(target_array.shares_memory(&source_array, usize::MAX), Overlap::No);
        target_array.assign_cast(&source_array, Casting::Unsafe).unwrap();
        let found = head(target_memory, len_bytes).to_bytes().unwrap();
        check_assigned(&found, &before, &source_bytes, (&target, to), (&source, from))?;
        prop_assert!(head(source_memory, len_bytes).to_bytes().unwrap() == source_bytes);
    }

    #[test]
    fn copies_within_one_memory(place in any::<prop::sample::Index>(), pair in pairs(), from in dtype(), to in dtype(), equal in any::<bool>(), seed in any::<u32>()) {
        let (target, source) = pair;
        let from = if equal { to } else { from };
        let memory = &place.get(&MEMORIES)[2];
        let len_bytes = used_bytes([(&target, to), (&source, from)]);
        let before = pattern(seed, len_bytes);
        head(memory, len_bytes).copy_from_host_contiguous(&before).unwrap();

        let (target_array, source_array) = (over(memory, to, &target), over(memory, from, &source));
        let bytes = |layout, dtype| elements(layout, dtype).into_iter().flatten().collect::<HashSet<usize>>();
        let shared = !bytes(&target, to).is_disjoint(&bytes(&source, from));
        let expected = if shared { Overlap::Yes } else { Overlap::No };
        prop_assert_eq!(target_array.shares_memory(&source_array, usize::MAX), expected);
        prop_assert_eq!(target_array.internal_overlap(usize::MAX), Overlap::No);
        target_array.assign_cast(&source_array, Casting::Unsafe).unwrap();
        let found = head(memory, len_bytes).to_bytes().unwrap();
        check_assigned(&found, &before, &before, (&target, to), (&source, from))?;
    }
}
