//! Broadcasting: repeating axes of size 1 with stride 0, and the shape that several broadcast to

use super::{Axes, Layout, LayoutError};

impl Layout {
    /// The layout repeated to a larger shape, with NumPy's rules: the last axes are matched, an
    /// axis of size 1 and each new leading axis gets stride 0.
    ///
    /// # Errors
    /// - [`LayoutError::NotBroadcastable`]: an axis has neither size 1 nor the requested size,
    ///   or the shape has fewer axes
    /// - [`LayoutError::TooManyAxes`], [`LayoutError::TooManyElements`]: the shape is too large
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self, LayoutError> {
        let refused = || LayoutError::NotBroadcastable { from: self.shape.to_vec(), to: shape.to_vec() };
        let new_axes = shape.len().checked_sub(self.ndim()).ok_or_else(refused)?;
        let mut view = Self { shape: Axes::from(shape), strides: Axes::new(), offset: self.offset };
        view.strides.set_len(shape.len());
        let strides = &mut view.strides[..];
        strides[..new_axes].fill(0);
        for (axis, (&n, &stride)) in self.shape.iter().zip(&*self.strides).enumerate() {
            let target = shape[new_axes + axis];
            if n != target && n != 1 {
                return Err(refused());
            }
            strides[new_axes + axis] = if n == target { stride } else { 0 };
        }
        view.check()?;
        Ok(view)
    }
}

/// The shape that several shapes broadcast to, with NumPy's rules. Without shapes it is `[]`.
///
/// ```
/// use usm_array::broadcast_shapes;
///
/// assert_eq!(broadcast_shapes(&[&[3, 1], &[2, 1, 4]])?, [2, 3, 4]);
/// # Ok::<(), usm_array::LayoutError>(())
/// ```
///
/// # Errors
/// - [`LayoutError::ShapesDiffer`]: the sizes of an axis, counted from the last, are neither equal nor 1
/// - [`LayoutError::TooManyAxes`], [`LayoutError::TooManyElements`]: the common shape is too large
pub fn broadcast_shapes(shapes: &[&[usize]]) -> Result<Vec<usize>, LayoutError> {
    let ndim = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut common = vec![1; ndim];
    for (argument, shape) in shapes.iter().enumerate() {
        for (axis, &size) in (ndim - shape.len()..).zip(*shape) {
            if size != 1 && common[axis] != 1 && common[axis] != size {
                return Err(LayoutError::ShapesDiffer {
                    argument,
                    shape: shape.to_vec(),
                    others: common,
                    axis: axis.cast_signed() - ndim.cast_signed(),
                });
            }
            if size != 1 {
                common[axis] = size;
            }
        }
    }
    super::construct::check_size(&common)?;
    Ok(common)
}

/// Several layouts repeated to the shape they have in common.
///
/// # Errors
/// The errors of [`broadcast_shapes`] and [`Layout::broadcast_to`].
pub fn broadcast_layouts(layouts: &[&Layout]) -> Result<Vec<Layout>, LayoutError> {
    let shapes: Vec<&[usize]> = layouts.iter().map(|layout| layout.shape()).collect();
    let common = broadcast_shapes(&shapes)?;
    layouts.iter().map(|layout| layout.broadcast_to(&common)).collect()
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

    #[test]
    fn common_shapes_are_those_of_numpy() {
        // Written down from NumPy: numpy.broadcast_shapes(...).
        for (shapes, expected) in [
            (&[][..], Some(&[][..])),
            (&[&[2, 3][..]], Some(&[2, 3])),
            (&[&[3, 1], &[2, 1, 4]], Some(&[2, 3, 4])),
            (&[&[1], &[0]], Some(&[0])),
            (&[&[], &[5]], Some(&[5])),
            (&[&[1, 1], &[7, 1], &[1, 8]], Some(&[7, 8])),
            (&[&[2], &[3]], None),
            (&[&[2], &[0]], None),
        ] {
            assert_eq!(broadcast_shapes(shapes).ok().as_deref(), expected, "{shapes:?}");
        }
        let refused = LayoutError::ShapesDiffer { argument: 1, shape: vec![2], others: vec![4, 3], axis: -1 };
        assert_eq!(broadcast_shapes(&[&[4, 3], &[2]]), Err(refused));
        let large = 1 << 40;
        let found = broadcast_shapes(&[&[large, 1], &[1, large]]);
        assert_eq!(found, Err(LayoutError::TooManyElements { shape: vec![large, large] }));
    }

    proptest! {
        #[test]
        fn layouts_broadcast_to_what_all_of_them_have(
            a in small_layouts(),
            ones in prop::collection::vec(any::<bool>(), 5),
            cut in 0_usize..5,
            stride in -9_isize..10,
        ) {
            // A layout with some axes of the first one, some of size 1, and some left out.
            let shape: Vec<usize> = a.shape().iter().zip(ones).skip(cut)
                .map(|(&n, one)| if one { 1 } else { n })
                .collect();
            let strides = vec![stride; shape.len()];
            let b = Layout::new(&shape, Some(&strides), 7, Order::C).expect("small");
            let both = broadcast_layouts(&[&b, &a]).expect("broadcasts");
            prop_assert_eq!(&both[1], &a);
            prop_assert_eq!(Ok(both[0].clone()), b.broadcast_to(a.shape()));
        }

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
