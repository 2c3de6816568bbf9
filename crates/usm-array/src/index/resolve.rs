//! From index items to a plan: which axes they pick from, and where the picked places go in the result

use std::ops::Range;

use super::read::IndexArray;
use super::{IndexItem, IndexMode, Plan};
use crate::array::UsmArray;
use crate::error::{IndexError, Result};
use crate::layout::{Axes, Layout, LayoutError, Order, SliceItem, broadcast_shapes};
use crate::view::with_capacity;

/// The meaning of index items.
pub(super) enum Resolved<'a> {
    /// Basic items only, as a view.
    View(Vec<SliceItem>),
    Picked(Picks<'a>),
}

/// Index arrays and the axes that each picks from; nothing has been read.
pub(super) struct Picks<'a> {
    /// Each with its axes of the array.
    pub(super) arrays: Vec<(IndexArray<'a>, Range<usize>)>,
    /// A slice of the array in which axes that are picked from are whole.
    pub(super) items: Vec<SliceItem>,
    /// For each axis of that slice: whether it stays one of the result.
    stays: Vec<bool>,
    /// Axes of the result before those of the arrays.
    before: usize,
}

/// Checks the items of an index of an array, without the elements of index arrays.
pub(super) fn resolve<'a>(array: &UsmArray, items: &[IndexItem<'a>]) -> Result<Resolved<'a>> {
    let basic: Option<Vec<SliceItem>> =
        items.iter().map(|item| if let IndexItem::Basic(item) = item { Some(*item) } else { None }).collect();
    if let Some(basic) = basic {
        return Ok(Resolved::View(basic));
    }
    let arrays: Vec<Option<IndexArray<'a>>> = items
        .iter()
        // An integer beside arrays counts as an array without axes; it is left to the slice, whose errors name it.
        .map(|item| if let IndexItem::Basic(_) = item { Ok(None) } else { IndexArray::new(item) })
        .collect::<Result<_>>()?;
    let unnamed = unnamed_axes(array.ndim(), items, &arrays)?;
    let mut picker = Picker::new(array.shape());
    for (item, array) in items.iter().zip(arrays) {
        match (item, array) {
            (_, Some(array)) if array.is_mask() => picker.mask(array)?,
            (_, Some(array)) => picker.pick_by(array, 1),
            (IndexItem::Basic(SliceItem::Ellipsis), None) => picker.whole(unnamed),
            (IndexItem::Basic(item), None) => picker.basic(*item),
            _ => {} // there is an array for all but basic items
        }
    }
    if !items.iter().any(|item| matches!(item, IndexItem::Basic(SliceItem::Ellipsis))) {
        picker.whole(unnamed);
    }
    Ok(Resolved::Picked(picker.finish()))
}

/// Axes that no item names.
fn unnamed_axes(ndim: usize, items: &[IndexItem<'_>], arrays: &[Option<IndexArray<'_>>]) -> Result<usize> {
    let (mut found, mut ellipses) = (0, 0);
    for (item, array) in items.iter().zip(arrays) {
        found += match (item, array) {
            (_, Some(array)) if array.is_mask() => array.shape.len(),
            (_, Some(_)) | (IndexItem::Basic(SliceItem::Index(_) | SliceItem::Slice { .. }), _) => 1,
            _ => 0,
        };
        ellipses += usize::from(matches!(item, IndexItem::Basic(SliceItem::Ellipsis)));
    }
    if ellipses > 1 {
        return Err(LayoutError::RepeatedEllipsis { found: ellipses }.into());
    }
    Ok(ndim.checked_sub(found).ok_or(LayoutError::TooManyIndices { ndim, found })?)
}

/// Picks from the axes of a shape, one item after the other.
struct Picker<'s, 'a> {
    shape: &'s [usize],
    /// The next axis of the shape.
    axis: usize,
    items: Vec<SliceItem>,
    stays: Vec<bool>,
    arrays: Vec<(IndexArray<'a>, Range<usize>)>,
    /// Axes of the result before the first array, or integer.
    before: Option<usize>,
    /// Whether something stands between arrays and integers: NumPy then puts the picked places first.
    separated: bool,
    /// Whether the last item was no array and no integer.
    interrupted: bool,
}

impl<'s, 'a> Picker<'s, 'a> {
    fn new(shape: &'s [usize]) -> Self {
        let (items, stays, arrays) = (vec![], vec![], vec![]);
        Self { shape, axis: 0, items, stays, arrays, before: None, separated: false, interrupted: false }
    }

    fn whole(&mut self, axes: usize) {
        self.items.extend(vec![SliceItem::FULL; axes]);
        self.stays.extend(vec![true; axes]);
        self.axis += axes;
        self.interrupted = true;
    }

    fn basic(&mut self, item: SliceItem) {
        self.items.push(item);
        match item {
            SliceItem::Index(_) => self.pick(),
            _ => {
                self.stays.push(true);
                self.interrupted = true;
            }
        }
        self.axis += usize::from(item != SliceItem::NewAxis);
    }

    fn mask(&mut self, array: IndexArray<'a>) -> Result<()> {
        let axes = self.axis..self.axis + array.shape.len();
        let sizes = self.shape[axes.clone()].iter().zip(&array.shape);
        let mut is_whole = true;
        for (axis, (&size, &found)) in axes.clone().zip(sizes) {
            is_whole &= size == found;
            if size != found && found != 0 {
                return Err(IndexError::MaskSize { axis, found, size }.into());
            }
        }
        if is_whole {
            self.pick_by(array, axes.len());
            return Ok(());
        }
        // As in NumPy, a mask without elements picks nothing of axes of any size.
        for _ in axes {
            if let Some(nothing) = IndexArray::new(&IndexItem::Integers { values: &[], shape: None })? {
                self.pick_by(nothing, 1);
            }
        }
        Ok(())
    }

    fn pick_by(&mut self, array: IndexArray<'a>, axes: usize) {
        self.arrays.push((array, self.axis..self.axis + axes));
        self.items.extend(vec![SliceItem::FULL; axes]);
        self.stays.extend(vec![false; axes]);
        self.axis += axes;
        self.pick();
    }

    fn pick(&mut self) {
        if self.before.is_none() {
            self.before = Some(self.stays.iter().filter(|&&stays| stays).count());
        } else {
            self.separated |= self.interrupted;
        }
        self.interrupted = false;
    }

    fn finish(self) -> Picks<'a> {
        let before = if self.separated { 0 } else { self.before.unwrap_or(0) };
        Picks { arrays: self.arrays, items: self.items, stays: self.stays, before }
    }
}

/// The shape that index arrays broadcast to.
pub(super) fn common_shape(shapes: &[&[usize]]) -> Result<Vec<usize>> {
    Ok(broadcast_shapes(shapes).map_err(|source| IndexError::ArrayShapes { source })?)
}

/// Sizes and strides of some axes.
pub(super) type Sides = (Axes<usize>, Axes<isize>);

impl Picks<'_> {
    /// Reads the index arrays, and checks them.
    pub(super) fn plan(&self, array: &UsmArray) -> Result<Plan> {
        let layout = array.layout_from_lowest()?;
        let read = self.arrays.iter().map(|(index, axes)| index.picked(&layout, axes));
        let mut picks: Vec<(Vec<usize>, Vec<isize>)> = read.collect::<Result<_>>()?;
        let rest = layout.slice(&self.items)?;
        let shapes: Vec<&[usize]> = picks.iter().map(|(shape, _)| &shape[..]).collect();
        let shape = common_shape(&shapes)?;
        let size = shape.iter().product();
        // The displacements of one of them are the sums, if there are as many.
        let mut picked = match picks.iter().position(|(of, _)| *of == shape) {
            Some(first) => picks.swap_remove(first).1,
            None => {
                let mut zeros = with_capacity(size)?;
                zeros.resize(size, 0);
                zeros
            }
        };
        if rest.offset() != 0 {
            picked.iter_mut().for_each(|sum| *sum += rest.offset());
        }
        for (of, steps) in &picks {
            if *of == shape {
                picked.iter_mut().zip(steps).for_each(|(sum, step)| *sum += step);
            } else {
                let places = Layout::contiguous(of, Order::C)?.broadcast_to(&shape)?;
                picked.iter_mut().zip(places.offsets()).for_each(|(sum, place)| {
                    *sum += steps[place.cast_unsigned()];
                });
            }
        }
        let (outer, inner) = self.around(&rest);
        Ok(Plan::new((&outer.0, &outer.1), &shape, picked, (&inner.0, &inner.1))?)
    }

    /// The axes of the slice that stay, before and behind the picked places.
    pub(super) fn around(&self, rest: &Layout) -> (Sides, Sides) {
        let (sizes, strides) = (staying(rest.shape(), &self.stays), staying(rest.strides(), &self.stays));
        let side = |axes: Range<usize>| (sizes[axes.clone()].into(), strides[axes].into());
        (side(0..self.before), side(self.before..sizes.len()))
    }
}

impl IndexArray<'_> {
    /// The shape of the places that it picks from some axes of a layout, and their displacements.
    fn picked(&self, layout: &Layout, axes: &Range<usize>) -> Result<(Vec<usize>, Vec<isize>)> {
        let strides = &layout.strides()[axes.clone()];
        if self.is_mask() {
            let steps = self.masked(&Layout::new(&self.shape, Some(strides), 0, Order::C)?)?;
            return Ok((vec![steps.len()], steps));
        }
        // The displacement of a place of the axis, which does not overflow.
        let step = |place: usize| strides[0] * place.cast_signed();
        let size = layout.shape()[axes.start];
        let steps = self.integers(Some(axes.start), size, IndexMode::Raise, step)?;
        Ok((self.shape.clone(), steps))
    }
}

/// The part for axes that stay.
fn staying<T: Copy + Default>(values: &[T], stays: &[bool]) -> Axes<T> {
    values.iter().zip(stays).filter(|&(_, &stays)| stays).map(|(&value, _)| value).collect()
}
