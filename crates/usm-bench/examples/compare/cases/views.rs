//! Cases of criterion alone: views, some beside those of ndarray with a dynamic number of dimensions; the interface; overlaps.

use std::hint::black_box;

use ndarray::{ArcArray, ArrayD, IxDyn, SliceInfo, SliceInfoElem};
use usm_array::{Dtype, Layout, Order, Overlap, SliceItem, StridedBytes, UsmArray};

use super::copies::{BACK, HALF, TRIM, new};
use super::stage::{Case, Contender, OURS};

const SHAPE: [usize; 3] = [64, 65, 66];

/// What is made of an array once, and a call with it.
fn case<M: 'static, T: 'static>(name: &str, make: fn(UsmArray) -> M, call: fn(&M) -> T) -> Case {
    Case::new(format!("views/{name}"), move || {
        let made = make(new(&SHAPE, Dtype::F64));
        vec![Contender::timed(OURS, move || call(black_box(&made)))]
    })
}

fn slice_of_three_axes() -> Vec<Contender> {
    let (array, items) = (new(&SHAPE, Dtype::F64), [BACK, TRIM, HALF]);
    let layout = array.layout().clone();
    let theirs = [(0, None, -1), (1, Some(-1), 1), (0, None, 2)];
    let theirs = theirs.map(|(start, end, step)| SliceInfoElem::Slice { start, end, step });
    let info = SliceInfo::<_, IxDyn, IxDyn>::try_from(theirs.to_vec()).unwrap();
    let (info_of_shared, owned) = (info.clone(), ArrayD::<f64>::zeros(IxDyn(&SHAPE)));
    let shared: ArcArray<f64, IxDyn> = owned.to_shared();
    vec![
        Contender::timed("Layout::slice", move || black_box(&layout).slice(black_box(&items)).unwrap()),
        Contender::timed(OURS, move || black_box(&array).slice(black_box(&items)).unwrap()),
        Contender::timed("ndarray ArrayViewD::slice", move || {
            drop(black_box(owned.view().slice(black_box(info.as_ref()))));
        }),
        Contender::timed("ndarray ArcArray::slice_move", move || {
            black_box(&shared).clone().slice_move(black_box(info_of_shared.as_ref()))
        }),
    ]
}

fn layout(shape: &[usize], strides: &[isize]) -> Layout {
    Layout::new(shape, Some(strides), 0, Order::C).unwrap()
}

fn halves(_: UsmArray) -> [Layout; 2] {
    let even = layout(&SHAPE, &[65 * 132, 132, 2]);
    [even.with_offset(1).unwrap(), even]
}

fn hardest(_: UsmArray) -> Layout {
    let strides: Vec<isize> = (0..20).map(|k: isize| (1 << 40) + k * k * k * 7919 + 14 * k).collect();
    layout(&[3; 20], &strides)
}

pub(crate) fn cases() -> Vec<Case> {
    let row = |a: UsmArray| a.slice(&[SliceItem::Index(0), SliceItem::Index(0)]).unwrap();
    vec![
        Case::new("views/a[::-1, 1:-1, ::2], 3 axes", slice_of_three_axes),
        case("a[::-1]", |a| a, |a| a.slice(black_box(&[BACK])).unwrap()),
        case("a[3]", |a| a, |a| a.slice(black_box(&[SliceItem::Index(3)])).unwrap()),
        case("a.T", |a| a, UsmArray::transpose),
        case("reshape_view", |a| a, |a| a.reshape_view(black_box(&[8, 8, -1]), Order::C).unwrap()),
        case("permute", |a| a, |a| a.permute(black_box(&[2, 0, 1])).unwrap()),
        case("broadcast_to", row, |row| row.broadcast_to(black_box(&SHAPE)).unwrap()),
        case("expand_dims", |a| a, |a| a.expand_dims(black_box(&[0])).unwrap()),
        case("flip", |a| a, |a| a.flip(black_box(None)).unwrap()),
        case("interface", |a| a, |a| a.interface().unwrap()),
        case("validate", |a| (a.interface().unwrap(), a), |(interface, _)| interface.validate().unwrap()),
        case("overlap of a[..., ::2] and a[..., 1::2]", halves, |layouts| {
            let [odd, even] =
                layouts.each_ref().map(|layout| StridedBytes { layout, itemsize_bytes: 8, address: 0 });
            Overlap::between(even, odd, Overlap::DEFAULT_WORK_LIMIT)
        }),
        case("internal overlap, hardest up to the limit", hardest, |hard| {
            hard.internal_overlap(Overlap::DEFAULT_WORK_LIMIT)
        }),
    ]
}
