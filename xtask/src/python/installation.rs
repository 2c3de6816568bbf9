//! The record of an installation into a venv: requested and installed packages, as a small text file.

use std::collections::{BTreeMap, BTreeSet};

/// Installed distributions: name → version.
pub(super) type Installed = BTreeMap<String, String>;

/// The last installation into a venv.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct InstallRecord {
    wanted: BTreeSet<String>,
    installed: Installed,
}

impl InstallRecord {
    /// A record of all requests so far and of the packages that were found after them.
    pub(super) fn new(requirements: BTreeSet<String>, installed: Installed) -> Self {
        Self { wanted: requirements, installed }
    }

    /// Reads a record. A line of an unknown form means that the file is not ours: nothing is known then.
    pub(super) fn parse(text: &str) -> Self {
        let mut record = Self::default();
        for line in text.lines() {
            if let Some(requirement) = line.strip_prefix("want ") {
                record.wanted.insert(requirement.to_owned());
            } else if let Some((name, version)) =
                line.strip_prefix("have ").and_then(|rest| rest.split_once(' '))
            {
                record.installed.insert(name.to_owned(), version.to_owned());
            } else {
                return Self::default();
            }
        }
        record
    }

    /// The text that [`InstallRecord::parse`] reads.
    pub(super) fn render(&self) -> String {
        let wanted = self.wanted.iter().map(|requirement| format!("want {requirement}\n"));
        let installed = self.installed.iter().map(|(name, version)| format!("have {name} {version}\n"));
        wanted.chain(installed).collect()
    }

    /// All requests so far together with `requirements`.
    pub(super) fn with(&self, requirements: &[&str]) -> BTreeSet<String> {
        let new = requirements.iter().map(|&requirement| requirement.to_owned());
        self.wanted.iter().cloned().chain(new).collect()
    }

    /// True if pip has nothing to do: all of it was requested before, and the packages that pip installed then
    /// is still there in the same version.
    pub(super) fn satisfies(&self, requirements: &[&str], now: &Installed) -> bool {
        requirements.iter().all(|&requirement| self.wanted.contains(requirement))
            && self.installed.iter().all(|(name, version)| now.get(name) == Some(version))
    }
}

/// Reads lines of `name version`.
pub(super) fn parse_installed(listing: &str) -> Installed {
    listing
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, version)| (name.to_owned(), version.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installed() -> Installed {
        parse_installed("pip 24.0\ndpctl 0.22.1\nnumpy 2.4.6\n")
    }

    fn record() -> InstallRecord {
        InstallRecord::new(InstallRecord::default().with(&["dpctl>=0.22", "numpy"]), installed())
    }

    #[test]
    fn a_record_reads_back_as_written() {
        assert_eq!(InstallRecord::parse(&record().render()), record());
        assert_eq!(installed().len(), 3);
    }

    #[test]
    fn a_subset_is_satisfied_and_more_is_not() {
        assert!(record().satisfies(&["dpctl>=0.22", "numpy"], &installed()));
        assert!(record().satisfies(&["numpy"], &installed()));
        assert!(!record().satisfies(&["numpy", "dpnp"], &installed()));
        assert!(!record().satisfies(&["dpctl>=0.23"], &installed()));
        assert!(!InstallRecord::default().satisfies(&["numpy"], &installed()));
    }

    #[test]
    fn a_changed_or_removed_distribution_is_noticed() {
        let mut other = installed();
        other.insert("numpy".to_owned(), "2.4.5".to_owned());
        assert!(!record().satisfies(&["numpy"], &other));
        other.remove("numpy");
        assert!(!record().satisfies(&["dpctl>=0.22"], &other));
        let mut more = installed();
        more.insert("usm".to_owned(), "0.1.0".to_owned());
        assert!(record().satisfies(&["numpy"], &more));
    }

    #[test]
    fn an_unknown_text_is_no_record() {
        assert_eq!(InstallRecord::parse("want numpy\nrubbish\n"), InstallRecord::default());
        assert_eq!(InstallRecord::parse(""), InstallRecord::default());
    }

    #[test]
    fn later_requirements_add_to_earlier_ones() {
        let all = record().with(&["dpnp"]);
        assert_eq!(all.into_iter().collect::<Vec<_>>(), ["dpctl>=0.22", "dpnp", "numpy"]);
    }
}
