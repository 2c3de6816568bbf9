//! What the bytes of a handle say.

use std::ops::Range;

use crate::{Error, Result};

/// What handles begin with.
const MAGIC: [u8; 8] = *b"usm-ipc\0";
/// Any change of the bytes, or of the messages, makes it another one.
const VERSION: u16 = 2;
/// Bytes of a handle.
pub const LEN_BYTES: usize = 40;

/// Bytes of a token: nobody guesses it.
pub(super) const TOKEN_BYTES: usize = 16;
pub(super) type Token = [u8; TOKEN_BYTES];

/// Where the process of a handle answers, and which memory it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) process: u32,
    /// Makes the address of the process one that nobody guesses.
    pub(super) nonce: u64,
    pub(super) token: Token,
}

impl Reference {
    pub(super) fn to_bytes(self) -> [u8; LEN_BYTES] {
        let mut bytes = [0; LEN_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.process.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.nonce.to_le_bytes());
        bytes[24..].copy_from_slice(&self.token);
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let refuse = |found: String, allowed: String| Err(Error::InvalidHandle { found, allowed });
        let Ok(bytes) = <&[u8; LEN_BYTES]>::try_from(bytes) else {
            return refuse(format!("{} bytes", bytes.len()), format!("{LEN_BYTES} bytes"));
        };
        if bytes[..8] != MAGIC {
            return refuse("bytes that are no handle".to_owned(), "what Handle::bytes gave".to_owned());
        }
        let version = u16::from_le_bytes([bytes[8], bytes[9]]);
        if version != VERSION || bytes[10..12] != [0; 2] {
            let allowed = format!("version {VERSION}; both processes need the same release of this library");
            return refuse(format!("version {version}"), allowed);
        }
        let mut reference = Self { process: 0, nonce: 0, token: [0; TOKEN_BYTES] };
        let number = |range: Range<usize>| {
            bytes[range].iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
        };
        reference.process = number(12..16) as u32;
        reference.nonce = number(16..24);
        reference.token.copy_from_slice(&bytes[24..]);
        Ok(reference)
    }
}
