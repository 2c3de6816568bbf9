//! The numbers that functions return, and what a refused call leaves behind.

use std::ffi::{CStr, c_uint};

/// `CUresult`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) c_uint);

macro_rules! codes {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        #[allow(dead_code, reason = "some are returned on request alone")]
        impl Code {
            $(pub(crate) const $name: Self = Self($number);)*

            /// The name in the header, and a text; `None` for a number that this driver never returns by itself.
            pub(crate) fn describe(self) -> Option<(&'static CStr, &'static CStr)> {
                const NAMES: &[(c_uint, &str, &str)] = &[
                    (0, "CUDA_SUCCESS\0", "no error\0"),
                    $(($number, concat!("CUDA_ERROR_", stringify!($name), "\0"), concat!($text, "\0")),)*
                ];
                let (_, name, text) = NAMES.iter().find(|(number, ..)| *number == self.0)?;
                let c_str = |text: &'static str| CStr::from_bytes_with_nul(text.as_bytes()).ok();
                Some((c_str(name)?, c_str(text)?))
            }
        }
    };
}

codes! {
    INVALID_VALUE = 1, "invalid argument";
    OUT_OF_MEMORY = 2, "out of memory";
    NOT_INITIALIZED = 3, "initialization error";
    NO_DEVICE = 100, "no CUDA-capable device is detected";
    INVALID_DEVICE = 101, "invalid device ordinal";
    INVALID_IMAGE = 200, "device kernel image is invalid";
    INVALID_CONTEXT = 201, "invalid device context";
    ECC_UNCORRECTABLE = 214, "uncorrectable ECC error encountered";
    INVALID_PTX = 218, "a PTX JIT compilation failed";
    OPERATING_SYSTEM = 304, "OS call failed or operation not supported on this OS";
    INVALID_HANDLE = 400, "invalid resource handle";
    NOT_FOUND = 500, "named symbol not found";
    NOT_READY = 600, "device not ready";
    ILLEGAL_ADDRESS = 700, "an illegal memory access was encountered";
    LAUNCH_TIMEOUT = 702, "the launch timed out and was terminated";
    PEER_ACCESS_ALREADY_ENABLED = 704, "peer access is already enabled";
    PEER_ACCESS_NOT_ENABLED = 705, "peer access has not been enabled";
    CONTEXT_IS_DESTROYED = 709, "context is destroyed";
    MISALIGNED_ADDRESS = 716, "misaligned address";
    LAUNCH_FAILED = 719, "unspecified launch failure";
    NOT_SUPPORTED = 801, "operation not supported";
    STREAM_CAPTURE_UNSUPPORTED = 900, "operation not permitted when stream is capturing";
    STREAM_CAPTURE_INVALIDATED = 901, "operation failed due to a previous error during capture";
    STREAM_CAPTURE_MERGE = 902, "operation would result in a merge of separate capture sequences";
    STREAM_CAPTURE_UNMATCHED = 903, "capture was not ended in the same stream as it began";
    STREAM_CAPTURE_UNJOINED = 904, "capturing stream has unjoined work";
    STREAM_CAPTURE_ISOLATION = 905, "dependency created on uncaptured work in another stream";
    STREAM_CAPTURE_IMPLICIT = 906, "operation would make the legacy stream depend on a capturing blocking stream";
    CAPTURED_EVENT = 907, "operation not permitted on an event last recorded in a capturing stream";
    STREAM_CAPTURE_WRONG_THREAD = 908, "attempt to terminate a thread-local capture sequence from another thread";
    UNKNOWN = 999, "unknown error";
}

impl Code {
    pub(crate) const SUCCESS: Self = Self(0);

    /// Whether a context that returned it returns it for ever.
    pub(crate) fn is_sticky(self) -> bool {
        matches!(self.0, 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719)
    }

    /// A refusal that is no misuse.
    pub(crate) fn refusal(self) -> Refusal {
        Refusal { code: self, fault: None }
    }

    /// A refusal that counts as a fault.
    pub(crate) fn fault(self, text: impl Into<String>) -> Refusal {
        Refusal { code: self, fault: Some(text.into()) }
    }
}

/// Why a call does nothing.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    /// The misuse.
    pub(crate) fault: Option<String>,
}

/// What the body of a C function gives.
pub(crate) type Outcome<T = ()> = Result<T, Refusal>;
