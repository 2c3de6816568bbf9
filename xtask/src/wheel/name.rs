//! The file name of a wheel and the tags in it (Python packaging specification, binary distributions).

use std::fmt;

/// `distribution-version(-build)?-python-abi-platform.whl`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WheelName<'a> {
    pub(super) distribution: &'a str,
    pub(super) version: &'a str,
    pub(super) python: &'a str,
    pub(super) abi: &'a str,
    pub(super) platform: &'a str,
}

impl<'a> WheelName<'a> {
    /// Splits a file name; `None` if it is not the name of a wheel.
    pub(super) fn parse(file_name: &'a str) -> Option<Self> {
        let parts: Vec<&str> = file_name.strip_suffix(".whl")?.split('-').collect();
        if parts.iter().any(|part| part.is_empty()) {
            return None;
        }
        match parts[..] {
            [distribution, version, python, abi, platform]
            | [distribution, version, _, python, abi, platform] => {
                Some(Self { distribution, version, python, abi, platform })
            }
            _ => None,
        }
    }

    /// The errors in the tags. One file has to serve every CPython from 3.11 on. Registries refuse a bare `linux_…` platform,
    /// since it names no C library.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.distribution != "usm" {
            problems.push(format!("the distribution is `{}`, not `usm`", self.distribution));
        }
        if (self.python, self.abi) != ("cp311", "abi3") {
            problems.push(format!("the tag is {}-{}, not cp311-abi3", self.python, self.abi));
        }
        if self.platform.starts_with("linux_") {
            problems.push(format!("the platform `{}` is not a manylinux one", self.platform));
        }
        problems
    }
}

impl fmt::Display for WheelName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} for {}-{}-{}", self.distribution, self.version, self.python, self.abi, self.platform)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "usm-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl";

    #[test]
    fn a_good_name_has_no_problems() {
        let name = WheelName::parse(GOOD).unwrap();
        assert_eq!(name.version, "0.1.0");
        assert_eq!(name.platform, "manylinux_2_28_x86_64");
        assert_eq!(name.problems(), Vec::<String>::new());
    }

    #[test]
    fn a_build_number_is_skipped() {
        let name = WheelName::parse("usm-0.1.0-1-cp311-abi3-manylinux_2_28_x86_64.whl").unwrap();
        assert_eq!((name.python, name.abi), ("cp311", "abi3"));
    }

    #[test]
    fn wrong_tags_are_named() {
        for (file, word) in [
            ("usm-0.1.0-cp311-cp311-manylinux_2_28_x86_64.whl", "cp311-cp311"),
            ("usm-0.1.0-cp312-abi3-manylinux_2_28_x86_64.whl", "cp312-abi3"),
            ("usm-0.1.0-cp311-abi3-linux_x86_64.whl", "linux_x86_64"),
            ("other-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl", "other"),
        ] {
            let problems = WheelName::parse(file).unwrap().problems();
            assert_eq!(problems.len(), 1, "{file}: {problems:?}");
            assert!(problems[0].contains(word), "{file}: {problems:?}");
        }
    }

    #[test]
    fn other_files_are_no_wheels() {
        for file in ["usm.whl", "usm-0.1.0.tar.gz", "usm-0.1.0--abi3-x.whl", "a-b-c-d-e-f-g.whl", ""] {
            assert_eq!(WheelName::parse(file), None, "{file}");
        }
    }
}
