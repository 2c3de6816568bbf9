//! Required and forbidden contents of the wheel, and its largest size.

use std::cmp::Reverse;
use std::path::Path;

use anyhow::{Context, Result};

use super::Platform;
use crate::project::{Project, quietly};

/// The most that a wheel may weigh, in bytes.
const MAX_WHEEL_BYTES: u64 = 4_200_000;

/// The size of the native module that no wheel may reach, in bytes.
const MODULE_BYTES: u64 = 12 << 20;

/// Files that users rely on, beside the module: the types, the licences, the list of crates (matched by the end of the path).
const REQUIRED: [&str; 6] = [
    "usm/__init__.py",
    "usm/_usm.pyi",
    "usm/py.typed",
    ".dist-info/licenses/LICENSE-APACHE",
    ".dist-info/licenses/LICENSE-MIT",
    ".dist-info/sboms/usm.cyclonedx.json",
];

/// Parts of paths that do not belong into a wheel: libraries of others, compiled Python, and the list of crates that maturin makes.
const FORBIDDEN: [&str; 3] = [".libs/", "__pycache__", "sboms/usm-python"];

/// What stands after a point in the names of native files, of which a wheel has the module alone.
const NATIVE: [&str; 4] = ["so", "pyd", "dll", "dylib"];

/// The libraries that the module may import on Windows: the stable interface of Python, and what each Windows has.
const ON_WINDOWS: [&str; 8] = [
    "python3.dll",
    "api-ms-win-core-synch-l1-2-0.dll",
    "bcryptprimitives.dll",
    "kernel32.dll",
    "msvcrt.dll",
    "ntdll.dll",
    "userenv.dll",
    "ws2_32.dll",
];

/// The line of [`LIBRARIES`] for the function that Python calls.
const ENTRY: &str = "exports PyInit__usm";

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

/// Prints a line `imports LIBRARY` for each library that the module needs, in small letters, and a line `exports FUNCTION` for each
/// function that it offers. Source: the PE format, "Import Directory Table", "Delay-Load Directory Table", "Export Directory Table".
const LIBRARIES: &str = "\
import struct, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    data = wheel.read('usm/_usm.pyd')
def number(offset, form='<I'):
    return struct.unpack_from(form, data, offset)[0]
header = number(60)
optional = header + 24
assert data[header : header + 4] == b'PE\\0\\0' and number(optional, '<H') == 0x20B, 'no module for 64 bits'
first, count = optional + number(header + 20, '<H'), number(header + 6, '<H')
sections = [struct.unpack_from('<IIII', data, first + 40 * i + 8) for i in range(count)]
def at(address):
    return next(raw + address - start for size, start, _, raw in sections if start <= address < start + size)
def text(address):
    return data[at(address) : data.index(b'\\0', at(address))].decode()
def directory(i):
    return number(optional + 112 + 8 * i)
for table, entry, name in (1, 20, 12), (13, 32, 4):
    place = at(directory(table)) if directory(table) else None
    while place and number(place + name):
        print('imports', text(number(place + name)).lower())
        place += entry
if directory(0):
    exports = at(directory(0))
    for i in range(number(exports + 24)):
        print('exports', text(number(at(number(exports + 32)) + 4 * i)))
";

/// A wheel as far as the checks need it.
pub(crate) struct Contents {
    name: String,
    wheel_bytes: u64,
    /// Uncompressed size and path of each file.
    files: Vec<(u64, String)>,
    /// The header of `METADATA`.
    metadata: String,
    /// What the module takes from libraries: the lines of [`LOOSE`], or of [`LIBRARIES`] on Windows.
    links: Vec<String>,
}

impl Contents {
    /// Reads a wheel with Python's zip module.
    pub(crate) fn read(project: &Project, wheel: &Path) -> Result<Self> {
        let python = project.command(&project.interpreter()?.executable);
        let listing = quietly(python.args(["-I", "-c", LIST]).arg(wheel))?;
        let name = wheel.file_name().unwrap_or_default().to_string_lossy();
        let script = if Platform::of_wheel(&name) == Some(Platform::Windows) { LIBRARIES } else { LOOSE };
        let python = project.command(&project.interpreter()?.executable);
        let links = quietly(python.args(["-I", "-c", script]).arg(wheel))?;
        Self::parse(&name, wheel.metadata()?.len(), &listing, &links)
            .with_context(|| format!("cannot list {}", wheel.display()))
    }

    fn parse(name: &str, wheel_bytes: u64, listing: &str, links: &str) -> Option<Self> {
        // The header of the metadata ends at the first empty line; after it comes the readme.
        let mut parts = listing.split("\n\n");
        let file = |line: &str| {
            let (bytes, path) = line.split_once(' ')?;
            Some((bytes.parse().ok()?, path.to_owned()))
        };
        let files = parts.next()?.lines().map(file).collect::<Option<_>>()?;
        let links = links.lines().map(str::to_owned).collect();
        Some(Self { name: name.to_owned(), wheel_bytes, files, metadata: parts.next()?.to_owned(), links })
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
        let platform = Platform::of_wheel(&self.name);
        let is_named =
            self.name.starts_with("usm-") && self.name.contains("-cp311-abi3-") && platform.is_some();
        let tags = Platform::ALL.map(Platform::tag).join(" or ");
        forbid(!is_named, format!("`{}` is not named usm-VERSION-cp311-abi3-{tags}.whl", self.name));
        let bytes = self.wheel_bytes;
        forbid(
            bytes > MAX_WHEEL_BYTES,
            format!("it has {bytes} bytes; at most {MAX_WHEEL_BYTES} are allowed"),
        );
        let module = platform.unwrap_or(Platform::X86_64).module();
        for ending in REQUIRED.into_iter().chain([module]) {
            let is_there = self.files.iter().any(|(_, path)| path.ends_with(ending));
            forbid(!is_there, format!("there is no `{ending}` in it"));
        }
        for (bytes, path) in &self.files {
            let is_large = path.ends_with(module) && *bytes >= MODULE_BYTES;
            forbid(is_large, format!("`{path}` has {bytes} bytes; less than {MODULE_BYTES} are allowed"));
            let file = path.to_lowercase();
            let is_native = file.split('.').skip(1).any(|part| NATIVE.contains(&part));
            let is_forbidden =
                FORBIDDEN.iter().any(|part| path.contains(part)) || is_native && !path.ends_with(module);
            forbid(is_forbidden, format!("`{path}` does not belong in it"));
        }
        if platform == Some(Platform::Windows) {
            for library in self.links.iter().filter_map(|line| line.strip_prefix("imports ")) {
                let is_of_others = !ON_WINDOWS.contains(&library);
                forbid(
                    is_of_others,
                    format!("users may lack the library `{library}`, which the module imports"),
                );
            }
            let has_entry = self.links.iter().any(|line| line == ENTRY);
            forbid(!has_entry, format!("the module lacks the function of `{ENTRY}`"));
        } else {
            for symbol in &self.links {
                forbid(
                    true,
                    format!("an older C library may lack `{symbol}`, and then does not load the module"),
                );
            }
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
            (NAME, 9, ("10 usm", "10 usm/libtbb.so.12\n10 usm"), "libtbb"),
            (NAME, 9, ("10 usm", "10 usm/SYCL8.DLL\n10 usm"), "SYCL8"),
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
    fn the_module_of_windows_needs_what_windows_has() {
        let name = "usm-0.1.0-cp311-abi3-win_amd64.whl";
        let listing = LISTING.replace("_usm.abi3.so", "_usm.pyd");
        let links = "imports python3.dll\nimports kernel32.dll\nexports PyInit__usm\n";
        let problems =
            |listing: &str, links: &str| Contents::parse(name, 9, listing, links).unwrap().problems();
        assert_eq!(problems(&listing, links), Vec::<String>::new());
        for (links, word) in [
            (links.replace("kernel32", "libgcc_s_seh-1"), "libgcc_s_seh-1.dll"),
            (links.replace("python3", "python311"), "python311.dll"),
            (links.replace("exports", "imports"), "pyinit"),
        ] {
            let found = problems(&listing, &links);
            assert!(found.iter().any(|problem| problem.to_lowercase().contains(word)), "{word}: {found:?}");
        }
        assert_eq!(problems(LISTING, links).len(), 2, "no module, and a file of Linux");
    }

    #[test]
    fn a_broken_listing_is_not_a_wheel() {
        for listing in ["no empty line", "x usm/__init__.py\n\nName: usm"] {
            assert!(Contents::parse(NAME, 1, listing, "").is_none(), "{listing}");
        }
    }
}
