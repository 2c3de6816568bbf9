//! Where a run took place, how busy it was there, and which versions took part.

use std::collections::BTreeMap;
use std::fs;
use std::thread;

use serde::{Deserialize, Serialize};

use super::setup::Installation;
use crate::failure::{Failure, Outcome};
use crate::project::{Project, quietly};

/// Above this share of the processors, others were at work.
const BUSY: f64 = 0.3;

const VERSIONS: &str = "\
import json, platform
from importlib.metadata import PackageNotFoundError, version
found = {'Python': platform.python_version()}
for name in ['usm', 'numpy', 'dpctl', 'dpnp', 'intel-sycl-rt', 'intel-opencl-rt']:
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        found[name] = 'not installed'
print(json.dumps(found))
";

/// What is told of the machine.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Machine {
    pub(super) processor: String,
    pub(super) processors: usize,
    pub(super) memory_bytes: u64,
    /// Average number of programs that wanted a processor in the minute before, and in the last one.
    pub(super) load_before: f64,
    pub(super) load_after: f64,
    pub(super) versions: BTreeMap<String, String>,
    /// The commit, with a plus if files differ from it.
    pub(super) commit: String,
}

impl Machine {
    /// Looks, and notes the load before anything is measured.
    pub(super) fn look(project: &Project, installation: &Installation<'_>) -> Outcome<Self> {
        let load_before = load();
        let python = project.command(installation.python()).args(["-P", "-c", VERSIONS]);
        let versions =
            serde_json::from_str(&quietly(python)?).map_err(|error| Failure::new(error.to_string()))?;
        Ok(Self {
            processor: line("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned()),
            processors: thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: line("/proc/meminfo", "MemTotal")
                .and_then(|text| text.trim_end_matches(" kB").parse::<u64>().ok())
                .map_or(0, |kib| kib * 1024),
            load_before,
            load_after: load_before,
            versions,
            commit: commit(project),
        })
    }

    /// Notes the load at the end.
    pub(super) fn look_again(&mut self) {
        self.load_after = load();
    }

    /// True if others were at work when the measuring began.
    #[expect(clippy::cast_precision_loss)]
    pub(super) fn was_busy(&self) -> bool {
        self.load_before > BUSY * self.processors as f64
    }

    /// One line about it.
    pub(super) fn words(&self) -> String {
        let versions: Vec<String> =
            self.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        format!(
            "{} × {}, {} MiB; commit {}; {}",
            self.processors,
            self.processor,
            self.memory_bytes >> 20,
            self.commit,
            versions.join(", ")
        )
    }

    /// One line about the load.
    pub(super) fn load_words(&self) -> String {
        let load = format!("load {:.1} before, {:.1} after", self.load_before, self.load_after);
        if self.was_busy() {
            format!(
                "The machine was busy with other work when this began ({load}): ratios mean something, times do not."
            )
        } else {
            format!("The machine was quiet when this began ({load}).")
        }
    }
}

fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

/// What stands behind the colon in the first line of a file that begins so.
fn line(file: &str, begin: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(begin))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn commit(project: &Project) -> String {
    let git = |arguments: &[&str]| quietly(project.command("git").args(arguments));
    match (git(&["rev-parse", "--short", "HEAD"]), git(&["status", "--porcelain"])) {
        (Ok(commit), Ok(changes)) if changes.is_empty() => commit.trim().to_owned(),
        (Ok(commit), _) => format!("{}+", commit.trim()),
        _ => "unknown".to_owned(),
    }
}
