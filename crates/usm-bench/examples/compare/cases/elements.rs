//! Cases of criterion alone: loops over 10^7 elements of typed views, beside those of ndarray over the same memory.

use std::hint::black_box;

use ndarray::{ArrayView2, ArrayViewMut2};
use usm_array::{ArrayView, Dtype, SliceItem, UsmArray};

use super::copies::{HALF, filled, new};
use super::stage::{Case, Contender, OURS};

const ROWS: usize = 1_000;
const COLUMNS: usize = 10_000;
/// Each view has so many elements.
const COUNT: usize = ROWS * COLUMNS;

const PEER: &str = "ndarray";

/// The name of a layout, and an array of `ROWS` by `COLUMNS` elements that has it.
type Laid = (&'static str, fn() -> UsmArray);

/// The name of a loop, and those who run it over an array.
type Loop = (&'static str, fn(&UsmArray) -> Vec<Contender>);

fn layouts() -> [Laid; 4] {
    fn columns(items: SliceItem) -> UsmArray {
        filled(new(&[ROWS, 2 * COLUMNS], Dtype::F64)).slice(&[SliceItem::FULL, items]).unwrap()
    }
    let first = || columns(SliceItem::Slice { start: None, stop: Some(COLUMNS.cast_signed()), step: 1 });
    [
        ("contiguous", || filled(new(&[ROWS, COLUMNS], Dtype::F64))),
        ("a[:, :n/2]", first),
        ("a[:, ::2]", || columns(HALF)),
        ("a.T", || filled(new(&[COLUMNS, ROWS], Dtype::F64)).transpose()),
    ]
}

/// By a function of our view.
fn ours<T: 'static>(array: &UsmArray, call: fn(&ArrayView<'_, f64>) -> T) -> Contender {
    let array = array.clone();
    Contender::timed(OURS, move || call(black_box(&array.view().unwrap())))
}

/// By a function of a view of ndarray.
fn theirs<T: 'static>(name: &'static str, array: &UsmArray, call: fn(ArrayView2<'_, f64>) -> T) -> Contender {
    let array = array.clone();
    Contender::timed(name, move || {
        call(black_box(ArrayView2::try_from(&array.view::<f64>().unwrap()).unwrap()))
    })
}

fn sum(array: &UsmArray) -> Vec<Contender> {
    vec![
        ours(array, |view| view.iter().sum::<f64>()),
        theirs(PEER, array, |view| view.iter().sum::<f64>()),
        // In several sums at a time, which rounds differently.
        theirs("ndarray ArrayView::sum", array, |view| view.sum()),
    ]
}

fn map_in_place(array: &UsmArray) -> Vec<Contender> {
    let (ours, theirs) = (array.clone(), array.clone());
    vec![
        Contender::timed(OURS, move || black_box(ours.view_mut::<f64>().unwrap()).map_in_place(|x| 1.0 - x)),
        Contender::timed(PEER, move || {
            let mut view = theirs.view_mut::<f64>().unwrap();
            black_box(ArrayViewMut2::try_from(&mut view).unwrap()).mapv_inplace(|x| 1.0 - x);
        }),
    ]
}

fn to_vec(array: &UsmArray) -> Vec<Contender> {
    vec![
        ours(array, |view| view.to_vec().unwrap()),
        theirs(PEER, array, |view| view.iter().copied().collect::<Vec<_>>()),
        // In the order of the memory, which is another one for a transpose.
        theirs("ndarray to_owned", array, |view| view.to_owned().into_raw_vec_and_offset()),
    ]
}

/// Into memory that has been written before, so that no page is new.
fn copy_to_slice(array: &UsmArray) -> Vec<Contender> {
    let (mut own, mut their) = (vec![1.0; COUNT], vec![1.0; COUNT]);
    let (ours, theirs) = (array.clone(), array.clone());
    vec![
        Contender::timed(OURS, move || ours.view::<f64>().unwrap().copy_to_slice(&mut own).unwrap()),
        Contender::timed(PEER, move || {
            let mut target = ArrayViewMut2::from_shape((ROWS, COLUMNS), &mut their).unwrap();
            target.assign(&ArrayView2::try_from(&theirs.view::<f64>().unwrap()).unwrap());
        }),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    let loops: [Loop; 4] =
        [("sum", sum), ("map_in_place", map_in_place), ("to_vec", to_vec), ("copy_to_slice", copy_to_slice)];
    let of_loop = |(name, loops): Loop| {
        layouts().map(|(layout, array)| {
            let case = Case::new(format!("elements/{name} of 1e7 f8, {layout}"), move || loops(&array()));
            Case { bytes: COUNT * size_of::<f64>(), ..case }
        })
    };
    loops.into_iter().flat_map(of_loop).collect()
}
