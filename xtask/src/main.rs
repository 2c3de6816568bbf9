//! The maintainer's commands: `cargo xtask demo`, `test`, `ci` and the others; each is one function in `commands`.

mod commands;
mod emulation;
mod project;
mod python;
mod report;
mod wheel;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::commands::test;
use crate::project::{Project, absolute};

/// The commands of the usm workspace. No command needs an environment variable.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    /// The Python to use (3.11 or newer) in place of the first fitting one on PATH
    #[arg(long, global = true, value_name = "PATH")]
    python: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build and install the wheel in a venv of its own and run examples/zero_copy.py there
    Demo {
        /// Install the SYCL runtime and the OpenCL CPU driver first (about 0.5 GB to download)
        #[arg(long)]
        sycl: bool,
        /// In place of it, show the exchange with PyTorch and CuPy on an NVIDIA GPU; installs both first (several GB)
        #[arg(long, conflicts_with = "sycl")]
        cuda: bool,
    },
    /// Run every test: Rust, doctests, pytest on the installed wheel, with and without SYCL
    Test {
        /// Only the tests of this crate; may be repeated
        #[arg(short, long, value_name = "CRATE", conflicts_with = "device")]
        package: Vec<String>,
        /// Test the exchange with other libraries too: dpnp, scikit-learn-intelex, JAX and more (about 4 GB on disk)
        #[arg(long)]
        peers: bool,
        /// As --peers, with PyTorch, whose package brings CUDA along (several GB more)
        #[arg(long)]
        all_peers: bool,
        /// The tests of the crates and of the wheel on one device only: a GPU of this machine, whose absence is a failure, or the stand-in
        #[arg(long, conflicts_with_all = ["peers", "all_peers"])]
        device: Option<commands::device::Kind>,
        /// With --device: leave an archive for a machine without network and toolchain, and run nothing
        #[arg(long, requires = "device")]
        pack: bool,
    },
    /// Run the checks of continuous integration: formatting, clippy, docs, `test --peers`, Miri
    Ci,
    /// Say whether usm works here from Rust and from Python, and name a command for each problem; fails where something is broken
    Doctor {
        /// Also print all devices, places that were searched, and variables
        #[arg(long, conflicts_with = "interface")]
        verbose: bool,
        /// Print the reports of the Pythons as JSON, by their paths; `python -m usm --help` describes the keys
        #[arg(long, conflicts_with_all = ["interface", "verbose"])]
        json: bool,
        /// In place of it, compare our table of the C interface with another version: a folder of headers, or a library
        #[arg(long, value_name = "PATH", value_parser = absolute)]
        interface: Option<PathBuf>,
    },
    /// Build the wheels and the source distribution, and check their contents
    Dist(commands::dist::Options),
    /// Build the site and the documentation of the crates, warnings are errors; writes target/site
    Docs(commands::docs::Options),
    /// Compare with peers and limits; writes target/bench/report.html, report.json and summary.md
    Bench(commands::bench::Options),
    /// Build the kernels of usm-array: OpenCL C to modules of SPIR-V and PTX, which are committed
    Kernels,
    /// Check that version, changelog and tags agree and that the tree is clean, and list the commands of a release
    Release {
        /// Required: this command publishes nothing
        #[arg(long, required = true)]
        dry_run: bool,
    },
    /// Update Cargo.lock, and show newer versions of crates and of packages of Python
    Update {
        /// Show, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Run the checks that take too long for each change, in named parts; writes RELIABILITY.md
    Verify(commands::verify::Options),
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<()> {
    let project = &Project::open(cli.python)?;
    match cli.command {
        Command::Demo { sycl, cuda } => commands::demo::run(project, sycl, cuda),
        Command::Test { device: Some(_), pack: true, .. } => commands::device::archive(project),
        Command::Test { device: Some(kind), .. } => commands::device::run(project, kind),
        Command::Test { all_peers: true, package, .. } => test::run(project, test::ALL_PEERS, &package),
        Command::Test { peers: true, package, .. } => test::run(project, test::LIGHT_PEERS, &package),
        Command::Test { package, .. } => test::run(project, &[], &package),
        Command::Ci => commands::ci::run(project),
        Command::Doctor { interface: Some(path), .. } => commands::doctor::compare_interface(project, &path),
        Command::Doctor { json: true, .. } => commands::doctor::json(project),
        Command::Doctor { verbose, .. } => commands::doctor::run(project, verbose),
        Command::Dist(options) => commands::dist::run(project, &options),
        Command::Docs(options) => commands::docs::run(project, &options),
        Command::Bench(options) => commands::bench::run(project, &options),
        Command::Kernels => commands::kernels::run(project),
        Command::Release { dry_run: _ } => commands::release::run(project),
        Command::Update { dry_run } => commands::update::run(project, dry_run),
        Command::Verify(options) => commands::verify::run(project, &options),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn contributing_has_each_command_and_each_part_of_verify() {
        let document = include_str!("../../CONTRIBUTING.md");
        let cli = Cli::command();
        for name in cli.get_subcommands().map(clap::Command::get_name) {
            assert!(
                document.contains(&format!("| `cargo xtask {name}")),
                "CONTRIBUTING.md has no row of {name}"
            );
        }
        let (_, table) = document.split_once("### Checks outside of the gate").unwrap();
        let (table, _) = table.split_once("\n### ").unwrap();
        let parts = cli.find_subcommand("verify").unwrap().get_positionals().next().unwrap();
        for part in parts.get_possible_values() {
            let name = part.get_name();
            assert!(table.contains(&format!("`{name}`")), "CONTRIBUTING.md has no part {name} of verify");
        }
    }
}
