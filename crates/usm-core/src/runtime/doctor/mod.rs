//! The doctor: searched places, results, environment, devices, problems and remedies, as data.

mod diagnose;
mod environment;
mod text;

use std::fmt;
use std::path::PathBuf;

pub(super) use self::diagnose::Trouble;
pub use self::diagnose::{Problem, ProblemKind};
pub use self::environment::Variable;
use super::Runtime;
use crate::{BackendId, BackendStatus, DeviceInfo};

/// A place where the SYCL runtime was searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchedPlace {
    /// The origin of the place: an environment variable, the application, the dynamic loader.
    pub origin: String,
    /// The place.
    pub path: PathBuf,
    /// The result, in words.
    pub outcome: String,
    /// Whether the library in use came from here.
    pub in_use: bool,
}

impl fmt::Display for SearchedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.origin, self.path.display(), self.outcome)
    }
}

/// The SYCL runtime in use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyclLibrary {
    /// The interface library.
    pub path: PathBuf,
    /// Version of the DPC++ compiler that it was built with; empty if the library does not report it.
    pub version: String,
    /// The version of dpctl whose C interface the library has, as `dpctl 0.23`. The functions of the library tell it.
    pub interface: String,
    /// The OpenCL CPU driver of the same installation, if it has one.
    pub driver: Option<PathBuf>,
    /// Whether this library has appended the driver to `OCL_ICD_FILENAMES`.
    pub registered: bool,
    /// Whether the process had loaded it before this library searched for it.
    pub already_loaded: bool,
}

/// A root device of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportedDevice {
    /// `backend:device_type:number`.
    pub filter_string: String,
    /// Whether it is the default device.
    pub is_default: bool,
    /// Its facts.
    pub info: DeviceInfo,
}

/// The report of the [doctor](Runtime::doctor). `Display` prints it for a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DoctorReport {
    /// Version of this crate.
    pub version: &'static str,
    /// The state of each backend.
    pub backends: Vec<BackendStatus>,
    /// The SYCL runtime, if there is one.
    pub sycl: Option<SyclLibrary>,
    /// The searched places, in order.
    pub places: Vec<SearchedPlace>,
    /// The environment variables that matter, set or not.
    pub environment: Vec<Variable>,
    /// All root devices.
    pub devices: Vec<ReportedDevice>,
    /// Problems, each with its remedy.
    pub problems: Vec<Problem>,
}

impl Runtime {
    /// Examines this machine, and returns its problems and their remedies. The first call may search for the SYCL runtime.
    ///
    /// ```
    /// use usm_core::{ProblemKind, Runtime, RuntimeOptions};
    ///
    /// let report = Runtime::new(RuntimeOptions::new().host_only()).doctor();
    /// assert_eq!(report.problems[0].kind, ProblemKind::SwitchedOff);
    /// assert!(report.sycl.is_none() && report.devices.iter().any(|device| device.is_default));
    /// println!("{report}");
    /// ```
    #[must_use]
    pub fn doctor(&self) -> DoctorReport {
        let side = self.sycl();
        let default = self.default_device().ok();
        let report = |device: crate::Device| ReportedDevice {
            filter_string: device.filter_string(),
            is_default: default.as_ref() == Some(&device),
            info: device.info().clone(),
        };
        let loaded = side.library.as_ref().filter(|library| library.registered);
        let registered = loaded.and_then(|library| library.driver.clone());
        let registered = [self.options.registered_drivers.clone(), Vec::from_iter(registered)].concat();
        let environment = environment::read(&|name| std::env::var_os(name), &registered);
        let devices: Vec<_> = side.devices.iter().map(|device| device.info().clone()).collect();
        let cuda = self.cuda();
        let mut problems = diagnose::diagnose(
            &side.trouble,
            side.library.as_ref(),
            &devices,
            &environment,
            self.options.autoconfig,
        );
        // A machine with a CUDA device needs no SYCL runtime.
        problems.retain(|problem| cuda.devices.is_empty() || problem.kind != ProblemKind::NoRuntime);
        problems.extend(diagnose::diagnose_cuda(cuda, &environment));
        problems.extend(diagnose::diagnose_default(self.device_of_environment()));
        DoctorReport {
            version: env!("CARGO_PKG_VERSION"),
            problems,
            backends: self.status(),
            sycl: side.library.clone(),
            places: side.places.clone(),
            environment,
            devices: self.devices().into_iter().map(report).collect(),
        }
    }
}

impl DoctorReport {
    /// The state of a backend.
    #[must_use]
    pub fn backend(&self, id: BackendId) -> Option<&BackendStatus> {
        self.backends.iter().find(|status| status.backend == id)
    }
}
