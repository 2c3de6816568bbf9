//! NVRTC, NVIDIA's compiler for CUDA C: a library that is found and loaded at run time.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;

use super::text::c_string;
use crate::backend::CudaVersions;
use crate::fork::ForkOnce;
use crate::{Device, Error, Result};

/// `NVRTC_SUCCESS`.
const SUCCESS: c_int = 0;
/// The oldest library that is looked for.
const OLDEST_MAJOR: u32 = 12;
/// Folder of a toolkit that the loader does not search.
const TOOLKIT: &str = "/usr/local/cuda/lib64";

/// `nvrtcProgram`.
type Program = *mut c_void;

macro_rules! functions {
    ($(fn $name:ident($($type:ty),*);)+) => {
        /// Functions of `nvrtc.h`, from CUDA 12.0 on.
        #[allow(non_snake_case, reason = "symbols of a C library")]
        struct Functions {
            $($name: unsafe extern "C" fn($($type),*) -> c_int,)+
            nvrtcGetErrorString: unsafe extern "C" fn(c_int) -> *const c_char,
            // Invariant V1: the library that the pointers lead into; it is never unloaded.
            _library: ManuallyDrop<Library>,
        }

        impl Functions {
            /// # Safety
            /// 1. Each of these symbols of the library has the type of `nvrtc.h`.
            unsafe fn load(path: &Path) -> std::result::Result<Self, libloading::Error> {
                // SAFETY: the initialisers of NVIDIA's library, which the machine's owner installed (promise 1).
                let library = unsafe { Library::new(path) }?;
                Ok(Self {
                    $($name: {
                        let symbol: &[u8] = concat!(stringify!($name), "\0").as_bytes();
                        // SAFETY: the caller's promise 1.
                        *unsafe { library.get::<unsafe extern "C" fn($($type),*) -> c_int>(symbol) }?
                    },)+
                    nvrtcGetErrorString: {
                        // SAFETY: the caller's promise 1.
                        *unsafe { library.get::<unsafe extern "C" fn(c_int) -> *const c_char>(b"nvrtcGetErrorString\0") }?
                    },
                    _library: ManuallyDrop::new(library),
                })
            }
        }
    };
}

functions! {
    fn nvrtcVersion(*mut c_int, *mut c_int);
    fn nvrtcGetNumSupportedArchs(*mut c_int);
    fn nvrtcGetSupportedArchs(*mut c_int);
    fn nvrtcCreateProgram(*mut Program, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char);
    fn nvrtcDestroyProgram(*mut Program);
    fn nvrtcCompileProgram(Program, c_int, *const *const c_char);
    fn nvrtcGetPTXSize(Program, *mut usize);
    fn nvrtcGetPTX(Program, *mut c_char);
    fn nvrtcGetCUBINSize(Program, *mut usize);
    fn nvrtcGetCUBIN(Program, *mut c_char);
    fn nvrtcGetProgramLogSize(Program, *mut usize);
    fn nvrtcGetProgramLog(Program, *mut c_char);
}

/// NVRTC, loaded. It stays loaded as long as the process lives.
pub struct Nvrtc {
    functions: Functions,
    /// Name or path by which it was loaded.
    path: PathBuf,
    version: [u32; 2],
    /// Compute capabilities that it compiles for: 90 for 9.0.
    architectures: Vec<u32>,
}

/// Compiled CUDA C.
pub(super) enum CudaImage {
    /// For the compiler of the driver.
    Ptx(CString),
    /// For the GPU.
    Cubin(Vec<u8>),
}

impl Nvrtc {
    /// The NVRTC of this process, no newer than the driver by its first number: one in these folders, one that the loader finds, or
    /// the one of a toolkit in `/usr/local/cuda`. The first success counts from then on.
    ///
    /// # Errors
    /// - [`Error::NotSupported`]: the device is none of the CUDA backend.
    /// - [`Error::NoNvrtc`]: there is none; the error names the package that brings it.
    pub fn find(device: &Device, folders: &[PathBuf]) -> Result<&'static Self> {
        static FOUND: ForkOnce<Nvrtc> = ForkOnce::new();
        let CudaVersions { driver, .. } = versions(device)?;
        FOUND.get_or_try_init(|| Self::load(driver, folders))
    }

    fn load(driver: [u32; 2], folders: &[PathBuf]) -> Result<Self> {
        let newest = driver[0].max(OLDEST_MAJOR);
        let names: Vec<_> = (OLDEST_MAJOR..=newest).rev().map(file_name).collect();
        let toolkit = PathBuf::from(TOOLKIT);
        let within = |folder: &PathBuf| names.iter().map(|name| folder.join(name)).collect::<Vec<_>>();
        let by_loader = names.iter().map(PathBuf::from);
        let candidates = folders.iter().flat_map(within).chain(by_loader).chain(within(&toolkit));
        let mut failures = Vec::new();
        for path in candidates {
            if path.is_absolute() && !path.exists() {
                continue;
            }
            // SAFETY: IN1: a library of this name is NVRTC.
            match unsafe { Functions::load(&path) }.map_err(|error| reason(&error)) {
                Ok(functions) => match Self::with(functions, path.clone()) {
                    Ok(found) => return Ok(found),
                    Err(error) => failures.push(format!("{}: {error}", path.display())),
                },
                Err(error) => failures.push(error),
            }
        }
        let package = match newest {
            12 => "nvidia-cuda-nvrtc-cu12".to_owned(),
            newest => format!("nvidia-cuda-nvrtc=={newest}.*"),
        };
        Err(Error::NoNvrtc { package, reason: failures.join("; ") })
    }

    fn with(functions: Functions, path: PathBuf) -> Result<Self, String> {
        let (mut major, mut minor, mut count) = (0, 0, 0);
        // SAFETY: V1; the pointers are writable.
        functions.checked(unsafe { (functions.nvrtcVersion)(&raw mut major, &raw mut minor) })?;
        // SAFETY: V1; the pointer is writable.
        functions.checked(unsafe { (functions.nvrtcGetNumSupportedArchs)(&raw mut count) })?;
        let mut architectures = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: V1; as many numbers as the library said.
        functions.checked(unsafe { (functions.nvrtcGetSupportedArchs)(architectures.as_mut_ptr()) })?;
        let number = |number: c_int| u32::try_from(number).unwrap_or(0);
        let version = [major, minor].map(number);
        let architectures = architectures.into_iter().map(number).collect();
        Ok(Self { functions, path, version, architectures })
    }

    /// Its version, such as `[12, 9]`.
    #[must_use]
    pub const fn version(&self) -> [u32; 2] {
        self.version
    }

    /// Name or path by which it was loaded.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Compiles for a GPU. `options` are those of NVRTC, separated by spaces; without one for the architecture it is that of the GPU.
    ///
    /// A driver takes no PTX of a newer CUDA version than its own, but machine code of its major version. So that is what a newer NVRTC gives.
    /// An architecture in the options decides instead: `compute_90` gives PTX, `sm_90` machine code.
    pub(super) fn compile(&self, device: &Device, source: &str, options: &str) -> Result<CudaImage> {
        let CudaVersions { driver, compute_capability: [major, minor] } = versions(device)?;
        let failed = |log: String| Error::KernelBuild {
            language: "CUDA C",
            device: device.filter_string(),
            log: Some(log),
        };
        let is_newer = self.version > driver;
        let mut all: Vec<_> = options.split_whitespace().map(str::to_owned).collect();
        let is_for_driver = if let Some(option) = all.iter().find(|option| names_architecture(option)) {
            option.contains("compute_")
        } else {
            let of_gpu = 10 * major + minor;
            let nearest = self.architectures.iter().copied().filter(|&one| one <= of_gpu).max();
            let nearest = nearest.filter(|one| !is_newer || one / 10 == major).ok_or_else(|| {
                failed(format!("{self:?} has no code for compute capability {major}.{minor} and this driver"))
            })?;
            let kind = if is_newer { "sm" } else { "compute" };
            all.push(format!("--gpu-architecture={kind}_{nearest}"));
            !is_newer
        };
        let options =
            all.iter().map(|option| c_string("build options", option)).collect::<Result<Vec<_>>>()?;
        let program =
            Compilation::new(&self.functions, &c_string("CUDA C source", source)?).map_err(&failed)?;
        program.run(&options).map_err(&failed)?;
        if !is_for_driver {
            return program.cubin().map(CudaImage::Cubin).map_err(&failed);
        }
        let mut text = program.ptx().map_err(&failed)?;
        text.truncate(text.iter().position(|&byte| byte == 0).unwrap_or(text.len()));
        CString::new(text).map(CudaImage::Ptx).map_err(|error| failed(error.to_string()))
    }
}

/// Whether an option is one of NVRTC's two spellings of the architecture, as `NAME=VALUE`.
fn names_architecture(option: &str) -> bool {
    ["--gpu-architecture=", "-arch="].iter().any(|name| option.starts_with(name))
}

fn versions(device: &Device) -> Result<CudaVersions> {
    let other = || Error::NotSupported {
        backend: device.backend_id(),
        what: "kernels from CUDA C; only CUDA devices do",
    };
    device.info().cuda_versions.ok_or_else(other)
}

/// The file of NVRTC of a major version, as NVIDIA names it.
fn file_name(major: u32) -> String {
    if cfg!(windows) { format!("nvrtc64_{major}0_0.dll") } else { format!("libnvrtc.so.{major}") }
}

/// The loader's text, where there is one.
fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

impl fmt::Debug for Nvrtc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor] = self.version;
        write!(f, "NVRTC {major}.{minor} ({})", self.path.display())
    }
}

impl Functions {
    fn checked(&self, code: c_int) -> Result<(), String> {
        if code == SUCCESS {
            return Ok(());
        }
        // SAFETY: V1.
        let text = unsafe { (self.nvrtcGetErrorString)(code) };
        if text.is_null() {
            return Err(format!("error {code} of NVRTC"));
        }
        // SAFETY: a string of the library, which stays loaded (V1).
        Err(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
}

/// A program of NVRTC.
struct Compilation<'a> {
    functions: &'a Functions,
    /// Invariant V2: a program of the library, live as long as this value.
    program: Program,
}

type GetSize = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type GetBytes = unsafe extern "C" fn(Program, *mut c_char) -> c_int;

impl<'a> Compilation<'a> {
    fn new(functions: &'a Functions, source: &CStr) -> Result<Self, String> {
        let mut program = ptr::null_mut();
        // SAFETY: V1; the pointer is writable, the source ends with a byte of 0, the name is the library's own, and there are no headers.
        functions.checked(unsafe {
            (functions.nvrtcCreateProgram)(
                &raw mut program,
                source.as_ptr(),
                ptr::null(),
                0,
                ptr::null(),
                ptr::null(),
            )
        })?;
        Ok(Self { functions, program })
    }

    /// Compiles. The error has the compiler's messages.
    fn run(&self, options: &[CString]) -> Result<(), String> {
        let pointers: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).unwrap_or(0);
        // SAFETY: V1; V2; as many strings as are said, each with a byte of 0 at its end.
        let code = unsafe { (self.functions.nvrtcCompileProgram)(self.program, count, pointers.as_ptr()) };
        self.functions.checked(code).map_err(|error| {
            let log = self.bytes(self.functions.nvrtcGetProgramLogSize, self.functions.nvrtcGetProgramLog);
            let log = log.unwrap_or_default();
            let text = String::from_utf8_lossy(&log);
            format!("{error}\n{}", text.trim_matches(['\0', '\n', ' '])).trim_end().to_owned()
        })
    }

    fn ptx(&self) -> Result<Vec<u8>, String> {
        self.bytes(self.functions.nvrtcGetPTXSize, self.functions.nvrtcGetPTX)
    }

    fn cubin(&self) -> Result<Vec<u8>, String> {
        self.bytes(self.functions.nvrtcGetCUBINSize, self.functions.nvrtcGetCUBIN)
    }

    fn bytes(&self, size: GetSize, get: GetBytes) -> Result<Vec<u8>, String> {
        let mut len_bytes = 0;
        // SAFETY: V1; V2; the pointer is writable.
        self.functions.checked(unsafe { size(self.program, &raw mut len_bytes) })?;
        let mut bytes = vec![0_u8; len_bytes];
        if len_bytes > 0 {
            // SAFETY: V1; V2; as many bytes as the library said.
            self.functions.checked(unsafe { get(self.program, bytes.as_mut_ptr().cast()) })?;
        }
        Ok(bytes)
    }
}

impl Drop for Compilation<'_> {
    fn drop(&mut self) {
        // SAFETY: V1; V2, used no more.
        unsafe { (self.functions.nvrtcDestroyProgram)(&raw mut self.program) };
    }
}
