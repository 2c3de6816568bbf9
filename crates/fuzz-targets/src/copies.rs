//! Assignments between two parts of one memory, which may overlap, against a copy of all elements one by one.

use std::cell::RefCell;

use arbitrary::{Result, Unstructured};
use usm_array::usm_core::UsmKind;
use usm_array::{Dtype, Layout, Order, UsmArray};

use crate::imports::queue;

const MEMORY_BYTES: usize = 8192;

thread_local! {
    static MEMORY: RefCell<Option<UsmArray>> = const { RefCell::new(None) };
}

/// Shape and strides of an array, with an offset that keeps all elements in the memory where that is possible.
fn layout(bytes: &mut Unstructured<'_>, shape: &[usize], itemsize: usize) -> Result<Option<Layout>> {
    let strides: Vec<isize> = shape.iter().map(|_| bytes.int_in_range(-40..=40)).collect::<Result<_>>()?;
    let Ok(layout) = Layout::with_automatic_offset(shape, Some(&strides), Order::C) else { return Ok(None) };
    let Some(free) = (MEMORY_BYTES / itemsize).checked_sub(layout.required_len()) else { return Ok(None) };
    let shift = bytes.int_in_range(0..=free.cast_signed())?;
    Ok(layout.with_offset(layout.offset() + shift).ok())
}

/// An assignment between two parts of one memory gives what a copy of the elements one by one would give.
pub fn copies(bytes: &mut Unstructured<'_>) -> Result<()> {
    let dtype = *bytes.choose(&Dtype::ALL)?;
    let itemsize = dtype.itemsize_bytes();
    let shape: Vec<usize> =
        (0..bytes.int_in_range(0..=4)?).map(|_| bytes.int_in_range(0..=7)).collect::<Result<_>>()?;
    let (Some(target), Some(source)) = (layout(bytes, &shape, itemsize)?, layout(bytes, &shape, itemsize)?)
    else {
        return Ok(());
    };
    if target.internal_overlap(usize::MAX).is_possible() {
        return Ok(()); // an element at two indices may get either value
    }
    let seed = bytes.arbitrary::<u8>()?;
    MEMORY.with_borrow_mut(|memory| {
        let new = || UsmArray::zeros(&queue(), UsmKind::Shared, &[MEMORY_BYTES], Dtype::U8).unwrap();
        check(memory.get_or_insert_with(new), dtype, &target, &source, seed);
    });
    Ok(())
}

fn check(memory: &UsmArray, dtype: Dtype, target: &Layout, source: &Layout, seed: u8) {
    let itemsize = dtype.itemsize_bytes();
    // Bytes of truth are 0 and 1.
    let byte = |i: usize| {
        if dtype == Dtype::Bool { (i & 1) as u8 } else { (i as u8).wrapping_mul(31).wrapping_add(seed) }
    };
    let before: Vec<u8> = (0..MEMORY_BYTES).map(byte).collect();
    memory.buffer().copy_from_host(&before, 0).unwrap();
    let over =
        |layout: &Layout| UsmArray::from_parts(memory.buffer().clone(), dtype, layout.clone(), 0).unwrap();
    let (to, from) = (over(target), over(source));
    to.assign(&from).unwrap();
    let mut expected = before.clone();
    for (to, from) in target.offsets().zip(source.offsets()) {
        let [to, from] = [to, from].map(|place| place.unsigned_abs() * itemsize);
        expected[to..to + itemsize].copy_from_slice(&before[from..from + itemsize]);
    }
    let mut found = vec![0; MEMORY_BYTES];
    memory.buffer().copy_to_host(&mut found, 0).unwrap();
    assert!(found == expected, "{dtype} {target:?} = {source:?}");
}
