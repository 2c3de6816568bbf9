//! The table that one copy of this library offers to the others, and what its functions exchange.

use std::ffi::c_void;
use std::str;
use std::sync::atomic::AtomicBool;

use super::super::{EventStatus, QueueProperties};
use crate::{BackendId, DeviceType, Error, Result, UsmKind};

/// Version of [`HostTable`]. Any change of a function, a struct or a number in this file makes it another one.
pub const VERSION: u32 = 2;

/// An object of the backend, as a token.
pub(super) type Token = *mut c_void;
/// The backend itself.
pub(super) type Server = *const c_void;

/// The functions of a host backend, with the C calling convention. Another copy of this library calls them.
///
/// The first two fields stay what they are in every version.
#[repr(C)]
#[derive(Debug)]
pub struct HostTable {
    /// [`VERSION`] of the copy that made it.
    pub(super) version: u32,
    pub(super) size_bytes: u32,
    /// Invariant S1: the backend that all functions of this table take, which lives as long as the process.
    pub(super) server: Server,
    /// The flag by which threads take turns to wait inside the OpenCL driver; null where there is no SYCL backend.
    pub(super) waits: *const AtomicBool,
    /// Writes as many objects as there is room for and returns how many there are; those without room are given back.
    pub(super) list:
        unsafe extern "C" fn(Server, List, Token, usize, *mut Token, usize, *mut Failure) -> usize,
    pub(super) facts: unsafe extern "C" fn(Server, Token, *mut Facts),
    pub(super) create_context: unsafe extern "C" fn(Server, *const Token, usize, *mut Failure) -> Token,
    pub(super) context_id: unsafe extern "C" fn(Server, Token) -> u64,
    pub(super) create_queue: unsafe extern "C" fn(Server, Token, Token, u32, *mut Failure) -> Token,
    pub(super) queue_parts: unsafe extern "C" fn(Server, Token, *mut QueueParts),
    pub(super) retain_queue: unsafe extern "C" fn(Server, Token),
    pub(super) release: unsafe extern "C" fn(Server, Object, Token),
    pub(super) allocate: unsafe extern "C" fn(Server, Token, u32, usize, usize) -> *mut u8,
    pub(super) free: unsafe extern "C" fn(Server, Token, *mut u8),
    pub(super) pointer_info: unsafe extern "C" fn(Server, Token, usize, *mut Pointer),
    pub(super) memcpy: unsafe extern "C" fn(
        Server,
        Token,
        *mut u8,
        *const u8,
        usize,
        *const Token,
        usize,
        *mut Failure,
    ) -> Token,
    pub(super) fill: unsafe extern "C" fn(
        Server,
        Token,
        *mut u8,
        *const u8,
        usize,
        usize,
        *const Token,
        usize,
        *mut Failure,
    ) -> Token,
    pub(super) hint:
        unsafe extern "C" fn(Server, Token, usize, usize, *const Token, usize, *mut Failure) -> Token,
    pub(super) barrier: unsafe extern "C" fn(Server, Token, *const Token, usize, *mut Failure) -> Token,
    pub(super) host_task: unsafe extern "C" fn(
        Server,
        Token,
        *const Range,
        usize,
        Task,
        *const Token,
        usize,
        *mut Failure,
    ) -> Token,
    pub(super) wait: unsafe extern "C" fn(Server, Token, *mut Failure),
    pub(super) status: unsafe extern "C" fn(Server, Token) -> u32,
    pub(super) times: unsafe extern "C" fn(Server, Token, *mut [u64; 3], *mut Failure),
}

// SAFETY: the backend can be used from any thread (the promises of `Backend`), and the rest is numbers and functions.
unsafe impl Send for HostTable {}
// SAFETY: as for Send.
unsafe impl Sync for HostTable {}

macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident { $($(#[$each:meta])* $value:ident = $number:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) struct $name(pub(super) u32);

        impl $name {
            $($(#[$each])* pub(super) const $value: Self = Self($number);)+
        }
    };
}

numbers!(
    /// What [`HostTable::list`] lists.
    List {
        ROOT_DEVICES = 0,
        PLATFORMS = 1,
        PLATFORM_DEVICES = 2,
        DEVICE_PLATFORM = 3,
        PARENT_DEVICE = 4,
        DEFAULT_CONTEXT = 5,
        CONTEXT_DEVICES = 6,
        POINTER_DEVICE = 7,
        EVENT_DEPENDENCIES = 8,
    }
);
numbers!(
    /// Type of an object.
    Object { PLATFORM = 0, DEVICE = 1, CONTEXT = 2, QUEUE = 3, EVENT = 4 }
);
numbers!(
    /// Why a function failed.
    Code { NONE = 0, FORKED = 1, NO_PROFILING = 2, UNKNOWN = 3, TOLD = 4 }
);

/// Why a function failed, if it did.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) code: Code,
    /// Bytes of the text.
    len_bytes: u32,
    text: [u8; 504],
}

impl Failure {
    pub(super) const fn none() -> Self {
        Self { code: Code::NONE, len_bytes: 0, text: [0; 504] }
    }

    pub(super) fn of(error: &Error) -> Self {
        let code = match error {
            Error::Forked => Code::FORKED,
            Error::NoProfiling => Code::NO_PROFILING,
            Error::Backend { .. } => Code::UNKNOWN,
            _ => Code::TOLD,
        };
        Self::with(code, &error.to_string())
    }

    /// That of a task.
    pub(super) fn told(reason: &str) -> Self {
        Self::with(Code::TOLD, reason)
    }

    fn with(code: Code, text: &str) -> Self {
        let mut failure = Self::none();
        failure.code = code;
        let most = text.len().min(failure.text.len());
        let end = (0..=most).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        for (to, from) in failure.text.iter_mut().zip(&text.as_bytes()[..end]) {
            *to = *from;
        }
        failure.len_bytes = u32::try_from(end).unwrap_or(0);
        failure
    }

    /// How the task failed that told it, if it did.
    pub(super) fn reason(&self) -> Result<(), String> {
        match self.code {
            Code::NONE => Ok(()),
            _ => Err(self.text().unwrap_or_default().to_owned()),
        }
    }

    fn text(&self) -> Option<&str> {
        self.text.get(..self.len_bytes as usize).and_then(|text| str::from_utf8(text).ok())
    }

    /// The failure of `call` as an error.
    pub(super) fn result(&self, call: &'static str) -> Result<()> {
        match self.code {
            Code::NONE => Ok(()),
            Code::FORKED => Err(Error::Forked),
            Code::NO_PROFILING => Err(Error::NoProfiling),
            Code::UNKNOWN => Err(Error::Backend { backend: BackendId::Host, call }),
            _ => Err(Error::OfSharedHost { text: self.text().unwrap_or(call).to_owned() }),
        }
    }
}

/// A range of memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) start: *mut u8,
    pub(super) len_bytes: usize,
}

/// A host task of the copy that calls. The other copy ends it by one of the functions, once, on any thread.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Task {
    pub(super) state: *mut c_void,
    /// Runs it, with as many addresses as it was submitted with ranges, and tells how it failed, if it did.
    pub(super) run: unsafe extern "C" fn(*mut c_void, *const *mut u8, usize, *mut Failure),
    /// For a task that never runs.
    pub(super) discard: unsafe extern "C" fn(*mut c_void),
}

/// Facts about a device that are not the same for all devices of its type.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    pub(super) device_type: u32,
    /// -1 for a part of a device.
    pub(super) number: i64,
    pub(super) compute_units: u32,
    pub(super) max_sub_devices: u32,
    pub(super) global_mem_bytes: u64,
    pub(super) max_alloc_bytes: u64,
}

/// Context, device and properties of a queue.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueParts {
    pub(super) context: Token,
    pub(super) device: Token,
    pub(super) properties: u32,
}

/// What is known about an address.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pointer {
    /// As of [`kind_number`]; 0 for an address that is not known.
    pub(super) kind: u32,
    pub(super) start: usize,
    pub(super) len_bytes: usize,
}

pub(super) const fn kind_number(kind: UsmKind) -> u32 {
    match kind {
        UsmKind::Host => 1,
        UsmKind::Device => 2,
        UsmKind::Shared => 3,
    }
}

pub(super) const fn kind_of(number: u32) -> Option<UsmKind> {
    match number {
        1 => Some(UsmKind::Host),
        2 => Some(UsmKind::Device),
        3 => Some(UsmKind::Shared),
        _ => None,
    }
}

pub(super) const fn type_number(device_type: DeviceType) -> u32 {
    match device_type {
        DeviceType::Cpu => 0,
        DeviceType::Gpu => 1,
        DeviceType::Accelerator => 2,
        DeviceType::Custom => 3,
    }
}

pub(super) const fn type_of(number: u32) -> DeviceType {
    match number {
        0 => DeviceType::Cpu,
        1 => DeviceType::Gpu,
        2 => DeviceType::Accelerator,
        _ => DeviceType::Custom,
    }
}

pub(super) fn properties_number(properties: QueueProperties) -> u32 {
    u32::from(properties.in_order) | (u32::from(properties.profiling) << 1)
}

pub(super) const fn properties_of(number: u32) -> QueueProperties {
    QueueProperties { in_order: number & 1 != 0, profiling: number & 2 != 0 }
}

pub(super) const fn status_number(status: EventStatus) -> u32 {
    match status {
        EventStatus::Submitted => 0,
        EventStatus::Running => 1,
        EventStatus::Complete => 2,
        EventStatus::Failed => 3,
    }
}

pub(super) const fn status_of(number: u32) -> EventStatus {
    match number {
        0 => EventStatus::Submitted,
        1 => EventStatus::Running,
        3 => EventStatus::Failed,
        _ => EventStatus::Complete,
    }
}
