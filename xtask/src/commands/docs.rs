//! `cargo xtask docs`: the site and the documentation of the crates, where a warning is an error.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::Args;

use super::dist::crates::PUBLISHED;
use crate::project::{Project, openly, quietly};
use crate::python::{SITE, Venv};
use crate::report::say;
use crate::wheel;

/// All features of all crates, as on docs.rs.
pub(super) const ALL_FEATURES: &str = "usm-core/testing,usm-memory/cudarc,usm-array/ndarray,usm-python/svg";

/// What makes and checks the site, seen from the root.
const SETTINGS: &str = "guide/_site";
/// The packages of node that look at the site as a reader with a screen reader would. Exact versions, because new ones have new rules.
const BROWSER_PACKAGES: [&str; 2] = ["axe-core@4.14.1", "playwright-core@1.65.1"];
/// Programs that show pages.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// What the command line asks for.
#[derive(Args)]
pub(crate) struct Options {
    /// Show the site in the browser of this machine
    #[arg(long)]
    open: bool,
    /// Check each link of the site and of the repository, and the accessibility of each page where chromium and node are installed
    #[arg(long)]
    check: bool,
}

/// Builds `target/doc` and `target/site`, and does what the options ask for.
pub(crate) fn run(project: &Project, options: &Options) -> Result<()> {
    rustdoc_of(project, &PUBLISHED.map(|name| format!("--package={name}")))?;
    say("building the wheel for the reference");
    let wheel = wheel::build_quick(project)?;
    let site = site(project, &wheel)?;
    if options.check {
        check_links(project, &site)?;
        check_accessibility(project, &site)?;
    }
    let index = site.join("index.html");
    say(&format!("the site is {}", index.display()));
    if options.open {
        openly(project.command("xdg-open").arg(index))?;
    }
    Ok(())
}

/// The site of a wheel that is built, over rustdoc's pages that are built, with a check of its links.
pub(super) fn site_in_gate(project: &Project) -> Result<()> {
    check_links(project, &site(project, &wheel::build_quick(project)?)?)
}

/// Builds `target/doc` for all crates, also for the ones of the tests.
pub(super) fn rustdoc(project: &Project) -> Result<()> {
    rustdoc_of(project, &["--workspace".to_owned(), "--exclude=usm-pyext-example".to_owned()])
}

fn rustdoc_of(project: &Project, selection: &[String]) -> Result<()> {
    let doc = project.cargo_with_python("doc --quiet --locked --no-deps")?.args(selection);
    openly(doc.args(["--features", ALL_FEATURES]).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Builds `target/site` with the documentation of the crates in it, and returns its folder. The reference is that of a wheel.
fn site(project: &Project, wheel: &Path) -> Result<PathBuf> {
    let venv = Venv::with(project, "venv-docs", &[SITE])?;
    venv.install_wheel(wheel)?;
    let site = project.target.join("site");
    // Pages of files that are gone would stay.
    project.shell.remove_path(&site)?;
    say("building the site");
    let sphinx = venv.python().args(["-B", "-m", "sphinx", "--quiet", "--builder", "html"]);
    let sphinx = sphinx.args(["--conf-dir", SETTINGS, "--nitpicky", "--fail-on-warning", "--keep-going"]);
    let sphinx = sphinx.arg("--doctree-dir").arg(project.target.join("site-doctrees"));
    openly(sphinx.arg(&project.root).arg(&site))?;
    quietly(project.command("cp").arg("-r").arg(project.target.join("doc")).arg(site.join("rust")))?;
    Ok(site)
}

/// Checks the links of the site, and those between files of the repository.
fn check_links(project: &Project, site: &Path) -> Result<()> {
    let venv = Venv::with(project, "venv-docs", &[])?;
    let links = project.root.join(SETTINGS).join("links.py");
    openly(venv.python().arg("-B").arg(links).arg(site).arg(&project.root))
}

/// Runs axe over each page, light and dark, at two widths. Says so where this machine has no browser or no node.
fn check_accessibility(project: &Project, site: &Path) -> Result<()> {
    let Some(browser) = BROWSERS.iter().find_map(|name| on_path(name)) else {
        say("NOT CHECKED: accessibility, since no browser was found (Debian, Ubuntu: apt install chromium)");
        return Ok(());
    };
    let (Some(node), Some(npm)) = (on_path("node"), on_path("npm")) else {
        say(
            "NOT CHECKED: accessibility, since node or npm was not found (Debian, Ubuntu: apt install nodejs npm)",
        );
        return Ok(());
    };
    let folder = project.target.join("site-check");
    let install = project.command(npm).args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"]);
    quietly(install.arg(&folder).args(BROWSER_PACKAGES))?;
    let modules = folder.join("node_modules");
    ensure!(modules.exists(), "npm left no {}", modules.display());
    let check = project.root.join(SETTINGS).join("accessibility.mjs");
    openly(project.command(node).arg(check).arg(site).arg(modules).arg(browser))
}

/// The file of a program on PATH.
fn on_path(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).map(|folder| folder.join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_on_path() {
        assert!(on_path("sh").unwrap().ends_with("sh"));
        assert_eq!(on_path("no program has this name"), None);
    }
}
