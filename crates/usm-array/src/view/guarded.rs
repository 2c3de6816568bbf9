//! Access of host code to memory of arrays: the guards of views, which users hold, and operations, for which others wait

use std::ops::{Deref, Range};
use std::slice;

use usm_memory::{Operand, ReadAccess, ReadGuard, Stripes, WriteAccess, WriteGuard};

use crate::array::UsmArray;
use crate::error::{Error, Result};

/// Memory of an array that host code may read; `None` inside if the array has no elements.
#[derive(Debug)]
pub(crate) struct HostRead {
    // Invariant G1: Taken from a host-reachable buffer, over `byte_range` of the array.
    guard: Option<ReadGuard>,
}

/// Memory of an array that host code may read and write; `None` inside if it has no elements.
#[derive(Debug)]
pub(crate) struct HostWrite {
    // Invariant G2: Taken from a host-reachable, writable buffer, over `byte_range` of the array.
    guard: Option<WriteGuard>,
}

impl UsmArray {
    /// A guard over the elements, from the lowest to the highest; `None` without elements.
    fn read_guard(&self) -> Result<Option<ReadGuard>> {
        let range = self.byte_range();
        Ok(if range.is_empty() { None } else { Some(self.buffer().read_range(range)?) })
    }

    /// As [`read_guard`](Self::read_guard), for writing.
    fn write_guard(&self) -> Result<Option<WriteGuard>> {
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

/// Bytes that an operation reads in place.
#[derive(Debug)]
pub(crate) struct Reading {
    // Invariant G3: of a host-reachable buffer.
    access: ReadAccess,
}

/// Bytes that an operation writes in place.
#[derive(Debug)]
pub(crate) struct Writing {
    // Invariant G4: of a host-reachable buffer.
    access: WriteAccess,
}

impl Reading {
    /// Bytes of the buffer of an array.
    pub(crate) fn of(array: &UsmArray, range: Range<usize>) -> Result<Self> {
        check_reachable(array)?;
        Ok(Self { access: array.buffer().read_access(range)? })
    }
}

impl Reading {
    /// Of a host-reachable buffer.
    pub(crate) fn over(access: ReadAccess) -> Self {
        Self { access }
    }
}

impl Deref for Reading {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: G3: live memory that host code reaches, and the access keeps all writers away.
        unsafe { slice::from_raw_parts(self.access.as_ptr(), self.access.len_bytes()) }
    }
}

impl Writing {
    /// Bytes of the buffer of an array.
    pub(crate) fn of(array: &UsmArray, range: Range<usize>) -> Result<Self> {
        array.check_writable()?;
        check_reachable(array)?;
        Ok(Self { access: array.buffer().write_access(range)? })
    }

    /// As [`of`](Self::of), and all elements of another array that the same operation reads.
    pub(crate) fn with_read(
        array: &UsmArray,
        range: Range<usize>,
        source: &UsmArray,
    ) -> Result<(Self, Reading)> {
        array.check_writable()?;
        check_reachable(array)?;
        check_reachable(source)?;
        let (to, from) = (Operand::written(array.buffer(), range), source.spanned(false));
        let (writing, reading) = WriteAccess::with_read(&to, &from)?;
        Ok((Self { access: writing }, Reading { access: reading }))
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: G4: live memory that host code reaches, and the access keeps all others away.
        unsafe { slice::from_raw_parts_mut(self.access.as_mut_ptr(), self.access.len_bytes()) }
    }
}

/// Arrays of so many bytes are entered as a span: an operation on them is over before their stripes are known.
const SPANNED_BYTES: usize = 16 << 10;

impl UsmArray {
    /// All bytes from the lowest element to the highest, for an operation that reads them, or `writes`.
    pub(crate) fn spanned(&self, writes: bool) -> Operand<'_> {
        Operand::new(self.buffer(), self.byte_range(), writes)
    }

    /// The bytes of the elements, for an operation that reads them, or `writes`.
    pub(crate) fn elements(&self, writes: bool) -> Operand<'_> {
        if self.size_bytes() <= SPANNED_BYTES || self.layout().is_contiguous() {
            return self.spanned(writes);
        }
        let itemsize = self.itemsize_bytes();
        // No distance is larger than the buffer, by A1; that of a single element means nothing.
        let axes = self.layout().axes().filter(|&(size, _)| size > 1);
        let axes = axes.map(|(size, stride)| (size, stride.unsigned_abs() * itemsize));
        Operand { stripes: Stripes::covering(itemsize, axes), ..self.spanned(writes) }
    }
}

impl HostWrite {
    /// All bytes, from the lowest element to the highest; none without elements.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let len_bytes = self.guard.as_ref().map_or(0, WriteGuard::len_bytes);
        // SAFETY: G2: live memory that host code reaches, and the guard keeps all others away; or no bytes.
        unsafe { slice::from_raw_parts_mut(self.as_mut_ptr(), len_bytes) }
    }
}

/// Elements of ordinary host memory that are borrowed, as those of a view of `ndarray`.
#[cfg(feature = "ndarray")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Borrowed<'a> {
    // Invariant G5: for `'a`, host code may read the elements that the holder finds from here, from any thread, and nobody writes them.
    start: *const u8,
    _memory: std::marker::PhantomData<&'a [u8]>,
}

#[cfg(feature = "ndarray")]
impl<'a> Borrowed<'a> {
    /// # Safety
    /// 1. For `'a`, host code may read the elements that the holder finds from here, from any thread, and nobody writes them.
    pub(super) unsafe fn new(start: *const u8) -> Self {
        Self { start, _memory: std::marker::PhantomData } // G5 is promise 1
    }
}

/// Elements of ordinary host memory that are borrowed to be changed, as those of a mutable view of `ndarray`.
#[cfg(feature = "ndarray")]
#[derive(Clone, Copy, Debug)]
pub(super) struct BorrowedMut<'a> {
    // Invariant G6: for `'a`, host code may read and write the elements that the holder finds from here, from any thread, and nobody else
    //     touches them.
    start: *mut u8,
    _memory: std::marker::PhantomData<&'a mut [u8]>,
}

#[cfg(feature = "ndarray")]
impl BorrowedMut<'_> {
    /// # Safety
    /// 1. For the lifetime, host code may read and write the elements that the holder finds from here, from any thread, and nobody else
    ///    touches them.
    pub(super) unsafe fn new(start: *mut u8) -> Self {
        Self { start, _memory: std::marker::PhantomData } // G6 is promise 1
    }
}

#[cfg(feature = "ndarray")]
// SAFETY: any thread may read and write, by G6.
unsafe impl Send for BorrowedMut<'_> {}

#[cfg(feature = "ndarray")]
// SAFETY: several threads may read, by G6; to write takes the holder for itself.
unsafe impl Sync for BorrowedMut<'_> {}

#[cfg(feature = "ndarray")]
// SAFETY: any thread may read, by G5.
unsafe impl Send for Borrowed<'_> {}

#[cfg(feature = "ndarray")]
// SAFETY: several threads may read, by G5.
unsafe impl Sync for Borrowed<'_> {}

/// Start of the memory of a view, kept beside its guard: to ask the guard takes longer than to read an element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start(
    // Invariant G7: nothing here follows it. A view does so, by what it says of its memory and its layout.
    *mut u8,
);

// SAFETY: by G7 it is only a number here.
unsafe impl Send for Start {}

// SAFETY: by G7 it is only a number here.
unsafe impl Sync for Start {}

impl Start {
    #[inline]
    pub(super) fn as_mut_ptr(self) -> *mut u8 {
        self.0
    }
}

/// The guard of a view that writes and that others are parts of.
#[derive(Clone, Copy, Debug)]
pub(super) enum MemoryMut<'a> {
    Guard(&'a HostWrite),
    #[cfg(feature = "ndarray")]
    Borrowed(BorrowedMut<'a>),
}

impl MemoryMut<'_> {
    /// Start of the memory, readable and writable while the guard lives.
    pub(super) fn start(self) -> Start {
        match self {
            Self::Guard(guard) => Start(guard.as_mut_ptr()),
            #[cfg(feature = "ndarray")]
            Self::Borrowed(memory) => Start(memory.start),
        }
    }
}

/// The guard of a view that others are parts of.
#[derive(Clone, Copy, Debug)]
pub(super) enum MemoryRef<'a> {
    Read(&'a HostRead),
    Write(MemoryMut<'a>),
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
    pub(super) fn start(&self) -> Start {
        match self.by_ref() {
            MemoryRef::Read(guard) => Start(guard.as_ptr().cast_mut()),
            MemoryRef::Write(memory) => memory.start(),
            #[cfg(feature = "ndarray")]
            MemoryRef::Borrowed(memory) => Start(memory.start.cast_mut()),
        }
    }
}

/// The guard of a view that writes: its own, or the guard of the view it is a part of. That view is borrowed meanwhile.
#[derive(Debug)]
pub(super) enum Writable<'a> {
    Own(HostWrite),
    Part(MemoryMut<'a>),
}

impl Writable<'_> {
    pub(super) fn by_ref(&self) -> MemoryMut<'_> {
        match self {
            Self::Own(guard) => MemoryMut::Guard(guard),
            Self::Part(memory) => *memory,
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
