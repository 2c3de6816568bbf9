//! What layouts and views are by their definitions, in 128 bits

use usm_array::Layout;

/// The most axes of a view here.
const MOST: usize = 6;
/// Views of up to so many elements are enumerated.
const ENUMERATED: usize = 64;

const MIN: i128 = isize::MIN as i128;
const MAX: i128 = isize::MAX as i128;

/// Where the lowest and the highest element are, in elements from the start of the memory, whatever axes without indices have; `None` for
/// numbers that no layout has. Invariants L1 to L3 of `Layout` in 128 bits.
pub(crate) fn reach(shape: &[usize], strides: &[isize], offset: isize) -> Option<(i128, i128)> {
    let mut size = 1_i128;
    for &along in shape {
        size = size.checked_mul((along as i128).max(1)).filter(|&size| size <= MAX)?;
    }
    let (mut low, mut high) = (0_i128, 0_i128);
    for (&along, &stride) in shape.iter().zip(strides) {
        let steps = ((along as i128).max(1) - 1) * stride as i128;
        (low, high) = (low + steps.min(0), high + steps.max(0));
    }
    let fits = low >= MIN && high <= MAX && high - low < MAX;
    let (first, last) = (offset as i128 + low, offset as i128 + high);
    (fits && first >= MIN && last < MAX).then_some((first, last))
}

/// Whether a layout is one, and says where its elements are: for all that the library makes.
pub(crate) fn check(layout: &Layout) {
    let reach = reach(layout.shape(), layout.strides(), layout.offset());
    let (first, last) = reach.unwrap_or_else(|| panic!("{layout:?} is no layout"));
    let found = layout.extent_with_offset().map(|extent| (extent.min as i128, extent.max as i128));
    let is_empty = layout.shape().contains(&0);
    assert_eq!(found, (!is_empty).then_some((first, last)), "{layout:?}");
    assert_eq!(layout.is_empty(), is_empty);
    let needed = if is_empty { 1 } else { (last + 1).max(1) };
    assert_eq!(layout.required_len() as i128, needed, "{layout:?}");
}

/// Calls a function with each index of a shape, in row-major order.
pub(crate) fn each_index(shape: &[usize], mut job: impl FnMut(&[usize])) {
    if shape.contains(&0) {
        return;
    }
    let mut index = [0; MOST];
    let index = &mut index[..shape.len()];
    loop {
        job(index);
        let Some(axis) = (0..shape.len()).rev().find(|&axis| index[axis] + 1 < shape[axis]) else { return };
        index[axis] += 1;
        index[axis + 1..].fill(0);
    }
}

/// Where the element with an index is.
pub(crate) fn place(layout: &Layout, index: &[usize]) -> i128 {
    let steps = index.iter().zip(layout.strides()).map(|(&i, &stride)| i as i128 * stride as i128);
    layout.offset() as i128 + steps.sum::<i128>()
}

/// Where all elements are, in row-major order.
pub(crate) fn places(layout: &Layout) -> Vec<i128> {
    let mut all = Vec::with_capacity(layout.size());
    each_index(layout.shape(), |index| all.push(place(layout, index)));
    all
}

/// A view by its definition: the index in the source of each index, an affine function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Map {
    ndim: usize,
    shape: [i128; MOST],
    /// The index of the source at index zero.
    base: [i128; 3],
    /// What one step along each axis changes of it.
    steps: [[i128; 3]; MOST],
}

impl Map {
    pub(crate) fn new() -> Self {
        Self { ndim: 0, shape: [0; MOST], base: [0; 3], steps: [[0; 3]; MOST] }
    }

    /// The view that is the source.
    pub(crate) fn of(source: &Layout) -> Self {
        let mut map = Self::new();
        for (axis, &size) in source.shape().iter().enumerate() {
            map.along(size as i128, axis, 0, 1);
        }
        map
    }

    /// One more axis of the view.
    pub(crate) fn push(&mut self, size: i128, steps: [i128; 3]) {
        self.shape[self.ndim] = size;
        self.steps[self.ndim] = steps;
        self.ndim += 1;
    }

    /// One more axis, along one of the source from an index on.
    pub(crate) fn along(&mut self, size: i128, axis: usize, first: i128, step: i128) {
        let mut steps = [0; 3];
        steps[axis] = step;
        self.base[axis] = first;
        self.push(size, steps);
    }

    /// The axes of the view in another order.
    pub(crate) fn in_order(&self, order: &[usize]) -> Self {
        let mut map = Self { base: self.base, ..Self::new() };
        order.iter().for_each(|&axis| map.push(self.shape[axis], self.steps[axis]));
        map
    }

    /// Starts an axis of the source at an index that is not 0.
    pub(crate) fn start(&mut self, axis: usize, first: i128) {
        self.base[axis] = first;
    }

    /// Turns an axis of the view, which is one of the source, into another direction from an index on.
    pub(crate) fn turn(&mut self, axis: usize, steps: [i128; 3], first: i128) {
        self.steps[axis] = steps;
        self.base[axis] = first;
    }

    fn back(&self, index: &[usize]) -> [usize; 3] {
        let mut source = self.base;
        for (steps, &i) in self.steps.iter().zip(index) {
            source.iter_mut().zip(steps).for_each(|(at, step)| *at += i as i128 * step);
        }
        source.map(|at| usize::try_from(at).unwrap())
    }

    /// Fails unless `view` is this view of `source`.
    pub(crate) fn check(&self, view: &Layout, source: &Layout) {
        let shape = &self.shape[..self.ndim];
        let is_right = || {
            if !view.shape().iter().map(|&size| size as i128).eq(shape.iter().copied()) {
                return false;
            }
            let reach = reach(source.shape(), source.strides(), source.offset()).unwrap();
            if shape.contains(&0) {
                // Without elements, the offset is that of an element or of the source.
                return (reach.0..=reach.1).contains(&(view.offset() as i128));
            }
            let mut origin = source.offset() as i128;
            for (axis, (&size, &stride)) in source.shape().iter().zip(source.strides()).enumerate() {
                let (mut low, mut high) = (self.base[axis], self.base[axis]);
                for (steps, along) in self.steps.iter().zip(shape) {
                    let steps = (along - 1) * steps[axis];
                    (low, high) = (low + steps.min(0), high + steps.max(0));
                }
                if low < 0 || high >= size as i128 {
                    return false;
                }
                origin += self.base[axis] * stride as i128;
            }
            let step = |steps: &[i128; 3]| -> i128 {
                source.strides().iter().zip(steps).map(|(&stride, step)| stride as i128 * step).sum()
            };
            let mut axes = shape.iter().zip(&self.steps).zip(view.strides());
            origin == view.offset() as i128
                && axes.all(|((&size, steps), &stride)| size == 1 || stride as i128 == step(steps))
        };
        assert!(is_right(), "{view:?} of {source:?} is not {self:?}");
        check(view);
        if view.size() <= ENUMERATED {
            each_index(view.shape(), |index| {
                let from = self.back(index);
                let from = place(source, &from[..source.ndim()]);
                assert_eq!(place(view, index), from, "{view:?} of {source:?} is not {self:?}");
            });
        }
    }
}

/// First index, number of indices and step of `start:stop:step` along an axis: the definition of `slice.indices` in Python.
pub(crate) fn slice(
    (start, stop, step): (Option<isize>, Option<isize>, isize),
    size: usize,
) -> (i128, i128, i128) {
    let (size, step) = (size as i128, step as i128);
    let (lowest, highest) = if step < 0 { (-1, size - 1) } else { (0, size) };
    let bound = |bound: isize| match bound as i128 {
        bound if bound < 0 => (bound + size).max(lowest),
        bound => bound.min(highest),
    };
    let start = start.map_or(if step < 0 { highest } else { lowest }, bound);
    let stop = stop.map_or(if step < 0 { lowest } else { highest }, bound);
    let count = if step < 0 {
        (start - stop - step - 1).div_euclid(-step)
    } else {
        (stop - start + step - 1).div_euclid(step)
    };
    (start, count.max(0), step)
}
