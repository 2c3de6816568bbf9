//! The version of the workspace, the sections of the changelog and the tags of releases agree.

use anyhow::{Context, Result, ensure};

use crate::project::{Project, quietly};

/// What the check reads.
struct Facts {
    /// The manifest of the workspace.
    manifest: String,
    changelog: String,
    /// All tags of the repository, one a line.
    tags: String,
    /// The tags of the commit that is checked out.
    tags_here: String,
}

/// Fails with a list of what does not agree.
pub(in crate::commands) fn check(project: &Project) -> Result<()> {
    let git = |words: &[&str]| quietly(project.command("git").args(words));
    let facts = Facts {
        manifest: project.shell.read_file("Cargo.toml")?,
        changelog: project.shell.read_file("CHANGELOG.md")?,
        tags: git(&["tag", "--list", "v*"])?,
        tags_here: git(&["tag", "--list", "v*", "--points-at", "HEAD"])?,
    };
    let problems = facts.problems()?;
    ensure!(problems.is_empty(), "versions do not agree:\n- {}", problems.join("\n- "));
    Ok(())
}

/// The version of all crates and of the wheel.
pub(in crate::commands) fn of_workspace(manifest: &str) -> Result<&str> {
    let (_, package) = manifest.split_once("[workspace.package]").context("Cargo.toml has no package")?;
    let line = package.lines().find_map(|line| line.strip_prefix("version = "));
    Ok(line.context("the workspace has no version")?.trim_matches('"'))
}

/// The numbers of a version `1.2.3`, of which no part is missing.
pub(in crate::commands) fn numbers(version: &str) -> Option<[u64; 3]> {
    let numbers: Vec<_> = version.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    numbers.try_into().ok()
}

impl Facts {
    fn problems(&self) -> Result<Vec<String>> {
        let version = of_workspace(&self.manifest)?;
        let mut problems = Vec::new();
        // Crates of ours that depend on another one ask for exactly this version.
        for line in self.manifest.lines().filter(|line| line.contains("path = \"crates/")) {
            let asked = line.split_once("version = \"").and_then(|(_, rest)| rest.split('"').next());
            if let Some(asked) = asked.filter(|asked| *asked != version) {
                problems.push(format!("Cargo.toml has version {version} and asks for {asked}: `{line}`"));
            }
        }
        let sections: Vec<_> = self.changelog.lines().filter_map(section).collect();
        let tags: Vec<_> = self.tags.lines().filter_map(|tag| tag.strip_prefix('v')).collect();
        for tag in tags.iter().filter(|tag| !sections.contains(tag)) {
            problems.push(format!("CHANGELOG.md has no section `## [{tag}]` for the tag v{tag}"));
        }
        for tag in tags.iter().filter(|tag| numbers(tag) > numbers(version)) {
            problems.push(format!("v{tag} is newer than the version {version} of the workspace"));
        }
        // The newest section may come before its tag.
        for section in sections.iter().filter(|of| **of != "Unreleased" && **of != version) {
            if !tags.contains(section) {
                problems.push(format!("no tag v{section} for the section `## [{section}]` of CHANGELOG.md"));
            }
        }
        let is_here = self.tags_here.lines().any(|tag| tag.strip_prefix('v') == Some(version));
        if tags.contains(&version) && !is_here {
            problems.push(format!("v{version} is the tag of another commit: raise the version"));
        }
        if let Some(tag) = self.tags_here.lines().find(|tag| tag.strip_prefix('v') != Some(version)) {
            problems.push(format!("this commit has the tag {tag}, and the workspace has version {version}"));
        }
        Ok(problems)
    }
}

/// `1.2.3` of the line `## [1.2.3] - 2026-01-01`.
fn section(line: &str) -> Option<&str> {
    line.strip_prefix("## [")?.split_once(']').map(|(version, _)| version)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "\
[workspace.package]
version = \"0.2.0\"
[workspace.dependencies]
stand-in = { path = \"crates/stand-in\" }
usm-core = { path = \"crates/usm-core\", version = \"0.2.0\" }
";
    const CHANGELOG: &str = "## [Unreleased]\n### Added\n## [0.2.0] - 2026-02-01\n## [0.1.0] - 2026-01-01\n";

    fn problems(manifest: &str, changelog: &str, tags: &str, tags_here: &str) -> String {
        let [manifest, changelog, tags, tags_here] =
            [manifest, changelog, tags, tags_here].map(str::to_owned);
        Facts { manifest, changelog, tags, tags_here }.problems().unwrap().join("; ")
    }

    #[test]
    fn a_release_and_the_commits_before_it_agree() {
        assert_eq!(problems(MANIFEST, CHANGELOG, "v0.1.0\n", ""), "");
        assert_eq!(problems(MANIFEST, CHANGELOG, "v0.1.0\nv0.2.0\n", "v0.2.0\n"), "");
        assert_eq!(problems(MANIFEST, "## [Unreleased]\n", "", ""), "");
    }

    #[test]
    fn each_disagreement_is_named() {
        let old = MANIFEST.replace("version = \"0.2.0\" }", "version = \"0.1.0\" }");
        for (manifest, changelog, tags, here, word) in [
            (old.as_str(), CHANGELOG, "v0.1.0", "", "asks for 0.1.0"),
            (MANIFEST, CHANGELOG, "v0.0.9\nv0.1.0", "", "no section `## [0.0.9]`"),
            (MANIFEST, CHANGELOG, "", "", "no tag v0.1.0"),
            (MANIFEST, "## [0.10.0]\n", "v0.10.0", "", "v0.10.0 is newer"),
            (MANIFEST, CHANGELOG, "v0.1.0\nv0.2.0", "", "another commit"),
            (MANIFEST, CHANGELOG, "v0.1.0", "v0.1.0", "this commit has the tag v0.1.0"),
        ] {
            let found = problems(manifest, changelog, tags, here);
            assert!(found.contains(word) && !found.contains("; "), "{word}: {found}");
        }
    }

    #[test]
    fn the_manifest_of_the_workspace_has_a_version() {
        assert_eq!(of_workspace(include_str!("../../../../Cargo.toml")).unwrap(), env!("CARGO_PKG_VERSION"));
    }
}
