//! Where a buffer starts in its block, and whether it may be written, in one word.

/// An offset in bytes and a flag. No memory is larger than half of the addresses, so that a bit of the word is left: buffers are kept
/// by the million, and a word for the flag would be a quarter of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offset(usize);

impl Offset {
    pub(super) const fn new(bytes: usize, writable: bool) -> Self {
        Self(bytes << 1 | writable as usize)
    }

    pub(super) const fn bytes(self) -> usize {
        self.0 >> 1
    }

    pub(super) const fn is_writable(self) -> bool {
        self.0 & 1 != 0
    }

    pub(super) const fn plus(self, bytes: usize) -> Self {
        Self::new(self.bytes() + bytes, self.is_writable())
    }

    pub(super) const fn read_only(self) -> Self {
        Self::new(self.bytes(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::Offset;

    #[test]
    fn offsets_and_the_flag_do_not_meet() {
        for bytes in [0, 1, 2, 4095, isize::MAX as usize] {
            for writable in [false, true] {
                let offset = Offset::new(bytes, writable);
                assert_eq!((offset.bytes(), offset.is_writable()), (bytes, writable));
                assert_eq!((offset.read_only().bytes(), offset.read_only().is_writable()), (bytes, false));
            }
        }
        assert_eq!(Offset::new(5, true).plus(7).bytes(), 12);
        assert!(Offset::new(5, true).plus(7).is_writable());
    }
}
