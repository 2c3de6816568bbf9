//! The version of dpctl that pip or conda installed with a library. It is good for a note only: the library itself decides its form.

use std::path::Path;

use crate::table::Form;

/// A note about a library that is newer than all versions that this crate knows.
pub(super) fn note(library: &Path, form: Form) -> Option<String> {
    let version = installed(library)?;
    is_newer(&version).then(|| {
        format!(
            "dpctl {version} is newer than {}, the newest version that this release knows; it is used as {form}",
            Form::NEWEST
        )
    })
}

/// The version in the name of `dpctl-VERSION.dist-info`, which lies beside the package that has the library.
fn installed(library: &Path) -> Option<String> {
    let package = library.parent()?;
    let name = package.file_name()?.to_str()?;
    let entries = std::fs::read_dir(package.parent()?).ok()?;
    let version = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?.file_name().into_string().ok()?;
        let version = entry.strip_prefix(name)?.strip_prefix('-')?.strip_suffix(".dist-info")?;
        Some(version.to_owned())
    };
    (name == "dpctl").then(|| entries.filter_map(version).next())?
}

fn is_newer(version: &str) -> bool {
    let mut numbers = version.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) > Form::NEWEST.version(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_newer;

    #[test]
    fn versions_compare_by_their_numbers() {
        for (version, expected) in [
            ("0.22.1", false),
            ("0.23.0", false),
            ("0.23.9+local", false),
            ("0.24.0", true),
            ("0.24.0rc1", true),
            ("0.100.0", true),
            ("1.0", true),
            ("1", false),
            ("next", false),
        ] {
            assert_eq!(is_newer(version), expected, "{version}");
        }
    }
}
