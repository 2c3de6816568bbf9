//! Views of up to six axes cost no heap allocation

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use test_stacks as _;

use std::alloc::{GlobalAlloc, Layout as MemoryLayout, System};
use std::cell::Cell;
use std::hint::black_box;

use usm_array::usm_core::{Runtime, UsmKind};
use usm_array::usm_memory::{self, Operand};
use usm_array::{Dtype, Order, SliceItem, UsmArray};

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator with the caller's arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: MemoryLayout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: MemoryLayout) {
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations<T>(view: impl FnOnce() -> T) -> usize {
    let before = ALLOCATIONS.with(Cell::get);
    black_box(view());
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn views_of_three_axes_allocate_nothing() {
    let runtime = Runtime::global();
    let queue = runtime.default_queue(runtime.host_device()).unwrap();
    let array = UsmArray::zeros(&queue, UsmKind::Shared, &[4, 5, 6], Dtype::F32).unwrap();
    let step = |step| SliceItem::Slice { start: None, stop: None, step };
    let items = [step(-1), SliceItem::Slice { start: Some(1), stop: Some(-1), step: 1 }, step(2)];
    assert_eq!(allocations(|| vec![1_u8]), 1, "allocations are counted");
    let typed = array.view::<f32>().unwrap();
    for (view, count) in [
        ("slice", allocations(|| array.slice(&items).unwrap())),
        ("index", allocations(|| array.slice(&[SliceItem::Index(1), SliceItem::NewAxis]).unwrap())),
        ("transpose", allocations(|| array.transpose())),
        ("permute", allocations(|| array.permute(&[2, 0, -2]).unwrap())),
        ("moveaxis", allocations(|| array.moveaxis(&[0], &[-1]).unwrap())),
        ("expand_dims", allocations(|| array.expand_dims(&[0, -1]).unwrap())),
        ("squeeze", allocations(|| array.squeeze(None).unwrap())),
        ("flip", allocations(|| array.flip(None).unwrap())),
        ("rot90", allocations(|| array.rot90(1, [0, 1]).unwrap())),
        ("reshape_view", allocations(|| array.reshape_view(&[2, 2, -1], Order::C).unwrap())),
        ("broadcast_to", allocations(|| array.broadcast_to(&[2, 4, 5, 6]).unwrap())),
        ("sliding_window_view", allocations(|| array.sliding_window_view(&[2, 2, 2], None).unwrap())),
        ("diagonal", allocations(|| array.diagonal(1, 0, 2).unwrap())),
        ("as_strided", allocations(|| array.as_strided(&[3], &[7], 1).unwrap())),
        ("reinterpret", allocations(|| array.reinterpret(Dtype::U16).unwrap())),
        ("slice of a view", allocations(|| typed.slice(&items).unwrap())),
        (
            "places along an axis",
            allocations(|| typed.axis_iter(1).unwrap().map(|part| part.iter().count()).sum::<usize>()),
        ),
        ("lanes", allocations(|| typed.lanes(0).unwrap().map(|lane| lane.iter().count()).sum::<usize>())),
        ("indices", allocations(|| typed.indexed_iter().map(|(index, _)| index[2]).sum::<usize>())),
        ("get_scalar", allocations(|| array.get_scalar(&[1, 2, -3]).unwrap())),
        ("unstack", allocations(|| array.unstack(1).unwrap().count())),
    ] {
        assert_eq!(count, 0, "{view}");
    }
    assert_eq!(allocations(|| array.slice_boxed(&items).unwrap()), 1, "the box");
    let over = || usm_array::BufferSource::Existing(array.buffer().clone());
    let builder = || UsmArray::builder(&[2, 3], Dtype::F32);
    assert_eq!(allocations(|| builder().build(over()).unwrap()), 0);
    assert_eq!(allocations(|| builder().build_boxed(over()).unwrap()), 1, "the box");
}

#[test]
fn to_submit_an_operation_again_on_an_in_order_queue_allocates_nothing() {
    let runtime = Runtime::global();
    let queue = runtime.default_queue(runtime.host_device()).unwrap();
    let [a, b] = [0; 2].map(|_| UsmArray::zeros(&queue, UsmKind::Device, &[64], Dtype::F32).unwrap());
    queue.wait().unwrap();
    // What the queue itself allocates is its own.
    let event = queue.barrier(&[]).unwrap();
    let submit = || {
        let operand = |array, writes| Operand::new(UsmArray::buffer(array), 0..256, writes);
        let operands = [operand(&a, true), operand(&b, false)];
        // SAFETY: nothing is submitted.
        unsafe { usm_memory::submit(&queue, &operands, |_, _| Ok(event.clone())) }.unwrap();
    };
    submit();
    assert_eq!(allocations(submit), 0);
}
