//! Views of views, typed access under borrow guards, and read-only arrays

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;
use common::{places, queues};
use usm_array::usm_core::{Context, UsmKind};
use usm_array::usm_memory;
use usm_array::{Bool8, Dtype, Error, LayoutError, SliceItem, UsmArray};

fn step(step: isize) -> SliceItem {
    SliceItem::Slice { start: None, stop: None, step }
}

#[test]
fn views_of_views_share_the_memory() {
    for (queue, kind) in places() {
        let numbers: Vec<i32> = (0..24).collect();
        let array = UsmArray::from_slice(&queue, kind, &[2, 3, 4], &numbers).unwrap();
        // array[:, ::-1, 1][::-1].T
        let view = array
            .slice(&[SliceItem::FULL, step(-1), SliceItem::Index(1)])
            .unwrap()
            .slice(&[step(-1)])
            .unwrap()
            .transpose();
        assert_eq!(view.shape(), [3, 2]);
        assert_eq!(view.to_vec::<i32>().unwrap(), [21, 9, 17, 5, 13, 1]);
        assert!(view.buffer().same_allocation(array.buffer()));
        assert_eq!(view.address(), array.address() + 21 * 4);

        view.slice(&[SliceItem::Index(0), SliceItem::Index(1)]).unwrap().fill(-1_i32).unwrap();
        assert_eq!(array.to_vec::<i32>().unwrap()[9], -1);

        let permuted = array.permute(&[2, 0, 1]).unwrap();
        assert_eq!(permuted.shape(), [4, 2, 3]);
        assert_eq!(permuted.to_vec::<i32>().unwrap()[..6], [0, 4, 8, 12, 16, 20]);
        drop(array);
        assert_eq!(view.to_vec::<i32>().unwrap(), [21, -1, 17, 5, 13, 1], "kept alive by the view");
    }
}

#[test]
fn views_in_boxes_are_the_same() {
    for (queue, kind) in places() {
        let array = UsmArray::zeros(&queue, kind, &[2, 3, 4], Dtype::I16).unwrap();
        let same = |boxed: &UsmArray, view: &UsmArray| {
            let place = |one: &UsmArray| (one.shape().to_vec(), one.strides().to_vec(), one.address());
            assert_eq!(place(boxed), place(view));
            assert!(boxed.buffer().same_allocation(array.buffer()));
        };
        same(&array.transpose_boxed(), &array.transpose());
        let items = [SliceItem::Index(1), SliceItem::NewAxis, SliceItem::Ellipsis, step(-2)];
        same(&array.slice_boxed(&items).unwrap(), &array.slice(&items).unwrap());
        same(
            &array.slice_boxed(&[SliceItem::Index(-1)]).unwrap(),
            &array.slice(&[SliceItem::Index(1)]).unwrap(),
        );
        for wrong in
            [&[SliceItem::Index(2)][..], &[step(0)], &[SliceItem::Index(0); 4], &[SliceItem::Ellipsis; 2]]
        {
            let (boxed, view) = (array.slice_boxed(wrong).unwrap_err(), array.slice(wrong).unwrap_err());
            assert_eq!(boxed.to_string(), view.to_string());
        }
    }
}

#[test]
fn read_only_survives_every_view() {
    for (queue, kind) in places() {
        let array = UsmArray::zeros(&queue, kind, &[2, 1], Dtype::U8).unwrap();
        assert!(array.is_writable() && !array.interface().unwrap().read_only);
        let locked = array.read_only();
        let views = [
            locked.clone(),
            locked.slice(&[step(-1)]).unwrap(),
            *locked.slice_boxed(&[step(-1)]).unwrap(),
            locked.transpose(),
            *locked.transpose_boxed(),
            locked.permute(&[1, 0]).unwrap(),
            locked.broadcast_to(&[2, 5]).unwrap(),
            locked.read_only().slice(&[SliceItem::Index(0)]).unwrap().transpose(),
            array.broadcast_to(&[4, 2, 3]).unwrap(),
            UsmArray::builder(&[2], Dtype::U8).build(usm_array::BufferSource::SharedWith(&locked)).unwrap(),
        ];
        for view in views {
            assert!(!view.is_writable() && view.interface().unwrap().read_only);
            assert!(matches!(view.fill(1_u8), Err(Error::ReadOnly)));
            assert!(matches!(view.fill_zero(), Err(Error::ReadOnly)));
            assert!(matches!(view.assign(&view), Err(Error::ReadOnly)));
            let bytes = vec![0; view.size_bytes()];
            assert!(matches!(view.copy_from_host_contiguous(&bytes), Err(Error::ReadOnly)));
            assert!(matches!(view.view_mut::<u8>(), Err(Error::ReadOnly)));
            assert!(matches!(view.buffer().fill(&[1]), Err(usm_memory::Error::ReadOnly)));
            assert!(view.copy().unwrap().is_writable(), "a copy is new memory");
        }
        assert!(array.is_writable(), "the array itself is as before");
        assert_eq!(array.to_vec::<u8>().unwrap(), [0, 0]);
    }
}

#[test]
fn host_code_gets_no_view_of_device_memory() {
    for queue in queues() {
        let array = UsmArray::zeros(&queue, UsmKind::Device, &[2], Dtype::F32).unwrap();
        let kind = UsmKind::Device;
        assert!(matches!(array.view::<f32>(), Err(Error::NotHostAccessible { kind: k }) if k == kind));
        assert!(matches!(array.view_mut::<f32>(), Err(Error::NotHostAccessible { kind: k }) if k == kind));
    }
}

#[test]
fn the_dtype_is_checked() {
    for (queue, kind) in places() {
        let array = UsmArray::zeros(&queue, kind, &[2], Dtype::F32).unwrap();
        let mismatch =
            |e: Error| matches!(e, Error::DtypeMismatch { found: Dtype::F32, expected: Dtype::I32 });
        assert!(mismatch(array.to_vec::<i32>().unwrap_err()));
        assert!(mismatch(array.fill(1_i32).unwrap_err()));
        assert!(mismatch(array.view::<i32>().unwrap_err()));
        assert!(mismatch(array.view_mut::<i32>().unwrap_err()));
        let other = UsmArray::zeros(&queue, kind, &[2], Dtype::I32).unwrap();
        let refused = other.assign(&array).unwrap_err();
        assert!(matches!(refused, Error::SourceDtype { found: Dtype::F32, expected: Dtype::I32 }));
        assert!(refused.to_string().contains("`assign_cast` converts"));
    }
}

#[test]
fn guards_cover_the_elements_and_conflict_at_run_time() {
    for (queue, kind) in places().into_iter().filter(|(_, kind)| kind.is_host_accessible()) {
        let array = UsmArray::zeros(&queue, kind, &[4, 2], Dtype::I64).unwrap();
        let top = array.slice(&[SliceItem::Slice { start: None, stop: Some(2), step: 1 }]).unwrap();
        let bottom = array.slice(&[SliceItem::Slice { start: Some(2), stop: None, step: -1 }]).unwrap();
        let last = array.slice(&[SliceItem::Index(3)]).unwrap();

        let mut writing = top.view_mut::<i64>().unwrap();
        let conflict = |e: Error| matches!(e, Error::Memory(usm_memory::Error::BorrowConflict { .. }));
        assert!(conflict(array.view::<i64>().unwrap_err()));
        assert!(conflict(bottom.view_mut::<i64>().unwrap_err()), "overlaps in rows 0 and 1");
        assert!(conflict(array.to_vec::<i64>().unwrap_err()));
        assert!(conflict(array.transpose().to_vec::<i64>().unwrap_err()));
        assert!(conflict(array.fill_zero().unwrap_err()));
        let mut beside = last.view_mut::<i64>().unwrap();
        beside.set(&[1], 8).unwrap();
        writing.set(&[1, 0], 5).unwrap();
        writing.map_in_place(|value| value + 1);
        assert_eq!((writing.get(&[1, 0]).unwrap(), writing.shape()), (6, &[2, 2][..]));
        assert_eq!(writing.iter().collect::<Vec<_>>(), [1, 1, 6, 1]);
        drop((writing, beside));

        let (first, second) = (array.view::<i64>().unwrap(), array.view::<i64>().unwrap());
        assert_eq!(first.to_vec().unwrap(), second.to_vec().unwrap());
        assert_eq!(first.to_vec().unwrap(), [1, 1, 6, 1, 0, 0, 0, 8]);
        assert!(conflict(array.fill_zero().unwrap_err()));
        drop((first, second));
        array.fill_zero().unwrap();
    }
}

#[test]
fn an_index_outside_is_refused() {
    let queue = &queues()[0];
    let array = UsmArray::zeros(queue, UsmKind::Shared, &[2, 3], Dtype::U8).unwrap();
    let mut view = array.view_mut::<u8>().unwrap();
    for index in [&[2, 0][..], &[0, 3], &[0], &[0, 0, 0]] {
        assert!(matches!(view.get(index), Err(Error::Layout(_))));
        assert!(matches!(view.set(index, 1), Err(Error::Layout(_))));
    }
    drop(view);
    assert!(matches!(
        array.slice(&[SliceItem::Index(0), SliceItem::Index(-4)]),
        Err(Error::Layout(LayoutError::IndexOutOfBounds { axis: 1, index: -4, size: 3 }))
    ));
    assert_eq!(array.to_vec::<u8>().unwrap(), [0; 6]);
}

#[test]
fn any_byte_is_a_boolean() {
    for (queue, kind) in places() {
        let bytes = UsmArray::from_slice(&queue, kind, &[4], &[0_u8, 1, 2, 255]).unwrap();
        let booleans =
            UsmArray::from_parts(bytes.buffer().clone(), Dtype::Bool, bytes.layout().clone(), 0).unwrap();
        let values: Vec<bool> = booleans.to_vec::<Bool8>().unwrap().into_iter().map(bool::from).collect();
        assert_eq!(values, [false, true, true, true]);
    }
}

#[test]
fn stride_zero_repeats() {
    for (queue, kind) in places() {
        let row = UsmArray::from_slice(&queue, kind, &[2], &[1.5_f64, 2.5]).unwrap();
        let repeated = row.broadcast_to(&[3, 2]).unwrap();
        assert_eq!(repeated.strides(), [0, 1]);
        assert_eq!(repeated.to_vec::<f64>().unwrap(), [1.5, 2.5, 1.5, 2.5, 1.5, 2.5]);
        assert!(matches!(row.broadcast_to(&[3]), Err(Error::Layout(_))));
        assert!(matches!(row.broadcast_to(&[1 << 60, 2]), Err(Error::TooManyBytes { .. })));
    }
}

#[test]
fn another_queue_of_the_context_and_no_other() {
    for queue in queues() {
        let array = UsmArray::from_slice(&queue, UsmKind::Device, &[2], &[1_u8, 2]).unwrap().read_only();
        let other = queue.context().create_queue(queue.device(), Default::default()).unwrap();
        let there = array.on_queue(&other).unwrap();
        assert!(*there.queue() == other && there.address() == array.address() && !there.is_writable());
        assert_eq!(there.to_vec::<u8>().unwrap(), [1, 2]);
        let elsewhere = Context::new(&[queue.device().clone()]).unwrap();
        let elsewhere = elsewhere.create_queue(queue.device(), Default::default()).unwrap();
        assert!(matches!(array.on_queue(&elsewhere), Err(Error::Memory(_))));
    }
}
