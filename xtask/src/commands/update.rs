//! `cargo xtask update`: newer versions of what the project uses, from crates and from packages of Python.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use crate::project::{Project, openly, quietly};
use crate::python::{ALL, Venv};
use crate::report::say;

/// Crates that `Cargo.lock` keeps at a version; the root `Cargo.toml` has the reasons.
const KEPT: [(&str, &str); 1] = [("half", "2.4.1")];

/// Updates `Cargo.lock` within the bounds of the manifests, unless it is a dry run, and prints newer versions beyond them. Prints the
/// newest version of each package of Python, and which ones their requirements exclude. Changes no requirement.
pub(crate) fn run(project: &Project, dry_run: bool) -> Result<()> {
    let options = if dry_run { " --dry-run" } else { "" };
    openly(project.cargo(&format!("update --verbose{options}")))?;
    for (name, version) in KEPT {
        say(&format!("{name} stays at {version}"));
        openly(project.cargo(&format!("update --quiet --package {name} --precise {version}{options}")))?;
    }
    let venv = Venv::with(project, "venv-tools", &[])?;
    say("\nPackages of Python, from xtask/src/python/requirements.rs:");
    let mut num_excluded = 0;
    let requirements: BTreeSet<&str> = ALL.iter().flat_map(|group| group.iter().copied()).collect();
    for requirement in requirements {
        let (name, bounds) = parts(requirement);
        let found =
            venv.python().args(["-I", "-m", "pip", "--disable-pip-version-check", "index", "versions", name]);
        let verdict = match quietly(found).and_then(|output| newest(&output)) {
            Ok(version) if allows(bounds, &version) => format!("      {requirement}: {version}"),
            Ok(version) => {
                num_excluded += 1;
                format!("newer {requirement}: {version} is excluded")
            }
            Err(reason) => {
                format!("?     {requirement}: {}", reason.to_string().lines().last().unwrap_or_default())
            }
        };
        say(&verdict);
    }
    say(&format!("\n{num_excluded} requirements exclude the newest version. After a change: cargo xtask ci"));
    Ok(())
}

/// The name and the bounds of a requirement; the name without its extras.
fn parts(requirement: &str) -> (&str, &str) {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let end = requirement.find(|c| !is_of_name(c)).unwrap_or(requirement.len());
    let (name, rest) = requirement.split_at(end);
    (name, rest.find(['<', '>', '=']).map_or("", |start| &rest[start..]))
}

/// The version in the first line of `pip index versions`: `dpctl (0.22.1)`.
fn newest(output: &str) -> Result<String> {
    let version = output.split_once(" (").and_then(|(_, rest)| rest.split_once(')'));
    Ok(version.context("pip named no version")?.0.to_owned())
}

/// The leading numbers of a version, without zeros at the end: 2 is 2.0.
fn numbers(version: &str) -> Vec<u64> {
    let mut numbers: Vec<_> = version.split('.').map_while(|part| part.parse().ok()).collect();
    while numbers.last() == Some(&0) {
        numbers.pop();
    }
    numbers
}

/// Whether bounds like `>=0.22,<0.24` or `==12.4.*` allow a version.
fn allows(bounds: &str, version: &str) -> bool {
    let version = numbers(version);
    bounds.split(',').map(str::trim).filter(|bound| !bound.is_empty()).all(|bound| {
        if let Some(start) = bound.strip_prefix("==").and_then(|exact| exact.strip_suffix(".*")) {
            return version.starts_with(&numbers(start));
        }
        let wanted = numbers(bound.trim_start_matches(['<', '>', '=']));
        match bound.trim_end_matches(|c| !"<>=".contains(c)) {
            ">=" => version >= wanted,
            "<" => version < wanted,
            "==" => version == wanted,
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn bounds_allow_what_pip_allows() {
        for (bounds, version, is_allowed) in [
            (">=0.22,<0.24", "0.23.1", true),
            (">=0.22,<0.24", "0.24", false),
            (">=0.22,<0.24", "0.24.0", false),
            (">=2026", "2026.2.0", true),
            (">=3.8", "3.10", true),
            ("==12.4.*", "12.4.127", true),
            ("==12.4.*", "12.9.86", false),
            ("==0.17.0", "0.17", true),
            ("==0.17.0", "0.17.1", false),
            ("", "1.0", true),
            ("~=1.0", "1.0", false),
        ] {
            assert_eq!(allows(bounds, version), is_allowed, "{version} by {bounds}");
        }
    }

    #[test]
    fn crates_are_kept_at_their_versions() {
        let lock = include_str!("../../../Cargo.lock");
        for (name, version) in KEPT {
            assert!(
                lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"\n")),
                "{name} {version}"
            );
        }
    }

    #[test]
    fn names_and_versions_are_read() {
        assert_eq!(parts("dask[array]>=2025.9"), ("dask", ">=2025.9"));
        assert_eq!(parts("intel-opencl-rt"), ("intel-opencl-rt", ""));
        assert_eq!(newest("dpctl (0.22.1)\nAvailable versions: 0.22.1, 0.22.0\n").unwrap(), "0.22.1");
        assert!(newest("ERROR: none").is_err());
    }

    #[test]
    fn each_requirement_is_looked_up() {
        let source = include_str!("../python/requirements.rs");
        let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
        let texts: Vec<&str> = code.flat_map(|line| line.split('"').skip(1).step_by(2)).collect();
        assert!(texts.len() > 20);
        for text in texts {
            assert!(ALL.iter().any(|group| group.contains(&text)), "ALL does not have {text}");
        }
    }
}
