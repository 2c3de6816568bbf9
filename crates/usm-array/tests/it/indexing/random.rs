//! Random indices of random arrays against brute force, read and written, with index arrays in any memory

use proptest::prelude::*;
use usm_array::usm_core::{Queue, UsmKind};
use usm_array::{CopyMode, Dtype, IndexItem, SliceItem, UsmArray};

use super::reference::pick;
use super::{Item, PLACES, config, counting, integers, place};
use crate::common::indices;

/// A small generator: what it makes depends on the seed only.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn shape(&mut self, most: usize) -> Vec<usize> {
        (0..self.below(most + 1))
            .map(|_| self.pick(&[0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5]))
            .collect()
    }
}

/// An array of up to 5 axes with gaps, backwards, in any order; its elements are their places in the whole array, which comes too.
fn strided(dice: &mut Dice, place: &(Queue, UsmKind), dtype: Dtype) -> (UsmArray, UsmArray) {
    let sizes = dice.shape(5);
    let axes: Vec<(usize, isize, usize)> =
        sizes.iter().map(|&n| (n, dice.pick(&[1, 1, 2, -1, -2]), dice.pick(&[0, 0, 1]))).collect();
    let outer: Vec<usize> =
        axes.iter().map(|&(n, step, skip)| n.saturating_sub(1) * step.unsigned_abs() + 1 + skip).collect();
    let whole = counting(place, &outer, dtype);
    let items: Vec<SliceItem> = axes
        .iter()
        .map(|&(n, step, _)| match (n, step) {
            (0, _) => SliceItem::Slice { start: None, stop: Some(0), step: 1 },
            (n, step) if step > 0 => {
                SliceItem::Slice { start: Some(0), stop: Some((n as isize - 1) * step + 1), step }
            }
            (n, step) => SliceItem::Slice { start: Some((1 - n as isize) * step), stop: None, step },
        })
        .collect();
    let mut order: Vec<isize> = (0..axes.len() as isize).collect();
    for i in (1..order.len()).rev() {
        if dice.chance(30) {
            order.swap(i, dice.below(i + 1));
        }
    }
    let array = whole.slice(&items).unwrap().permute(&order).unwrap();
    (whole, array)
}

/// An index of a shape, in few cases one that must be refused. Up to 3 arrays that broadcast to a common shape.
fn items(dice: &mut Dice, shape: &[usize]) -> Vec<Item> {
    // Beside masks, whose number of trues is anything, integers broadcast to everything.
    let masked = dice.chance(40);
    let common = if masked { vec![1; dice.below(2)] } else { dice.shape(2) };
    let mut items = vec![];
    let (mut axis, mut arrays, mut has_ellipsis) = (0, 0, false);
    loop {
        match dice.below(12) {
            0 => items.push(Item::Basic(SliceItem::NewAxis)),
            1 if !has_ellipsis => {
                items.push(Item::Basic(SliceItem::Ellipsis));
                has_ellipsis = true;
                axis += dice.below(shape.len() - axis + 1);
            }
            2 if dice.chance(20) => items.push(Item::Mask { shape: vec![], values: vec![dice.chance(70)] }),
            _ if axis == shape.len() => break,
            3 if shape[axis] > 0 => {
                let n = shape[axis];
                let index = dice.below(2 * n) as isize - n as isize;
                items.push(Item::Basic(SliceItem::Index(index + isize::from(dice.chance(2)) * 9)));
                axis += 1;
            }
            4 | 5 => {
                let mut bound = || dice.chance(60).then(|| dice.below(13) as isize - 6);
                let (start, stop) = (bound(), bound());
                items.push(Item::Basic(SliceItem::Slice {
                    start,
                    stop,
                    step: dice.pick(&[1, 1, 2, -1, -3]),
                }));
                axis += 1;
            }
            6 | 7 if masked && arrays < 3 => {
                let most = (shape.len() - axis).min(3);
                let mut of = shape[axis..axis + 1 + dice.below(most)].to_vec();
                axis += of.len();
                if dice.chance(2) {
                    of[0] += 1;
                }
                let percent = dice.pick(&[0, 30, 100]);
                let values = (0..of.iter().product()).map(|_| dice.chance(percent)).collect();
                items.push(Item::Mask { shape: of, values });
                arrays += 1;
            }
            7..=9 if arrays < 3 && (shape[axis] > 0 || common.contains(&0)) => {
                let missing = dice.below(common.len() + 1) * usize::from(dice.chance(30));
                let of: Vec<usize> =
                    common[missing..].iter().map(|&n| if dice.chance(20) { 1 } else { n }).collect();
                let n = shape[axis] as i64;
                let count: usize = of.iter().product();
                let values =
                    (0..count).map(|_| if n == 0 { 0 } else { dice.below(2 * n as usize) as i64 - n });
                let mut values: Vec<i64> = values.collect();
                if count > 0 && dice.chance(3) {
                    values[count - 1] = n;
                }
                items.push(Item::Integers { shape: of, values });
                axis += 1;
                arrays += 1;
            }
            10 | 11 if dice.chance(20) => break,
            _ => {
                items.push(Item::Basic(SliceItem::FULL));
                axis += 1;
            }
        }
    }
    items
}

/// The items as host slices, or as arrays in any memory and integer dtype.
fn in_memory(dice: &mut Dice, items: &[Item]) -> Vec<Option<UsmArray>> {
    let signed = [Dtype::I8, Dtype::I16, Dtype::I32, Dtype::I64];
    let unsigned = [Dtype::U8, Dtype::U16, Dtype::U32, Dtype::U64];
    let array = |item: &Item| {
        let negative = matches!(item, Item::Integers { values, .. } if values.iter().any(|&value| value < 0));
        let dtype = if negative || dice.chance(50) { dice.pick(&signed) } else { dice.pick(&unsigned) };
        let place = &PLACES[dice.below(PLACES.len())];
        // Not every index array is contiguous.
        let reverse = |array: UsmArray| array.transpose().copy().unwrap().transpose();
        dice.chance(60).then(|| item.array(place, dtype).map(reverse)).flatten()
    };
    items.iter().map(array).collect()
}

fn index<'a>(items: &'a [Item], arrays: &'a [Option<UsmArray>]) -> Vec<IndexItem<'a>> {
    let one = |(item, array): (&'a Item, &'a Option<UsmArray>)| match array {
        Some(array) => array.into(),
        None => item.on_host(),
    };
    items.iter().zip(arrays).map(one).collect()
}

fn flat(index: &[usize], shape: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |flat, (&i, &n)| flat * n + i)
}

const DTYPES: [Dtype; 5] = [Dtype::I8, Dtype::U16, Dtype::F32, Dtype::I64, Dtype::C128];

proptest! {
    #![proptest_config(config())]

    #[test]
    fn reading_equals_brute_force(seed in any::<u64>(), place in place()) {
        let dice = &mut Dice(seed);
        let dtype = dice.pick(&DTYPES);
        let (_, array) = strided(dice, &place, dtype);
        let items = items(dice, array.shape());
        let arrays = in_memory(dice, &items);
        let found = array.get_index(&index(&items, &arrays));
        let Some((shape, sources)) = pick(array.shape(), &items) else {
            prop_assert!(found.is_err(), "{:?} of {:?}", items, array.shape());
            return Ok(());
        };
        let found = found.map_err(|error| TestCaseError::fail(format!("{error} {items:?} {:?}", array.shape())))?;
        let elements = integers(&array);
        let expected: Vec<i64> = sources.iter().map(|source| elements[flat(source, array.shape())]).collect();
        prop_assert_eq!(found.shape(), &shape[..], "{:?} of {:?}", items, array.shape());
        prop_assert_eq!(integers(&found), expected, "{:?} of {:?}", items, array.shape());
        prop_assert_eq!((found.dtype(), found.kind()), (dtype, place.1));
        let is_view = items.iter().all(|item| matches!(item, Item::Basic(_)));
        prop_assert_eq!(found.buffer().same_allocation(array.buffer()), is_view);
    }

    #[test]
    fn writing_equals_brute_force(seed in any::<u64>(), place in place(), from in place()) {
        let dice = &mut Dice(seed);
        let dtype = dice.pick(&DTYPES);
        let (whole, array) = strided(dice, &place, dtype);
        let items = items(dice, array.shape());
        let arrays = in_memory(dice, &items);
        let before = integers(&whole);
        let Some((shape, sources)) = pick(array.shape(), &items) else {
            let value = counting(&from, &[], dtype);
            let written = array.set_index(&index(&items, &arrays), &value);
            prop_assert!(written.is_err(), "{:?} of {:?}", items, array.shape());
            prop_assert_eq!(integers(&whole), before);
            return Ok(());
        };
        // Values of any dtype, some axes missing or of size 1.
        let missing = dice.below(shape.len() + 1) * usize::from(dice.chance(30));
        let of: Vec<usize> = shape[missing..].iter().map(|&n| if dice.chance(20) { 1 } else { n }).collect();
        let values = counting(&from, &of, dice.pick(&DTYPES));
        let values_before = integers(&values);
        let values_in_dtype = integers(&values.astype(dtype, CopyMode::Always).unwrap());
        let mut expected = before;
        for (place, source) in indices(&shape).iter().zip(&sources) {
            let at: Vec<usize> =
                place[missing..].iter().zip(&of).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
            expected[whole_place(&whole, &array, source)] = values_in_dtype[flat(&at, &of)];
        }
        array.set_index(&index(&items, &arrays), &values).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(integers(&whole), expected, "{:?} of {:?}", items, array.shape());
        prop_assert_eq!(integers(&values), values_before);
    }
}

/// Where an element of a view is in the contiguous array it is of.
fn whole_place(whole: &UsmArray, array: &UsmArray, index: &[usize]) -> usize {
    (array.layout().offset_of(index).unwrap() - whole.offset()) as usize
}
