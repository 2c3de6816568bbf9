//! What is accepted lies inside: arrays over memory, and interfaces

use usm_array::usm_core::UsmKind;
use usm_array::usm_memory::UsmBuffer;
use usm_array::{Dtype, Error, Layout, Order, UsmArray, UsmArrayInterface, ValidInterface};
use usm_core::testing::{Random, campaign, host_queue};

use super::layouts::{distances, each_small, sizes};
use super::reference::{place, places, reach};
use super::{bound, is_long, tell};

/// Dtypes of each size of items.
const DTYPES: [Dtype; 5] = [Dtype::U8, Dtype::I16, Dtype::F32, Dtype::F64, Dtype::C128];
const MEMORY_BYTES: usize = 512;

/// The first byte and the byte behind the last one of all elements, counted from where the offset counts from.
fn byte_span(layout: &Layout, dtype: Dtype) -> Option<(i128, i128)> {
    let itemsize = dtype.itemsize_bytes() as i128;
    let (first, last) = reach(layout.shape(), layout.strides(), layout.offset()).unwrap();
    (!layout.is_empty()).then_some((first * itemsize, (last + 1) * itemsize))
}

#[test]
fn an_array_is_made_where_its_bytes_lie_in_its_memory() {
    let memory = UsmBuffer::allocate(&host_queue(), UsmKind::Shared, MEMORY_BYTES).unwrap();
    let lens = [0, 1, 15, 16, 17, 64, 100, MEMORY_BYTES];
    let buffers: Vec<_> =
        lens.iter().map(|&len| memory.sub_buffer(MEMORY_BYTES - len, len).unwrap()).collect();
    let (mut made, mut refused) = (0, 0);
    for (ndim, bound) in [(0, 1), (1, bound(4)), (2, bound(2)), (3, bound(1))] {
        each_small(ndim, bound, &mut |layout| {
            for offset in [0, 1, 3, 9, -1, 60] {
                let layout = layout.with_offset(offset).unwrap();
                let all = places(&layout);
                for dtype in DTYPES {
                    for buffer in &buffers {
                        let itemsize = dtype.itemsize_bytes() as i128;
                        let ends = (0, buffer.len_bytes() as i128);
                        let is_inside =
                            |&place: &i128| ends.0 <= place * itemsize && (place + 1) * itemsize <= ends.1;
                        let fits = all.iter().all(is_inside);
                        let is_aligned = buffer.address().is_multiple_of(dtype.align_bytes());
                        match UsmArray::from_parts(buffer.clone(), dtype, layout.clone(), 0) {
                            Ok(array) => {
                                made += 1;
                                assert!(fits && is_aligned, "{array:?}");
                                let span = byte_span(&layout, dtype).unwrap_or_default();
                                let found = array.byte_range();
                                assert_eq!(
                                    (found.len() as i128, span.0),
                                    (span.1 - span.0, found.start as i128)
                                );
                            }
                            Err(Error::OutOfBuffer { .. }) => {
                                refused += 1;
                                assert!(!fits, "{layout:?} in {} bytes", buffer.len_bytes());
                            }
                            Err(Error::BufferMisaligned { .. }) => assert!(!is_aligned),
                            Err(error) => panic!("{error} of {layout:?}"),
                        }
                    }
                }
            }
        });
    }
    assert!(made > 1000 && refused > 1000);
    tell(format!("{made} arrays over memory, and {refused} refused ones, byte by byte"));
}

/// What an interface is accepted for: its bytes from the address on are counted and have addresses.
fn is_acceptable(found: &UsmArrayInterface, dtype: Dtype) -> bool {
    let shape: Option<Vec<usize>> = found.shape.iter().map(|&size| usize::try_from(size).ok()).collect();
    let Some(shape) = shape else { return false };
    let dense = || Some(Layout::contiguous(&shape, Order::C).ok()?.strides().to_vec());
    let given = |strides: &Vec<i64>| strides.iter().map(|&stride| isize::try_from(stride).ok()).collect();
    let strides: Option<Vec<isize>> = found.strides.as_ref().map_or_else(dense, given);
    let Some(strides) = strides else { return false };
    let (itemsize, offset) = (dtype.itemsize_bytes() as i128, found.offset as isize);
    let Some((first, last)) = reach(&shape, &strides, offset) else { return false };
    let is_empty = shape.contains(&0);
    let size: i128 = shape.iter().map(|&size| size as i128).product();
    // The numbers from the address of index zero on fit by themselves, too.
    let zero = offset as i128;
    let counted = |number: i128| isize::try_from(number * itemsize).is_ok();
    let (first, last) = if is_empty { (zero, zero) } else { (first, last) };
    let (start, end) = (first * itemsize, (last + 1) * itemsize);
    let address = found.address as i128;
    size * itemsize <= isize::MAX as i128
        && (counted(first - zero) && counted(first))
        && (last - zero + 1) * itemsize - 1 <= isize::MAX as i128
        && end - 1 <= isize::MAX as i128
        && end - start <= isize::MAX as i128
        && address != 0
        && address % dtype.align_bytes() as i128 == 0
        && address + start >= 0
        && address + end <= usize::MAX as i128
}

/// Fails unless all elements of what was accepted are in its span, the first and the last one at its ends.
fn check_valid(found: &UsmArrayInterface, valid: &ValidInterface) {
    let span = valid.span();
    let address = found.address as i128;
    match byte_span(valid.layout(), valid.dtype()) {
        Some((start, end)) => {
            assert_eq!(span.start_address as i128, address + start, "{found:?}");
            assert_eq!(span.len_bytes as i128, end - start, "{found:?}");
        }
        None => assert_eq!((span.start_address as i128, span.len_bytes), (address, 0), "{found:?}"),
    }
    assert!(
        span.start_address.checked_add(span.len_bytes).is_some() && isize::try_from(span.len_bytes).is_ok()
    );
}

/// Whether an interface is accepted, which the definition has to say, too.
fn judge(found: &UsmArrayInterface, dtype: Dtype) -> bool {
    let valid = found.validate();
    assert_eq!(valid.is_ok(), is_acceptable(found, dtype), "{valid:?} {found:?}");
    valid.is_ok_and(|valid| {
        check_valid(found, &valid);
        true
    })
}

fn interface(
    shape: Vec<i64>,
    strides: Option<Vec<i64>>,
    offset: i64,
    address: u64,
    dtype: Dtype,
) -> UsmArrayInterface {
    let typestr = dtype.typestr().unwrap().to_owned();
    UsmArrayInterface { shape, typestr, address, read_only: false, strides, offset, version: 1 }
}

#[test]
fn an_interface_of_extreme_numbers_is_accepted_where_its_bytes_have_addresses() {
    let distances = distances(is_long());
    let addresses = [0, 1, 8, 4096, i64::MAX as u64, 1 << 63, u64::MAX - 15, u64::MAX - 63, u64::MAX];
    let (mut accepted, mut refused) = (0, 0);
    let mut judge = |found: UsmArrayInterface, dtype| match judge(&found, dtype) {
        true => accepted += 1,
        false => refused += 1,
    };
    for &size in &sizes(is_long()) {
        for &stride in &distances {
            for &offset in &distances {
                for address in addresses {
                    for dtype in DTYPES {
                        let strides = (stride != 0).then(|| vec![stride as i64]);
                        judge(interface(vec![size as i64], strides, offset as i64, address, dtype), dtype);
                    }
                }
            }
        }
    }
    assert!(accepted > 1000 && refused > 1000);
    tell(format!(
        "{accepted} interfaces of numbers around the limits of 64 bits, and {refused} refused ones"
    ));
}

/// A number that is mostly small.
fn number(random: &mut Random, small: usize) -> i64 {
    match random.below(32) {
        0 => random.below(usize::MAX) as i64,
        1 => (1_i64 << random.below(64)).wrapping_add(random.below(5) as i64 - 2),
        2 => -(random.below(70_000) as i64),
        _ => random.below(2 * small + 1) as i64 - small as i64,
    }
}

/// Random interfaces of memory of the host device, which is imported: `USM_TEST_LAYOUTS` of them. Both ends of what is accepted lie in the
/// allocation, and elements are where the definition says.
#[test]
fn an_imported_array_lies_in_its_allocation() {
    let wanted = campaign::number("USM_TEST_LAYOUTS", 20_000);
    let queue = host_queue();
    let memory = UsmBuffer::allocate(&queue, UsmKind::Shared, 1 << 16).unwrap();
    let block = memory.address() as i128;
    let owner = std::sync::Arc::new(memory.clone());
    let mut random = Random::new(campaign::number("USM_TEST_SEED", 1) as u64);
    let (mut imported, mut refused, mut beyond) = (0, 0, 0);
    while imported < wanted {
        let dtype = DTYPES[random.below(DTYPES.len())];
        let ndim = random.below(5);
        let shape: Vec<i64> = (0..ndim).map(|_| number(&mut random, 6).saturating_abs()).collect();
        let strides = (random.below(4) > 0).then(|| (0..ndim).map(|_| number(&mut random, 40)).collect());
        let offset = if random.below(2) == 0 { 0 } else { number(&mut random, 2000) };
        let address = memory.address().wrapping_add(random.below(1 << 15) & !(dtype.align_bytes() - 1));
        let found = interface(shape, strides, offset, address as u64, dtype);
        if !judge(&found, dtype) {
            refused += 1;
            continue;
        }
        let valid = found.validate().unwrap();
        // SAFETY: 1. and 2. The owner is the allocation. 3. Nobody uses it meanwhile.
        let array = unsafe { UsmArray::import(&valid, &queue, owner.clone()) };
        let Some((start, end)) = byte_span(valid.layout(), dtype) else {
            imported += usize::from(array.is_ok());
            continue;
        };
        let (start, end) = (found.address as i128 + start - block, found.address as i128 + end - block);
        let is_inside = start >= 0 && end <= memory.len_bytes() as i128;
        let Ok(array) = array else {
            assert!(!is_inside, "{found:?}");
            beyond += 1;
            continue;
        };
        assert!(is_inside, "{found:?}");
        imported += 1;
        // From here on, all in elements of the array, whose buffer begins somewhere in the block.
        let shift = array.buffer().address() as i128 - block;
        let range = array.byte_range();
        assert_eq!((shift + range.start as i128, shift + range.end as i128), (start, end), "{found:?}");
        let index: Vec<usize> = array.shape().iter().map(|&size| random.below(size)).collect();
        let itemsize = dtype.itemsize_bytes() as i128;
        let at = shift + place(array.layout(), &index) * itemsize;
        let expected = found.address as i128 - block + place(valid.layout(), &index) * itemsize;
        assert!(at == expected && start <= at && at + itemsize <= end, "{found:?} {index:?}");
    }
    tell(format!(
        "{imported} imported arrays inside of their allocation, {refused} refused, {beyond} beyond it"
    ));
}
