//! `cargo xtask verify`: the checks that take too long for each change, in named parts, and the page that says when each ran.
//!
//! | file | job |
//! |---|---|
//! | `mod.rs` | the list of the parts, and their runs |
//! | `campaigns.rs` | parts with many random cases, forks, drops and ends of processes |
//! | `aarch64.rs` | the tests on another processor, under QEMU |
//! | `fuzz.rs` | fuzzers, by cargo-fuzz |
//! | `matrix.rs` | parts with the tests of the gate in other settings |
//! | `sanitize.rs` | ThreadSanitizer and Miri |
//! | `windows.rs` | the crates for Windows |
//! | `record.rs` | the page `RELIABILITY.md` |

mod aarch64;
mod campaigns;
mod fuzz;
mod matrix;
mod record;
mod sanitize;
mod windows;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};

pub(super) use self::sanitize::miri_in_gate;
use crate::project::{Project, absolute};
use crate::report::Steps;

/// What the command line asks for.
#[derive(Args)]
pub(crate) struct Options {
    /// The parts to run; without one, all of them
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Run nothing, and write RELIABILITY.md anew: which results are old
    #[arg(long)]
    page: bool,
    /// Random cases per property, in the part `properties`
    #[arg(long, default_value_t = 1_000_000)]
    cases: u32,
    /// Minutes of each fuzzer, in the part `fuzz`
    #[arg(long, default_value_t = 10)]
    minutes: u32,
    /// A clone of array-api-tests with its submodule, for the part `array-api`
    #[arg(long, value_name = "CLONE", value_parser = absolute)]
    array_api: Option<PathBuf>,
}

/// A check that can run alone, with what it checks; the shortest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// no undefined behaviour in unit tests of usm-memory and usm-array
    Miri,
    /// no data race in usm-memory, by ThreadSanitizer
    Threads,
    /// each module of kernels builds on the SYCL device
    Modules,
    /// clippy and the Rust tests without default features
    Features,
    /// the wheel as published: its contents, and its tests with kernels as users get them
    Published,
    /// the library crates for Windows: clippy, and their tests under Wine
    Windows,
    /// all that is published, each installed into a fresh environment; versions, and packages of the crates
    Packages,
    /// tests of the crates and of the wheel on the host backend of aarch64, under QEMU (Debian or Ubuntu)
    Aarch64,
    /// all tests with `USM_STRICT_DEVICE=1`
    Strict,
    /// the wheel on each other Python that is found
    Pythons,
    /// the tests of the wheel with all peers, PyTorch and all tests of dpnp included
    Peers,
    /// the tests that Dask installs for a chunk type, and workers on two hosts (needs root)
    Dask,
    /// the array API's own suite on each provider's memory, from the clone that `--array-api` names
    ArrayApi,
    /// all tests on PoCL's CPU device (`apt install pocl-opencl-icd`)
    Pocl,
    /// 100,000 random drops of handles with work in flight
    Drops,
    /// 80,000 arrays of eight processes that end at any moment; other users, namespaces, sandboxes
    Processes,
    /// 1,000 forked children beside each kind of activity
    Forks,
    /// each order of imports of usm, dpctl, dpnp, NumPy and PyTorch
    Imports,
    /// 10,000 random examples per property of the wheel
    Examples,
    /// a million random cases per property of usm-array
    Properties,
    /// no input to the paths of `fuzz/` crashes or is accepted wrongly, by libFuzzer and AddressSanitizer
    Fuzz,
}

impl Part {
    fn run(self, project: &Project, options: &Options, steps: &mut Steps) -> Result<()> {
        match self {
            Self::Miri => sanitize::miri(project, steps),
            Self::Threads => sanitize::threads(project, steps),
            Self::Modules => matrix::modules(project, steps),
            Self::Features => matrix::features(project, steps),
            Self::Published => matrix::published(project, steps),
            Self::Windows => windows::run(project, steps),
            Self::Packages => matrix::packages(project, steps),
            Self::Aarch64 => aarch64::run(project, steps),
            Self::Strict => matrix::on_other_device(project, matrix::STRICT, steps),
            Self::Pythons => matrix::pythons(project, steps),
            Self::Peers => matrix::peers(project, steps),
            Self::Dask => matrix::dask(project, steps),
            Self::ArrayApi => matrix::array_api(project, options.array_api.as_ref(), steps),
            Self::Pocl => matrix::on_other_device(project, matrix::POCL, steps),
            Self::Drops => campaigns::drops(project, steps),
            Self::Processes => campaigns::processes(project, steps),
            Self::Forks => campaigns::forks(project, steps),
            Self::Imports => campaigns::imports(project, steps),
            Self::Examples => campaigns::examples(project, steps),
            Self::Properties => campaigns::properties(project, options.cases, steps),
            Self::Fuzz => fuzz::run(project, options.minutes, steps),
        }
    }

    fn name(self) -> String {
        self.to_possible_value().unwrap_or_default().get_name().to_owned()
    }

    fn checks(self) -> String {
        self.to_possible_value().unwrap_or_default().get_help().unwrap_or_default().to_string()
    }
}

/// Runs parts, and writes down which of them passed.
pub(crate) fn run(project: &Project, options: &Options) -> Result<()> {
    if options.page {
        return record::renew(project);
    }
    Steps::report(|steps| {
        chosen(options).into_iter().try_for_each(|part| {
            record::recorded(project, part, || {
                steps.within(&part.name(), |steps| part.run(project, options, steps))?;
                Ok(steps.take_figures())
            })
        })
    })
}

/// The named parts. Without names all of them, but only the array API's suite where its clone is named, and else not that one.
fn chosen(options: &Options) -> Vec<Part> {
    if !options.parts.is_empty() {
        return options.parts.clone();
    }
    let parts = Part::value_variants().iter().copied();
    parts.filter(|part| (*part == Part::ArrayApi) == options.array_api.is_some()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_chosen_by_name() {
        let chosen = |parts: &[Part], array_api| {
            chosen(&Options { parts: parts.to_vec(), page: false, cases: 1, minutes: 1, array_api })
        };
        assert_eq!(chosen(&[], None).len(), Part::value_variants().len() - 1);
        assert_eq!(chosen(&[], Some(PathBuf::new())), [Part::ArrayApi]);
        assert_eq!(chosen(&[Part::Miri], None), [Part::Miri]);
    }
}
