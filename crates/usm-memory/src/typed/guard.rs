//! Elements of host-accessible memory under a run-time borrow.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};

use super::TypedBuffer;
use crate::{Error, Plain, ReadGuard, Result, WriteGuard};

/// Elements borrowed for reading: a slice. Nobody writes them through a buffer of the same allocation meanwhile.
#[derive(Debug)]
pub struct TypedReadGuard<T: Plain> {
    /// Invariant R1: host-accessible, aligned for `T`, a whole number of elements.
    guard: ReadGuard,
    elements: PhantomData<T>,
}

impl<T: Plain> Deref for TypedReadGuard<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let len = self.guard.len_bytes() / size_of::<T>();
        // SAFETY: live host-accessible memory (B4 or K2, G1, R1) of `len` aligned elements, whose bytes are valid whatever they are
        // (`Plain`, 1); the table admits no writer while the guard lives.
        unsafe { std::slice::from_raw_parts(self.guard.as_ptr().cast(), len) }
    }
}

/// Elements borrowed for reading and writing: a mutable slice. Nobody else reaches them through a buffer of the same
/// allocation meanwhile.
#[derive(Debug)]
pub struct TypedWriteGuard<T: Plain> {
    /// Invariant W1: host-accessible, aligned for `T`, a whole number of elements.
    guard: WriteGuard,
    elements: PhantomData<T>,
}

impl<T: Plain> Deref for TypedWriteGuard<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let len = self.guard.len_bytes() / size_of::<T>();
        // SAFETY: W1, as for `deref_mut`; the shared borrow of the guard keeps its own writer away.
        unsafe { std::slice::from_raw_parts(self.guard.as_mut_ptr().cast_const().cast(), len) }
    }
}

impl<T: Plain> DerefMut for TypedWriteGuard<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let len = self.guard.len_bytes() / size_of::<T>();
        // SAFETY: live host-accessible memory (B4 or K2, G1, W1) of `len` aligned elements, whose bytes are valid whatever they are
        // (`Plain`, 1); the table admits nobody else while the guard lives.
        unsafe { std::slice::from_raw_parts_mut(self.guard.as_mut_ptr().cast(), len) }
    }
}

impl<T: Plain> TypedBuffer<T> {
    /// Borrows all elements for reading until the guard is dropped.
    ///
    /// # Errors
    /// As [`read_range`](Self::read_range).
    pub fn read(&self) -> Result<TypedReadGuard<T>> {
        self.read_range(0..self.len())
    }

    /// Borrows all elements for reading and writing until the guard is dropped.
    ///
    /// # Errors
    /// As [`write_range`](Self::write_range).
    pub fn write(&self) -> Result<TypedWriteGuard<T>> {
        self.write_range(0..self.len())
    }

    /// Borrows a range of elements for reading until the guard is dropped.
    ///
    /// # Errors
    /// [`Error::NotHostAccessible`] for device memory, and the errors of [`UsmBuffer::read_range`](crate::UsmBuffer::read_range).
    pub fn read_range(&self, range: Range<usize>) -> Result<TypedReadGuard<T>> {
        self.check_host()?;
        // R1: P1, and the range starts and ends with an element.
        let guard = self.as_buffer().read_range(Self::in_bytes(range))?;
        Ok(TypedReadGuard { guard, elements: PhantomData })
    }

    /// Borrows a range of elements for reading and writing until the guard is dropped.
    ///
    /// # Errors
    /// [`Error::NotHostAccessible`] for device memory, and the errors of
    /// [`UsmBuffer::write_range`](crate::UsmBuffer::write_range).
    pub fn write_range(&self, range: Range<usize>) -> Result<TypedWriteGuard<T>> {
        self.check_host()?;
        // W1: as for reading.
        let guard = self.as_buffer().write_range(Self::in_bytes(range))?;
        Ok(TypedWriteGuard { guard, elements: PhantomData })
    }

    fn check_host(&self) -> Result<()> {
        let kind = self.kind();
        if kind.is_host_accessible() { Ok(()) } else { Err(Error::NotHostAccessible { kind }) }
    }
}
