//! The doctor's report for a terminal.

use std::fmt;

use super::DoctorReport;
use crate::BackendState;
use crate::runtime::tree::facts;

impl DoctorReport {
    /// Whether nothing that is installed or requested fails.
    #[must_use]
    pub fn works(&self) -> bool {
        !self.problems.iter().any(|problem| problem.kind.is_failure())
    }

    /// The report in plain words: whether `usm` works, its problems with their remedies, and its devices. `Display` has all details.
    ///
    /// ```
    /// use usm_core::{Runtime, RuntimeOptions};
    ///
    /// let report = Runtime::new(RuntimeOptions::new().host_only()).doctor();
    /// assert!(report.works() && report.summary().starts_with("usm works here, on the host device.\n"));
    /// ```
    #[must_use]
    pub fn summary(&self) -> String {
        let others = self.devices.iter().filter(|device| device.info.backend_name != "host").count();
        let place = match others {
            0 => "on the host device".to_owned(),
            1 => "with 1 device beside the host".to_owned(),
            n => format!("with {n} devices beside the host"),
        };
        let mut lines = vec![match self.works() {
            true => format!("usm works here, {place}."),
            false => format!("usm works {place}, but something installed or requested here fails."),
        }];
        for problem in &self.problems {
            let (label, remedy) = match problem.kind.is_failure() {
                true => ("Problem", "To fix it"),
                false => ("Note", "To change that (optional)"),
            };
            lines.push(format!("{label}: {}\n  {remedy}: {}", problem.what, problem.remedy));
        }
        for device in &self.devices {
            let default = if device.is_default { ", the default" } else { "" };
            lines.push(format!("  {}  {}{default}", device.filter_string, device.info.name));
        }
        lines.join("\n")
    }
}

impl fmt::Display for DoctorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "usm-core {}\n\nBackends", self.version)?;
        for status in &self.backends {
            let state = if status.state.is_available() { "available" } else { "missing" };
            writeln!(f, "  {:<6} {state}", status.backend)?;
            if let BackendState::Available { notes, .. } = &status.state {
                notes.iter().try_for_each(|note| writeln!(f, "         note: {note}"))?;
            }
        }
        if let Some(sycl) = &self.sycl {
            writeln!(f, "\nSYCL runtime\n  library    {}", sycl.path.display())?;
            writeln!(f, "  version    DPC++ {}", sycl.version)?;
            writeln!(f, "  interface  {}", sycl.interface)?;
            match &sycl.driver {
                Some(driver) => writeln!(f, "  driver     {}", driver.display())?,
                None => writeln!(f, "  driver     no OpenCL CPU driver in this installation")?,
            }
        }
        if !self.places.is_empty() {
            writeln!(f, "\nSearched, in this order (* is in use)")?;
        }
        for place in &self.places {
            let mark = if place.in_use { '*' } else { ' ' };
            writeln!(f, "{mark} {place}")?;
        }
        writeln!(f, "\nEnvironment")?;
        for variable in &self.environment {
            match &variable.value {
                Some(value) => write!(f, "  {}={value}  ({})", variable.name, variable.decides)?,
                None => write!(f, "  {} is not set  ({})", variable.name, variable.decides)?,
            }
            match &variable.added {
                Some(added) => writeln!(f, "; usm has appended {added}")?,
                None => writeln!(f)?,
            }
        }
        writeln!(f, "\nDevices (* is the default)")?;
        for device in &self.devices {
            let mark = if device.is_default { '*' } else { ' ' };
            writeln!(f, "{mark} {:<15} {}", device.filter_string, device.info.name)?;
            facts(&device.info).iter().try_for_each(|fact| writeln!(f, "    {fact}"))?;
        }
        writeln!(f, "\nProblems")?;
        if self.problems.is_empty() {
            writeln!(f, "  none")?;
        }
        for problem in &self.problems {
            writeln!(f, "  {}\n    what to do: {}", problem.what, problem.remedy)?;
        }
        Ok(())
    }
}
