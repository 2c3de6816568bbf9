//! The page: one file, which loads nothing.

use super::super::changes::Changes;
use super::super::record::{Report, State, Verdict};
use super::plot::{escape, shares};
use super::{series, tables};

const STYLE: &str = "\
body{font:14px/1.45 sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;font-size:13px}
th,td{border-bottom:1px solid #ddd;padding:3px 8px;text-align:left;vertical-align:top}
.plot text{font:11px sans-serif}.plot .label{text-anchor:end}.plot .tick{text-anchor:middle;fill:#666}
.grid{stroke:#e4e4e4}.goal{stroke:#222;stroke-dasharray:3 2}
.reached circle{fill:#2b7a2b}.reached line{stroke:#2b7a2b}.missed circle{fill:#b00030}.missed line{stroke:#b00030}
.known circle{fill:#a06a00}.known line{stroke:#a06a00}tr.missed-with-a-known-reason td:last-child{color:#a06a00}
td:last-child{white-space:nowrap}tr.missed td:last-child{color:#b00030}tr.not-measured td,.none{color:#999}
.boxes rect{fill:none;stroke-width:1}.ours rect,.ours line{stroke:#0b6e99}.theirs rect,.theirs line{stroke:#888}
.ours circle{fill:#0b6e99;opacity:.35}.theirs circle{fill:#888;opacity:.35}
figure{margin:1em 0}";

/// The whole page.
pub(super) fn page(report: &Report, changes: Option<&Changes>) -> String {
    let verdicts: Vec<&Verdict> = report.verdicts.iter().collect();
    let counts: Vec<String> =
        State::ALL.iter().map(|state| format!("{} {}", report.count(*state), state.words())).collect();
    let since = changes.map_or_else(String::new, |changes| {
        format!("<h2>Since the saved run</h2>{}", tables::changes(changes))
    });
    let quick = if report.quick { "A quick run: few samples, no long cases. " } else { "" };
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>usm beside its neighbours</title>\
         <style>{STYLE}</style>\n<h1>usm beside its neighbours</h1>\n\
         <p>{machine}</p><p>{quick}{load}</p><p><b>{goals} goals</b>: {counts}.</p>\n{since}\
         <h2>Shares of what is allowed</h2><p>Left of 1 is reached. The bar goes from quartile to quartile.</p>\n{plot}\
         <h2>Goals</h2>\n{table}\n<h2>Growth</h2>\n{growth}\n\
         <h2>Cases</h2><p>Medians of one call; the quartiles and the number of rounds are in the tips. “Ours 1.5 ×”: ours takes \
         1.5 times as long, by the median of the ratios of the rounds. On the right every sample, with the quartiles as a box, \
         on a scale of factors.</p>\n{cases}\n<h2>Criterion</h2>\n{criterion}\n</html>\n",
        machine = escape(&report.machine.words()),
        load = escape(&report.machine.load_words()),
        goals = report.verdicts.len(),
        counts = counts.join(", "),
        plot = shares(&verdicts),
        table = tables::goals(&report.verdicts),
        growth = series::drawings(report),
        cases = tables::cases(report),
        criterion = tables::criterion(&report.criterion),
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests_support::report;
    use super::*;

    #[test]
    fn the_page_is_complete_and_loads_nothing() {
        let page = page(&report(), None);
        assert!(page.ends_with("</html>\n"));
        for part in ["ours 2.00 ×", "not measured", "no attribute", "<svg", "Criterion did not run"] {
            assert!(page.contains(part), "{part}");
        }
        for part in ["http", "src=", "<script", "<link"] {
            assert!(!page.contains(part), "{part}");
        }
    }
}
