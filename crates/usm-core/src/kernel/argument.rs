//! Arguments of kernels: numbers, USM pointers, local memory.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use super::device_copyable::{DeviceCopyable, bytes_of};
use crate::Allocation;

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArgumentKind {
    /// A number of 8 bits, OpenCL C's `char`.
    I8,
    /// An unsigned number of 8 bits, `uchar`.
    U8,
    /// A number of 16 bits, `short`.
    I16,
    /// An unsigned number of 16 bits, `ushort`.
    U16,
    /// A number of 32 bits, `int`.
    I32,
    /// An unsigned number of 32 bits, `uint`.
    U32,
    /// A number of 64 bits, `long`.
    I64,
    /// An unsigned number of 64 bits, `ulong`.
    U64,
    /// A floating-point number of 32 bits, `float`.
    F32,
    /// A floating-point number of 64 bits, `double`.
    F64,
    /// A USM pointer, `global T *`.
    Pointer,
    /// A struct by value, a [`DeviceCopyable`].
    Struct,
    /// Memory that the work-items of a work-group share, `local T *`.
    LocalMemory,
}

/// One argument of a kernel, by value: a number, a struct that is [`DeviceCopyable`], a USM pointer, or local memory.
///
/// A number must have the kind that the kernel declares: the runtime compares sizes, and refuses a wrong one without a reason.
///
/// ```
/// use usm_core::{ArgumentKind, KernelArgument};
///
/// assert_eq!(KernelArgument::from(2.5_f32).kind(), ArgumentKind::F32);
/// assert_eq!(KernelArgument::from(-3_i16).to_string(), "i16 -3");
/// assert_eq!(KernelArgument::local_memory(256).to_string(), "256 bytes of local memory");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct KernelArgument {
    kind: ArgumentKind,
    content: Content,
}

/// The value of an argument. A clone of a struct is a reference to the same bytes.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Content {
    Word(Word),
    Struct(Arc<[u8]>),
}

/// A number's bytes in memory order, then zeros; of a pointer its address, of local memory its length in bytes. Aligned for any number,
/// so that a backend may pass its address.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(align(8))]
struct Word([u8; 8]);

impl KernelArgument {
    /// `len_bytes` bytes of local memory for each work-group, with undefined content.
    #[must_use]
    pub const fn local_memory(len_bytes: usize) -> Self {
        Self::word(ArgumentKind::LocalMemory, (len_bytes as u64).to_ne_bytes())
    }

    /// USM at an address, as [`Allocation::address`] tells it; 0 is a null pointer.
    ///
    /// An address that comes from a pointer of the host must have been
    /// [exposed](https://doc.rust-lang.org/std/primitive.pointer.html#method.expose_provenance); converting the pointer
    /// itself does that.
    #[must_use]
    pub const fn pointer(address: usize) -> Self {
        Self::word(ArgumentKind::Pointer, (address as u64).to_ne_bytes())
    }

    const fn word(kind: ArgumentKind, bytes: [u8; 8]) -> Self {
        Self { kind, content: Content::Word(Word(bytes)) }
    }

    /// What the argument is.
    #[must_use]
    pub const fn kind(&self) -> ArgumentKind {
        self.kind
    }

    /// The bytes of a number, a pointer or a struct, in memory order; of local memory none.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.content {
            Content::Word(Word(bytes)) => &bytes[..self.kind.len_bytes().unwrap_or(0)],
            Content::Struct(bytes) => bytes,
        }
    }

    /// The address of a pointer.
    #[must_use]
    pub fn address(&self) -> Option<usize> {
        self.number_of(ArgumentKind::Pointer)
    }

    /// The length of local memory, in bytes.
    #[must_use]
    pub fn local_bytes(&self) -> Option<usize> {
        self.number_of(ArgumentKind::LocalMemory)
    }

    /// Bytes of a number, a pointer or a struct; `None` for local memory.
    #[must_use]
    pub fn len_bytes(&self) -> Option<usize> {
        (self.kind != ArgumentKind::LocalMemory).then(|| self.as_bytes().len())
    }

    fn number_of(&self, kind: ArgumentKind) -> Option<usize> {
        match self.content {
            Content::Word(Word(bytes)) if self.kind == kind => {
                usize::try_from(u64::from_ne_bytes(bytes)).ok()
            }
            _ => None,
        }
    }
}

/// A number of its kind, or a struct.
impl<T: DeviceCopyable> From<T> for KernelArgument {
    fn from(value: T) -> Self {
        let bytes = bytes_of(&value);
        if T::KIND == ArgumentKind::Struct {
            return Self { kind: T::KIND, content: Content::Struct(bytes.into()) };
        }
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        Self::word(T::KIND, word)
    }
}

macro_rules! numbers {
    ($($number:ty, $kind:ident;)+) => {
        impl ArgumentKind {
            /// Bytes of a number or a pointer; `None` for local memory, and for structs, which differ.
            const fn len_bytes(self) -> Option<usize> {
                match self {
                    $(Self::$kind => Some(size_of::<$number>()),)+
                    Self::Pointer => Some(8),
                    Self::Struct | Self::LocalMemory => None,
                }
            }
        }

        impl fmt::Display for KernelArgument {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let Word(bytes) = match &self.content {
                    Content::Word(word) => *word,
                    Content::Struct(bytes) => return write!(f, "a struct of {} bytes", bytes.len()),
                };
                match self.kind {
                    $(ArgumentKind::$kind => {
                        let mut value = [0; size_of::<$number>()];
                        value.copy_from_slice(&bytes[..size_of::<$number>()]);
                        write!(f, concat!(stringify!($number), " {}"), <$number>::from_ne_bytes(value))
                    })+
                    ArgumentKind::LocalMemory => {
                        write!(f, "{} bytes of local memory", u64::from_ne_bytes(bytes))
                    }
                    ArgumentKind::Pointer | ArgumentKind::Struct => write!(f, "{:#x}", u64::from_ne_bytes(bytes)),
                }
            }
        }
    };
}

numbers!(
    i8, I8;
    u8, U8;
    i16, I16;
    u16, U16;
    i32, I32;
    u32, U32;
    i64, I64;
    u64, U64;
    f32, F32;
    f64, F64;
);

impl fmt::Debug for KernelArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KernelArgument({self})")
    }
}

impl<T> From<*mut T> for KernelArgument {
    fn from(pointer: *mut T) -> Self {
        Self::pointer(pointer.expose_provenance())
    }
}

impl<T> From<*const T> for KernelArgument {
    fn from(pointer: *const T) -> Self {
        Self::pointer(pointer.expose_provenance())
    }
}

impl<T> From<NonNull<T>> for KernelArgument {
    fn from(pointer: NonNull<T>) -> Self {
        pointer.as_ptr().into()
    }
}

/// The start of the block.
impl From<&Allocation> for KernelArgument {
    fn from(block: &Allocation) -> Self {
        block.as_ptr().into()
    }
}

#[cfg(test)]
mod tests {
    use super::{ArgumentKind, KernelArgument};

    #[test]
    fn every_number_is_its_bytes_then_zeros() {
        let arguments: [(KernelArgument, ArgumentKind, &[u8], &str); 10] = [
            ((-2_i8).into(), ArgumentKind::I8, &(-2_i8).to_ne_bytes(), "i8 -2"),
            (200_u8.into(), ArgumentKind::U8, &[200], "u8 200"),
            ((-300_i16).into(), ArgumentKind::I16, &(-300_i16).to_ne_bytes(), "i16 -300"),
            (60_000_u16.into(), ArgumentKind::U16, &60_000_u16.to_ne_bytes(), "u16 60000"),
            ((-5_i32).into(), ArgumentKind::I32, &(-5_i32).to_ne_bytes(), "i32 -5"),
            (u32::MAX.into(), ArgumentKind::U32, &[255; 4], "u32 4294967295"),
            (i64::MIN.into(), ArgumentKind::I64, &i64::MIN.to_ne_bytes(), "i64 -9223372036854775808"),
            (u64::MAX.into(), ArgumentKind::U64, &[255; 8], "u64 18446744073709551615"),
            (1.5_f32.into(), ArgumentKind::F32, &1.5_f32.to_ne_bytes(), "f32 1.5"),
            ((-0.25_f64).into(), ArgumentKind::F64, &(-0.25_f64).to_ne_bytes(), "f64 -0.25"),
        ];
        for (argument, kind, bytes, text) in arguments {
            assert_eq!((argument.kind(), argument.to_string().as_str()), (kind, text));
            assert_eq!((argument.as_bytes(), argument.len_bytes()), (bytes, Some(bytes.len())));
            assert_eq!((argument.address(), argument.local_bytes()), (None, None));
        }
    }

    #[test]
    fn pointers_are_addresses_and_local_memory_is_a_length() {
        let value = 5_u16;
        let pointer = &raw const value;
        let argument = KernelArgument::from(pointer);
        assert_eq!((argument.address(), argument.local_bytes()), (Some(pointer.addr()), None));
        assert_eq!(argument, KernelArgument::from(pointer.cast_mut()));
        assert_eq!(argument.to_string(), format!("{:#x}", pointer.addr()));
        let local = KernelArgument::local_memory(9);
        assert_eq!((local.local_bytes(), local.len_bytes(), argument.len_bytes()), (Some(9), None, Some(8)));
        assert_eq!((local.as_bytes(), argument.as_bytes()), (&[][..], &pointer.addr().to_ne_bytes()[..]));
        assert_ne!(KernelArgument::local_memory(9), KernelArgument::pointer(9));
    }

    #[test]
    fn structs_are_their_bytes_in_the_order_of_memory() {
        let argument = KernelArgument::from([1_u16, 2, 0x0304]);
        let bytes: Vec<u8> = [1_u16, 2, 0x0304].iter().flat_map(|number| number.to_ne_bytes()).collect();
        assert_eq!((argument.kind(), argument.as_bytes()), (ArgumentKind::Struct, &bytes[..]));
        assert_eq!((argument.len_bytes(), argument.address(), argument.local_bytes()), (Some(6), None, None));
        assert_eq!((argument.clone(), argument.to_string().as_str()), (argument, "a struct of 6 bytes"));
        let one = KernelArgument::from([5_u64]);
        assert_ne!(one, KernelArgument::from(5_u64), "another kind");
        assert_eq!(one.as_bytes(), KernelArgument::from(5_u64).as_bytes());
    }
}
