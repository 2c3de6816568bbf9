//! The list of the crates inside the native module: CycloneDX, which PEP 770 places into `.dist-info/sboms/`.
//!
//! maturin can write such a list, but that one names crates of other systems and of features that are off, and the folder of this
//! checkout. This one has what `cargo tree` has for the target, and is the same in each checkout.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::Platform;
use crate::project::{Project, quietly};

/// The name of the file.
pub(crate) const FILE: &str = "usm.cyclonedx.json";

/// What `cargo tree` prints about the wheel: the depth, and then the fields of [`Crate`].
const TREE: &str = "tree --locked --package usm-python --features svg --edges normal,no-proc-macro \
     --prefix depth --no-dedupe --format |{p}|{l}|{r} --target";

/// A crate that is linked into the module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Crate {
    name: String,
    version: String,
    license: String,
    repository: String,
    /// A crate of this checkout.
    is_ours: bool,
}

/// Writes the list for a platform, and returns its path.
pub(super) fn write(project: &Project, platform: Platform) -> Result<PathBuf> {
    let tree = quietly(project.cargo(TREE).arg(platform.target()))?;
    let about = quietly(project.command("rustc").arg("--version"))?;
    let compiler = about.split(' ').nth(1).context("rustc has no version")?;
    let path = project.target.join("sbom").join(platform.tag()).join(FILE);
    project.shell.write_file(&path, document(&tree, compiler)?)?;
    Ok(path)
}

/// The document, from the output of `cargo tree` and the version of the compiler.
fn document(tree: &str, compiler: &str) -> Result<String> {
    let edges = edges(tree)?;
    let root = edges.keys().find(|of| of.name == "usm-python").context("cargo tree names no usm-python")?;
    let mut components: Vec<_> = edges.keys().filter(|of| *of != root).map(component).collect();
    // It is linked into the module, too, and cargo does not name it.
    components.push(format!(
        r#"{{"type": "library", "bom-ref": "rust-std", "name": "std", "version": {compiler:?}, "licenses": [{{"expression": "MIT OR Apache-2.0"}}]}}"#
    ));
    let dependencies = edges.iter().map(|(of, on)| {
        let mut on: Vec<_> = on.iter().map(|of| format!("{:?}", reference(of))).collect();
        on.push(r#""rust-std""#.to_owned());
        format!(r#"{{"ref": {:?}, "dependsOn": [{}]}}"#, reference(of), on.join(", "))
    });
    let dependencies: Vec<_> = dependencies.collect();
    Ok(format!(
        "{{\n\"$schema\": \"http://cyclonedx.org/schema/bom-1.6.schema.json\",\n\"bomFormat\": \"CycloneDX\",\n\
         \"specVersion\": \"1.6\",\n\"version\": 1,\n\"metadata\": {{\"component\": {}}},\n\
         \"components\": [\n{}\n],\n\"dependencies\": [\n{}\n]\n}}\n",
        component(root),
        components.join(",\n"),
        dependencies.join(",\n")
    ))
}

/// Each crate with the ones that it uses.
fn edges(tree: &str) -> Result<BTreeMap<Crate, BTreeSet<Crate>>> {
    let mut edges = BTreeMap::<_, BTreeSet<_>>::new();
    let mut path: Vec<Crate> = Vec::new();
    for line in tree.lines() {
        let (depth, of) = parse(line).with_context(|| format!("cargo tree prints `{line}`"))?;
        ensure!(depth <= path.len(), "cargo tree leaves out a line before `{line}`");
        path.truncate(depth);
        edges.entry(of.clone()).or_default();
        if let Some(user) = path.last() {
            edges.entry(user.clone()).or_default().insert(of.clone());
        }
        path.push(of);
    }
    Ok(edges)
}

/// A line such as `2|half v2.4.1|MIT OR Apache-2.0|https://…`.
fn parse(line: &str) -> Option<(usize, Crate)> {
    let mut fields = line.split('|');
    let (depth, package) = (fields.next()?.parse().ok()?, fields.next()?);
    let (license, repository) = (fields.next()?.to_owned(), fields.next()?.to_owned());
    let mut words = package.split(' ');
    let (name, version) = (words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned());
    Some((depth, Crate { name, version, license, repository, is_ours: words.next().is_some() }))
}

/// The name that the document has for a crate.
fn reference(of: &Crate) -> String {
    format!("pkg:cargo/{}@{}", of.name, of.version)
}

/// One object of the document. All fields are plain ASCII of manifests, whose Rust literals are JSON as well.
fn component(of: &Crate) -> String {
    let (reference, Crate { name, version, license, repository, .. }) = (reference(of), of);
    // The way of old manifests to write a choice.
    let license = license.replace('/', " OR ");
    // Our crates are not on a registry, which a package URL would claim.
    let purl = if of.is_ours { String::new() } else { format!(r#", "purl": {reference:?}"#) };
    let source = match repository.as_str() {
        "" => String::new(),
        url => format!(r#", "externalReferences": [{{"type": "vcs", "url": {url:?}}}]"#),
    };
    format!(
        r#"{{"type": "library", "bom-ref": {reference:?}, "name": {name:?}, "version": {version:?}, "licenses": [{{"expression": {license:?}}}]{purl}{source}}}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "\
0|usm-python v0.1.0 (/home/me/usm/crates/usm-python)|Apache-2.0 OR MIT|https://github.com/usm-rs/usm
1|half v2.4.1|MIT OR Apache-2.0|https://github.com/starkat99/half-rs
2|cfg-if v1.0.5|MIT/Apache-2.0|
1|cfg-if v1.0.5|MIT/Apache-2.0|
";

    #[test]
    fn each_crate_is_there_once_with_its_users() {
        let document = document(TREE, "1.95.0").unwrap();
        assert_eq!(document.matches(r#""bom-ref": "pkg:cargo/cfg-if@1.0.5""#).count(), 1, "{document}");
        let root = r#"{"ref": "pkg:cargo/usm-python@0.1.0", "dependsOn": ["pkg:cargo/cfg-if@1.0.5", "pkg:cargo/half@2.4.1", "rust-std"]}"#;
        assert!(document.contains(root), "{document}");
        assert!(document.contains(r#""expression": "MIT OR Apache-2.0""#), "{document}");
        assert!(
            !document.contains("/home/me") && !document.contains(r#""purl": "pkg:cargo/usm"#),
            "{document}"
        );
    }

    #[test]
    fn output_of_another_form_is_an_error() {
        assert!(document("usm-python v0.1.0\n", "1").unwrap_err().to_string().contains("prints `usm-python"));
        assert!(
            document(&TREE.replace("1|half", "3|half"), "1").unwrap_err().to_string().contains("leaves out")
        );
        assert!(document("0|half v2.4.1|MIT|\n", "1").unwrap_err().to_string().contains("no usm-python"));
    }
}
