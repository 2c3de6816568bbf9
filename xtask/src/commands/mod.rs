//! One file and one function per command.

pub(crate) mod bench;
pub(crate) mod ci;
pub(crate) mod demo;
pub(crate) mod device;
pub(crate) mod dist;
pub(crate) mod docs;
pub(crate) mod doctor;
pub(crate) mod kernels;
pub(crate) mod release;
pub(crate) mod test;
pub(crate) mod update;
pub(crate) mod verify;
