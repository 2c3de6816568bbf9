//! What a GPU shares with other processes and has open of them: the tables of `processes.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use super::driver::{HandleData, MemoryPool};
use crate::backend::files::SharedFile;
use crate::backend::leases::Leases;

/// What a device shares with other processes, and what it has open of them.
#[derive(Debug, Default)]
pub(super) struct Shares {
    pub(super) leases: Leases<Form>,
    pub(super) pools: Pools,
}

/// The pools whose blocks are shared.
#[derive(Debug, Default)]
pub(super) struct Pools {
    /// The pool of this backend for other processes, from the first share on.
    pub(super) own: Option<(PoolName, Arc<SharedFile>)>,
    /// Invariant SM1: these pools are imported, and each is in use by `count` mapped blocks.
    pub(super) imported: HashMap<PoolName, Imported>,
}

/// What tells the pools of all processes apart: random bytes.
pub(super) type PoolName = [u8; 16];

/// What the driver of another process finds a block by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Form {
    OfPool(PoolName, HandleData),
    Legacy(HandleData),
}

#[derive(Debug)]
pub(super) struct Imported {
    pub(super) pool: MemoryPool,
    pub(super) count: usize,
}

impl Form {
    /// The form, and where the range begins in the block.
    pub(super) fn to_data(self, offset_bytes: usize) -> Vec<u8> {
        let (HandleData(bytes), pool) = match &self {
            Self::OfPool(pool, data) => (data, &pool[..]),
            Self::Legacy(data) => (data, &[][..]),
        };
        [&(offset_bytes as u64).to_le_bytes(), &bytes[..], pool].concat()
    }

    pub(super) fn from_data(data: &[u8]) -> Option<(Self, usize)> {
        let (offset_bytes, data) = data.split_first_chunk()?;
        let (bytes, pool) = data.split_first_chunk()?;
        let form = match pool.try_into() {
            Ok(pool) => Self::OfPool(pool, HandleData(*bytes)),
            Err(_) if pool.is_empty() => Self::Legacy(HandleData(*bytes)),
            Err(_) => return None,
        };
        Some((form, usize::try_from(u64::from_le_bytes(*offset_bytes)).ok()?))
    }
}

/// Reads a form, and writes what was read.
#[cfg(feature = "testing")]
pub(crate) fn reread(data: &[u8]) -> Option<Vec<u8>> {
    Form::from_data(data).map(|(form, offset_bytes)| form.to_data(offset_bytes))
}
