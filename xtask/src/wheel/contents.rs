//! Required and forbidden contents of the wheel, and its largest size.

use std::path::Path;

use anyhow::{Error, Result};

use crate::project::{Project, quietly};

/// The most that a wheel may weigh, in bytes.
const MAX_WHEEL_BYTES: u64 = 3_200_000;

/// The native module, and its size that no wheel may reach, in bytes.
const MODULE: &str = "usm/_usm.abi3.so";
const MODULE_BYTES: u64 = 9 << 20;

/// Files that users rely on: the module, the types, the licences (matched by the end of the path).
const REQUIRED: [&str; 5] = [
    "usm/__init__.py",
    MODULE,
    "usm/py.typed",
    ".dist-info/licenses/LICENSE-APACHE",
    ".dist-info/licenses/LICENSE-MIT",
];

/// Prints the size and path of each file in a wheel, an empty line, and then its metadata.
const LIST: &str = "\
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    for i in z.infolist():
        print(i.file_size, i.filename)
    print()
    print(z.read(next(n for n in z.namelist() if n.endswith('.dist-info/METADATA'))).decode())
";

/// A wheel as far as the checks need it.
#[derive(Debug)]
pub(crate) struct Contents {
    file_name: String,
    wheel_bytes: u64,
    /// Uncompressed size and path of each file.
    files: Vec<(u64, String)>,
    /// The header of `METADATA`.
    metadata: String,
}

impl Contents {
    /// Reads a wheel with Python's zip module.
    pub(crate) fn read(project: &Project, wheel: &Path) -> Result<Self> {
        let python = project.command(&project.interpreter()?.executable);
        let listing = quietly(python.args(["-I", "-c", LIST]).arg(wheel))?;
        let wheel_bytes = project.shell.read_binary_file(wheel)?.len() as u64;
        let file_name = wheel.file_name().unwrap_or_default().to_string_lossy();
        Self::parse(&file_name, wheel_bytes, &listing)
            .ok_or_else(|| Error::msg(format!("cannot list {}", wheel.display())))
    }

    fn parse(file_name: &str, wheel_bytes: u64, listing: &str) -> Option<Self> {
        let (files, metadata) = listing.split_once("\n\n")?;
        let files: Option<Vec<_>> = files
            .lines()
            .map(|line| {
                let (bytes, path) = line.split_once(' ')?;
                Some((bytes.parse().ok()?, path.to_owned()))
            })
            .collect();
        // The header ends at the first empty line; after it comes the readme.
        let metadata = metadata.split("\n\n").next().unwrap_or_default().to_owned();
        Some(Self { file_name: file_name.to_owned(), wheel_bytes, files: files?, metadata })
    }

    /// The files with their sizes, biggest first, and the size of the whole.
    pub(crate) fn table(&self) -> String {
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        let mut lines: Vec<String> =
            files.iter().map(|(bytes, path)| format!("{bytes:>9}  {path}")).collect();
        lines.push(format!("{:>9}  {} (compressed)", self.wheel_bytes, self.file_name));
        lines.join("\n")
    }

    fn has(&self, ending: &str) -> bool {
        self.files.iter().any(|(_, path)| path.ends_with(ending))
    }
}

/// Everything that is wrong with a wheel; empty when it may be published.
pub(crate) fn problems(wheel: &Contents) -> Vec<String> {
    let mut problems = problems_of_name(&wheel.file_name);
    if wheel.wheel_bytes > MAX_WHEEL_BYTES {
        problems.push(format!("it has {} bytes; at most {MAX_WHEEL_BYTES} are allowed", wheel.wheel_bytes));
    }
    for ending in REQUIRED {
        if !wheel.has(ending) {
            problems.push(format!("there is no `{ending}` in it"));
        }
    }
    if !wheel.has("usm/_usm.pyi") {
        problems.push("there are no type stubs `usm/_usm.pyi` in it".to_owned());
    }
    for (bytes, path) in &wheel.files {
        if path.ends_with(MODULE) && *bytes >= MODULE_BYTES {
            problems.push(format!("`{path}` has {bytes} bytes; less than {MODULE_BYTES} are allowed"));
        }
        if path.contains(".libs/") || path.contains("__pycache__") {
            problems.push(format!("`{path}` does not belong in it"));
        }
    }
    for line in wheel.metadata.lines() {
        if line.starts_with("Requires-Dist:") && !line.contains("extra ==") {
            problems.push(format!("it requires a distribution: `{line}`"));
        }
    }
    problems
}

/// What is wrong with a name `distribution-version(-build)?-python-abi-platform.whl`. One file has to serve every CPython from 3.11 on.
/// Registries refuse a bare `linux_…` platform, since it names no C library.
fn problems_of_name(file_name: &str) -> Vec<String> {
    let parts: Vec<&str> = file_name.strip_suffix(".whl").unwrap_or_default().split('-').collect();
    let (distribution, tag, platform) = match parts[..] {
        [distribution, _, python, abi, platform] | [distribution, _, _, python, abi, platform] => {
            (distribution, format!("{python}-{abi}"), platform)
        }
        _ => return vec![format!("`{file_name}` is not the name of a wheel")],
    };
    let wrong = [
        (distribution != "usm", format!("the distribution is `{distribution}`, not `usm`")),
        (tag != "cp311-abi3", format!("the tag is {tag}, not cp311-abi3")),
        (platform.starts_with("linux_"), format!("the platform `{platform}` is not a manylinux one")),
    ];
    wrong.into_iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, problem)| problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "usm-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl";
    const LISTING: &str = "\
10 usm/__init__.py
400000 usm/_usm.abi3.so
20 usm/_usm.pyi
0 usm/py.typed
9 usm-0.1.0.dist-info/licenses/LICENSE-APACHE
9 usm-0.1.0.dist-info/licenses/LICENSE-MIT

Name: usm
Requires-Dist: numpy ; extra == 'numpy'

# usm
Requires-Dist: in the readme, which is not the header
";

    fn wheel(name: &str, bytes: u64, listing: &str) -> Contents {
        Contents::parse(name, bytes, listing).unwrap()
    }

    #[test]
    fn a_complete_wheel_has_no_problems() {
        let good = wheel(NAME, 200_000, LISTING);
        assert_eq!(problems(&good), Vec::<String>::new());
        let table = good.table();
        assert!(table.lines().next().unwrap().ends_with("usm/_usm.abi3.so"));
        assert!(table.ends_with("(compressed)"));
    }

    #[test]
    fn each_missing_file_is_named() {
        for line in LISTING.lines().take_while(|line| !line.is_empty()) {
            let listing = LISTING.replacen(&format!("{line}\n"), "", 1);
            let found = problems(&wheel(NAME, 200_000, &listing));
            assert_eq!(found.len(), 1, "without {line}: {found:?}");
        }
    }

    #[test]
    fn size_dependencies_and_unexpected_files_are_limited() {
        let cases = [
            (MAX_WHEEL_BYTES + 1, LISTING.to_owned(), "3200001 bytes"),
            (9, LISTING.replace("400000 usm", "9437184 usm"), "9437184 bytes"),
            (9, LISTING.replace(" ; extra == 'numpy'", ""), "requires a distribution"),
            (9, LISTING.replacen("10 usm", "10 usm.libs/libsycl.so.9\n10 usm", 1), "libsycl"),
            (9, LISTING.replacen("10 usm", "1 usm/__pycache__/a.pyc\n10 usm", 1), "__pycache__"),
        ];
        for (bytes, listing, word) in cases {
            let found = problems(&wheel(NAME, bytes, &listing));
            assert_eq!(found.len(), 1, "{word}: {found:?}");
            assert!(found[0].contains(word), "{word}: {found:?}");
        }
    }

    #[test]
    fn wrong_names_are_told() {
        for (name, word) in [
            ("usm-0.1.0-cp311-cp311-manylinux_2_28_x86_64.whl", "cp311-cp311"),
            ("usm-0.1.0-cp312-abi3-manylinux_2_28_x86_64.whl", "cp312-abi3"),
            ("usm-0.1.0-cp311-abi3-linux_x86_64.whl", "linux_x86_64"),
            ("other-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl", "other"),
            ("usm.whl", "usm.whl"),
            ("usm-0.1.0.tar.gz", "tar.gz"),
            ("a-b-c-d-e-f-g.whl", "a-b-c"),
        ] {
            let found = problems_of_name(name);
            assert!(found.len() == 1 && found[0].contains(word), "{name}: {found:?}");
        }
        for good in [NAME, "usm-0.1.0-1-cp311-abi3-manylinux_2_28_x86_64.whl"] {
            assert_eq!(problems_of_name(good), Vec::<String>::new());
        }
    }

    #[test]
    fn a_broken_listing_is_not_a_wheel() {
        assert!(Contents::parse(NAME, 1, "no empty line").is_none());
        assert!(Contents::parse(NAME, 1, "x usm/__init__.py\n\nName: usm").is_none());
    }
}
