//! Layouts without gaps for copies: row-major, column-major, or with the axes as they are in memory

use super::{Layout, LayoutError, Order};

/// How a copy lies in memory: the letters of NumPy's `order`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CopyOrder {
    /// `"C"`: row-major
    C,
    /// `"F"`: column-major
    F,
    /// `"A"`: column-major if the source is, and not row-major, else row-major
    Any,
    /// `"K"`: the axes in the order of the source, from the largest stride to the smallest
    #[default]
    Keep,
}

usm_memory::usm_core::texts!(CopyOrder, "order": C = "C", F = "F", Any = "A", Keep = "K");

impl CopyOrder {
    /// Whether a layout is as a copy would be, so that none is needed. Every layout keeps its own order.
    #[must_use]
    pub fn is_of(self, layout: &Layout) -> bool {
        match self {
            Self::C => layout.is_c_contiguous(),
            Self::F => layout.is_f_contiguous(),
            Self::Any => layout.is_contiguous(),
            Self::Keep => true,
        }
    }
}

impl Layout {
    /// The layout of a copy: the same shape without gaps, at offset 0.
    ///
    /// ```
    /// use usm_array::{CopyOrder, Layout, Order};
    ///
    /// // Every other column of a stack of matrices, with the last two axes exchanged.
    /// let layout = Layout::new(&[2, 3, 4], Some(&[24, -2, 6]), 4, Order::C)?;
    /// assert_eq!(layout.packed(CopyOrder::Keep)?.strides(), [12, 1, 3]);
    /// assert_eq!(layout.packed(CopyOrder::F)?.strides(), [1, 2, 6]);
    /// # Ok::<(), usm_array::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// No error for an existing layout. Constructors have the same error type.
    pub fn packed(&self, order: CopyOrder) -> Result<Self, LayoutError> {
        let order = match order {
            CopyOrder::C => Order::C,
            CopyOrder::F => Order::F,
            CopyOrder::Any | CopyOrder::Keep if self.is_c_contiguous() => Order::C,
            CopyOrder::Any | CopyOrder::Keep if self.is_f_contiguous() => Order::F,
            CopyOrder::Any => Order::C,
            CopyOrder::Keep => return self.packed_as_in_memory(),
        };
        Self::contiguous(self.shape(), order)
    }

    fn packed_as_in_memory(&self) -> Result<Self, LayoutError> {
        let mut axes: Vec<usize> = (0..self.ndim()).collect();
        // Stable: axes of equal strides stay in their order, as in NumPy.
        axes.sort_by_key(|&axis| std::cmp::Reverse(self.strides[axis].unsigned_abs()));
        let mut strides = vec![0; self.ndim()];
        let mut inner = 1_isize;
        for &axis in axes.iter().rev() {
            strides[axis] = inner;
            inner *= self.shape[axis].max(1).cast_signed(); // fits by L2
        }
        Self::new(self.shape(), Some(&strides), 0, Order::C)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::brute_force::small_layouts;
    use super::*;

    #[test]
    fn any_order_is_that_of_a_layout_without_gaps() {
        for (strides, expected) in [([3, 1], [3, 1]), ([1, 2], [1, 2]), ([1, 4], [3, 1]), ([6, 2], [3, 1])] {
            let layout = Layout::new(&[2, 3], Some(&strides), 0, Order::C).unwrap();
            assert_eq!(layout.packed(CopyOrder::Any).unwrap().strides(), expected);
        }
    }

    proptest! {
        #[test]
        fn copies_have_no_gaps_and_keep_the_order_of_axes(layout in small_layouts()) {
            for order in [CopyOrder::C, CopyOrder::F, CopyOrder::Any, CopyOrder::Keep] {
                let packed = layout.packed(order).unwrap();
                prop_assert_eq!(packed.shape(), layout.shape());
                prop_assert_eq!(packed.required_len(), layout.size().max(1)); // an empty layout needs one element
                prop_assert!(order.is_of(&packed));
                // Strides of axes of size 1 do not matter.
                prop_assert!(packed.packed(order).unwrap().offsets().eq(packed.offsets()));
            }
            let kept = layout.packed(CopyOrder::Keep).unwrap();
            for a in 0..layout.ndim() {
                for b in 0..layout.ndim() {
                    let wider = layout.strides()[a].unsigned_abs() > layout.strides()[b].unsigned_abs();
                    if wider && layout.shape().iter().all(|&n| n > 1) {
                        prop_assert!(kept.strides()[a] > kept.strides()[b]);
                    }
                }
            }
        }
    }
}
