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
    /// Report the SYCL runtime and the devices, or the tried places
    Doctor {
        /// In place of it, compare our table of the C interface with another version: a folder of headers, or a library
        #[arg(long, value_name = "PATH", value_parser = absolute)]
        interface: Option<PathBuf>,
    },
    /// Build the wheels and the source distribution, and check their contents
    Dist(commands::dist::Options),
    /// Build the documentation, warnings are errors
    Docs,
    /// Compare with peers and limits; writes target/bench/report.html, report.json and summary.md
    Bench(commands::bench::Options),
    /// Build the kernels of usm-array: OpenCL C to modules of SPIR-V and PTX, which are committed
    Kernels,
    /// Run the checks that take too long for each change, in named parts; writes docs/verified.md
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
        Command::Doctor { interface: Some(path) } => commands::doctor::compare_interface(project, &path),
        Command::Doctor { interface: None } => commands::doctor::run(project),
        Command::Dist(options) => commands::dist::run(project, &options),
        Command::Docs => commands::docs::run(project),
        Command::Bench(options) => commands::bench::run(project, &options),
        Command::Kernels => commands::kernels::run(project),
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
