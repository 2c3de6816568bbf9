//! Axes as Python users give them: negative ones count from the last

use super::{Axes, LayoutError};

/// The axis counted from 0, of `ndim` axes. Errors name the argument.
pub(crate) fn normalise_axis(argument: &'static str, axis: isize, ndim: usize) -> Result<usize, LayoutError> {
    let from_start = if axis < 0 { ndim.checked_sub(axis.unsigned_abs()) } else { Some(axis.unsigned_abs()) };
    let inside = from_start.filter(|&axis| axis < ndim);
    inside.ok_or(LayoutError::AxisOutOfBounds { argument, axis, ndim })
}

/// The axes counted from 0, of `ndim` axes, none of them twice. Errors name the argument.
pub(crate) fn normalise_axes(
    argument: &'static str,
    axes: &[isize],
    ndim: usize,
) -> Result<Axes<usize>, LayoutError> {
    let mut seen = 0_u64; // one bit for each axis, enough by L1
    let mut normalised = Axes::new();
    for &axis in axes {
        let from_start = normalise_axis(argument, axis, ndim)?;
        if seen & (1 << from_start) != 0 {
            return Err(LayoutError::RepeatedAxis { argument, axes: axes.to_vec(), axis: from_start });
        }
        seen |= 1 << from_start;
        normalised.push(from_start);
    }
    Ok(normalised)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_axes_count_from_the_last() {
        assert_eq!(normalise_axis("axis", -1, 3), Ok(2));
        assert_eq!(normalise_axis("axis", -3, 3), Ok(0));
        assert_eq!(normalise_axes("axes", &[-1, 0], 3).as_deref(), Ok(&[2, 0][..]));
        for axis in [-4, 3, isize::MIN, isize::MAX] {
            let refused = Err(LayoutError::AxisOutOfBounds { argument: "axis", axis, ndim: 3 });
            assert_eq!(normalise_axis("axis", axis, 3), refused);
        }
        assert!(normalise_axis("axis", 0, 0).is_err());
    }

    #[test]
    fn an_axis_is_named_once() {
        let refused = Err(LayoutError::RepeatedAxis { argument: "axes", axes: vec![1, -1], axis: 1 });
        assert_eq!(normalise_axes("axes", &[1, -1], 2), refused);
    }

    #[test]
    fn messages_name_the_argument_and_the_numbers() {
        let error = normalise_axis("source", 5, 2).expect_err("outside").to_string();
        assert_eq!(error, "source: axis 5 is out of bounds for 2 axes, allowed are -2 to 1");
        let error = normalise_axis("axis", 0, 0).expect_err("outside").to_string();
        assert_eq!(error, "axis: axis 0 is out of bounds for 0 axes, allowed are none");
    }
}
