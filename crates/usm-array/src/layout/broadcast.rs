//! Broadcasting: repeating axes of size 1 with stride 0

use super::{Axes, Layout, LayoutError};

impl Layout {
    /// The layout repeated to a larger shape, with NumPy's rules: the last axes are matched, an
    /// axis of size 1 and each new leading axis gets stride 0.
    ///
    /// # Errors
    /// - [`LayoutError::NotBroadcastable`]: an axis has neither size 1 nor the size asked for,
    ///   or the shape has fewer axes
    /// - [`LayoutError::TooManyAxes`], [`LayoutError::TooManyElements`]: the shape is too large
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self, LayoutError> {
        let refused = || LayoutError::NotBroadcastable { from: self.shape.to_vec(), to: shape.to_vec() };
        let new_axes = shape.len().checked_sub(self.ndim()).ok_or_else(refused)?;
        let mut strides: Axes<isize> = shape.iter().map(|_| 0).collect();
        for (axis, (&n, &stride)) in self.shape.iter().zip(&*self.strides).enumerate() {
            let target = shape[new_axes + axis];
            if n == target {
                strides[new_axes + axis] = stride;
            } else if n != 1 {
                return Err(refused());
            }
        }
        Self::checked(Axes::from(shape), strides, self.offset)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Order;
    use super::super::brute_force::{indices, small_layouts};
    use super::*;

    #[test]
    fn sizes_must_be_equal_or_one() {
        let layout = Layout::contiguous(&[3, 1], Order::C).expect("small");
        let repeated = layout.broadcast_to(&[2, 3, 4]).expect("broadcasts");
        assert_eq!(repeated.strides(), [0, 1, 0]);
        assert_eq!(layout.broadcast_to(&[3, 0]).expect("broadcasts").size(), 0);
        for shape in [&[3][..], &[2, 1], &[3, 1, 1], &[0, 1], &[]] {
            assert!(matches!(layout.broadcast_to(shape), Err(LayoutError::NotBroadcastable { .. })));
        }
        assert!(matches!(layout.broadcast_to(&[1 << 62, 3, 1]), Err(LayoutError::TooManyElements { .. })));
    }

    proptest! {
        #[test]
        fn repeated_indices_reach_the_same_elements(
            layout in small_layouts(),
            leading in prop::collection::vec(0_usize..4, 0..3),
            size in 0_usize..4,
        ) {
            let repeated = layout.shape().iter().map(|&n| if n == 1 { size } else { n });
            let shape: Vec<usize> = leading.iter().copied().chain(repeated).collect();
            let broadcast = layout.broadcast_to(&shape).expect("broadcasts");
            prop_assert_eq!(broadcast.shape(), &shape[..]);
            for index in indices(&shape) {
                let source: Vec<usize> = index[leading.len()..].iter().zip(layout.shape())
                    .map(|(&i, &n)| if n == 1 { 0 } else { i })
                    .collect();
                prop_assert_eq!(broadcast.offset_of(&index), layout.offset_of(&source));
            }
        }
    }
}
