//! `cargo xtask release --dry-run`: whether the checkout can be released, and the commands of a release. It publishes nothing.

use anyhow::{Context, Result, ensure};

use crate::project::{Project, quietly};
use crate::report::say;

/// The crates that a registry gets, each after the crates that it uses.
const PUBLISHED: [&str; 6] = ["usm-derive", "sycl-sys", "usm-core", "usm-memory", "usm-array", "usm-python"];

/// Texts of the checkout that have to agree on the version.
struct Checkout {
    /// `Cargo.toml` of the workspace.
    manifest: String,
    changelog: String,
    /// `CITATION.cff`.
    citation: String,
    /// All tags, one a line.
    tags: String,
    /// The tags of the commit that is checked out, one a line.
    tags_here: String,
    /// The output of `git status --porcelain`.
    changes: String,
}

/// Prints each check and the commands of a release. Fails if a check fails.
pub(crate) fn run(project: &Project) -> Result<()> {
    let read = |name: &str| project.shell.read_file(project.root.join(name)).context("a file of a release");
    let git = |words: &str| quietly(project.command("git").args(words.split(' ')));
    let checkout = Checkout {
        manifest: read("Cargo.toml")?,
        changelog: read("CHANGELOG.md")?,
        citation: read("CITATION.cff")?,
        tags: git("tag --list")?,
        tags_here: git("tag --points-at HEAD")?,
        changes: git("status --porcelain")?,
    };
    let version = checkout.version().context("Cargo.toml has no version of the workspace")?;
    say(&format!("usm {version}"));
    let mut num_failed = 0;
    for (check, problem) in checkout.checks(version) {
        match problem {
            None => say(&format!("  ok    {check}")),
            Some(problem) => {
                num_failed += 1;
                say(&format!("  open  {check}: {problem}"));
            }
        }
    }
    say("\nThe commands of a release, in this order:\n");
    commands(version).iter().for_each(|command| say(&format!("  {command}")));
    ensure!(num_failed == 0, "{num_failed} of the checks above are open");
    Ok(())
}

/// What a person types for a release. The first ones check, and the others cannot be taken back.
fn commands(version: &str) -> Vec<String> {
    let before = ["cargo xtask ci", "cargo xtask verify published", "cargo xtask dist --check"];
    let tag = format!("git tag --annotate v{version} --message 'usm {version}'");
    let crates = PUBLISHED.map(|name| format!("cargo publish --locked --package {name}"));
    let after =
        [format!("twine upload target/wheels/usm-{version}-*"), format!("git push origin v{version}")];
    before.map(str::to_owned).into_iter().chain([tag]).chain(crates).chain(after).collect()
}

/// The numbers of a version `1.2.3`, of which no part is missing.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let numbers: Vec<_> = version.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    numbers.try_into().ok()
}

/// Whether a text is a date like 2026-11-29.
fn is_date(text: &str) -> bool {
    let lengths: Vec<_> = text.split('-').map(str::len).collect();
    lengths == [4, 2, 2] && text.chars().all(|c| c.is_ascii_digit() || c == '-')
}

impl Checkout {
    fn version(&self) -> Option<&str> {
        let (_, package) = self.manifest.split_once("[workspace.package]\n")?;
        let line = package.lines().find_map(|line| line.strip_prefix("version = \""))?;
        line.strip_suffix('"')
    }

    /// Each check with the problem that it found.
    fn checks(&self, version: &str) -> Vec<(&'static str, Option<String>)> {
        vec![
            ("the version has three numbers", self.form(version)),
            ("the crates of the workspace have this version", self.crates(version)),
            ("CHANGELOG.md has this version with its date, and nothing unreleased", self.section(version)),
            ("CITATION.cff has this version", self.cited(version)),
            (
                "the tag of this version is new or here, and older tags are in CHANGELOG.md",
                self.tags(version),
            ),
            ("the tree is clean", self.is_changed()),
        ]
    }

    fn form(&self, version: &str) -> Option<String> {
        numbers(version).is_none().then(|| format!("found {version}"))
    }

    fn crates(&self, version: &str) -> Option<String> {
        let wanted = format!("version = \"{version}\"");
        let ours = self.manifest.lines().filter(|line| line.contains("path = \"crates/"));
        let mut others = ours.filter(|line| line.contains("version = ") && !line.contains(&wanted));
        others.next().map(|line| format!("Cargo.toml has {line}"))
    }

    fn section(&self, version: &str) -> Option<String> {
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

    fn cited(&self, version: &str) -> Option<String> {
        let found = self.citation.lines().find_map(|line| line.strip_prefix("version: "));
        (found != Some(version)).then(|| format!("found {}", found.unwrap_or("none")))
    }

    fn tags(&self, version: &str) -> Option<String> {
        let tag = format!("v{version}");
        if self.tags.lines().any(|found| found == tag) && !self.tags_here.lines().any(|found| found == tag) {
            return Some(format!("{tag} is another commit"));
        }
        for other in self.tags.lines().filter(|found| *found != tag) {
            let Some(numbers_of_tag) = other.strip_prefix('v').and_then(numbers) else { continue };
            if Some(numbers_of_tag) > numbers(version) {
                return Some(format!("{other} is newer"));
            }
            if !self.changelog.contains(&format!("\n## [{}] - ", other.trim_start_matches('v'))) {
                return Some(format!("CHANGELOG.md has no section of {other}"));
            }
        }
        None
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
            manifest: "[workspace.package]\nversion = \"0.2.0\"\n[workspace.dependencies]\n\
                       usm-core = { path = \"crates/usm-core\", version = \"0.2.0\" }\n\
                       test-stacks = { path = \"crates/test-stacks\" }\nclap = { version = \"4.5\" }\n"
                .to_owned(),
            changelog: "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n- New.\n\n\
                        ## [0.1.0] - 2026-11-01\n\n- First.\n"
                .to_owned(),
            citation: "title: usm\nversion: 0.2.0\n".to_owned(),
            tags: "v0.1.0\nsome-other\n".to_owned(),
            tags_here: String::new(),
            changes: String::new(),
        }
    }

    /// The numbers of the checks that are open.
    fn open(checkout: &Checkout) -> Vec<usize> {
        let checks = checkout.checks(checkout.version().unwrap());
        checks.iter().enumerate().filter(|(_, (_, problem))| problem.is_some()).map(|(at, _)| at).collect()
    }

    #[test]
    fn a_checkout_that_agrees_has_no_problem() {
        assert_eq!(open(&good()), [0; 0]);
        let tagged = Checkout { tags: "v0.2.0\n".into(), tags_here: "v0.2.0\n".into(), ..good() };
        assert_eq!(open(&tagged), [0; 0]);
    }

    #[test]
    fn each_disagreement_is_found() {
        let replaced = |text: &str, from: &str, to: &str| {
            assert!(text.contains(from));
            text.replace(from, to)
        };
        let manifest = |from, to| Checkout { manifest: replaced(&good().manifest, from, to), ..good() };
        let changelog = |from, to| Checkout { changelog: replaced(&good().changelog, from, to), ..good() };
        assert_eq!(open(&manifest("version = \"0.2.0\"\n", "version = \"0.2\"\n")), [0, 1, 2, 3, 4]);
        assert_eq!(open(&manifest("\", version = \"0.2.0\"", "\", version = \"0.1.0\"")), [1]);
        assert_eq!(open(&changelog("[Unreleased]\n", "[Unreleased]\n\n- More.\n")), [2]);
        assert_eq!(open(&changelog(" - 2026-12-01", "")), [2]);
        assert_eq!(open(&changelog("[0.2.0] - 2026-12-01", "[0.2.0] - soon")), [2]);
        assert_eq!(open(&changelog("## [Unreleased]\n\n", "")), [2]);
        assert_eq!(open(&changelog("## [0.1.0]", "## 0.1.0")), [4]);
        assert_eq!(open(&Checkout { citation: "title: usm\n".into(), ..good() }), [3]);
        assert_eq!(open(&Checkout { tags: "v0.1.0\nv0.2.0\n".into(), ..good() }), [4]);
        assert_eq!(open(&Checkout { tags: "v0.10.0\n".into(), ..good() }), [4]);
        assert_eq!(open(&Checkout { changes: " M README.md\n".into(), ..good() }), [5]);
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
