//! The goals of a report, row by row.

use super::super::record::{Report, State, Verdict};

/// A row of the file of goals with what became of its cases.
pub(super) struct Row<'r> {
    pub(super) name: &'r str,
    pub(super) verdicts: Vec<&'r Verdict>,
}

/// Rows in the order of the file, without what the options left out.
pub(super) fn rows(report: &Report) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = vec![];
    for verdict in report.verdicts.iter().filter(|verdict| verdict.state != State::LeftOut) {
        match rows.iter_mut().find(|row| row.name == verdict.row) {
            Some(row) => row.verdicts.push(verdict),
            None => rows.push(Row { name: &verdict.row, verdicts: vec![verdict] }),
        }
    }
    rows
}

impl<'r> Row<'r> {
    /// The case that is farthest from the goal; one that was not measured only if none was.
    pub(super) fn worst(&self) -> Option<&'r Verdict> {
        let share = |verdict: &Verdict| verdict.share.map_or(-1.0, |share| share.median);
        self.verdicts.iter().copied().max_by(|a, b| share(a).total_cmp(&share(b)))
    }

    pub(super) fn count(&self, state: State) -> usize {
        self.verdicts.iter().filter(|verdict| verdict.state == state).count()
    }

    /// All of its cases are within the goal.
    pub(super) fn is_reached(&self) -> bool {
        self.count(State::Reached) == self.verdicts.len()
    }
}
