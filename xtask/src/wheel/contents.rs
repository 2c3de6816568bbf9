//! Required and forbidden contents of the wheel, and its largest size.

use std::cmp::Reverse;
use std::path::Path;

use anyhow::{Context, Result};

use super::Platform;
use crate::project::{Project, quietly};

/// The most that a wheel may weigh, in bytes.
const MAX_WHEEL_BYTES: u64 = 4_200_000;

/// The native module, and its size that no wheel may reach, in bytes.
const MODULE: &str = "usm/_usm.abi3.so";
const MODULE_BYTES: u64 = 12 << 20;

/// Files that users rely on: the module, the types, the licences, the list of crates (matched by the end of the path).
const REQUIRED: [&str; 7] = [
    "usm/__init__.py",
    MODULE,
    "usm/_usm.pyi",
    "usm/py.typed",
    ".dist-info/licenses/LICENSE-APACHE",
    ".dist-info/licenses/LICENSE-MIT",
    ".dist-info/sboms/usm.cyclonedx.json",
];

/// Parts of paths that do not belong into a wheel: libraries of others, compiled Python, and the list of crates that maturin makes.
const FORBIDDEN: [&str; 3] = [".libs/", "__pycache__", "sboms/usm-python"];

/// Prints the size and path of each file in a wheel, an empty line, and then its metadata.
const LIST: &str = "\
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    for i in z.infolist():
        print(i.file_size, i.filename)
    print()
    print(z.read(next(n for n in z.namelist() if n.endswith('.dist-info/METADATA'))).decode())
";

/// Prints the symbols that the module takes from a library without a version: a C library that lacks one of them does not load the
/// module, and the audit of the platform tag does not notice. Source: the ELF specification, "Symbol Table"; the section of versions is
/// the one of the Linux Standard Base.
const LOOSE: &str = "\
import struct, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    data = wheel.read('usm/_usm.abi3.so')
[offset], (size, count) = struct.unpack_from('<Q', data, 40), struct.unpack_from('<HH', data, 58)
sections = [struct.unpack_from('<IIQQQQIIQQ', data, offset + i * size) for i in range(count)]
symbols = next(section for section in sections if section[1] == 11)
versions = next(section for section in sections if section[1] == 0x6FFFFFFF)
names = sections[symbols[6]][4]
for i in range(1, symbols[5] // 24):
    name, info, _, section = struct.unpack_from('<IBBH', data, symbols[4] + 24 * i)
    [version] = struct.unpack_from('<H', data, versions[4] + 2 * i)
    if section == 0 and info >> 4 == 1 and version & 0x7FFF < 2:
        name = data[names + name : data.index(b'\\0', names + name)].decode()
        if not name.startswith(('Py', '_Py')):
            print(name)
";

/// A wheel as far as the checks need it.
pub(crate) struct Contents {
    name: String,
    wheel_bytes: u64,
    /// Uncompressed size and path of each file.
    files: Vec<(u64, String)>,
    /// The header of `METADATA`.
    metadata: String,
    /// Symbols that the module takes from a library without a version.
    loose: Vec<String>,
}

impl Contents {
    /// Reads a wheel with Python's zip module.
    pub(crate) fn read(project: &Project, wheel: &Path) -> Result<Self> {
        let python = project.command(&project.interpreter()?.executable);
        let listing = quietly(python.args(["-I", "-c", LIST]).arg(wheel))?;
        let python = project.command(&project.interpreter()?.executable);
        let loose = quietly(python.args(["-I", "-c", LOOSE]).arg(wheel))?;
        let name = wheel.file_name().unwrap_or_default().to_string_lossy();
        Self::parse(&name, wheel.metadata()?.len(), &listing, &loose)
            .with_context(|| format!("cannot list {}", wheel.display()))
    }

    fn parse(name: &str, wheel_bytes: u64, listing: &str, loose: &str) -> Option<Self> {
        // The header of the metadata ends at the first empty line; after it comes the readme.
        let mut parts = listing.split("\n\n");
        let file = |line: &str| {
            let (bytes, path) = line.split_once(' ')?;
            Some((bytes.parse().ok()?, path.to_owned()))
        };
        let files = parts.next()?.lines().map(file).collect::<Option<_>>()?;
        let loose = loose.lines().map(str::to_owned).collect();
        Some(Self { name: name.to_owned(), wheel_bytes, files, metadata: parts.next()?.to_owned(), loose })
    }

    /// The files with their sizes, biggest first, and the size of the whole.
    pub(crate) fn table(&self) -> String {
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_key(|(bytes, _)| Reverse(*bytes));
        let files = files.iter().map(|(bytes, path)| format!("{bytes:>9}  {path}\n"));
        files.collect::<String>() + &format!("{:>9}  {} (compressed)", self.wheel_bytes, self.name)
    }

    /// Everything that is wrong with it; empty when it may be published.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut forbid = |is_wrong, problem| problems.extend(Some(problem).filter(|_| is_wrong));
        // One file has to serve every CPython from 3.11 on. Registries refuse a bare `linux_…` platform, since it names no C library.
        let is_named = self.name.starts_with("usm-")
            && self.name.contains("-cp311-abi3-")
            && Platform::of_wheel(&self.name).is_some();
        let tags = Platform::ALL.map(Platform::tag).join(" or ");
        forbid(!is_named, format!("`{}` is not named usm-VERSION-cp311-abi3-{tags}.whl", self.name));
        let bytes = self.wheel_bytes;
        forbid(
            bytes > MAX_WHEEL_BYTES,
            format!("it has {bytes} bytes; at most {MAX_WHEEL_BYTES} are allowed"),
        );
        for ending in REQUIRED {
            let is_there = self.files.iter().any(|(_, path)| path.ends_with(ending));
            forbid(!is_there, format!("there is no `{ending}` in it"));
        }
        for (bytes, path) in &self.files {
            let is_large = path.ends_with(MODULE) && *bytes >= MODULE_BYTES;
            forbid(is_large, format!("`{path}` has {bytes} bytes; less than {MODULE_BYTES} are allowed"));
            let is_forbidden = FORBIDDEN.iter().any(|part| path.contains(part));
            forbid(is_forbidden, format!("`{path}` does not belong in it"));
        }
        for symbol in &self.loose {
            forbid(
                true,
                format!("an older C library may lack `{symbol}`, and then does not load the module"),
            );
        }
        for line in self.metadata.lines() {
            let is_required = line.starts_with("Requires-Dist:") && !line.contains("extra ==");
            forbid(is_required, format!("it requires a distribution: `{line}`"));
        }
        problems
    }
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
9 usm-0.1.0.dist-info/sboms/usm.cyclonedx.json

Name: usm
Requires-Dist: numpy ; extra == 'numpy'

# usm
Requires-Dist: in the readme, which is not the header
";

    fn problems(name: &str, bytes: u64, listing: &str) -> Vec<String> {
        Contents::parse(name, bytes, listing, "").unwrap().problems()
    }

    #[test]
    fn a_complete_wheel_has_no_problems() {
        assert_eq!(problems(NAME, 200_000, LISTING), Vec::<String>::new());
        let table = Contents::parse(NAME, 200_000, LISTING, "").unwrap().table();
        assert!(
            table.starts_with("   400000  usm/_usm.abi3.so\n") && table.ends_with("(compressed)"),
            "{table}"
        );
    }

    #[test]
    fn each_missing_file_is_named() {
        for line in LISTING.lines().take_while(|line| !line.is_empty()) {
            let found = problems(NAME, 200_000, &LISTING.replacen(&format!("{line}\n"), "", 1));
            assert_eq!(found.len(), 1, "without {line}: {found:?}");
        }
    }

    #[test]
    fn each_problem_is_told() {
        for (name, bytes, (old, new), word) in [
            (NAME, MAX_WHEEL_BYTES + 1, ("", ""), "4200001 bytes"),
            (NAME, 9, ("400000 usm", "12582912 usm"), "12582912 bytes"),
            (NAME, 9, (" ; extra == 'numpy'", ""), "requires a distribution"),
            (NAME, 9, ("10 usm", "10 usm.libs/libsycl.so.9\n10 usm"), "libsycl"),
            (NAME, 9, ("10 usm", "1 usm/__pycache__/a.pyc\n10 usm"), "__pycache__"),
            ("usm-0.1.0-cp311-cp311-manylinux_2_28_x86_64.whl", 9, ("", ""), "cp311-cp311"),
            ("usm-0.1.0-cp312-abi3-manylinux_2_28_x86_64.whl", 9, ("", ""), "cp312-abi3"),
            ("usm-0.1.0-cp311-abi3-linux_x86_64.whl", 9, ("", ""), "linux_x86_64"),
            ("usm-0.1.0-cp311-abi3-manylinux_2_34_x86_64.whl", 9, ("", ""), "2_34"),
            ("other-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl", 9, ("", ""), "other"),
            ("usm-0.1.0.tar.gz", 9, ("", ""), "tar.gz"),
        ] {
            let found = problems(name, bytes, &LISTING.replacen(old, new, 1));
            assert!(found.len() == 1 && found[0].contains(word), "{word}: {found:?}");
        }
    }

    #[test]
    fn a_symbol_without_a_version_is_a_problem() {
        let found = Contents::parse(NAME, 9, LISTING, "gettid\n").unwrap().problems();
        assert!(found.len() == 1 && found[0].contains("`gettid`"), "{found:?}");
    }

    #[test]
    fn a_broken_listing_is_not_a_wheel() {
        for listing in ["no empty line", "x usm/__init__.py\n\nName: usm"] {
            assert!(Contents::parse(NAME, 1, listing, "").is_none(), "{listing}");
        }
    }
}
