//! Drawings of where the elements of a layout are in memory, in the manner of the figures of the container specification
//!
//! Only numbers are looked at, never memory.
//!
//! | file | job |
//! |---|---|
//! | `touch.rs` | which indices are at a displacement |
//! | `window.rs` | which part of the memory is drawn |
//! | `cell.rs` | one element of the memory, and where it stands |
//! | `draw.rs` | cells and labels as SVG |
//! | `arrows.rs` | one step along each axis, and a legend of the axes |
//! | `table.rs` | an array as HTML: its elements, a table and the drawing |

mod arrows;
mod cell;
mod draw;
mod table;
mod touch;
mod window;

use crate::array::UsmArray;
use crate::dtype::Dtype;
use crate::layout::Layout;

/// Most cells of a drawing. The drawing of larger memory has the ends of the elements, and the element with index zero.
pub(crate) const MAX_CELLS: usize = 240;

/// A drawing of memory of `capacity` elements, as an SVG document without references to anything else.
///
/// Each cell is one element of the memory. A cell with an element of the layout is coloured and has its index. A cell with several
/// indices has the first one and their number. Pale cells lie between elements, white ones beside them, and dashed ones
/// are elements outside the memory. The cell of index zero has a thick frame. An arrow leads from it to index one of each axis, in a
/// lane of its own; it is dashed where the stride is negative. The colours follow the reader's theme, light or dark. Cells have the attributes `data-at` (the displacement), `data-index` and `data-count`.
///
/// A drawing has at most a few hundred kilobytes. It names the omitted parts of large memory.
///
/// ```
/// use usm_array::{Dtype, Layout, Order, layout_svg};
///
/// // The figure of contig_vec[7::-2].
/// let layout = Layout::new(&[4], Some(&[-2]), 7, Order::C)?;
/// let svg = layout_svg(&layout, Dtype::F64, 8, "contig_vec[7::-2]");
/// assert!(svg.starts_with("<svg ") && svg.contains("data-at=\"1\" data-index=\"3\""));
/// # Ok::<(), usm_array::LayoutError>(())
/// ```
#[must_use]
pub fn layout_svg(layout: &Layout, dtype: Dtype, capacity: usize, title: &str) -> String {
    draw::draw(layout, dtype, capacity, title)
}

impl UsmArray {
    /// A drawing of where the elements are in the buffer: see [`layout_svg`].
    #[must_use]
    pub fn layout_svg(&self) -> String {
        let capacity = self.buffer().len_bytes() / self.itemsize_bytes();
        layout_svg(
            self.layout(),
            self.dtype(),
            capacity,
            &format!("{} array in {} memory", self.dtype(), self.kind()),
        )
    }
}
