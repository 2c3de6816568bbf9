//! Which indices of a layout are at a displacement, without going through all elements

use crate::layout::Layout;

/// Steps of the search for one displacement. Layouts that need more have many axes whose strides interlock.
const MAX_STEPS: usize = 10_000;

/// The indices at one displacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    /// The first of them in row-major order
    pub(super) first: Vec<usize>,
    /// How many they are
    pub(super) count: usize,
}

/// An axis along which displacements change.
struct Axis {
    position: usize,
    len: i128,
    stride: i128,
    /// Lowest and highest displacement of the axes after this one
    rest: (i128, i128),
}

/// A layout, ready for questions.
pub(super) struct Touches {
    ndim: usize,
    offset: i128,
    /// From the largest stride to the smallest, so that few steps of each are possible
    axes: Vec<Axis>,
    /// Indices for each displacement that there is, along axes that do not change it; 0 without elements
    repeats: usize,
}

impl Touches {
    pub(super) fn of(layout: &Layout) -> Self {
        let all = layout.shape().iter().copied().zip(layout.strides().iter().copied()).enumerate();
        let mut axes: Vec<Axis> = all
            .clone()
            .filter(|&(_, (n, stride))| n > 1 && stride != 0)
            .map(|(position, (n, stride))| Axis {
                position,
                len: n as i128,
                stride: stride as i128,
                rest: (0, 0),
            })
            .collect();
        axes.sort_by_key(|axis| -axis.stride.abs());
        let mut rest = (0, 0);
        for axis in axes.iter_mut().rev() {
            axis.rest = rest;
            let reach = axis.stride * (axis.len - 1);
            rest = (rest.0 + reach.min(0), rest.1 + reach.max(0));
        }
        // Cannot overflow: a part of the size.
        let repeats = all.filter(|&(_, (n, stride))| n == 0 || stride == 0).map(|(_, (n, _))| n).product();
        Self { ndim: layout.ndim(), offset: layout.offset() as i128, axes, repeats }
    }

    /// The indices at a displacement: none, some, or `Err` if the search took too long.
    pub(super) fn at(&self, displacement: i128) -> Result<Option<Touch>, ()> {
        if self.repeats == 0 {
            return Ok(None);
        }
        let mut search = Search { steps: 0, index: vec![0; self.ndim], first: None, count: 0 };
        self.search(0, displacement - self.offset, &mut search)?;
        let count = search.count.saturating_mul(self.repeats);
        Ok(search.first.map(|first| Touch { first, count }))
    }

    fn search(&self, depth: usize, left: i128, search: &mut Search) -> Result<(), ()> {
        search.steps += 1;
        if search.steps > MAX_STEPS {
            return Err(());
        }
        let Some(axis) = self.axes.get(depth) else {
            if left == 0 {
                search.count += 1;
                if search.first.as_ref().is_none_or(|first| *first > search.index) {
                    search.first = Some(search.index.clone());
                }
            }
            return Ok(());
        };
        // The steps after which the other axes reach the displacement, as multiples of a positive stride.
        let stride = axis.stride.abs();
        let (low, high) = match axis.stride > 0 {
            true => (left - axis.rest.1, left - axis.rest.0),
            false => (axis.rest.0 - left, axis.rest.1 - left),
        };
        let from = (low + stride - 1).div_euclid(stride).max(0);
        let to = high.div_euclid(stride).min(axis.len - 1);
        for step in from..=to {
            search.index[axis.position] = step as usize; // below the length of the axis
            self.search(depth + 1, left - step * axis.stride, search)?;
        }
        search.index[axis.position] = 0;
        Ok(())
    }
}

struct Search {
    steps: usize,
    index: Vec<usize>,
    first: Option<Vec<usize>>,
    count: usize,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::layout::Order;
    use crate::layout::brute_force::{displacements, indices, small_layouts};

    proptest! {
        #[test]
        fn finds_what_counting_finds(layout in small_layouts()) {
            let mut expected = BTreeMap::new();
            for (place, index) in displacements(&layout).into_iter().zip(indices(layout.shape())) {
                expected.entry(place).or_insert(Touch { first: index, count: 0 }).count += 1;
            }
            let touches = Touches::of(&layout);
            let around = layout.offset() as i128 - 60..layout.offset() as i128 + 60;
            for place in around.chain(expected.keys().copied()) {
                prop_assert_eq!(touches.at(place), Ok(expected.get(&place).cloned()), "{}", place);
            }
        }
    }

    #[test]
    fn enormous_layouts_take_few_steps_and_interlocking_ones_end() {
        let huge = Layout::contiguous(&[1 << 20, 1 << 20, 1 << 20], Order::C).unwrap();
        let touches = Touches::of(&huge);
        let last = (1_i128 << 60) - 1;
        assert_eq!(touches.at(last).unwrap().unwrap().first, [(1 << 20) - 1; 3]);
        assert_eq!(touches.at(last + 1), Ok(None));

        let windows = Layout::new(&[2; 40], Some(&[1; 40]), 0, Order::C).unwrap();
        assert_eq!(Touches::of(&windows).at(20), Err(()));
        assert_eq!(Touches::of(&windows).at(0).unwrap().unwrap().count, 1);
    }
}
