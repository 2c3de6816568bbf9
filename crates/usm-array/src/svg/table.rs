//! An array as HTML: a table of its properties, and the drawing of its layout

use crate::array::UsmArray;
use crate::print::tuple;

impl UsmArray {
    /// A table of shape, strides, element type, memory and flags with the drawing of [`layout_svg`](Self::layout_svg), as a
    /// fragment of HTML for notebooks. The elements are not read.
    ///
    /// ```
    /// use usm_array::{Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let html = UsmArray::zeros(&queue, UsmKind::Device, &[2, 3], Dtype::F32)?.to_html_fragment();
    /// assert!(html.contains("<th>shape</th><td>(2, 3)</td>") && html.contains("<svg "));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_html_fragment(&self) -> String {
        let (buffer, elements) = (self.buffer(), self.size());
        let contiguous = match (self.is_c_contiguous(), self.is_f_contiguous()) {
            (true, true) => "C- and F-contiguous",
            (true, false) => "C-contiguous",
            (false, true) => "F-contiguous",
            (false, false) => "not contiguous",
        };
        let writable = if self.is_writable() { "writable" } else { "read-only" };
        // Numbers, and words of this library. No text needs escapes.
        let rows = [
            ("shape", tuple(self.shape())),
            ("dtype", self.dtype().to_string()),
            ("strides", format!("{} elements", tuple(self.strides()))),
            ("elements", format!("{elements}, {} bytes, {contiguous}, {writable}", self.size_bytes())),
            ("memory", format!("{}, {} bytes at {:#x}", self.kind(), buffer.len_bytes(), buffer.address())),
            ("device", self.device().filter_string()),
        ];
        let rows: String =
            rows.iter().map(|(name, value)| format!("<tr><th>{name}</th><td>{value}</td></tr>")).collect();
        format!("<div><table>{rows}</table>{}</div>", self.layout_svg())
    }
}
