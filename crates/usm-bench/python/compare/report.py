"""The files of a run: report.json, summary.md, report.html, and the performance page of the guide."""

import datetime
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path

import draw
from judge import State, Verdict, rows
from machine import Machine
from record import Case, Summary, digits, ratios, readable, summary

# A reader of older files would misunderstand those of another version.
VERSION = 1
# The other libraries of the table of the performance page, in this order.
OTHERS = ["NumPy", "dpnp", "dpctl", "ndarray", "C", "limit"]


@dataclass
class Report:
    quick: bool
    machine: Machine
    cases: list[Case]
    # Names of all cases there are, and of those whose result is of a repetition.
    known: list[str]
    repeated: list[str] = field(default_factory=list)
    seconds_since_1970: float = 0.0
    verdicts: list[Verdict] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> "Report":
        """What an earlier run saved, without its verdicts."""
        saved = json.loads(path.read_text())
        if saved["version"] != VERSION:
            raise SystemExit(f"{path} has version {saved['version']}, this program reads {VERSION}")
        cases = [Case.from_json(case) for case in saved["cases"]]
        known = saved.get("known", [case.name for case in cases])
        machine, repeated = Machine(**saved["machine"]), saved.get("repeated", [])
        return cls(saved["quick"], machine, cases, known, repeated, saved["seconds_since_1970"])

    def json(self) -> str:
        content = asdict(self) | {"version": VERSION}
        return json.dumps(content, default=lambda state: state.value, ensure_ascii=False)

    def count(self, state: State) -> int:
        return sum(verdict.state is state for verdict in self.verdicts)

    def counts(self) -> str:
        counts = ", ".join(f"{self.count(state)} {state.value}" for state in State)
        return f"{len(self.verdicts)} goals: {counts}."


def pace_of(verdict: Verdict) -> str:
    return "" if verdict.pace is None else digits(verdict.pace)


def first_line(text: str) -> str:
    return text.partition("\n")[0]


# Markdown.


def table(head: list[str], lines: Iterable[Iterable[object]]) -> str:
    written = [f"| {' | '.join(map(str, cells))} |\n" for cells in [head, ["---"] * len(head), *lines]]
    return "".join(written) + "\n"


def goals_table(found: dict[str, list[Verdict]]) -> str:
    """A line for each row, with the case that is farthest from the goal."""
    lines = []
    for row, verdicts in found.items():
        worst = verdicts[0]
        reached = sum(verdict.state in (State.REACHED, State.PACED) for verdict in verdicts)
        where = f"`{worst.case}`, {worst.contender}"
        share = worst.share or "–"
        count = f"{reached} of {len(verdicts)}"
        lines.append([row, f"≤ {worst.at_most}", count, where, first_line(worst.found), pace_of(worst), share])
    return table(["goal", "bound", "reached", "farthest from it", "found", "pace", "share of the bound"], lines)


def paced(report: Report) -> str:
    """The goals that are reached only because the machine is slower than that of the bounds."""
    found = [verdict for verdict in report.verdicts if verdict.state is State.PACED]
    lines = [[v.row, f"`{v.case}`", f"≤ {v.at_most}", v.found, pace_of(v)] for v in found]
    head = "## Reached only through the pace of the machine\n\n"
    return head + table(["goal", "case", "bound", "found", "pace"], lines) if found else ""


def apart(report: Report) -> str:
    """What the table does not show: goals that depend on the pace or a repetition, and what was not measured."""
    text = paced(report)
    if report.repeated:
        text += f"## Kept from a repetition, since the first measurement missed\n\n{'; '.join(report.repeated)}\n\n"
    reasons: dict[str, list[str]] = {}
    for verdict in report.verdicts:
        if verdict.state is State.UNMEASURED:
            reasons.setdefault(first_line(verdict.found), []).append(verdict.case)
    if reasons:
        lines = "".join(f"- {'; '.join(cases)}: {reason}\n" for reason, cases in reasons.items())
        text += f"## Not measured\n\n{lines}\n"
    return text


def summary_page(report: Report, before: Report | None) -> str:
    kind = "quick" if report.quick else "full"
    machine = f"{report.machine.words()}\n\n{report.machine.load_words()}"
    text = f"# Comparison, {kind}\n\n{machine}\n\n{report.counts()}\n\n{goals_table(rows(report.verdicts))}"
    return text + apart(report) + (changes(before, report) if before else "")


def changes(before: Report, now: Report) -> str:
    """What differs from a saved run. The change of the other libraries is that of the machine."""
    old, new = ({case.name: case for case in report.cases} for report in (before, now))
    lines, noise, others = [], 0, []
    for case in now.cases:
        for contender in case.contenders:
            former = old[case.name].contender(contender.name) if case.name in old else None
            then, found = summary(former.samples if former else []), summary(contender.samples)
            if not (then and found):
                continue
            factor = found.median / then.median
            if not contender.is_ours:
                others.append(factor)
            elif found.is_apart_from(then):
                times = [readable(one.median, case.unit) for one in (then, found)]
                lines.append((max(factor, 1 / factor), [f"`{case.name}`", contender.name, *times, digits(factor)]))
            else:
                noise += 1
    lines.sort(key=lambda line: -line[0])
    text = "## Since the saved run\n\n"
    if machine := summary(others):
        text += f"The other libraries take {machine} times as long: so much is the machine.\n\n"
    text += table(["case", "contender", "before", "now", "factor"], [cells for _, cells in lines])
    text += f"{noise} others changed less than they vary.\n"
    for what, names in [("No longer there", old.keys() - new.keys()), ("New", new.keys() - old.keys())]:
        text += f"{what}: {'; '.join(sorted(names))}.\n" if names else ""
    return text


def performance_page(report: Report) -> str:
    """The page of the guide."""
    if report.quick or report.count(State.LEFT_OUT):
        raise SystemExit("the page is of whole runs: leave --quick and --case out")
    if report.machine.was_busy():
        raise SystemExit("the machine was busy with other work: the page needs a quiet one")
    day = datetime.datetime.fromtimestamp(report.seconds_since_1970, datetime.UTC).date()
    text = (
        f"# Performance\n\nWritten by `cargo xtask bench --page`, {day}. Do not edit: reasons stand in "
        "`crates/usm-bench/goals.toml`.\n[How this is measured](benchmarks.md), the decisions: "
        f"[PERFORMANCE.md](../PERFORMANCE.md).\n\n{report.machine.words()}\n\n"
    )
    found = rows(report.verdicts)

    def section(title: str, state: Callable[[set[State]], bool]) -> str:
        chosen = {row: found.pop(row) for row in list(found) if state({one.state for one in found[row]})}
        over = [v[0] for v in chosen.values() if v[0].why and v[0].share and v[0].share.median > 1]
        whys = [f"**{worst.row}**: {worst.why}\n\n" for worst in over]
        return f"## {title}\n\n{goals_table(chosen)}{''.join(whys)}" if chosen else ""

    text += section("What reaches its goal", lambda states: states <= {State.REACHED, State.PACED}) + paced(report)
    missed = section("What misses its goal", lambda states: State.MISSED in states)
    text += section("What misses its goal, with a known reason", lambda states: State.AT_FLOOR in states) + missed
    text += section("What could not be measured", lambda states: True)
    return text + side_by_side(report)


def side_by_side(report: Report) -> str:
    lines = []
    for case in report.cases:
        ours = case.ours()
        found = summary(ours.samples) if ours else None
        if ours and found:
            contenders = [case.contender(name) for name in OTHERS]
            times = [ratios(one, ours) if one else None for one in contenders]
            cells = [digits(ratio.median) if ratio else "" for ratio in times]
            lines.append([f"`{case.name}`", readable(found.median, case.unit), *cells])
    head = "## Side by side\n\nThe numbers of the others are how many times as long they take as ours.\n\n"
    return head + table(["case", "ours", *OTHERS], lines)


# HTML.

STYLE = """
body{font:14px/1.45 sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;font-size:13px}
th,td{border-bottom:1px solid #ddd;padding:3px 8px;text-align:left;vertical-align:top}
svg{max-width:100%;height:auto}
"""


def html_table(head: list[str], lines: Iterable[Iterable[object]]) -> str:
    row = "".join(f"<th>{escape(cell)}" for cell in head)
    written = ("<tr>" + "".join(f"<td>{escape(str(cell))}" for cell in cells) for cells in lines)
    return f"<table><tr>{row}\n" + "\n".join(written) + "</table>\n"


def html(report: Report, before: Report | None) -> str:
    """One page that loads nothing."""
    head = ["goal", "case", "contender", "bound", "found", "pace", "share of the bound", ""]
    goals = [
        [v.row, v.case, v.contender, f"≤ {v.at_most}", v.found, pace_of(v), v.share or "", v.state.value]
        for v in report.verdicts
    ]
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>usm beside other libraries</title><style>{STYLE}",
        f"</style><h1>usm beside other libraries</h1><p>{escape(report.machine.words())}</p>",
        f"<p>{'A quick run: few samples, no long cases. ' if report.quick else ''}",
        f"{escape(report.machine.load_words())}</p><p><b>{report.counts()}</b></p>",
        f"<pre>{escape(apart(report) + (changes(before, report) if before else ''))}</pre>",
        "<h2>Shares of what is allowed</h2><p>Left of 1 is reached. The bar goes from quartile to quartile.</p>",
        draw.shares(report.verdicts) + "<h2>Goals</h2>" + html_table(head, goals),
        *[f"<p><b>{escape(row)}</b>: {escape(v[0].why)}</p>" for row, v in rows(report.verdicts).items() if v[0].why],
        "<h2>Growth</h2>" + draw.growth(report.cases),
        "<h2>Cases</h2><p>Medians of one call, with the quartiles in brackets. “Ours 1.5 ×”: ours takes 1.5 times as "
        "long, by the median of the ratios of the rounds. Each drawing has all samples beside the median of ours, and "
        "the box goes from quartile to quartile.</p>",
    ]
    groups: dict[str, list[Case]] = {}
    for case in report.cases:
        groups.setdefault(case.group, []).append(case)
    for group, cases in groups.items():
        parts += [f"<h3>{escape(group)}</h3>", of_cases(cases), draw.samples(cases)]
    return "\n".join(parts) + "</html>\n"


def of_cases(cases: list[Case]) -> str:
    def cell(case: Case, name: str) -> str:
        contender, ours = case.contender(name), case.ours()
        if contender is None:
            return ""
        found = summary(contender.samples)
        if found is None:
            return f"not measured: {contender.missing or 'it gave no number'}"
        low, median, high = (readable(value, case.unit) for value in found)
        ratio: Summary | None = ratios(ours, contender) if ours and ours is not contender else None
        return f"{median} ({low} … {high})" + (f", ours {digits(ratio.median)} ×" if ratio else "")

    names = list(dict.fromkeys(contender.name for case in cases for contender in case.contenders))
    return html_table(["case", *names], ([case.name, *(cell(case, name) for name in names)] for case in cases))


def write(report: Report, folder: Path, before: Report | None) -> str:
    """Writes the three files and returns the summary."""
    folder.mkdir(parents=True, exist_ok=True)
    text = summary_page(report, before)
    (folder / "report.json").write_text(report.json())
    (folder / "report.html").write_text(html(report, before))
    (folder / "summary.md").write_text(text)
    return f"{text}\n{folder} has report.html, report.json and summary.md"
