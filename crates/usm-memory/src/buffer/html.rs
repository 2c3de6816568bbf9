//! A buffer as a table

use usm_core::ByteCount;

use super::{Ownership, UsmBuffer};
use crate::html::{Escaped, facts, fragment};

impl UsmBuffer {
    /// Kind, size, place and owner of the memory as a table, as a fragment of HTML for notebooks. The memory is not read.
    ///
    /// ```
    /// use usm_memory::UsmBuffer;
    /// use usm_memory::usm_core::{Runtime, UsmKind};
    ///
    /// # fn main() -> usm_memory::Result<()> {
    /// # let runtime = Runtime::global();
    /// # let queue = runtime.default_queue(runtime.host_device())?;
    /// let html = UsmBuffer::allocate(&queue, UsmKind::Shared, 2048)?.to_html_fragment();
    /// assert!(html.contains("shared USM") && html.contains("2.0 KiB"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn to_html_fragment(&self) -> String {
        let caption = format!("{} USM", self.kind());
        fragment(&caption, "", &facts(&caption, &self.html_facts()))
    }

    /// The rows of the table.
    #[doc(hidden)]
    #[must_use]
    pub fn html_facts(&self) -> Vec<(&'static str, String)> {
        let device = self.device();
        let access = match (self.is_writable(), self.is_host_reachable()) {
            (true, true) => "writable, host code reaches it",
            (false, true) => "read-only, host code reaches it",
            (true, false) => "writable, only devices reach it",
            (false, false) => "read-only, only devices reach it",
        };
        vec![
            ("size", format!("{} at <code>{:#x}</code>", ByteCount::from(self.len_bytes()), self.address())),
            ("lives on", Escaped(format!("{} ({})", device.filter_string(), device.info().name)).to_string()),
            ("owner", self.owner().to_owned()),
            ("access", access.to_owned()),
        ]
    }

    /// Who frees the memory, in words.
    fn owner(&self) -> &'static str {
        match self.ownership() {
            Ownership::Owned(_) => "this library: freed with the last buffer, array and view of it",
            Ownership::Borrowed(_) => "an external owner, which is kept alive until the last view is gone",
            Ownership::Leased(_) => "a pool: given back with the last buffer, array and view of it",
        }
    }
}
