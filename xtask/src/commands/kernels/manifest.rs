//! The sources of the committed modules: a text file of hashes beside them, and the test that it is true.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::modules::{FORMS, HEADERS, all};
use crate::python::KERNELS;

/// The file's name.
pub(super) const MANIFEST: &str = "modules.txt";

/// The hash of all sources of a module, and the hash of the module, by file name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    modules: BTreeMap<String, (u64, u64)>,
    len_bytes: usize,
}

impl Manifest {
    /// The manifest of the files that are in the two folders now.
    pub(super) fn of(sources: &Path, modules: &Path) -> io::Result<Self> {
        let headers = HEADERS.map(|header| std::fs::read(sources.join(header)));
        let headers = headers.into_iter().collect::<io::Result<Vec<_>>>()?.concat();
        let mut manifest = Self { modules: BTreeMap::new(), len_bytes: 0 };
        for module in all() {
            let source = std::fs::read(sources.join(module.source))?;
            for form in FORMS {
                let told = format!("{} {} {}", form.flags(), KERNELS.join(" "), module.defines);
                let code = std::fs::read(modules.join(form.file(&module)))?;
                let inputs = hash(&[&headers[..], &source[..], told.trim_end().as_bytes()].concat());
                manifest.modules.insert(form.file(&module), (inputs, hash(&code)));
                manifest.len_bytes += code.len();
            }
        }
        Ok(manifest)
    }

    /// The text of the file, for modules that `spirv-val` has found valid or has not seen.
    pub(super) fn text(&self, validated: bool) -> String {
        let head =
            "# Made by `cargo xtask kernels`: module, hash of what it was built from, hash of the module.\n";
        let validity =
            if validated { "# All of SPIR-V are valid, says spirv-val.\n" } else { "# NOT VALIDATED.\n" };
        let lines = self
            .modules
            .iter()
            .map(|(file, (inputs, module))| format!("{file} {inputs:016x} {module:016x}\n"));
        [head, validity].map(str::to_owned).into_iter().chain(lines).collect()
    }

    /// How many there are, and how large.
    pub(super) fn summary(&self) -> String {
        format!("{} modules, {} bytes", self.modules.len(), self.len_bytes)
    }
}

/// FNV-1a of 64 bits. It shows accidental changes, and is no protection against an attacker.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::super::{MODULES, SOURCES};
    use super::*;

    fn folder(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(name)
    }

    fn committed() -> String {
        Manifest::of(&folder(SOURCES), &folder(MODULES)).unwrap().text(true)
    }

    #[test]
    fn the_committed_modules_are_current_and_valid() {
        let noted = fs::read_to_string(folder(MODULES).join(MANIFEST)).unwrap();
        let found = committed();
        assert!(
            noted == found,
            "the kernels have changed: run `cargo xtask kernels` with spirv-val on PATH\nnoted:\n{noted}\nfound:\n{found}"
        );
    }

    #[test]
    fn the_folder_has_these_modules_and_no_other() {
        let files = fs::read_dir(folder(MODULES)).unwrap();
        let mut found: Vec<_> =
            files.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        found.sort();
        let mut expected: Vec<_> =
            all().iter().flat_map(|module| FORMS.map(|form| form.file(module))).collect();
        expected.extend([MANIFEST, "README.md"].map(str::to_owned));
        expected.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_change_shows() {
        let copy = std::env::temp_dir().join(format!("usm-kernels-{}", std::process::id()));
        fs::create_dir_all(&copy).unwrap();
        for name in [SOURCES, MODULES] {
            for entry in fs::read_dir(folder(name)).unwrap() {
                let path = entry.unwrap().path();
                fs::copy(&path, copy.join(path.file_name().unwrap())).unwrap();
            }
        }
        let text = || Manifest::of(&copy, &copy).unwrap().text(true);
        let before = text();
        assert_eq!(before, committed());
        for file in ["dialect.h", "convert.h", "place.h", "linear.cl", "rows_4.spv", "tile_8.ptx"] {
            let content = fs::read(copy.join(file)).unwrap();
            fs::write(copy.join(file), [&content[..], b"\n"].concat()).unwrap();
            assert_ne!(text(), before, "{file}");
            fs::write(copy.join(file), content).unwrap();
        }
        fs::remove_dir_all(&copy).unwrap();
    }

    /// The Rust files of usm-array that the sources name, `usm-array/src/…`, exist.
    #[test]
    fn the_sources_name_files_that_exist() {
        let mut count = 0;
        for entry in fs::read_dir(folder(SOURCES)).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            for cited in text.split('`').filter(|word| word.ends_with(".rs")) {
                assert!(folder("crates").join(cited).is_file(), "{} names {cited}", path.display());
                count += 1;
            }
        }
        assert!(count >= 8, "only {count} files are named");
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        // The test vectors of its authors, http://www.isthe.com/chongo/tech/comp/fnv/.
        assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
