//! What another version of the C interface has, beside what the table says.

mod headers;
mod library;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use sycl_sys::{AffinityDomain, Api, ENUMERATIONS, Form};

/// The enumeration whose numbers depend on the form.
const BY_FORM: &str = "DPCTLPartitionAffinityDomainType";
const DOMAINS: [AffinityDomain; 7] = [
    AffinityDomain::NotApplicable,
    AffinityDomain::Numa,
    AffinityDomain::L4Cache,
    AffinityDomain::L3Cache,
    AffinityDomain::L2Cache,
    AffinityDomain::L1Cache,
    AffinityDomain::NextPartitionable,
];

/// A version of the interface, as headers or a library tell it.
#[derive(Debug, Default)]
pub(crate) struct Interface {
    /// The types of the result and of the arguments; a library has no types.
    functions: BTreeMap<String, Option<Vec<String>>>,
    enumerations: BTreeMap<String, Vec<(String, i64)>>,
}

impl Interface {
    /// Reads a folder of headers or a library.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let found = if path.is_dir() { headers::read(path) } else { library::read(path) }?;
        if found.functions.is_empty() {
            Err("has no function of the interface".to_owned())
        } else {
            Ok(found)
        }
    }
}

/// The differences between the table and another version.
#[derive(Debug)]
pub(crate) struct Comparison {
    form: Result<Form, &'static str>,
    functions: usize,
    missing: Vec<&'static str>,
    missing_optional: Vec<&'static str>,
    changed: Vec<String>,
    new: Vec<String>,
}

impl Comparison {
    pub(crate) fn new(other: &Interface) -> Self {
        let form = Form::of(|name| other.functions.contains_key(name));
        let is_missing = |name: &&&str| !other.functions.contains_key(**name);
        let known: BTreeSet<_> = Api::SIGNATURES.iter().map(|(name, ..)| *name).collect();
        let new = other.functions.keys().filter(|name| !known.contains(name.as_str()));
        let mut changed = changed_functions(other, form.ok());
        changed.extend(changed_numbers(other, form.ok()));
        Self {
            form,
            functions: other.functions.len(),
            missing: Api::REQUIRED.iter().filter(is_missing).copied().collect(),
            missing_optional: Api::OPTIONAL.iter().filter(is_missing).copied().collect(),
            changed,
            new: new.cloned().collect(),
        }
    }

    /// Whether the table can be used with that version.
    pub(crate) fn fits(&self) -> bool {
        self.form.is_ok() && self.missing.is_empty() && self.changed.is_empty()
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.form {
            Ok(form) => writeln!(f, "{} functions, in the form of {form}", self.functions)?,
            Err(has) => writeln!(f, "{} functions, in no known form: it has {has}", self.functions)?,
        }
        let list = |names: &[&str]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        writeln!(f, "required, and missing there: {}", list(&self.missing))?;
        writeln!(f, "optional, and missing there: {}", list(&self.missing_optional))?;
        writeln!(f, "changed: {}", if self.changed.is_empty() { "none" } else { "" })?;
        self.changed.iter().try_for_each(|change| writeln!(f, "  {change}"))?;
        let new: Vec<_> = self.new.iter().map(String::as_str).collect();
        write!(f, "there, and not in the table ({}): {}", new.len(), list(&new))
    }
}

/// Functions whose signature is another one than the table has for the form.
fn changed_functions(other: &Interface, form: Option<Form>) -> Vec<String> {
    let of_form = Api::SIGNATURES.iter().filter(|(_, only, _)| only.is_none() || *only == form);
    let changed = of_form.filter_map(|(name, _, signature)| {
        let there = other.functions.get(*name)?.as_ref()?;
        let here = of_rust(signature);
        (*there != here).then(|| format!("{name}: {} there, {} in the table", in_c(there), in_c(&here)))
    });
    changed.collect()
}

/// Enumerations whose numbers are others than those of the table. Names of C end with those of the table, or contain them.
fn changed_numbers(other: &Interface, form: Option<Form>) -> Vec<String> {
    let mut ours: Vec<(&str, Vec<(String, i64)>)> = Vec::new();
    for (name, constants) in ENUMERATIONS {
        ours.push((
            name,
            constants.iter().map(|(constant, number)| ((*constant).to_owned(), *number)).collect(),
        ));
    }
    if let Some(form) = form {
        let number = |domain| (format!("{domain:?}"), i64::from(form.affinity_domain(domain).number()));
        ours.push((BY_FORM, DOMAINS.map(number).into()));
    }
    let mut changed = Vec::new();
    for (enumeration, constants) in ours {
        let Some(there) = other.enumerations.get(enumeration) else { continue };
        for (name, number) in there {
            match constants.iter().find(|(_, ours)| ours == number) {
                Some((ours, _)) if plain(name).contains(&plain(ours)) => {}
                Some((ours, _)) => {
                    changed.push(format!("{enumeration}: {number} is {name} there, {ours} in the table"));
                }
                None if plain(name).ends_with("UNKNOWN") => {}
                None => {
                    changed.push(format!("{enumeration}: {number} is {name} there, and not in the table"))
                }
            }
        }
        // 0.22 lacks the newest aspect, and nothing else.
        for (ours, number) in constants {
            if there.iter().all(|(_, there)| *there != number) && form > Some(Form::V22) {
                changed.push(format!("{enumeration}: {number} is {ours} in the table, and not there"));
            }
        }
    }
    changed
}

/// A signature as C writes it, without names.
fn in_c(types: &[String]) -> String {
    let (result, arguments) =
        types.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    format!("{result}({})", arguments.join(", "))
}

/// A name without underscores, in capitals.
fn plain(name: &str) -> String {
    name.chars().filter(|c| *c != '_').flat_map(char::to_uppercase).collect()
}

/// The types of a signature of the table, as C spells them: the result, then the arguments.
fn of_rust(signature: &str) -> Vec<String> {
    let signature: String = signature.split_whitespace().collect();
    let (arguments, result) = signature.split_once(")->").unwrap_or((signature.trim_end_matches(')'), "()"));
    let arguments = arguments.trim_start_matches("fn(").split(',').filter(|ty| !ty.is_empty());
    std::iter::once(result).chain(arguments).map(type_of_rust).collect()
}

fn type_of_rust(ty: &str) -> String {
    // `split_whitespace` has joined `*mut T` into `*mutT`.
    if let Some(inner) = ty.strip_prefix("*mut").or_else(|| ty.strip_prefix("*const")) {
        return type_of_rust(inner) + "*";
    }
    match ty {
        "()" | "c_void" => "void",
        "usize" => "size_t",
        "u8" => "uint8_t",
        "u16" => "uint16_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "i64" => "int64_t",
        "c_int" => "int",
        "c_char" => "char",
        "Option<error_handler_callback>" => "error_handler_callback*",
        other => other,
    }
    .to_owned()
}
