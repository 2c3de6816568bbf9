//! From index items to a plan: which axes they pick from, and where the picked places go in the result

use super::read::IndexArray;
use super::{Index, IndexMode, Plan};
use crate::array::UsmArray;
use crate::error::{IndexError, Result};
use crate::layout::{Layout, LayoutError, Order, SliceItem, broadcast_shapes};

/// The meaning of index items.
pub(super) enum Resolved {
    /// Basic items only, as a view.
    View(Vec<SliceItem>),
    Picked(Box<Plan>),
}

/// Reads and checks the items of an index of an array.
pub(super) fn resolve(array: &UsmArray, items: &[Index<'_>]) -> Result<Resolved> {
    let basic: Option<Vec<SliceItem>> =
        items.iter().map(|item| if let Index::Basic(item) = item { Some(*item) } else { None }).collect();
    if let Some(basic) = basic {
        return Ok(Resolved::View(basic));
    }
    let arrays: Vec<Option<IndexArray<'_>>> = items
        .iter()
        // An integer beside arrays counts as an array without axes; it is left to the slice, whose errors name it.
        .map(|item| if let Index::Basic(_) = item { Ok(None) } else { IndexArray::read(item) })
        .collect::<Result<_>>()?;
    let unnamed = unnamed_axes(array.ndim(), items, &arrays)?;
    let layout = array.layout_from_lowest()?;
    let mut picker = Picker::new(&layout);
    for (item, array) in items.iter().zip(&arrays) {
        match (item, array) {
            (_, Some(array)) if array.is_mask() => picker.mask(array)?,
            (_, Some(array)) => picker.integers(array)?,
            (Index::Basic(SliceItem::Ellipsis), None) => picker.whole(unnamed),
            (Index::Basic(item), None) => picker.basic(*item),
            _ => {} // read gives `None` for basic items only
        }
    }
    if !items.iter().any(|item| matches!(item, Index::Basic(SliceItem::Ellipsis))) {
        picker.whole(unnamed);
    }
    Ok(Resolved::Picked(Box::new(picker.finish()?)))
}

/// Axes that no item names.
fn unnamed_axes(ndim: usize, items: &[Index<'_>], arrays: &[Option<IndexArray<'_>>]) -> Result<usize> {
    let (mut found, mut ellipses) = (0, 0);
    for (item, array) in items.iter().zip(arrays) {
        found += match (item, array) {
            (_, Some(array)) if array.is_mask() => array.shape.len(),
            (_, Some(_)) | (Index::Basic(SliceItem::Index(_) | SliceItem::Slice { .. }), _) => 1,
            _ => 0,
        };
        ellipses += usize::from(matches!(item, Index::Basic(SliceItem::Ellipsis)));
    }
    if ellipses > 1 {
        return Err(LayoutError::RepeatedEllipsis { found: ellipses }.into());
    }
    Ok(ndim.checked_sub(found).ok_or(LayoutError::TooManyIndices { ndim, found })?)
}

/// Picks from the axes of a layout, one item after the other.
struct Picker<'a> {
    layout: &'a Layout,
    /// The next axis of the layout.
    axis: usize,
    /// A slice of the layout in which axes that are picked from are whole.
    items: Vec<SliceItem>,
    /// For each axis of that slice: whether it stays one of the result.
    stays: Vec<bool>,
    /// Shape and displacements of each index array.
    picks: Vec<(Vec<usize>, Vec<isize>)>,
    /// Axes of the result before the first array, or integer.
    before: Option<usize>,
    /// Whether something stands between arrays and integers: NumPy then puts the picked places first.
    separated: bool,
    /// Whether the last item was no array and no integer.
    interrupted: bool,
}

impl<'a> Picker<'a> {
    fn new(layout: &'a Layout) -> Self {
        let (items, stays, picks) = (vec![], vec![], vec![]);
        Self { layout, axis: 0, items, stays, picks, before: None, separated: false, interrupted: false }
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

    fn integers(&mut self, array: &IndexArray<'_>) -> Result<()> {
        let (size, stride) = (self.layout.shape()[self.axis], self.layout.strides()[self.axis]);
        // The displacement of a place of the axis, which does not overflow.
        let step = |place: usize| stride * place.cast_signed();
        let steps = array.integers(Some(self.axis), size, IndexMode::Raise, step)?;
        self.picks.push((array.shape.clone(), steps));
        self.leave_out(1);
        Ok(())
    }

    fn mask(&mut self, array: &IndexArray<'_>) -> Result<()> {
        let axes = self.axis..self.axis + array.shape.len();
        let sizes = self.layout.shape()[axes.clone()].iter().zip(&array.shape);
        for (axis, (&size, &found)) in axes.clone().zip(sizes) {
            if size != found {
                return Err(IndexError::MaskSize { axis, found, size }.into());
            }
        }
        let strides = &self.layout.strides()[axes.clone()];
        let steps = array.masked(&Layout::new(&array.shape, Some(strides), 0, Order::C)?)?;
        self.picks.push((vec![steps.len()], steps));
        self.leave_out(axes.len());
        Ok(())
    }

    fn leave_out(&mut self, axes: usize) {
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

    fn finish(self) -> Result<Plan> {
        let rest = self.layout.slice(&self.items)?;
        let shapes: Vec<&[usize]> = self.picks.iter().map(|(shape, _)| &shape[..]).collect();
        let shape = broadcast_shapes(&shapes)?;
        let mut picked = super::plan::with_capacity(shape.iter().product())?;
        picked.resize(shape.iter().product(), rest.offset());
        for (of, steps) in &self.picks {
            if *of == shape {
                picked.iter_mut().zip(steps).for_each(|(sum, step)| *sum += step);
            } else {
                let places = Layout::contiguous(of, Order::C)?.broadcast_to(&shape)?;
                picked.iter_mut().zip(places.offsets()).for_each(|(sum, place)| {
                    *sum += steps[place.cast_unsigned()];
                });
            }
        }
        let sizes = staying(rest.shape(), &self.stays);
        let strides = staying(rest.strides(), &self.stays);
        let before = if self.separated { 0 } else { self.before.unwrap_or(0) };
        let ((sizes, behind), (strides, steps)) = (sizes.split_at(before), strides.split_at(before));
        Ok(Plan::new((sizes, strides), &shape, picked, (behind, steps))?)
    }
}

/// The part for axes that stay.
fn staying<T: Copy>(values: &[T], stays: &[bool]) -> Vec<T> {
    values.iter().zip(stays).filter(|&(_, &stays)| stays).map(|(&value, _)| value).collect()
}
