//! The problems of a machine and their remedies, from the results of the search.

#[cfg(feature = "sycl")]
use sycl_sys::packages::{CPU_DRIVER, RUNTIME};

use super::SyclLibrary;
use super::environment::{
    ALLOW_LIST, AUTOCONFIG, CUDA_VISIBLE, DRIVERS, ROOT, SELECTOR, Variable, drivers, given, value,
};
use crate::runtime::cuda::{CudaSide, DRIVER as CUDA_DRIVER};
use crate::runtime::select::DEFAULT_DEVICE;
use crate::{BackendState, Device, DeviceInfo, DeviceType, Result};

// Without the feature nothing is searched for, so that no report has a command of pip.
#[cfg(not(feature = "sycl"))]
const RUNTIME: &str = "dpctl";
#[cfg(not(feature = "sycl"))]
const CPU_DRIVER: &str = "intel-opencl-rt";

/// The reason why the SYCL runtime is not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "sycl"), allow(dead_code, reason = "only a search can fail"))]
pub(in crate::runtime) enum Trouble {
    /// It is loaded.
    None,
    /// The feature is off.
    #[cfg_attr(feature = "sycl", allow(dead_code, reason = "this build has it"))]
    NotBuilt,
    /// The application excludes it.
    SwitchedOff,
    /// The search found none.
    NotFound,
    /// A library is there without the runtime it needs.
    Incomplete { library: String, needs: String },
    /// The process has loaded another one.
    SecondRuntime(String),
    /// The process lacks what the runtime needs of the system.
    UnfitProcess(String),
    /// The library that was found cannot be used.
    Unusable(String),
}

/// The kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The SYCL backend was switched off by the application or left out of the build.
    SwitchedOff,
    /// There is no SYCL runtime.
    NoRuntime,
    /// `USM_SYCL_ROOT` names a directory, and there is no SYCL runtime in it or elsewhere.
    NothingAtRoot,
    /// The interface library is there without its runtime, as `pip install --target` leaves it.
    IncompleteInstallation,
    /// The process has loaded another SYCL runtime before.
    SecondRuntime,
    /// A library was found that cannot be used.
    UnusableRuntime,
    /// The OpenCL CPU driver is not installed, so there is no CPU device.
    DriverMissing,
    /// The OpenCL CPU driver is there, but the process was not allowed to register it.
    DriverNotRegistered,
    /// The process asked the SYCL runtime for devices before the OpenCL CPU driver was registered; it keeps the empty list.
    DriverRegisteredLate,
    /// An environment variable hides all devices.
    SelectorHidesDevices,
    /// The OpenCL CPU driver is registered, but the runtime shows no device.
    UnusableDriver,
    /// The runtime shows no device for another reason.
    NoDevice,
    /// A CUDA driver is installed that cannot be used, for instance an old one.
    UnusableCudaDriver,
    /// The CUDA driver shows no device.
    NoCudaDevice,
    /// `USM_DEFAULT_DEVICE` selects no device.
    NoSuchDefault,
}

impl ProblemKind {
    /// Whether something that is installed or was requested fails. Otherwise `usm` works as described, and the remedy adds devices.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        match self {
            Self::SwitchedOff
            | Self::NoRuntime
            | Self::DriverMissing
            | Self::DriverNotRegistered
            | Self::NoCudaDevice => false,
            Self::NothingAtRoot
            | Self::IncompleteInstallation
            | Self::SecondRuntime
            | Self::UnusableRuntime
            | Self::DriverRegisteredLate
            | Self::SelectorHidesDevices
            | Self::UnusableDriver
            | Self::NoDevice
            | Self::UnusableCudaDriver
            | Self::NoSuchDefault => true,
        }
    }
}

/// A problem and its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The kind.
    pub kind: ProblemKind,
    /// The problem.
    pub what: String,
    /// The remedy.
    pub remedy: String,
    /// The command that solves it, as the remedy has it; `None` where no command helps. One of pip begins with `pip install`.
    pub command: Option<String>,
}

/// All problems, the most likely cause first. `devices` are the devices of the SYCL runtime.
pub(super) fn diagnose(
    trouble: &Trouble,
    library: Option<&SyclLibrary>,
    devices: &[DeviceInfo],
    environment: &[Variable],
    autoconfig: bool,
) -> Vec<Problem> {
    match library {
        None => not_loaded(trouble, value(environment, ROOT)).into_iter().collect(),
        Some(library) => loaded(library, devices, environment, autoconfig),
    }
}

/// Problems with the CUDA driver. A machine without one has no problem.
pub(super) fn diagnose_cuda(cuda: &CudaSide, environment: &[Variable]) -> Option<Problem> {
    if let (BackendState::Missing { reason, .. }, true) = (&cuda.state, cuda.is_installed) {
        let kind = ProblemKind::UnusableCudaDriver;
        let update = "install a driver for CUDA 11.2 or newer, or restart after an update of the driver";
        return Some(match value(environment, CUDA_DRIVER) {
            Some(_) => by_unset(kind, reason.clone(), CUDA_DRIVER, update),
            None => problem(kind, reason.clone(), update),
        });
    }
    if !cuda.state.is_available() || !cuda.devices.is_empty() {
        return None;
    }
    let kind = ProblemKind::NoCudaDevice;
    // An empty list hides all devices.
    Some(match given(environment, CUDA_VISIBLE) {
        Some(value) => by_unset(
            kind,
            format!("the CUDA driver shows no device with {CUDA_VISIBLE}={value}"),
            CUDA_VISIBLE,
            "name a device in it that is there",
        ),
        None => problem(
            kind,
            "the CUDA driver shows no device",
            "see whether `nvidia-smi` shows a device, and whether the container or job was given one",
        ),
    })
}

/// A problem with the variable for the default device.
pub(super) fn diagnose_default(chosen: Option<Result<Device>>) -> Option<Problem> {
    let error = chosen?.err()?;
    Some(by_unset(
        ProblemKind::NoSuchDefault,
        error.to_string(),
        DEFAULT_DEVICE,
        "name a device that is there",
    ))
}

/// A problem that no command solves.
fn problem(kind: ProblemKind, what: impl Into<String>, remedy: impl Into<String>) -> Problem {
    Problem { kind, what: what.into(), remedy: remedy.into(), command: None }
}

/// A problem of which a variable of the environment is the cause.
fn by_unset(kind: ProblemKind, what: impl Into<String>, variable: &str, otherwise: &str) -> Problem {
    let command = format!("unset {variable}");
    let remedy = format!("{command}, or {otherwise}");
    Problem { command: Some(command), ..problem(kind, what, remedy) }
}

/// A problem that pip solves, with these arguments. `remedy` makes the command a sentence.
fn by_pip(
    kind: ProblemKind,
    what: impl Into<String>,
    arguments: &str,
    remedy: impl FnOnce(&str) -> String,
) -> Problem {
    let command = format!("pip install {arguments}");
    Problem { command: Some(command.clone()), ..problem(kind, what, remedy(&format!("`{command}`"))) }
}

fn not_loaded(trouble: &Trouble, root: Option<&str>) -> Option<Problem> {
    let is_at = |text: &str| root.is_some_and(|root| text.contains(root));
    Some(match trouble {
        // A backend that was plugged in.
        Trouble::None => return None,
        Trouble::NotBuilt => problem(
            ProblemKind::SwitchedOff,
            "usm-core was built without the feature `sycl`",
            "build it with that feature, which is on by default",
        ),
        Trouble::SwitchedOff => problem(
            ProblemKind::SwitchedOff,
            "the application switched the SYCL backend off",
            "make the runtime without RuntimeOptions::without_sycl",
        ),
        Trouble::NotFound => match root {
            Some(root) => by_unset(
                ProblemKind::NothingAtRoot,
                format!("no SYCL runtime is at {ROOT}={root} or elsewhere"),
                ROOT,
                "name the directory of an installation of dpctl in it",
            ),
            None => by_pip(
                ProblemKind::NoRuntime,
                "no SYCL runtime was found",
                &format!("{RUNTIME} {CPU_DRIVER}"),
                |command| {
                    format!(
                        "run {command} in a virtual environment and activate it, or give the directory of an installation in {ROOT}"
                    )
                },
            ),
        },
        Trouble::Incomplete { library, needs } => {
            let kind = ProblemKind::IncompleteInstallation;
            let what = format!(
                "{library} was found, but not {needs}, which it needs: `pip install --target` leaves it out of the installation"
            );
            match is_at(library) {
                true => by_unset(kind, what, ROOT, "install dpctl there without --target"),
                // pip takes what `--target` has left for an installation, where the path of modules has it.
                false => {
                    by_pip(kind, what, &format!("--ignore-installed {RUNTIME} {CPU_DRIVER}"), |command| {
                        format!("run {command} in a virtual environment instead of with --target")
                    })
                }
            }
        }
        Trouble::SecondRuntime(reason) => problem(
            ProblemKind::SecondRuntime,
            reason.clone(),
            "use one SYCL installation per process: start it with the environment of one of the two only",
        ),
        Trouble::UnfitProcess(reason) => problem(
            ProblemKind::UnusableRuntime,
            reason.clone(),
            "start the process where /proc is mounted, and in a directory that exists",
        ),
        Trouble::Unusable(reason) => {
            let kind = ProblemKind::UnusableRuntime;
            match is_at(reason) {
                true => by_unset(kind, reason.clone(), ROOT, "reinstall what is there"),
                false => by_pip(
                    kind,
                    reason.clone(),
                    &format!("--force-reinstall {RUNTIME} {CPU_DRIVER}"),
                    |command| format!("reinstall what it came with, for instance by {command}"),
                ),
            }
        }
    })
}

fn loaded(
    library: &SyclLibrary,
    devices: &[DeviceInfo],
    environment: &[Variable],
    autoconfig: bool,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let has_cpu = devices.iter().any(|device| device.device_type == DeviceType::Cpu);
    let selectors = [SELECTOR, ALLOW_LIST].map(|name| value(environment, name).map(|value| (name, value)));
    if devices.is_empty() {
        problems.extend(selectors.into_iter().flatten().map(|(name, value)| {
            by_unset(
                ProblemKind::SelectorHidesDevices,
                format!("{name}={value} leaves no device of those that the SYCL runtime has"),
                name,
                "name a device in it that is there, such as opencl:cpu",
            )
        }));
    }
    let listed = drivers(environment);
    match &library.driver {
        // A driver of the system may be registered.
        None if !has_cpu && listed.is_empty() => problems.push(by_pip(
            ProblemKind::DriverMissing,
            format!("the SYCL runtime has no OpenCL driver for this CPU beside {}", library.path.display()),
            CPU_DRIVER,
            |command| format!("run {command} in the environment of dpctl, which adds the CPU device"),
        )),
        Some(driver) => {
            let path = driver.display().to_string();
            let is_listed = listed.contains(driver);
            let by_user = value(environment, AUTOCONFIG) == Some("0");
            if !has_cpu && !is_listed && (by_user || !autoconfig) {
                let kind = ProblemKind::DriverNotRegistered;
                let what =
                    format!("the OpenCL CPU driver {path} is not in {DRIVERS}, and adding it was forbidden");
                let add = format!("add the path to {DRIVERS} before the process starts");
                problems.push(match by_user {
                    true => by_unset(kind, what, AUTOCONFIG, &add),
                    false => problem(kind, what, add),
                });
            } else if devices.is_empty() && problems.is_empty() && library.already_loaded {
                problems.push(problem(
                    ProblemKind::DriverRegisteredLate,
                    format!(
                        "the process asked the SYCL runtime for its devices before the OpenCL CPU driver {path} was registered, and \
                         the runtime keeps the empty list"
                    ),
                    format!(
                        "load this library (in Python: `import usm`) before anything asks SYCL for devices, or start the process with \
                         {DRIVERS}={path}"
                    ),
                ));
            } else if devices.is_empty() && problems.is_empty() && is_listed {
                problems.push(by_pip(
                    ProblemKind::UnusableDriver,
                    format!("the SYCL runtime shows no device, although the OpenCL CPU driver {path} is registered"),
                    &format!("--force-reinstall --no-deps {CPU_DRIVER}"),
                    |command| format!("reinstall the driver, for instance by {command}"),
                ));
            }
        }
        None => {}
    }
    if devices.is_empty() && problems.is_empty() {
        let (kind, what) = (ProblemKind::NoDevice, "the SYCL runtime shows no device");
        let check = "check with `sycl-ls`; in a process that used SYCL before this library, import or load this one first, since \
                     drivers are read once";
        problems.push(match value(environment, DRIVERS) {
            Some(_) => by_unset(kind, what, DRIVERS, check),
            None => problem(kind, what, check),
        });
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::doctor::environment::read;

    const DRIVER: &str = "/v/lib/libintelocl.so";

    fn library(driver: Option<&str>) -> SyclLibrary {
        SyclLibrary {
            path: "/v/x.so".into(),
            version: String::new(),
            interface: "dpctl 0.22".into(),
            driver: driver.map(Into::into),
            registered: false,
            already_loaded: false,
        }
    }

    fn kinds(
        driver: Option<&str>,
        devices: &[DeviceType],
        variables: &[(&str, &str)],
        allowed: bool,
    ) -> Vec<ProblemKind> {
        kinds_of(&library(driver), devices, variables, allowed)
    }

    fn kinds_of(
        library: &SyclLibrary,
        devices: &[DeviceType],
        variables: &[(&str, &str)],
        allowed: bool,
    ) -> Vec<ProblemKind> {
        let devices: Vec<_> = devices.iter().map(|ty| DeviceInfo::new("opencl", *ty, Some(0))).collect();
        let problems = diagnose(&Trouble::None, Some(library), &devices, &set(variables), allowed);
        problems.iter().for_each(check);
        problems.into_iter().map(|problem| problem.kind).collect()
    }

    /// Variables of the environment, all of them by the user.
    fn set(variables: &[(&str, &str)]) -> Vec<Variable> {
        let value = |name: &str| variables.iter().find(|(other, _)| *other == name);
        read(&|name| value(name).map(|(_, value)| value.into()), &[])
    }

    /// A problem has words, and its remedy has its command.
    fn check(problem: &Problem) {
        assert!(!problem.what.is_empty() && !problem.remedy.is_empty(), "{problem:?}");
        assert!(
            problem.command.as_ref().is_none_or(|command| problem.remedy.contains(command)),
            "{problem:?}"
        );
    }

    /// The command against what keeps the runtime from loading.
    fn command(trouble: &Trouble, variables: &[(&str, &str)]) -> Option<String> {
        let problems = diagnose(trouble, None, &[], &set(variables), true);
        problems.iter().for_each(check);
        problems.into_iter().find_map(|problem| problem.command)
    }

    #[test]
    fn commands_name_the_cause() {
        let packages = format!("{RUNTIME} {CPU_DRIVER}");
        let [lacks, broken] = ["/t/dpctl/x.so", "/r/dpctl/x.so"].map(str::to_owned);
        let incomplete = Trouble::Incomplete { library: lacks, needs: "libsycl.so.9".to_owned() };
        let unusable = Trouble::Unusable(format!("{broken} lacks functions"));
        for (trouble, root, expected) in [
            (Trouble::NotFound, None, format!("pip install {packages}")),
            (Trouble::NotFound, Some("/r"), format!("unset {ROOT}")),
            (incomplete.clone(), None, format!("pip install --ignore-installed {packages}")),
            (incomplete.clone(), Some("/r"), format!("pip install --ignore-installed {packages}")),
            (incomplete, Some("/t"), format!("unset {ROOT}")),
            (unusable.clone(), Some("/t"), format!("pip install --force-reinstall {packages}")),
            (unusable, Some("/r"), format!("unset {ROOT}")),
        ] {
            let variables = root.map(|root| (ROOT, root));
            assert_eq!(command(&trouble, variables.as_slice()), Some(expected), "{trouble:?} {root:?}");
        }
        assert_eq!(command(&Trouble::SecondRuntime("two".to_owned()), &[]), None);
        assert_eq!(command(&Trouble::UnfitProcess("no directory".to_owned()), &[]), None);
    }

    #[test]
    fn a_driver_that_this_library_appended_is_no_choice_of_the_user() {
        let no_device = |list: &str| {
            let list = list.to_owned();
            let environment = read(&|name| (name == DRIVERS).then(|| list.clone().into()), &[DRIVER.into()]);
            let problems = diagnose(&Trouble::None, Some(&library(None)), &[], &environment, true);
            let [problem] = problems.try_into().unwrap();
            assert_eq!(problem.kind, ProblemKind::NoDevice);
            (problem.command, value(&environment, DRIVERS).map(str::to_owned))
        };
        assert_eq!(no_device(DRIVER), (None, None));
        let unset = Some(format!("unset {DRIVERS}"));
        let both = std::env::join_paths(["/other.so", DRIVER]).unwrap().into_string().unwrap();
        assert_eq!(no_device(&both), (unset, Some("/other.so".to_owned())));
    }

    #[test]
    fn a_working_installation_has_no_problem() {
        assert_eq!(kinds(Some(DRIVER), &[DeviceType::Cpu], &[(DRIVERS, DRIVER)], true), []);
        assert_eq!(kinds(None, &[DeviceType::Gpu, DeviceType::Cpu], &[], true), []);
        assert_eq!(kinds(Some(DRIVER), &[DeviceType::Gpu], &[(SELECTOR, "level_zero:gpu")], true), []);
    }

    #[test]
    fn a_device_that_is_missing_has_a_reason() {
        use ProblemKind::{
            DriverMissing, DriverNotRegistered, NoDevice, SelectorHidesDevices, UnusableDriver,
        };
        let hides = [(SELECTOR, "cuda:gpu"), (DRIVERS, DRIVER)];
        assert_eq!(kinds(Some(DRIVER), &[], &hides, true), [SelectorHidesDevices]);
        assert_eq!(kinds(None, &[], &[(SELECTOR, "cuda:*")], true), [SelectorHidesDevices, DriverMissing]);
        let both = [(SELECTOR, "cuda:gpu"), (ALLOW_LIST, "BackendName:cuda"), (DRIVERS, DRIVER)];
        assert_eq!(kinds(Some(DRIVER), &[], &both, true), [SelectorHidesDevices, SelectorHidesDevices]);
        assert_eq!(kinds(None, &[], &[], true), [DriverMissing]);
        assert_eq!(kinds(None, &[DeviceType::Gpu], &[], true), [DriverMissing], "no CPU");
        assert_eq!(kinds(Some(DRIVER), &[], &[(AUTOCONFIG, "0")], true), [DriverNotRegistered]);
        assert_eq!(kinds(Some(DRIVER), &[], &[], false), [DriverNotRegistered]);
        assert_eq!(kinds(Some(DRIVER), &[], &[(AUTOCONFIG, "0"), (DRIVERS, DRIVER)], true), [UnusableDriver]);
        assert_eq!(kinds(Some(DRIVER), &[], &[(SELECTOR, "")], true), [NoDevice], "empty is unset");
    }

    #[test]
    fn a_driver_that_was_registered_late_is_told() {
        let kinds = |driver: Option<&str>, devices: &[DeviceType], variables: &[(&str, &str)]| -> Vec<_> {
            kinds_of(&SyclLibrary { already_loaded: true, ..library(driver) }, devices, variables, true)
        };
        assert_eq!(kinds(Some(DRIVER), &[], &[(DRIVERS, DRIVER)]), [ProblemKind::DriverRegisteredLate]);
        assert_eq!(kinds(Some(DRIVER), &[DeviceType::Gpu], &[(DRIVERS, DRIVER)]), []);
        assert_eq!(kinds(None, &[], &[(DRIVERS, "/other.so")]), [ProblemKind::NoDevice]);
        let hidden = [(DRIVERS, DRIVER), (SELECTOR, "cuda:*")];
        assert_eq!(kinds(Some(DRIVER), &[], &hidden), [ProblemKind::SelectorHidesDevices]);
    }

    #[test]
    fn a_runtime_that_is_missing_has_a_reason() {
        let kind =
            |trouble| diagnose(&trouble, None, &[], &[], true).into_iter().map(|problem| problem.kind).next();
        assert_eq!(kind(Trouble::None), None);
        assert_eq!(kind(Trouble::NotBuilt), Some(ProblemKind::SwitchedOff));
        assert_eq!(kind(Trouble::SwitchedOff), Some(ProblemKind::SwitchedOff));
        assert_eq!(kind(Trouble::NotFound), Some(ProblemKind::NoRuntime));
        assert_eq!(kind(Trouble::SecondRuntime("two".to_owned())), Some(ProblemKind::SecondRuntime));
        assert_eq!(kind(Trouble::Unusable("bad".to_owned())), Some(ProblemKind::UnusableRuntime));
        let root = set(&[(ROOT, "/nothing")]);
        let problems = diagnose(&Trouble::NotFound, None, &[], &root, true);
        assert_eq!(problems[0].kind, ProblemKind::NothingAtRoot);
        assert!(problems[0].what.contains("USM_SYCL_ROOT=/nothing"), "{problems:?}");
        let incomplete =
            Trouble::Incomplete { library: "/t/x.so".to_owned(), needs: "libsycl.so.9".to_owned() };
        assert_eq!(kind(incomplete), Some(ProblemKind::IncompleteInstallation));
    }
}
