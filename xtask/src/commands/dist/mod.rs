//! `cargo xtask dist`: everything that would be published, built and checked.
//!
//! | file | job |
//! |---|---|
//! | `mod.rs` | the wheels and the source distribution, with their contents |
//! | `fresh.rs` | each of them installed into a fresh environment, and used there |
//! | `crates.rs` | the packages of the crates, and a program that depends on them |
//! | `versions.rs` | the version, the changelog and the tags |

pub(super) mod crates;
pub(super) mod fresh;
pub(super) mod versions;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;

use crate::project::Project;
use crate::report::{Steps, say};
use crate::wheel::{self, Contents, Platform};

/// What the command line asks for.
#[derive(Args)]
pub(crate) struct Options {
    /// Install each artefact into a fresh environment and use it there; package the crates; compare versions
    #[arg(long)]
    check: bool,
    /// Only the wheel for this machine
    #[arg(long, conflicts_with = "check")]
    native: bool,
}

/// Runs the command.
pub(crate) fn run(project: &Project, options: &Options) -> Result<()> {
    Steps::report(|steps| match options {
        Options { check: true, .. } => checked(project, steps),
        Options { native: true, .. } => {
            let native = Platform::of_this_machine()?;
            steps.step(&format!("wheel for {}", native.tag()), || wheel(project, native)).map(drop)
        }
        Options { .. } => build(project, steps).map(drop),
    })
}

/// Builds everything, and checks it as its users would find it.
pub(super) fn checked(project: &Project, steps: &mut Steps) -> Result<()> {
    steps.step("version, changelog and tags", || versions::check(project))?;
    steps.step("packages of the crates", || crates::check(project))?;
    let (wheels, sdist) = build(project, steps)?;
    fresh::check(project, &wheels, &sdist, steps)
}

/// The wheel of a platform with good contents.
pub(super) fn wheel(project: &Project, platform: Platform) -> Result<PathBuf> {
    let path = wheel::build(project, platform)?;
    let contents = Contents::read(project, &path)?;
    say(&contents.table());
    let problems = contents.problems();
    ensure!(problems.is_empty(), "{} is not good:\n- {}", path.display(), problems.join("\n- "));
    say(&format!("    {} is good", path.display()));
    Ok(path)
}

/// The wheel of each platform, and the source distribution.
type Artefacts = (Vec<(Platform, PathBuf)>, PathBuf);

fn build(project: &Project, steps: &mut Steps) -> Result<Artefacts> {
    let wheels = Platform::PUBLISHED.iter().map(|&platform| {
        let path = steps.step(&format!("wheel for {}", platform.tag()), || wheel(project, platform))?;
        Ok((platform, path))
    });
    let wheels = wheels.collect::<Result<_>>()?;
    let sdist = steps.step("source distribution", || wheel::build_sdist(project))?;
    say(&format!("    {}", sdist.display()));
    Ok((wheels, sdist))
}
