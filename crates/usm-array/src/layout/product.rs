//! The shape of the product of matrices and vectors

use super::Axes;

/// The shape of the product of two matrices or vectors. `None` where the sizes do not fit, and for arrays of no axes or more than two.
///
/// ```
/// use usm_array::product_shape;
///
/// assert_eq!(product_shape(&[2, 3], &[3, 4]).as_deref(), Some(&[2, 4][..]));
/// assert_eq!(product_shape(&[3], &[3, 4]).as_deref(), Some(&[4][..]));
/// assert_eq!(product_shape(&[3], &[3]).as_deref(), Some(&[][..]));
/// assert_eq!(product_shape(&[2, 3], &[2, 3]), None);
/// assert_eq!(product_shape(&[], &[3]), None);
/// ```
#[must_use]
pub fn product_shape(first: &[usize], second: &[usize]) -> Option<Axes<usize>> {
    let (rows, inner) = match first {
        [inner] => (None, inner),
        [rows, inner] => (Some(rows), inner),
        _ => return None,
    };
    let (other, columns) = match second {
        [other] => (other, None),
        [other, columns] => (other, Some(columns)),
        _ => return None,
    };
    (inner == other).then(|| rows.into_iter().chain(columns).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_sizes_are_equal_and_go() {
        for (first, second, expected) in [
            (&[2, 3][..], &[3, 4][..], Some(&[2, 4][..])),
            (&[2, 3], &[3], Some(&[2])),
            (&[3], &[3, 4], Some(&[4])),
            (&[3], &[3], Some(&[])),
            (&[0, 3], &[3, 0], Some(&[0, 0])),
            (&[2, 3], &[2, 3], None),
            (&[3], &[4], None),
            (&[], &[], None),
            (&[2, 2, 2], &[2, 2], None),
            (&[2, 2], &[2, 2, 2], None),
        ] {
            assert_eq!(product_shape(first, second).as_deref(), expected, "{first:?} {second:?}");
        }
    }
}
