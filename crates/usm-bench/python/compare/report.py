"""The files of a run: report.json, summary.md, report.html, and the performance page of the guide."""

import datetime
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from judge import State, Verdict, rows
from machine import Machine
from record import Case, Contender, digits, ratios, readable, summary

try:
    import draw
except ModuleNotFoundError:
    # A machine with a GPU may have neither matplotlib nor Markdown. `--judge report.json` makes the page elsewhere.
    draw = None

# A reader of older files would misunderstand those of another version.
VERSION = 1
# The other libraries of the table of the performance page, in this order.
OTHERS = ["NumPy", "dpnp", "dpctl", "ndarray", "C", "limit"]
DEVICE_OTHERS = ["CuPy", "PyTorch"]
# Contenders of ours whose arithmetic is that of a library are named so.
OURS_WITH = "usm with "


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
    # One round of small operands: its figures mean nothing, and pages do not show them.
    smoke: bool = False

    @classmethod
    def read(cls, path: Path) -> "Report":
        """What an earlier run saved, without its verdicts."""
        saved = json.loads(path.read_text())
        if (version := saved.pop("version")) != VERSION:
            raise SystemExit(f"{path} has version {version}, this program reads {VERSION}")
        cases = [Case.from_json(case) for case in saved["cases"]]
        return cls(**saved | {"cases": cases, "machine": Machine(**saved["machine"]), "verdicts": []})

    def json(self) -> str:
        content = asdict(self) | {"version": VERSION}
        return json.dumps(content, default=lambda state: state.value, ensure_ascii=False)

    def of(self, state: State) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.state is state]

    def counts(self) -> str:
        counts = ", ".join(f"{len(self.of(state))} {state.value}" for state in State)
        return f"{len(self.verdicts)} goals: {counts}."


def pace_of(verdict: Verdict) -> str:
    return "" if verdict.pace is None else digits(verdict.pace)


def first_line(text: str) -> str:
    return text.partition("\n")[0]


# All of them are Markdown.


def table(head: list[str], lines: Iterable[Iterable[object]]) -> str:
    written = [f"| {' | '.join(map(str, cells))} |\n" for cells in [head, ["---"] * len(head), *lines]]
    return "".join(written) + "\n"


def goals_table(found: dict[str, list[Verdict]]) -> str:
    """A line for each row, with the case that is farthest from the goal."""
    lines = []
    for row, verdicts in found.items():
        worst = verdicts[0]
        reached = sum(verdict.state in (State.REACHED, State.PACED) for verdict in verdicts)
        where, count = f"`{worst.case}`, {worst.contender}", f"{reached} of {len(verdicts)}"
        found_first, share = first_line(worst.found), worst.share or "–"
        lines.append([row, worst.bound, count, where, found_first, pace_of(worst), share])
    return table(["goal", "bound", "reached", "farthest from it", "found", "pace", "share of the bound"], lines)


def paced(report: Report) -> str:
    """The goals that are reached only because the machine is slower than that of the bounds."""
    lines = [[v.row, f"`{v.case}`", v.bound, v.found, pace_of(v)] for v in report.of(State.PACED)]
    head = "## Reached only through the pace of the machine\n\n"
    return head + table(["goal", "case", "bound", "found", "pace"], lines) if lines else ""


def apart(report: Report) -> str:
    """What the table does not show: goals that depend on the pace or a repetition, and what was not measured."""
    text = paced(report)
    if report.repeated:
        text += f"## Kept from a repetition, since the first measurement missed\n\n{'; '.join(report.repeated)}\n\n"
    reasons: dict[str, list[str]] = {}
    for verdict in report.of(State.UNMEASURED):
        reasons.setdefault(first_line(verdict.found), []).append(verdict.case)
    lines = "".join(f"- {'; '.join(cases)}: {reason}\n" for reason, cases in reasons.items())
    return text + (f"## Not measured\n\n{lines}\n" if reasons else "")


def by_case(report: Report) -> str:
    """The goals on a device, case by case: parts of the speed of plain copies, and times of calls. The limit is the
    best that loops by hand, or the driver alone, reached."""
    parts, times = [], []
    cases = {case.name: case for case in report.cases}
    for verdict in report.verdicts:
        case = cases.get(verdict.case)
        if verdict.state is State.LEFT_OUT or case is None:
            continue
        contenders = [*map(case.contender, DEVICE_OTHERS), case.contender(verdict.contender)]
        if " of " in verdict.bound:
            bound, _, plain = verdict.bound.partition(" of ")
            found = [of_plain(case.contender(plain), one) for one in contenders]
            into = parts
        elif verdict.bound.endswith("s"):
            found = [took(case, one) for one in contenders]
            bound, into = verdict.bound, times
        else:
            continue
        *others, ours = ["–"] * len(found) if report.smoke else found
        state = "–" if report.smoke else verdict.state.value
        into.append([f"`{case.name}`", *others, verdict.limit or "–", bound, ours, state])
    head = ["case", *DEVICE_OTHERS, "limit", "goal", "ours", ""]
    text = f"## Parts of the speed of a plain copy or fill of as many bytes\n\n{table(head, parts)}" if parts else ""
    text += f"## Times\n\n{table(head, times)}" if times else ""
    return text + by_provider(report)


def by_provider(report: Report) -> str:
    """The goals on arithmetic, case by case, beside the library that computes."""
    cases, found = {case.name: case for case in report.cases}, []
    for verdict in report.verdicts:
        case = cases.get(verdict.case)
        provider = verdict.contender.removeprefix(OURS_WITH)
        if verdict.state is State.LEFT_OUT or case is None or provider == verdict.contender:
            continue
        times = [took(case, case.contender(name)) for name in (provider, verdict.contender)]
        cells = ["–"] * 4 if report.smoke else [*times, verdict.found, verdict.state.value]
        found.append([f"`{case.name}`", provider, verdict.bound, *cells])
    head = ["case", "library", "goal", "its own arrays", "ours", "found", ""]
    return f"## Arithmetic by other libraries\n\n{table(head, found)}" if found else ""


def of_plain(plain: Contender | None, other: Contender | None) -> str:
    found = ratios(plain, other) if plain and other else None
    return str(found) if found else "–"


def took(case: Case, contender: Contender | None) -> str:
    found = summary(contender.samples) if contender else None
    return readable(found.median, case.unit) if found else "–"


def summary_page(report: Report, before: Report | None) -> str:
    kind = "smoke run, whose figures mean nothing" if report.smoke else "quick" if report.quick else "full"
    machine = f"{report.machine.words()}\n\n{report.machine.load_words()}"
    text = f"# Comparison, {kind}\n\n{machine}\n\n{report.counts()}\n\n{goals_table(rows(report.verdicts))}"
    text += by_case(report) if report.machine.device else ""
    return text + apart(report) + (changes(before, report) if before else "")


def changes(before: Report, now: Report) -> str:
    """What differs from a saved run. The change of the other libraries is that of the machine."""
    old, new = ({case.name: case for case in report.cases} for report in (before, now))
    lines, noise, others = [], 0, []
    for name in filter(old.get, new):
        for contender in new[name].contenders:
            former = old[name].contender(contender.name)
            then, found = summary(former.samples if former else []), summary(contender.samples)
            if not (then and found):
                continue
            factor = found.median / then.median
            if not contender.is_ours:
                others.append(factor)
            elif found.is_apart_from(then):
                times = [readable(one.median, new[name].unit) for one in (then, found)]
                lines.append((max(factor, 1 / factor), [f"`{name}`", contender.name, *times, digits(factor)]))
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


def device_page(report: Report) -> str:
    """The page of the guide about GPUs. Of a smoke run it has the goals, and no figures."""
    text = "# Performance on a GPU\n\nWritten by `cargo xtask bench --device cuda --page`. Do not edit: "
    text += "goals and reasons stand in `crates/usm-bench/goals-cuda.toml`.\n"
    text += "[How this is measured](benchmarks.md#on-a-gpu).\n\n"
    if report.smoke:
        text += f"No run on a GPU is recorded here yet, so there are no figures.\n\n{by_case(report)}"
        return text.rstrip() + "\n"
    if report.quick or report.of(State.LEFT_OUT):
        raise SystemExit("the page is of whole runs: leave --quick and --case out")
    day = datetime.datetime.fromtimestamp(report.seconds_since_1970, datetime.UTC).date()
    text += f"{day}: {report.machine.words()}\n\n{report.counts()}\n\n{by_case(report)}"
    peers = {row: v for row, v in rows(report.verdicts).items() if row.startswith("Not slower than")}
    text += f"## Beside peers\n\n{goals_table(peers)}" if peers else ""
    over = [v[0] for v in rows(report.verdicts).values() if v[0].why and v[0].share and v[0].share.median > 1]
    return text + "".join(f"**{worst.row}**: {worst.why}\n\n" for worst in over)


def performance_page(report: Report) -> str:
    """The page of the guide."""
    if report.machine.device:
        return device_page(report)
    if report.quick or report.of(State.LEFT_OUT):
        raise SystemExit("the page is of whole runs: leave --quick and --case out")
    if report.machine.was_busy():
        raise SystemExit("the machine was busy with other work: the page needs a quiet one")
    day = datetime.datetime.fromtimestamp(report.seconds_since_1970, datetime.UTC).date()
    text = (
        f"# Performance\n\nWritten by `cargo xtask bench --page`, {day}. Do not edit: reasons stand in "
        "`crates/usm-bench/goals.toml`.\n[How this is measured](benchmarks.md), the decisions: "
        f"[PERFORMANCE.md](../PERFORMANCE.md).\n\n{report.machine.words()}\n\n"
    )
    left = rows(report.verdicts)

    def section(title: str, state: Callable[[set[State]], bool]) -> str:
        chosen = {row: left.pop(row) for row in list(left) if state({one.state for one in left[row]})}
        over = [v[0] for v in chosen.values() if v[0].why and v[0].share and v[0].share.median > 1]
        whys = [f"**{worst.row}**: {worst.why}\n\n" for worst in over]
        return f"## {title}\n\n{goals_table(chosen)}{''.join(whys)}" if chosen else ""

    text += section("What reaches its goal", lambda states: states <= {State.REACHED, State.PACED}) + paced(report)
    missed = section("What misses its goal", lambda states: State.MISSED in states)
    text += section("What misses its goal, with a known reason", lambda states: State.AT_FLOOR in states) + missed
    text += section("What could not be measured", lambda states: True)
    lines = []
    for case in report.cases:
        ours = case.ours()
        if ours and (found := summary(ours.samples)):
            times = [one and ratios(one, ours) for one in map(case.contender, OTHERS)]
            cells = [digits(ratio.median) if ratio else "" for ratio in times]
            lines.append([f"`{case.name}`", readable(found.median, case.unit), *cells])
    text += "## Side by side\n\nThe numbers of the others are how many times as long they take as ours.\n\n"
    return text + table(["case", "ours", *OTHERS], lines)


def of_cases(cases: list[Case]) -> str:
    """Every contender of these cases."""

    def cell(case: Case, name: str) -> str:
        contender, ours = case.contender(name), case.ours()
        if contender is None:
            return ""
        found = summary(contender.samples)
        if found is None:
            return f"not measured: {first_line(contender.missing or 'it gave no number')}"
        low, median, high = (readable(value, case.unit) for value in found)
        ratio = ratios(ours, contender) if ours and ours is not contender else None
        return f"{median} ({low} … {high})" + (f", ours {digits(ratio.median)} ×" if ratio else "")

    names = list(dict.fromkeys(contender.name for case in cases for contender in case.contenders))
    return table(["case", *names], ([f"`{case.name}`", *(cell(case, name) for name in names)] for case in cases))


def html(report: Report, before: Report | None) -> str:
    """One page that loads nothing: the summary, and all verdicts, cases and samples."""
    head = ["goal", "case", "contender", "bound", "found", "pace", "share of the bound", ""]
    goals = []
    for v in report.verdicts:
        found = [first_line(v.found), pace_of(v), v.share or "", v.state.value]
        goals.append([v.row, f"`{v.case}`", v.contender, v.bound, *found])
    whys = [f"**{row}**: {v[0].why}\n\n" for row, v in rows(report.verdicts).items() if v[0].why]
    groups: dict[str, list[Case]] = {}
    for case in report.cases:
        groups.setdefault(case.group, []).append(case)
    parts = [
        summary_page(report, before),
        "\n\n## Shares of what is allowed\n\nLeft of 1 is reached. The bar goes from quartile to quartile.\n\n",
        draw.shares(report.verdicts),
        f"## Goals\n\n{table(head, goals)}{''.join(whys)}## Growth\n\n",
        draw.growth(report.cases),
        "## Cases\n\nMedians of one call, with the quartiles in brackets. “Ours 1.5 ×”: ours takes 1.5 times as long, "
        "by the median of the ratios of the rounds. Each drawing has all samples beside the median of ours, and the "
        "box goes from quartile to quartile.\n\n",
    ]
    for group, cases in groups.items():
        parts += [f"### {group}\n\n{of_cases(cases)}", draw.samples(cases)]
    return draw.page(parts)


def write(report: Report, folder: Path, before: Report | None) -> str:
    """Writes the three files and returns the summary. The page comes last: a drawing that fails leaves the others."""
    folder.mkdir(parents=True, exist_ok=True)
    text = summary_page(report, before)
    (folder / "report.json").write_text(report.json())
    (folder / "summary.md").write_text(text)
    if not draw:
        return f"{text}\n{folder} has report.json and summary.md; matplotlib or Markdown for report.html is missing"
    try:
        (folder / "report.html").write_text(html(report, before))
    except Exception as error:
        print(text, flush=True)
        raise SystemExit(f"report.html: {type(error).__name__}: {error}") from error
    return f"{text}\n{folder} has report.html, report.json and summary.md"
