//! `cargo xtask release --dry-run`: whether the checkout can be released, and the commands of a release. It publishes nothing.

use anyhow::{Context, Result, ensure};

use super::dist::crates::PUBLISHED;
use super::dist::versions;
use crate::project::{Project, quietly};
use crate::report::say;

/// What has to agree on the version.
struct Checkout {
    version: String,
    /// What the manifest, the changelog and the tags disagree on.
    disagreement: Option<String>,
    changelog: String,
    /// `CITATION.cff`.
    citation: String,
    /// The output of `git status --porcelain`.
    changes: String,
}

/// Prints each check and the commands of a release. Fails if a check fails.
pub(crate) fn run(project: &Project) -> Result<()> {
    let read = |name: &str| project.shell.read_file(project.root.join(name)).context("a file of a release");
    let checkout = Checkout {
        version: versions::of_workspace(&read("Cargo.toml")?)?.to_owned(),
        disagreement: versions::check(project).err().map(|error| error.to_string()),
        changelog: read("CHANGELOG.md")?,
        citation: read("CITATION.cff")?,
        changes: quietly(project.command("git").args(["status", "--porcelain"]))?,
    };
    say(&format!("usm {}", checkout.version));
    let mut num_failed = 0;
    for (check, problem) in checkout.checks() {
        match problem {
            None => say(&format!("  ok    {check}")),
            Some(problem) => {
                num_failed += 1;
                say(&format!("  open  {check}: {problem}"));
            }
        }
    }
    say("\nThe commands of a release, in this order:\n");
    commands(&checkout.version).iter().for_each(|command| say(&format!("  {command}")));
    ensure!(num_failed == 0, "checks above that are open: {num_failed}");
    Ok(())
}

/// What a person types for a release. The first ones check, and the others cannot be taken back.
fn commands(version: &str) -> Vec<String> {
    let before = ["cargo xtask ci", "cargo xtask verify published", "cargo xtask dist --check"];
    let tag = format!("git tag --annotate v{version} --message 'usm {version}'");
    let crates = PUBLISHED.map(|name| format!("cargo publish --locked --package {name}"));
    let files = format!("target/wheels/usm-{version}-*.whl target/wheels/usm-{version}.tar.gz");
    let after = [format!("twine upload {files}"), format!("git push origin v{version}")];
    before.map(str::to_owned).into_iter().chain([tag]).chain(crates).chain(after).collect()
}

/// Whether a text is a date like 2026-11-29.
fn is_date(text: &str) -> bool {
    let lengths: Vec<_> = text.split('-').map(str::len).collect();
    lengths == [4, 2, 2] && text.chars().all(|c| c.is_ascii_digit() || c == '-')
}

impl Checkout {
    /// Each check with the problem that it found.
    fn checks(&self) -> [(&'static str, Option<String>); 5] {
        [
            ("the version has three numbers", self.form()),
            ("Cargo.toml, CHANGELOG.md and the tags agree", self.disagreement.clone()),
            ("CHANGELOG.md has this version with its date, and nothing unreleased", self.section()),
            ("CITATION.cff has this version", self.cited()),
            ("the tree is clean", self.is_changed()),
        ]
    }

    fn form(&self) -> Option<String> {
        versions::numbers(&self.version).is_none().then(|| format!("found {}", self.version))
    }

    fn section(&self) -> Option<String> {
        let version = self.version.as_str();
        let mut sections = self.changelog.split("\n## [").skip(1);
        let unreleased = sections.next().filter(|section| section.starts_with("Unreleased]"));
        let Some(unreleased) = unreleased else {
            return Some("its first section is not [Unreleased]".to_owned());
        };
        let heading = sections.next().and_then(|section| section.lines().next()).unwrap_or_default();
        let date = heading.strip_prefix(version).and_then(|rest| rest.strip_prefix("] - "));
        if !date.is_some_and(is_date) {
            return Some(format!("behind [Unreleased] stands no `## [{version}] - YYYY-MM-DD`"));
        }
        let entries = unreleased.lines().filter(|line| line.starts_with("- ")).count();
        (entries > 0).then(|| format!("[Unreleased] has {entries} entries"))
    }

    fn cited(&self) -> Option<String> {
        let found = self.citation.lines().find_map(|line| line.strip_prefix("version: "));
        (found != Some(self.version.as_str())).then(|| format!("found {}", found.unwrap_or("none")))
    }

    fn is_changed(&self) -> Option<String> {
        self.changes.lines().next().map(|line| format!("`git status` begins with `{}`", line.trim()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::path::Path;

    use super::*;

    fn good() -> Checkout {
        Checkout {
            version: "0.2.0".to_owned(),
            disagreement: None,
            changelog: "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n- New.\n\n\
                        ## [0.1.0] - 2026-11-01\n\n- First.\n"
                .to_owned(),
            citation: "title: usm\nversion: 0.2.0\n".to_owned(),
            changes: String::new(),
        }
    }

    /// The numbers of the checks that are open.
    fn open(checkout: &Checkout) -> Vec<usize> {
        let checks = checkout.checks();
        checks.iter().enumerate().filter(|(_, (_, problem))| problem.is_some()).map(|(at, _)| at).collect()
    }

    #[test]
    fn each_disagreement_is_found() {
        assert_eq!(open(&good()), [0; 0]);
        let changelog = |from: &str, to: &str| {
            let text = good().changelog;
            assert!(text.contains(from));
            Checkout { changelog: text.replace(from, to), ..good() }
        };
        assert_eq!(open(&Checkout { version: "0.2".into(), ..good() }), [0, 2, 3]);
        assert_eq!(open(&Checkout { disagreement: Some("a tag".into()), ..good() }), [1]);
        assert_eq!(open(&changelog("[Unreleased]\n", "[Unreleased]\n\n- More.\n")), [2]);
        assert_eq!(open(&changelog(" - 2026-12-01", "")), [2]);
        assert_eq!(open(&changelog("[0.2.0] - 2026-12-01", "[0.2.0] - soon")), [2]);
        assert_eq!(open(&changelog("## [Unreleased]\n\n", "")), [2]);
        assert_eq!(open(&Checkout { citation: "title: usm\n".into(), ..good() }), [3]);
        assert_eq!(open(&Checkout { changes: " M README.md\n".into(), ..good() }), [4]);
    }

    #[test]
    fn the_crates_are_published_after_what_they_use() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("crates");
        for entry in fs::read_dir(&crates).unwrap() {
            let folder = entry.unwrap().path();
            let name = folder.file_name().unwrap().to_str().unwrap();
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            let place = PUBLISHED.iter().position(|published| *published == name);
            assert_eq!(place.is_none(), manifest.contains("publish = false"), "{name}");
            let (_, dependencies) = manifest.split_once("[dependencies]\n").unwrap_or_default();
            let names = dependencies.split("\n[").next().unwrap_or_default().lines();
            let used = names.filter_map(|line| {
                let name = line.split(['.', ' ']).next().unwrap_or_default();
                PUBLISHED.iter().position(|published| *published == name)
            });
            if let Some(place) = place {
                assert!(
                    used.into_iter().all(|used| used < place),
                    "{name} comes before a crate that it uses"
                );
            }
        }
    }
}
