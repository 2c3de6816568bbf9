//! The files of a run: report.json, report.html and summary.md in target/bench, and the page of the guide.

mod html;
mod markdown;
mod page;
mod plot;
mod rows;
mod series;
mod tables;
#[cfg(test)]
mod tests_support;

use super::changes::Changes;
use super::record::Report;
use crate::failure::Outcome;
use crate::project::Project;

/// The performance page, seen from the root.
const PAGE: &str = "guide/performance.md";

/// Writes the performance page.
pub(super) fn write_page(project: &Project, report: &Report) -> Outcome<()> {
    page::worthy(report)?;
    Ok(project.shell().write_file(project.root().join(PAGE), page::page(report))?)
}

/// Writes all three and returns the summary, with the places at its end.
pub(super) fn write(project: &Project, report: &Report, changes: Option<&Changes>) -> Outcome<String> {
    let shell = project.shell();
    let folder = shell.create_dir(project.target().join("bench"))?;
    let summary = markdown::summary(report, changes);
    shell.write_file(folder.join("report.json"), report.json()?)?;
    shell.write_file(folder.join("report.html"), html::page(report, changes))?;
    shell.write_file(folder.join("summary.md"), &summary)?;
    Ok(format!("{summary}\n{} has report.html, report.json and summary.md", folder.display()))
}
