"""Judging what was measured by goals.toml. Every goal gets a verdict, also where its case could not be measured."""

import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum

from record import OURS, Case, Contender, Summary, digits, readable, summary

UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "×": 1}


class State(Enum):
    """The order is that of the summary."""

    MISSED = "missed"
    UNMEASURED = "not measured"
    AT_FLOOR = "missed with a known reason"
    REACHED = "reached"
    PACED = "reached only through the pace"
    LEFT_OUT = "not in this run"


class NotMeasuredError(Exception):
    """The reason why a goal cannot be judged."""


@dataclass(frozen=True)
class Bound:
    """Like "0.25 µs", "1.15 × limit", "20 ms over C" or "1.15 ×"; `value` is in nanoseconds, bytes, or a factor.
    "0.9 of memcpy" is at least this part of its speed."""

    text: str
    value: float
    times: str = ""
    over: str = ""
    is_time: bool = False
    is_part: bool = False

    @classmethod
    def parse(cls, text: str) -> "Bound":
        if part := re.fullmatch(r"([\d.]+) of (.+)", text):
            return cls(text, 1 / float(part[1]), times=part[2], is_part=True)
        match = re.fullmatch(r"([\d.]+) (ns|µs|ms|s|B|KiB|MiB|×)( over)?(?: (.+))?", text)
        if not match or bool(match[3]) != bool(match[4] and match[2] != "×"):
            raise ValueError(f'{text!r} is not like "0.25 µs", "1.15 × limit", "20 ms over C" or "0.9 of memcpy"')
        number, unit, _, other = match.groups(default="")
        alone = unit.endswith("s") and not other
        times, over = (other, "") if unit == "×" else ("", other)
        return cls(text, float(number) * UNITS[unit], times, over, alone)


@dataclass(frozen=True)
class Goal:
    """A row: each contender keeps within `at_most` in each case; the file may say `at_least` instead. `floor` is the
    part of a miss that `why` explains. `limit` is the best that loops by hand reached, for each case."""

    row: str
    cases: list[str]
    at_most: Bound
    contenders: list[str] = field(default_factory=lambda: [OURS])
    why: str = ""
    floor: Bound | None = None
    limit: list[str] = field(default_factory=list)

    @classmethod
    def parse(cls, goal: dict) -> "Goal":
        bounds = {"at_most": Bound.parse(goal.pop("at_least", "") or goal["at_most"])}
        if "floor" in goal:
            bounds["floor"] = Bound.parse(goal["floor"])
        limits = goal.pop("limit", [])
        if len(limits) not in (0, 1, len(goal["cases"])):
            raise ValueError(f"{goal['row']}: {len(limits)} limits for {len(goal['cases'])} cases")
        return cls(**goal | bounds, limit=limits * len(goal["cases"]) if len(limits) == 1 else limits)


@dataclass(frozen=True)
class Growth:
    """A row about series: how many times as much `to` may cost as `from`."""

    row: str
    series: list[str]
    contender: str
    ends: tuple[str, str]
    at_most: float
    per_byte: bool = False
    why: str = ""
    floor: float | None = None


@dataclass(frozen=True)
class Goals:
    goals: list[Goal]
    growth: list[Growth]
    # The contender that tells the pace of the machine, and its nanoseconds on the machine of the bounds.
    yardstick: str = ""
    took: float = 1.0
    # Contenders that no case of a goal may be slower than, and by how much all the same, which is noise.
    ahead_of: list[str] = field(default_factory=list)
    noise: float = 1.0

    @classmethod
    def parse(cls, text: str) -> "Goals":
        read = tomllib.loads(text)
        goals = [Goal.parse(goal) for goal in read.get("goal", [])]
        growth = [Growth(ends=(one.pop("from"), one.pop("to")), **one) for one in read.get("growth", [])]
        pace = read.get("pace", {"contender": "", "took": "1 ns"})
        peers = read.get("peers", {"ahead_of": [], "noise": 1.0})
        return cls(goals, growth, pace["contender"], Bound.parse(pace["took"]).value, peers["ahead_of"], peers["noise"])

    def pace(self, case: Case) -> list[float] | None:
        """By how much the machine is slower in each round of a case, never less than 1; None where nothing tells."""
        yardstick = case.contender(self.yardstick)
        factors = [max(1.0, sample / self.took) for sample in yardstick.samples] if yardstick else []
        return factors if summary(factors) else None


@dataclass
class Verdict:
    """`share` is what was found as a share of what is allowed: 1 is just enough. `pace` has slowed down the bound."""

    row: str
    case: str
    contender: str
    at_most: str
    why: str
    needed: list[str]
    state: State = State.UNMEASURED
    share: Summary | None = None
    found: str = ""
    pace: float | None = None
    limit: str = ""

    @property
    def bound(self) -> str:
        """With its sign."""
        return self.at_most if self.at_most.startswith("≥") else f"≤ {self.at_most}"

    @property
    def fails(self) -> bool:
        return self.state in (State.MISSED, State.UNMEASURED)

    def settle(self, share: Summary, found: str, floor: float) -> None:
        """`floor` is a share, too: a miss within it has a known reason."""
        self.share, self.found = share, found
        reached = State.REACHED if share.median <= 1 else State.AT_FLOOR
        self.state = reached if share.median <= max(1.0, floor) else State.MISSED


def judge(goals: Goals, measured: dict[str, Case], known: Iterable[str]) -> list[Verdict]:
    """One verdict for each case of each goal; `known` are the names of all cases there are."""
    verdicts, known = [], set(known)

    def add(verdict: Verdict, settle: Callable[[Verdict, list[Case]], None]) -> None:
        verdicts.append(verdict)
        unknown = [name for name in verdict.needed if name not in known]
        if unknown:
            verdict.found = f"there is no case {unknown[0]!r} yet"
        elif any(name not in measured for name in verdict.needed):
            verdict.state, verdict.found = State.LEFT_OUT, "left out by the options"
        else:
            try:
                settle(verdict, [measured[name] for name in verdict.needed])
            except NotMeasuredError as reason:
                verdict.found = str(reason)

    for goal in goals.goals:
        text = f"≥ {goal.at_most.text}" if goal.at_most.is_part else goal.at_most.text
        for place, case in enumerate(goal.cases):
            for name in goal.contenders:
                limit = goal.limit[place] if goal.limit else ""
                verdict = Verdict(goal.row, case, name, text, goal.why, [case], limit=limit)
                add(verdict, lambda verdict, cases, goal=goal: by_goal(goals, goal, verdict, cases[0]))
    for goal in behind(goals, measured):
        for case in goal.cases:
            verdict = Verdict(goal.row, case, OURS, goal.at_most.text, "", [case])
            add(verdict, lambda verdict, cases, goal=goal: by_goal(goals, goal, verdict, cases[0]))
    for growth in goals.growth:
        for series in growth.series:
            ends = [f"{series}/{end}" for end in growth.ends]
            at_most = f"{growth.at_most} × that at {growth.ends[0]}" + " for each byte" * growth.per_byte
            verdict = Verdict(growth.row, ends[1], growth.contender, at_most, growth.why, ends)
            add(verdict, lambda verdict, cases, growth=growth: by_growth(growth, verdict, *cases))
    return verdicts


def behind(goals: Goals, measured: dict[str, Case]) -> list[Goal]:
    """A goal for each peer: ours is not slower in any case of the goals in which both were measured."""
    cases = list(dict.fromkeys(case for goal in goals.goals for case in goal.cases))
    found = []
    for peer in goals.ahead_of:
        both = [name for name in cases if name in measured and has(measured[name], OURS) and has(measured[name], peer)]
        if both:
            found.append(Goal(f"Not slower than {peer}", both, Bound.parse(f"{goals.noise} × {peer}")))
    return found


def has(case: Case, name: str) -> bool:
    contender = case.contender(name)
    return contender is not None and bool(contender.samples)


def measured_contender(case: Case, name: str) -> Contender:
    contender = case.contender(name)
    if contender is None:
        raise NotMeasuredError(f"{name} does not take part")
    if contender.missing is not None:
        raise NotMeasuredError(f"{name}: {contender.missing}")
    return contender


def number(samples: Iterable[float], name: str) -> Summary:
    if (found := summary(samples)) is None:
        raise NotMeasuredError(f"{name} gave no number")
    return found


def by_goal(goals: Goals, goal: Goal, verdict: Verdict, case: Case) -> None:
    bound, ours = goal.at_most, measured_contender(case, verdict.contender)
    alone, pace = number(ours.samples, ours.name), None
    if other := bound.times or bound.over:
        pairs = zip(ours.samples, measured_contender(case, other).samples, strict=False)
        share = number((a / b if bound.times else a - b for a, b in pairs), other)
        word, unit = ("×", "") if bound.times else ("over", case.unit)
        found = f"{readable(share.median, unit).strip()} {word} {other}"
        if bound.is_part:
            found = f"{digits(1 / share.median)} of {other}"
    else:
        factors = goals.pace(case) if bound.is_time else None
        rounds = zip(ours.samples, factors or [1.0] * len(ours.samples), strict=False)
        share, pace = number((sample / factor for sample, factor in rounds), ours.name), summary(factors or [])
        found = readable(alone.median, case.unit)
    verdict.settle(share.scaled(1 / bound.value), found, goal.floor.value / bound.value if goal.floor else 0.0)
    if pace:
        verdict.pace = pace.median
        if verdict.state is State.REACHED and alone.median > bound.value:
            verdict.state = State.PACED


def by_growth(growth: Growth, verdict: Verdict, start: Case, end: Case) -> None:
    contenders = (measured_contender(case, growth.contender) for case in (start, end))
    before, after = (number(contender.samples, growth.contender) for contender in contenders)
    size = end.bytes / start.bytes if growth.per_byte else 1.0
    # The rounds of two cases do not belong together, so the noise of the start counts in full.
    ratio = after.scaled(1 / (before.median * size))
    found = f"{digits(ratio.median)} × that at {growth.ends[0]}"
    verdict.settle(ratio.scaled(1 / growth.at_most), found, (growth.floor or 0.0) / growth.at_most)


def better(goals: Goals, measured: dict[str, Case], known: Iterable[str], again: list[Case]) -> set[str]:
    """Takes each repeated case with which fewer goals are missed, and returns their names. The ends of a series are
    taken together, since they were measured together."""
    known, groups, taken = set(known), {}, set()
    for case in again:
        groups.setdefault(case.series or case.name, {})[case.name] = case
    for cases in groups.values():
        new = measured | cases
        if faults(judge(goals, new, known)) < faults(judge(goals, measured, known)):
            measured.update(cases)
            taken |= cases.keys()
    return taken


def faults(verdicts: list[Verdict]) -> int:
    """A goal that was not measured is worse than one that was missed."""
    return sum(verdict.fails + (verdict.state is State.UNMEASURED) for verdict in verdicts)


def rows(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """The verdicts of each row, the farthest from its goal first, without what the options left out."""
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.state is not State.LEFT_OUT:
            found.setdefault(verdict.row, []).append(verdict)
    for row in found.values():
        row.sort(key=lambda verdict: -(verdict.share.median if verdict.share else -1.0))
    return found
