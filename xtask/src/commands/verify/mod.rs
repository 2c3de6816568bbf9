//! `cargo xtask verify`: the checks that take too long for each change, in named parts, and the page that says when each ran.
//!
//! | file | job |
//! |---|---|
//! | `mod.rs` | the list of the parts, and their runs |
//! | `campaigns.rs` | parts that are tests of the gate at a greater length |
//! | `packed.rs` | the same for another machine, and their results from there |
//! | `coverage.rs`, `mutants.rs` | what tests run, and what they notice |
//! | `supply.rs` | what comes from others |
//! | `aarch64.rs` | the tests on another processor, under QEMU |
//! | `fuzz.rs` | fuzzers, by cargo-fuzz |
//! | `interface.rs` | the public interface of the library crates |
//! | `tools.rs` | programs of other authors |
//! | `matrix.rs` | parts with the tests of the gate in other settings |
//! | `sanitize.rs` | ThreadSanitizer, AddressSanitizer and Miri |
//! | `windows.rs` | the crates for Windows |
//! | `record.rs` | the page `RELIABILITY.md` |

mod aarch64;
mod campaigns;
mod coverage;
mod fuzz;
mod interface;
mod matrix;
mod mutants;
mod packed;
mod record;
mod sanitize;
mod supply;
mod tools;
mod windows;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};

pub(super) use self::sanitize::miri_in_gate;
use crate::project::{Project, absolute};
use crate::report::{Steps, say};

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
    /// Minutes of each fuzzer, of `load`, of `mutants` and of the storm of `processes`, in place of their own length; a slow fuzzer gets more of them
    #[arg(long)]
    minutes: Option<u32>,
    /// Run nothing, and leave an archive with the named parts for a machine without network and toolchain
    #[arg(long, requires = "parts")]
    pack: bool,
    /// Run nothing, and write the rows of the parts that passed there
    #[arg(long, value_name = "REPORT", value_parser = absolute, conflicts_with_all = ["pack", "page"])]
    take: Option<PathBuf>,
    /// A clone of array-api-tests with its submodule, for the part `array-api`
    #[arg(long, value_name = "CLONE", value_parser = absolute)]
    array_api: Option<PathBuf>,
}

/// A check that can run alone, with what it checks; the shortest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// no undefined behaviour in unit tests of usm-memory and usm-array
    Miri,
    /// no data race in the library crates, by ThreadSanitizer
    Threads,
    /// no memory error in the tests of the library crates and of the wheel, by AddressSanitizer, and no leak of the crates, by LeakSanitizer; neither at the end of processes, by valgrind
    Memory,
    /// each module of kernels builds on the SYCL device
    Modules,
    /// clippy and the Rust tests without default features
    Features,
    /// the public interface of the library crates is the one in `docs/interface`
    Interface,
    /// the wheel as published: its contents, and its tests with kernels as users get them
    Published,
    /// the crates and the wheel for Windows: clippy, their tests under Wine, and the contents of the wheel
    Windows,
    /// all that is published, each installed into a fresh environment; versions, and packages of the crates
    Packages,
    /// tests of the crates and of the wheel on the host backend of aarch64, under QEMU (Debian or Ubuntu)
    Aarch64,
    /// all tests with `USM_STRICT_DEVICE=1`
    Strict,
    /// device memory is never touched by host code: all tests of the wheel where such an access ends the process
    Protected,
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
    /// no runtime object dies under its own work: random drops of handles with work in flight
    Drops,
    /// memory outlives the work that uses it: random schedules of operations that end late
    Schedules,
    /// every backend call may fail: each call of each scenario fails once
    Faults,
    /// layouts and slices of up to three axes are right for all small sizes and at the ends of the numbers
    Layouts,
    /// no Python object crashes an import path, is accepted wrongly or leaks
    Objects,
    /// the collector never takes what is in use: random graphs of objects, forced collections, threads
    Collections,
    /// read-only stays read-only: random chains of views and exchanges
    Readonly,
    /// memory survives the processes that die: a storm of eight of them; other users, namespaces, sandboxes
    Processes,
    /// a fork at any time is safe: children beside each kind of activity
    Forks,
    /// no bad access, race or use of unset memory in kernels on a GPU, by compute-sanitizer
    Gpu,
    /// load is held: allocations of eight threads, many live ones, exchanges, collections, exceptions
    Load,
    /// the process stays in the user's hands: Ctrl-C in each wait, ends at any moment, limits, missing files and drivers
    Interrupts,
    /// each order of imports of usm, dpctl, dpnp, NumPy and PyTorch
    Imports,
    /// 10,000 random examples per property of the wheel
    Examples,
    /// a million random cases per property of usm-array
    Properties,
    /// no input to the paths of `fuzz/` crashes or is accepted wrongly, by libFuzzer and AddressSanitizer
    Fuzz,
    /// what comes from others is known, and the wheel is what its sources say
    Supply,
    /// tests run the code: lines of the libraries and of the Python layer
    Coverage,
    /// tests notice wrong code in layouts, imports, plans of copies, access and pools, by cargo-mutants
    Mutants,
}

impl Part {
    fn run(self, project: &Project, options: &Options, steps: &mut Steps) -> Result<()> {
        match self {
            Self::Miri => sanitize::miri(project, steps),
            Self::Threads => sanitize::threads(project, steps),
            Self::Memory => {
                sanitize::memory(project, steps)?;
                campaigns::ENDS.step(project, None, steps)
            }
            Self::Modules => matrix::modules(project, steps),
            Self::Features => matrix::features(project, steps),
            Self::Interface => interface::run(project, steps),
            Self::Published => matrix::published(project, steps),
            Self::Windows => windows::run(project, steps),
            Self::Packages => matrix::packages(project, steps),
            Self::Aarch64 => aarch64::run(project, steps),
            Self::Strict => matrix::on_other_device(project, matrix::STRICT, steps),
            Self::Protected => matrix::protected(project, steps),
            Self::Pythons => matrix::pythons(project, steps),
            Self::Peers => matrix::peers(project, steps),
            Self::Dask => matrix::dask(project, steps),
            Self::ArrayApi => matrix::array_api(project, options.array_api.as_ref(), steps),
            Self::Pocl => matrix::on_other_device(project, matrix::POCL, steps),
            Self::Properties => matrix::properties(project, options.cases, steps),
            Self::Supply => supply::run(project, steps),
            Self::Coverage => coverage::run(project, steps),
            Self::Mutants => mutants::run(project, options.minutes, steps),
            Self::Drops
            | Self::Schedules
            | Self::Faults
            | Self::Layouts
            | Self::Objects
            | Self::Collections
            | Self::Readonly
            | Self::Processes
            | Self::Forks
            | Self::Gpu
            | Self::Load
            | Self::Interrupts
            | Self::Imports
            | Self::Examples
            | Self::Fuzz => campaigns::run(project, self, options.minutes, steps),
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
    match options {
        Options { page: true, .. } => return record::renew(project),
        Options { pack: true, parts, .. } => return packed::pack(project, parts),
        Options { take: Some(report), .. } => return packed::take(project, report),
        _ => {}
    }
    // A part that fails keeps no other from its run.
    Steps::report(|steps| {
        let failed: Vec<_> = chosen(options)
            .into_iter()
            .filter_map(|part| {
                let outcome = record::recorded(project, part, || {
                    let outcome = steps.within(&part.name(), |steps| part.run(project, options, steps));
                    // What was counted before a failure belongs to no other part.
                    let figures = steps.take_figures();
                    outcome.map(|()| figures)
                });
                let error = outcome.err()?;
                say(&format!("{} FAILED: {error:#}", part.name()));
                Some(part.name())
            })
            .collect();
        ensure!(failed.is_empty(), "these parts failed: {}", failed.join(", "));
        Ok(())
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
            let parts = parts.to_vec();
            chosen(&Options {
                parts,
                page: false,
                cases: 1,
                minutes: None,
                pack: false,
                take: None,
                array_api,
            })
        };
        assert_eq!(chosen(&[], None).len(), Part::value_variants().len() - 1);
        assert_eq!(chosen(&[], Some(PathBuf::new())), [Part::ArrayApi]);
        assert_eq!(chosen(&[Part::Miri], None), [Part::Miri]);
    }
}
