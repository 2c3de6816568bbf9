//! Device types and dtype codes, with their names in the specification

use std::fmt;

/// Kind of a device, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct DLDeviceType(pub i32);

/// Kind of the elements, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct DLDataTypeCode(pub u8);

impl DLDeviceType {
    /// Memory that host code can touch
    pub const CPU: Self = Self(1);
    /// Device memory of a GPU under CUDA
    pub const CUDA: Self = Self(2);
    /// Host memory that CUDA has pinned
    pub const CUDA_HOST: Self = Self(3);
    /// Device memory of the host backend, in the default context of a root device
    pub const EXT_DEV: Self = Self(12);
    /// Managed memory of CUDA
    pub const CUDA_MANAGED: Self = Self(13);
    /// USM in the default context of a platform, on a root device
    pub const ONE_API: Self = Self(14);

    /// Whether the CUDA driver knows the memory.
    #[must_use]
    pub const fn is_cuda(self) -> bool {
        matches!(self, Self::CUDA | Self::CUDA_HOST | Self::CUDA_MANAGED)
    }

    /// Whether producers may have work on the memory pending on a CUDA stream. Pinned memory is the host's: its producers know no streams.
    ///
    /// ```
    /// use usm_array::dlpack::DLDeviceType;
    ///
    /// assert!(DLDeviceType::CUDA.has_streams() && !DLDeviceType::CUDA_HOST.has_streams());
    /// ```
    #[must_use]
    pub const fn has_streams(self) -> bool {
        matches!(self, Self::CUDA | Self::CUDA_MANAGED)
    }
}

impl DLDataTypeCode {
    /// Signed integers
    pub const INT: Self = Self(0);
    /// Unsigned integers
    pub const UINT: Self = Self(1);
    /// IEEE 754 numbers
    pub const FLOAT: Self = Self(2);
    /// Pairs of IEEE 754 numbers. `bits` counts both
    pub const COMPLEX: Self = Self(5);
    /// Booleans, a byte each
    pub const BOOL: Self = Self(6);
    /// Upper halves of binary32
    pub const BFLOAT: Self = Self(4);
    /// 8 bits: 4 of the exponent, no infinities
    pub const FLOAT8_E4M3FN: Self = Self(10);
    /// 8 bits: 4 of the exponent, no infinities, no negative zero
    pub const FLOAT8_E4M3FNUZ: Self = Self(11);
    /// 8 bits: 5 of the exponent
    pub const FLOAT8_E5M2: Self = Self(12);
    /// 8 bits: 5 of the exponent, no infinities, no negative zero
    pub const FLOAT8_E5M2FNUZ: Self = Self(13);
}

impl fmt::Display for DLDeviceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            1 => "kDLCPU",
            2 => "kDLCUDA",
            3 => "kDLCUDAHost",
            4 => "kDLOpenCL",
            7 => "kDLVulkan",
            8 => "kDLMetal",
            9 => "kDLVPI",
            10 => "kDLROCM",
            11 => "kDLROCMHost",
            12 => "kDLExtDev",
            13 => "kDLCUDAManaged",
            14 => "kDLOneAPI",
            15 => "kDLWebGPU",
            16 => "kDLHexagon",
            17 => "kDLMAIA",
            18 => "kDLTrn",
            _ => "an unknown device type",
        };
        write!(f, "{name} ({})", self.0)
    }
}

impl fmt::Display for DLDataTypeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            0 => "kDLInt",
            1 => "kDLUInt",
            2 => "kDLFloat",
            3 => "kDLOpaqueHandle",
            4 => "kDLBfloat",
            5 => "kDLComplex",
            6 => "kDLBool",
            7 => "kDLFloat8_e3m4",
            8 => "kDLFloat8_e4m3",
            9 => "kDLFloat8_e4m3b11fnuz",
            10 => "kDLFloat8_e4m3fn",
            11 => "kDLFloat8_e4m3fnuz",
            12 => "kDLFloat8_e5m2",
            13 => "kDLFloat8_e5m2fnuz",
            14 => "kDLFloat8_e8m0fnu",
            15 => "kDLFloat6_e2m3fn",
            16 => "kDLFloat6_e3m2fn",
            17 => "kDLFloat4_e2m1fn",
            _ => "an unknown code",
        };
        write!(f, "{name} ({})", self.0)
    }
}
