//! `usm_ndarray.flags`.

use pyo3::prelude::*;
use usm_array::UsmArray;

/// How the elements of an array lie, and whether they can be changed.
#[pyclass(frozen, eq, module = "usm.tensor")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags {
    /// True when the elements follow each other in row-major order.
    #[pyo3(get)]
    c_contiguous: bool,
    /// True when the elements follow each other in column-major order.
    #[pyo3(get)]
    f_contiguous: bool,
    /// True when the elements can be changed through the array.
    #[pyo3(get)]
    writable: bool,
}

impl Flags {
    pub(super) fn of(array: &UsmArray) -> Self {
        Self {
            c_contiguous: array.is_c_contiguous(),
            f_contiguous: array.is_f_contiguous(),
            writable: array.is_writable(),
        }
    }
}

#[pymethods]
impl Flags {
    fn __repr__(&self) -> String {
        let word = |flag| if flag { "True" } else { "False" };
        let (c, f, w) = (word(self.c_contiguous), word(self.f_contiguous), word(self.writable));
        format!("Flags(c_contiguous={c}, f_contiguous={f}, writable={w})")
    }
}
