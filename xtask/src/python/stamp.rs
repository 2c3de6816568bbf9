//! The record of an installation into a venv: requested and installed packages, as a small text file.

use std::collections::{BTreeMap, BTreeSet};

/// Installed distributions: name → version.
pub(super) type Installed = BTreeMap<String, String>;

/// The last installation into a venv.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    wanted: BTreeSet<String>,
    installed: Installed,
}

impl Stamp {
    /// A record of all requests so far and of the packages that were found after them.
    pub(super) fn new(requirements: BTreeSet<String>, installed: Installed) -> Self {
        Self { wanted: requirements, installed }
    }

    /// Reads a stamp; a line of an unknown form means that it is not ours, so nothing is known.
    pub(super) fn parse(text: &str) -> Self {
        let mut stamp = Self::default();
        for line in text.lines() {
            if let Some(requirement) = line.strip_prefix("want ") {
                stamp.wanted.insert(requirement.to_owned());
            } else if let Some((name, version)) =
                line.strip_prefix("have ").and_then(|rest| rest.split_once(' '))
            {
                stamp.installed.insert(name.to_owned(), version.to_owned());
            } else {
                return Self::default();
            }
        }
        stamp
    }

    /// The text that [`Stamp::parse`] reads.
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

    fn stamp() -> Stamp {
        Stamp::new(Stamp::default().with(&["dpctl>=0.22", "numpy"]), installed())
    }

    #[test]
    fn a_stamp_reads_back_as_written() {
        assert_eq!(Stamp::parse(&stamp().render()), stamp());
        assert_eq!(installed().len(), 3);
    }

    #[test]
    fn a_subset_is_satisfied_and_more_is_not() {
        assert!(stamp().satisfies(&["dpctl>=0.22", "numpy"], &installed()));
        assert!(stamp().satisfies(&["numpy"], &installed()));
        assert!(!stamp().satisfies(&["numpy", "dpnp"], &installed()));
        assert!(!stamp().satisfies(&["dpctl>=0.23"], &installed()));
        assert!(!Stamp::default().satisfies(&["numpy"], &installed()));
    }

    #[test]
    fn a_changed_or_removed_distribution_is_noticed() {
        let mut other = installed();
        other.insert("numpy".to_owned(), "2.4.5".to_owned());
        assert!(!stamp().satisfies(&["numpy"], &other));
        other.remove("numpy");
        assert!(!stamp().satisfies(&["dpctl>=0.22"], &other));
        let mut more = installed();
        more.insert("usm".to_owned(), "0.1.0".to_owned());
        assert!(stamp().satisfies(&["numpy"], &more));
    }

    #[test]
    fn an_unknown_text_is_no_stamp() {
        assert_eq!(Stamp::parse("want numpy\nrubbish\n"), Stamp::default());
        assert_eq!(Stamp::parse(""), Stamp::default());
    }

    #[test]
    fn later_requirements_add_to_earlier_ones() {
        let all = stamp().with(&["dpnp"]);
        assert_eq!(all.into_iter().collect::<Vec<_>>(), ["dpctl>=0.22", "dpnp", "numpy"]);
    }
}
