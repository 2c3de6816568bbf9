//! One host backend for several copies of this library in a process, through a table of six C functions.
//!
//! A Python extension that links this library has a copy of its own, with statics of its own. Two host backends would not know each
//! other's memory, so the copy that came first [offers a table](super::HostBackend::table) (`serve.rs`), and the others work on its
//! backend through a [`SharedHost`] (`client.rs`). All that passes between them has a C layout: the copies may come from different
//! compilers and different builds of the same [`VERSION`].
//!
//! Copies and fills complete before their function returns. So no event, no dependency and no closure passes between the copies.

mod client;
mod serve;

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::AtomicBool;

use super::QueueProperties;
use crate::{DeviceType, Error, Result, UsmKind};

pub use self::client::SharedHost;

/// Version of [`HostTable`]. Any change of a function, a struct or a number in this file makes it another one.
pub const VERSION: u32 = 4;

/// A device, context or queue of the backend: the pointer of its raw handle.
type Token = *mut c_void;
/// The backend itself.
type Server = *const c_void;

/// The functions of a host backend, with the C calling convention. Another copy of this library calls them.
///
/// The first two fields stay what they are in every version.
#[repr(C)]
#[derive(Debug)]
pub struct HostTable {
    /// [`VERSION`] of the copy that made it.
    version: u32,
    size_bytes: u32,
    /// Invariant T1: the backend that all functions of this table take, which lives as long as the process.
    server: Server,
    /// The flag that lets one thread at a time wait inside the OpenCL driver; null where there is no SYCL backend.
    waits: *const AtomicBool,
    /// Answers a query about so many objects, with a number.
    query: unsafe extern "C" fn(Server, Query, *const Token, usize, usize) -> Answer,
    /// Queue, kind, length and alignment in bytes.
    allocate: unsafe extern "C" fn(Server, Token, usize, usize, usize) -> *mut u8,
    /// Context and block.
    free: unsafe extern "C" fn(Server, Token, *mut u8),
    /// Queue, target, source and length in bytes.
    copy: unsafe extern "C" fn(Server, Token, *mut u8, *const u8, usize) -> Failure,
    /// Queue, target, pattern with its length in bytes, and how often.
    fill: unsafe extern "C" fn(Server, Token, *mut u8, *const u8, usize, usize) -> Failure,
    /// Waits for all that was submitted to a queue.
    wait: unsafe extern "C" fn(Server, Token) -> Failure,
}

// SAFETY: T1: the backend can be used from any thread (promise 1 of `Backend`), and the rest is numbers and functions.
unsafe impl Send for HostTable {}
// SAFETY: T1: as for Send.
unsafe impl Sync for HostTable {}

/// What [`HostTable::query`] answers. Each object in an answer carries one reference.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Query(u32);

impl Query {
    /// The root device with that index.
    const ROOT_DEVICE: Self = Self(0);
    /// Type, number plus 1 or 0 for a sub-device, compute units, memory, and memory of one allocation of a device.
    const DEVICE_FACTS: Self = Self(1);
    /// The device that a sub-device is a part of.
    const PARENT_DEVICE: Self = Self(2);
    /// The root device that a device is, or is a part of.
    const ROOT_OF: Self = Self(3);
    /// The default context of a root device.
    const DEFAULT_CONTEXT: Self = Self(4);
    /// A new context over the devices.
    const NEW_CONTEXT: Self = Self(5);
    /// The device of a context with that index.
    const CONTEXT_DEVICE: Self = Self(6);
    /// A new queue on a context and a device, with the properties that the number says.
    const NEW_QUEUE: Self = Self(7);
    /// Context, device and properties of a queue.
    const QUEUE_PARTS: Self = Self(8);
    /// Kind, start and length in bytes of the allocation at that address in a context; kind 0 for none.
    const POINTER: Self = Self(9);
    /// The device of the allocation at that address in a context.
    const POINTER_DEVICE: Self = Self(10);
    /// The queue itself, with one more reference.
    const RETAIN_QUEUE: Self = Self(11);
    /// Takes one reference to the object back: a device for the number 0, a context for 1, a queue for 2.
    const RELEASE: Self = Self(12);
}

/// Answer to a query: null and 0 where there is none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Answer {
    objects: [Token; 2],
    numbers: [u64; 5],
}

impl Answer {
    const NONE: Self = Self { objects: [ptr::null_mut(); 2], numbers: [0; 5] };

    fn object(token: Token) -> Self {
        Self { objects: [token, ptr::null_mut()], ..Self::NONE }
    }

    fn numbers<const N: usize>(given: [u64; N]) -> Self {
        let mut numbers = [0; 5];
        numbers.iter_mut().zip(given).for_each(|(number, given)| *number = given);
        Self { numbers, ..Self::NONE }
    }
}

/// Why an operation failed. The text is empty when it did not fail.
#[repr(C)]
#[derive(Debug)]
struct Failure {
    len_bytes: usize,
    text: [u8; 504],
}

impl Failure {
    fn of(result: Result<()>) -> Self {
        let mut failure = Self { len_bytes: 0, text: [0; 504] };
        if let Err(error) = result {
            let text = error.to_string();
            failure.len_bytes = text.len().min(failure.text.len());
            failure.text.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
        }
        failure
    }

    fn result(&self) -> Result<()> {
        match self.text.get(..self.len_bytes) {
            Some([]) => Ok(()),
            text => {
                let text = String::from_utf8_lossy(text.unwrap_or_default()).into_owned();
                Err(Error::OfSharedHost { text })
            }
        }
    }
}

/// Types of devices by number.
const DEVICE_TYPES: [DeviceType; 4] =
    [DeviceType::Cpu, DeviceType::Gpu, DeviceType::Accelerator, DeviceType::Custom];

/// Number of a kind of memory; 0 is none.
const fn kind_number(kind: UsmKind) -> usize {
    match kind {
        UsmKind::Host => 1,
        UsmKind::Device => 2,
        UsmKind::Shared => 3,
    }
}

fn kind_of(number: usize) -> Option<UsmKind> {
    UsmKind::ALL.into_iter().find(|&kind| kind_number(kind) == number)
}

/// Number of a queue's properties: 1 for in order, 2 for profiling.
fn properties_number(properties: QueueProperties) -> usize {
    usize::from(properties.in_order) | (usize::from(properties.profiling) << 1)
}

const fn properties_of(number: usize) -> QueueProperties {
    QueueProperties { in_order: number & 1 != 0, profiling: number & 2 != 0 }
}
