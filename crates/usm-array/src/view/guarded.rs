//! Borrow guards over exactly the memory of an array's elements, which host code can touch

use usm_memory::{ReadGuard, WriteGuard};

use crate::array::UsmArray;
use crate::error::{Error, Result};

/// Memory of an array that host code may read; `None` inside if the array has no elements.
#[derive(Debug)]
pub(crate) struct HostRead {
    // G1. Taken from a host-reachable buffer, over `byte_range` of the array.
    guard: Option<ReadGuard>,
}

/// Memory of an array that host code may read and write; `None` inside if it has no elements.
#[derive(Debug)]
pub(crate) struct HostWrite {
    // G2. Taken from a host-reachable, writable buffer, over `byte_range` of the array.
    guard: Option<WriteGuard>,
}

impl UsmArray {
    /// A guard over the elements, from the lowest to the highest; `None` without elements.
    pub(crate) fn read_guard(&self) -> Result<Option<ReadGuard>> {
        let range = self.byte_range();
        Ok(if range.is_empty() { None } else { Some(self.buffer().read_range(range)?) })
    }

    /// As [`read_guard`](Self::read_guard), for writing.
    pub(crate) fn write_guard(&self) -> Result<Option<WriteGuard>> {
        let range = self.byte_range();
        Ok(if range.is_empty() { None } else { Some(self.buffer().write_range(range)?) })
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.is_writable() { Ok(()) } else { Err(Error::ReadOnly) }
    }
}

impl HostRead {
    pub(crate) fn lock(array: &UsmArray) -> Result<Self> {
        check_reachable(array)?;
        Ok(Self { guard: array.read_guard()? })
    }

    /// Start of the memory, readable over the range while this guard lives, by G1.
    /// Dangling without elements.
    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.guard.as_ref().map_or(std::ptr::dangling(), ReadGuard::as_ptr)
    }
}

impl HostWrite {
    pub(crate) fn lock(array: &UsmArray) -> Result<Self> {
        array.check_writable()?;
        check_reachable(array)?;
        Ok(Self { guard: array.write_guard()? })
    }

    /// Start of the memory, readable and writable over the range while this guard lives,
    /// by G2. Dangling without elements.
    pub(crate) fn as_mut_ptr(&self) -> *mut u8 {
        self.guard.as_ref().map_or(std::ptr::dangling_mut(), WriteGuard::as_mut_ptr)
    }
}

/// Elements of ordinary host memory that are borrowed, as those of a view of `ndarray`.
#[cfg(feature = "ndarray")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Borrowed<'a> {
    // G3. For `'a`, host code may read the elements that the holder finds from here, from any thread, and nobody writes them.
    start: *const u8,
    _memory: std::marker::PhantomData<&'a [u8]>,
}

#[cfg(feature = "ndarray")]
impl<'a> Borrowed<'a> {
    /// # Safety
    /// 1. For `'a`, host code may read the elements that the holder finds from here, from any thread, and nobody writes them.
    pub(super) unsafe fn new(start: *const u8) -> Self {
        Self { start, _memory: std::marker::PhantomData } // G3 is condition 1
    }
}

#[cfg(feature = "ndarray")]
// SAFETY: any thread may read, by G3.
unsafe impl Send for Borrowed<'_> {}

#[cfg(feature = "ndarray")]
// SAFETY: several threads may read, by G3.
unsafe impl Sync for Borrowed<'_> {}

/// The guard of a view that others are parts of.
#[derive(Clone, Copy, Debug)]
pub(super) enum MemoryRef<'a> {
    Read(&'a HostRead),
    Write(&'a HostWrite),
    #[cfg(feature = "ndarray")]
    Borrowed(Borrowed<'a>),
}

/// The guard of a view that reads: its own, or the guard of the view it is a part of.
#[derive(Debug)]
pub(super) enum Readable<'a> {
    Own(HostRead),
    Part(MemoryRef<'a>),
}

impl Readable<'_> {
    pub(super) fn by_ref(&self) -> MemoryRef<'_> {
        match self {
            Self::Own(guard) => MemoryRef::Read(guard),
            Self::Part(memory) => *memory,
        }
    }

    /// Start of the memory, readable while this lives.
    pub(super) fn as_ptr(&self) -> *const u8 {
        match self.by_ref() {
            MemoryRef::Read(guard) => guard.as_ptr(),
            MemoryRef::Write(guard) => guard.as_mut_ptr(),
            #[cfg(feature = "ndarray")]
            MemoryRef::Borrowed(memory) => memory.start,
        }
    }
}

/// The guard of a view that writes: its own, or the guard of the view it is a part of. That view is borrowed meanwhile.
#[derive(Debug)]
pub(super) enum Writable<'a> {
    Own(HostWrite),
    Part(&'a HostWrite),
}

impl Writable<'_> {
    pub(super) fn by_ref(&self) -> &HostWrite {
        match self {
            Self::Own(guard) => guard,
            Self::Part(guard) => guard,
        }
    }
}

/// Refuses device memory, even where host code reaches it: users get the views.
pub(super) fn check_accessible(array: &UsmArray) -> Result<()> {
    if array.is_host_accessible() { Ok(()) } else { Err(Error::NotHostAccessible { kind: array.kind() }) }
}

fn check_reachable(array: &UsmArray) -> Result<()> {
    if array.is_host_reachable() { Ok(()) } else { Err(Error::NotHostAccessible { kind: array.kind() }) }
}
