//! An array as HTML: its elements, a table of its properties, and the drawing of its layout

use usm_memory::html::{Escaped, facts, fragment, scrolling};
use usm_memory::usm_core::ByteCount;

use crate::array::UsmArray;
use crate::print::{PrintOptions, tuple};

impl UsmArray {
    /// The elements as text, a table of shape, strides, element type, memory and owner, and the drawing of
    /// [`layout_svg`](Self::layout_svg), as a fragment of HTML for notebooks. The text has the summary of large arrays that
    /// `Display` has; where the elements cannot be read, it says why.
    ///
    /// ```
    /// use usm_array::{Dtype, UsmArray, usm_core::{Runtime, UsmKind}};
    ///
    /// let queue = Runtime::global().default_queue(Runtime::global().host_device())?;
    /// let html = UsmArray::zeros(&queue, UsmKind::Device, &[2, 3], Dtype::F32)?.to_html_fragment();
    /// assert!(html.contains("[[0. 0. 0.]\n [0. 0. 0.]]"));
    /// assert!(html.contains("<td>(2, 3)</td>") && html.contains("<svg "));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_html_fragment(&self) -> String {
        let text = self.display(&PrintOptions::default());
        self.html_fragment_with(&text.unwrap_or_else(|error| format!("The elements cannot be read: {error}")))
    }

    /// As [`to_html_fragment`](Self::to_html_fragment), with another text for the elements, which are not read.
    #[must_use]
    pub fn html_fragment_with(&self, elements: &str) -> String {
        let contiguous = match (self.is_c_contiguous(), self.is_f_contiguous()) {
            (true, true) => "C- and F-contiguous",
            (true, false) => "C-contiguous",
            (false, true) => "F-contiguous",
            (false, false) => "not contiguous",
        };
        let bytes = ByteCount::from(self.size_bytes());
        let mut rows = vec![
            ("shape", tuple(self.shape())),
            ("dtype", self.dtype().to_string()),
            ("strides", format!("{} elements, offset {}", tuple(self.strides()), self.offset())),
            ("elements", format!("{}, {bytes}, {contiguous}", self.size())),
            ("kind", format!("{} USM", self.kind())),
        ];
        rows.extend(self.buffer().html_facts().into_iter().map(|(name, value)| match name {
            "size" => ("memory", value),
            name => (name, value),
        }));
        let caption = format!("{} array of shape {}", self.dtype(), tuple(self.shape()));
        let elements = format!("<pre>{}</pre>", Escaped(elements));
        let content = format!(
            "{}{}<details open=\"open\"><summary>layout in memory</summary>{}</details>\n",
            scrolling("elements", &elements),
            facts(&caption, &rows),
            scrolling("drawing of the layout", &self.layout_svg())
        );
        fragment(&caption, "", &content)
    }
}
