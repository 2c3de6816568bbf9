//! `cargo xtask verify`: the checks that take too long for each change, in named parts, and the page that says when each ran.
//!
//! | file | job |
//! |---|---|
//! | `mod.rs` | the list of the parts, and their runs |
//! | `campaigns.rs` | parts with many random cases, forks and drops |
//! | `matrix.rs` | parts with the tests of the gate in other settings |
//! | `sanitize.rs` | ThreadSanitizer and Miri |
//! | `record.rs` | the page `docs/verified.md` |

mod campaigns;
mod matrix;
mod record;
mod sanitize;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;

use self::record::Record;
pub(super) use self::sanitize::miri_in_gate;
use crate::project::Project;
use crate::report::{Steps, say};

/// What the command line asks for.
#[derive(Args)]
pub(crate) struct Options {
    /// The parts to run; without one, all of them
    #[arg(value_parser = PossibleValuesParser::new(PARTS.map(|part| part.name)), hide_possible_values = true)]
    parts: Vec<String>,
    /// Name the parts and what they check, and run nothing
    #[arg(long)]
    list: bool,
    /// Random cases per property, in the part `properties`
    #[arg(long, default_value_t = 1_000_000)]
    cases: u32,
    /// A clone of array-api-tests with its submodule, for the part `array-api`
    #[arg(long, value_name = "CLONE")]
    array_api: Option<PathBuf>,
}

/// A check that can run alone.
struct Part {
    name: &'static str,
    checks: &'static str,
    run: fn(&Project, &Options, &mut Steps) -> Result<()>,
}

/// The parts, the shortest first.
const PARTS: [Part; 15] = [
    Part {
        name: "miri",
        checks: "no undefined behaviour in unit tests of usm-memory and usm-array",
        run: sanitize::miri,
    },
    Part {
        name: "threads",
        checks: "no data race in usm-memory, by ThreadSanitizer",
        run: sanitize::threads,
    },
    Part {
        name: "modules",
        checks: "each module of kernels builds on the SYCL device",
        run: matrix::modules,
    },
    Part {
        name: "features",
        checks: "clippy and the Rust tests without default features",
        run: matrix::features,
    },
    Part {
        name: "published",
        checks: "the wheel as published: its contents, and its tests with kernels as users get them",
        run: matrix::published,
    },
    Part { name: "strict", checks: "all tests with `USM_STRICT_DEVICE=1`", run: matrix::strict },
    Part { name: "pythons", checks: "the wheel on each other Python that is found", run: matrix::pythons },
    Part {
        name: "peers",
        checks: "the tests of the wheel with all peers, PyTorch and all tests of dpnp included",
        run: matrix::peers,
    },
    Part {
        name: "array-api",
        checks: "the array API's own suite on each provider's memory, from the clone that `--array-api` names",
        run: matrix::array_api,
    },
    Part {
        name: "pocl",
        checks: "all tests on PoCL's CPU device (`apt install pocl-opencl-icd`)",
        run: matrix::pocl,
    },
    Part {
        name: "drops",
        checks: "100,000 random drops of handles with work in flight",
        run: campaigns::drops,
    },
    Part {
        name: "forks",
        checks: "1,000 forked children beside each kind of activity",
        run: campaigns::forks,
    },
    Part {
        name: "imports",
        checks: "each order of imports of usm, dpctl, dpnp, NumPy and PyTorch",
        run: campaigns::imports,
    },
    Part {
        name: "examples",
        checks: "10,000 random examples per property of the wheel",
        run: campaigns::examples,
    },
    Part {
        name: "properties",
        checks: "a million random cases per property of usm-array",
        run: campaigns::properties,
    },
];

/// Runs parts, and writes down which of them passed.
pub(crate) fn run(project: &Project, options: &Options) -> Result<()> {
    if options.list {
        PARTS.iter().for_each(|part| say(&format!("{:12} {}", part.name, part.checks)));
        return Ok(());
    }
    let wanted = chosen(&options.parts, options.array_api.is_some());
    let mut steps = Steps::default();
    let outcome = wanted.iter().try_for_each(|part| {
        let record = Record::start(project, part.name)?;
        steps.within(part.name, |steps| (part.run)(project, options, steps))?;
        record.passed(&PARTS)
    });
    steps.finish(outcome)
}

/// The named parts. Without names all of them, but only the array API's suite where its clone is named, and else not that one.
fn chosen(names: &[String], has_clone: bool) -> Vec<&'static Part> {
    if names.is_empty() {
        return PARTS.iter().filter(|part| (part.name == "array-api") == has_clone).collect();
    }
    names.iter().filter_map(|name| PARTS.iter().find(|part| part.name == name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_chosen_by_name() {
        assert_eq!(chosen(&[], false).len(), PARTS.len() - 1);
        assert_eq!(chosen(&[], true).len(), 1);
        let names: Vec<_> = chosen(&["miri".to_owned()], false).iter().map(|part| part.name).collect();
        assert_eq!(names, ["miri"]);
    }
}
