//! What processes know blocks and files of each other by.

use crate::os::MemoryFile;

/// `CUmemPoolPtrExportData` and `CUipcMemHandle`: the process, its file, and the range in it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HandleData([u64; 8]);

/// What tells handles from other bytes.
const MAGIC: u64 = u64::from_le_bytes(*b"loopback");

impl HandleData {
    pub(crate) fn new(file: &MemoryFile, offset: usize, len_bytes: usize) -> Self {
        let (process, number) = (u64::from(std::process::id()), file.number());
        Self([MAGIC, process, number, offset as u64, len_bytes as u64, 0, 0, 0])
    }

    /// The process, the number of the file there, the offset and the length.
    pub(crate) fn parts(&self) -> Option<(u32, u64, usize, usize)> {
        let [MAGIC, process, number, offset, len_bytes, 0, 0, 0] = self.0 else { return None };
        let process = u32::try_from(process).ok()?;
        Some((process, number, usize::try_from(offset).ok()?, usize::try_from(len_bytes).ok()?))
    }
}
