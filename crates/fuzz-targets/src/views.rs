//! Views of layouts with numbers of any size, against the ends of all elements in 128 bits.

use arbitrary::{Result, Unstructured};
use usm_array::{CopyOrder, Dtype, Layout, Order};

use crate::layouts::{elements, ends, number, parts, size};

fn numbers(bytes: &mut Unstructured<'_>, len: usize) -> Result<Vec<isize>> {
    (0..len).map(|_| number(bytes)).collect()
}

/// An axis, or a number that is none.
fn axis(bytes: &mut Unstructured<'_>, layout: &Layout) -> Result<isize> {
    let ndim = layout.ndim().cast_signed();
    if bytes.ratio(1, 16)? { number(bytes) } else { bytes.int_in_range(-ndim..=(ndim - 1).max(0)) }
}

/// The shape with axes of size 1 in place of some, or longer ones in place of these.
fn broadcast(bytes: &mut Unstructured<'_>, layout: &Layout) -> Result<Vec<usize>> {
    let mut shape = layout.shape().to_vec();
    for along in &mut shape {
        if *along == 1 || bytes.ratio(1, 16)? {
            *along = size(bytes)?;
        }
    }
    for _ in 0..bytes.int_in_range(0..=2)? {
        shape.insert(0, size(bytes)?);
    }
    Ok(shape)
}

/// A view, unless the numbers allow none.
fn view(bytes: &mut Unstructured<'_>, layout: &Layout) -> Result<Option<Layout>> {
    let ndim = layout.ndim();
    Ok(match bytes.int_in_range(0..=11)? {
        0 => Some(layout.transpose()),
        1 => layout.flip(Some(&[axis(bytes, layout)?])).ok(),
        2 => layout.rot90(number(bytes)?, [axis(bytes, layout)?, axis(bytes, layout)?]).ok(),
        3 => layout.moveaxis(&[axis(bytes, layout)?], &[axis(bytes, layout)?]).ok(),
        4 => layout.diagonal(number(bytes)?, axis(bytes, layout)?, axis(bytes, layout)?).ok(),
        5 => layout.broadcast_to(&broadcast(bytes, layout)?).ok(),
        6 => layout.sliding_window_view(&[size(bytes)?], Some(&[axis(bytes, layout)?])).ok(),
        7 => {
            let len = bytes.int_in_range(0..=4)?;
            let shape: Vec<_> = (0..len).map(|_| size(bytes)).collect::<Result<_>>()?;
            layout.as_strided(&shape, &numbers(bytes, len)?, number(bytes)?).ok()
        }
        8 => {
            let len = bytes.int_in_range(0..=4)?;
            let order = *bytes.choose(&[Order::C, Order::F])?;
            layout.reshape_view(&numbers(bytes, len)?, order).ok().flatten()
        }
        9 => {
            let number = bytes.int_in_range(0..=9)?;
            layout.unstack(axis(bytes, layout)?).ok().and_then(|mut parts| parts.nth(number))
        }
        10 => layout.expand_dims(&[bytes.int_in_range(0..=ndim.cast_signed())?]).ok(),
        _ => layout.squeeze(None).ok(),
    })
}

/// A view has elements of its source alone, or for `as_strided` elements between the ends of it. An empty one stays where an element or
/// the source is.
pub fn views(bytes: &mut Unstructured<'_>) -> Result<()> {
    let (shape, strides, offset) = parts(bytes)?;
    let Ok(mut layout) = Layout::new(&shape, Some(&strides), offset, Order::C) else { return Ok(()) };
    for _ in 0..bytes.int_in_range(1..=5)? {
        let Some(view) = view(bytes, &layout)? else { continue };
        let source = ends(layout.shape(), layout.strides(), layout.offset());
        let reach = source.unwrap_or((layout.offset() as i128, layout.offset() as i128));
        let is_inside = |at: i128| reach.0 <= at && at <= reach.1;
        assert!(is_inside(view.offset() as i128), "{layout:?} {view:?}");
        match ends(view.shape(), view.strides(), view.offset()) {
            Some((first, last)) => {
                assert!(source.is_some() && is_inside(first) && is_inside(last), "{layout:?} {view:?}");
                let extent = view.extent_with_offset().unwrap();
                assert_eq!((extent.min as i128, extent.max as i128), (first, last));
            }
            None => assert_eq!(view.size(), 0),
        }
        check(&view);
        layout = view;
    }
    Ok(())
}

/// No question to a layout overflows, and a copy has no gaps.
fn check(layout: &Layout) {
    let size = layout.shape().iter().try_fold(1_i128, |size, &along| size.checked_mul(along as i128));
    assert_eq!(size, Some(layout.size() as i128));
    let _ = (layout.is_dense(), layout.is_f_contiguous(), layout.required_len(), layout.memory_order());
    assert!(
        Dtype::ALL.iter().all(|&dtype| layout.size_bytes(dtype).is_none_or(|bytes| bytes >= layout.size()))
    );
    for order in [CopyOrder::C, CopyOrder::F, CopyOrder::Any, CopyOrder::Keep] {
        assert_eq!(layout.packed(order).unwrap().required_len(), layout.size().max(1));
    }
    if let Some(elements) = elements(layout) {
        let counts_up = elements.iter().zip(layout.offset() as i128..).all(|(&place, i)| place == i);
        assert_eq!(layout.is_c_contiguous(), counts_up, "{layout:?}");
    }
}
