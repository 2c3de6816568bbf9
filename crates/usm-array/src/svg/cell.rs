//! A cell of a drawing: one element of the memory

use super::touch::Touch;

/// Height of a cell, in pixels.
pub(super) const CELL_HEIGHT: usize = 30;

/// A cell and where it stands.
pub(super) struct Cell {
    pub(super) at: i128,
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) touch: Result<Option<Touch>, ()>,
}
