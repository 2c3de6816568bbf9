//! Partitions into sub-devices, composite devices, and access to the memory of peers.

use std::fmt;

use super::{RawDevice, RawPlatform};

/// How a device is partitioned into sub-devices, SYCL 2020 `info::partition_property`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Partition {
    /// As many sub-devices of that many compute units as fit. Remaining compute units belong to no sub-device.
    Equally(usize),
    /// One sub-device for each count of compute units.
    ByCounts(Vec<usize>),
    /// One sub-device for each part of the device's memory hierarchy.
    ByAffinity(AffinityDomain),
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equally(units) => write!(f, "equally into parts of {units} compute units"),
            Self::ByCounts(counts) => write!(f, "into parts of {counts:?} compute units"),
            Self::ByAffinity(domain) => write!(f, "by affinity domain {domain}"),
        }
    }
}

/// The resource that the compute units of a sub-device share, SYCL 2020 `info::partition_affinity_domain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AffinityDomain {
    /// A NUMA node.
    Numa,
    /// A level 4 cache.
    L4Cache,
    /// A level 3 cache.
    L3Cache,
    /// A level 2 cache.
    L2Cache,
    /// A level 1 cache.
    L1Cache,
    /// The first of the above, in this order, by which the device can be partitioned.
    NextPartitionable,
}

texts!(AffinityDomain, "affinity domain": Numa = "numa", L4Cache = "L4_cache", L3Cache = "L3_cache", L2Cache = "L2_cache", L1Cache = "L1_cache", NextPartitionable = "next_partitionable");

/// A use of a peer's memory by a device, `sycl_ext_oneapi_peer_access`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerAccess {
    /// Read and write it, once access is enabled.
    AccessSupported,
    /// Use atomic operations on it.
    AtomicsSupported,
}

texts!(PeerAccess, "peer access": AccessSupported = "access_supported", AtomicsSupported = "atomics_supported");

/// A list of composite devices or of their components, the extension `sycl_ext_oneapi_composite_device`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Composites {
    /// The composite devices of a platform.
    OfPlatform(RawPlatform),
    /// The components of a composite device; none for any other device.
    ComponentsOf(RawDevice),
    /// The composite device that the device is a component of, or none.
    WithComponent(RawDevice),
}
