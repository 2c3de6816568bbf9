//! The comparison with neighbours and limits: setting it up, measuring in turn, judging by the goals, writing reports.

mod bound;
mod changes;
mod criterion;
mod goals;
mod judge;
mod machine;
mod measure;
mod output;
mod pace;
mod progress;
mod record;
mod retry;
mod setup;
mod statistics;
mod turns;
mod worker;

use std::path::PathBuf;

use clap::Args;

use crate::failure::{Failure, Outcome};
use crate::project::Project;
use crate::report::say;

use changes::Changes;
use goals::Goals;
use machine::Machine;
use measure::{Bench, Effort};
use record::{Report, State};

/// What the command line asks for.
#[derive(Args)]
pub(crate) struct Options {
    /// Only cases whose name contains this
    #[arg(long, value_name = "PATTERN")]
    case: Option<String>,
    /// Few samples, no long cases, no criterion: under three minutes once everything is built
    #[arg(long)]
    quick: bool,
    /// Tell what changed since a saved report.json
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Fail if a goal of goals.toml that belongs to this run is missed, and was so twice more, or cannot be measured; no criterion
    #[arg(long)]
    check: bool,
    /// Write guide/performance.md; only after a whole run on a quiet machine
    #[arg(long, conflicts_with_all = ["quick", "case"])]
    page: bool,
    /// Measure nothing: judge a saved report.json by the goals as they are now, and write the files again
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "case", "compare", "installed"])]
    judge: Option<PathBuf>,
    /// A Python that has usm, NumPy, dpctl and dpnp, in place of a venv with a new wheel
    #[arg(long, value_name = "PYTHON")]
    installed: Option<PathBuf>,
    /// Run criterion only, with this filter and these options
    #[arg(last = true)]
    criterion: Vec<String>,
}

/// Runs what the options ask for.
pub(crate) fn run(project: &Project, options: &Options) -> Outcome<()> {
    if !options.criterion.is_empty() {
        return criterion::run(project, &options.criterion);
    }
    // Before anything takes long: a mistake in these files shows at once.
    let goals = Goals::read(project)?;
    if let Some(saved) = &options.judge {
        let mut report = Report::read(saved)?;
        report.verdicts = judge::again(&goals, &report.cases);
        return finish(project, options, &report, None);
    }
    let before = options.compare.as_deref().map(Report::read).transpose()?;

    let installation = setup::install(project, options.installed.as_deref())?;
    let mut machine = Machine::look(project, &installation)?;
    let effort = if options.quick { Effort::quick() } else { Effort::full() };
    let mut bench = Bench::new(installation.workers(), effort)?;
    let mut measured = bench.all(options.case.as_deref());
    if measured.cases.is_empty() {
        return Err(Failure::new(format!(
            "no case contains {:?}",
            options.case.as_deref().unwrap_or_default()
        )));
    }
    if options.check {
        retry::misses(&mut bench, &goals, &mut measured);
    }
    drop(bench);
    // No goal is about what criterion measures.
    let criterion = match (options.quick || options.check, options.case.as_deref()) {
        (true, _) => vec![],
        (false, filter) => criterion::measure(project, filter)?,
    };
    machine.look_again();

    let verdicts = judge::all(&goals, &measured);
    let report = Report::new(options.quick, machine, measured.cases, criterion, verdicts);
    let changes = before.map(|before| changes::between(&before, &report));
    finish(project, options, &report, changes.as_ref())
}

/// Writes what the options ask for, and says how it went.
fn finish(project: &Project, options: &Options, report: &Report, changes: Option<&Changes>) -> Outcome<()> {
    say(&output::write(project, report, changes)?);
    if options.page {
        output::write_page(project, report)?;
    }
    let failed = report.verdicts.iter().filter(|verdict| verdict.fails()).count();
    if options.check && failed > 0 {
        return Err(Failure::new(format!("{failed} goals were not reached, or not measured")));
    }
    if options.check {
        let (reached, known) = (report.count(State::Reached), report.count(State::AtFloor));
        say(&format!(
            "{reached} goals are reached; {known} are missed with a known reason, and not by more than it explains"
        ));
    }
    Ok(())
}
