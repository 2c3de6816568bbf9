//! The forms of the C interface that this crate knows, how a library shows its form, and what differs between them.

use core::ffi::{c_char, c_void};
use std::fmt;

use super::CreateFromSpirv;
use crate::dl::Kept;
use crate::types::*;

/// Functions that dpctl 0.23 added after all else that differs. Each one alone tells that form, since a later version may lack the
/// other one.
const ONLY_0_23: [&str; 2] = ["DPCTLDevice_CanCompileSPIRV", "DPCTLQueue_MemsetWithEvents"];
/// Functions that 0.23 added before. A library that has one of these, but none of the former, is a development version: nobody
/// knows which of the differences it has.
const BEFORE_0_23: [&str; 2] = ["DPCTLIPCMem_Available", "DPCTLDevice_GetVendorId"];

/// The form of the C interface: which signatures and numbers a library has where versions of dpctl differ.
///
/// It is decided by the functions that the library exports, and by nothing else. A later version counts as the newest form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Form {
    /// The interface of dpctl 0.22.
    V22,
    /// The interface of dpctl 0.23.
    V23,
}

/// A resource by which a device is partitioned into sub-devices, `sycl::info::partition_affinity_domain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AffinityDomain {
    /// By nothing; no device is partitioned so.
    NotApplicable,
    /// Compute units of one NUMA node stay together.
    Numa,
    /// Compute units that share a level 4 cache stay together.
    L4Cache,
    /// Compute units that share a level 3 cache stay together.
    L3Cache,
    /// Compute units that share a level 2 cache stay together.
    L2Cache,
    /// Compute units that share a level 1 cache stay together.
    L1Cache,
    /// The first of the above by which the device can be partitioned.
    NextPartitionable,
}

impl Form {
    /// The form of a library with these functions.
    ///
    /// # Errors
    ///
    /// The name of a function that makes it a development version between two forms.
    pub fn of(has: impl Fn(&str) -> bool) -> Result<Self, &'static str> {
        if ONLY_0_23.into_iter().any(&has) {
            return Ok(Self::V23);
        }
        BEFORE_0_23.into_iter().find(|name| has(name)).map_or(Ok(Self::V22), Err)
    }

    /// The form of an opened library.
    pub(super) fn of_library(library: &Kept) -> Result<Self, &'static str> {
        Self::of(|name| {
            // SAFETY: KL1: the address of the symbol is looked up, and neither called nor read.
            unsafe { library.get::<*const c_void>(name) }.is_ok()
        })
    }

    /// The newest form.
    pub(crate) const NEWEST: Self = Self::V23;

    /// The version of dpctl that has this form.
    #[must_use]
    pub const fn version(self) -> (u32, u32) {
        match self {
            Self::V22 => (0, 22),
            Self::V23 => (0, 23),
        }
    }

    /// The number of an affinity domain. Version 0.23 put an unknown domain before all others.
    #[must_use]
    pub const fn affinity_domain(self, domain: AffinityDomain) -> DPCTLPartitionAffinityDomainType {
        let [v22, v23] = match domain {
            AffinityDomain::NotApplicable => [0, 1],
            AffinityDomain::Numa => [1, 2],
            AffinityDomain::L4Cache => [2, 3],
            AffinityDomain::L3Cache => [3, 4],
            AffinityDomain::L2Cache => [4, 5],
            AffinityDomain::L1Cache => [5, 6],
            AffinityDomain::NextPartitionable => [6, 7],
        };
        DPCTLPartitionAffinityDomainType(match self {
            Self::V22 => v22,
            Self::V23 => v23,
        })
    }

    /// Whether the library has a number for an aspect; questions about other numbers are errors.
    #[must_use]
    pub const fn has_aspect_number(self, aspect: DPCTLSyclAspectType) -> bool {
        let last = match self {
            Self::V22 => DPCTLSyclAspectType::IS_COMPOSITE,
            Self::V23 => DPCTLSyclAspectType::EXT_ONEAPI_IPC_MEMORY,
        };
        aspect.0 <= last.0
    }
}

/// `dpctl 0.22`.
impl fmt::Display for Form {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.version();
        write!(formatter, "dpctl {major}.{minor}")
    }
}

impl CreateFromSpirv {
    /// Builds a SPIR-V module without values for specialization constants.
    ///
    /// # Safety
    ///
    /// 1. As for the calls of an [`Api`](crate::Api): `il` is valid for `length_bytes` bytes, `options` is a string of C.
    pub unsafe fn call(
        self,
        context: DPCTLSyclContextRef,
        device: DPCTLSyclDeviceRef,
        il: *const c_void,
        length_bytes: usize,
        options: *const c_char,
    ) -> DPCTLSyclKernelBundleRef {
        match self {
            // SAFETY: the caller's promise 1; the library has this signature.
            Self::V22(create) => unsafe { create(context, device, il, length_bytes, options) },
            Self::V23(create) => {
                let (count, constants) = (0, core::ptr::null());
                // SAFETY: the caller's promise 1; the library has this signature, and reads no constant where there is none.
                unsafe { create(context, device, il, length_bytes, options, count, constants) }
            }
        }
    }
}
