"""The page of the report, by Markdown and matplotlib: shares of what is allowed, growth of series, samples."""

import io
from collections.abc import Iterable

import markdown
import matplotlib
from judge import State, Verdict
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from record import Case, Summary, readable, summary

matplotlib.rcParams.update({"svg.fonttype": "none", "font.size": 8})

COLOURS = {State.REACHED: "#2b7a2b", State.PACED: "#0b6e99", State.AT_FLOOR: "#a06a00", State.MISSED: "#b00030"}
TICKS = [0.001, 0.01, 0.1, 0.25, 0.5, 1, 2, 4, 10, 30, 100, 1000]


HEAD = "<!doctype html><html lang=en><meta charset=utf-8><title>usm beside other libraries</title>"
STYLE = """
body{font:14px/1.45 sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;font-size:13px}
th,td{border-bottom:1px solid #ddd;padding:3px 8px;text-align:left;vertical-align:top}
svg{max-width:100%;height:auto}
"""


def page(parts: Iterable[str]) -> str:
    """A page of Markdown and drawings. No part has markup of its own."""
    written = (part if part.startswith("<svg") else of_markdown(part) for part in parts)
    return "\n".join([f"{HEAD}<style>{STYLE}</style>", *written, "</html>\n"])


def of_markdown(text: str) -> str:
    return markdown.markdown(text.replace("<", "&lt;"), extensions=["tables"])


def svg(figure: Figure) -> str:
    """Text for a page, without the declarations of a file."""
    written = io.StringIO()
    figure.savefig(written, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    text = written.getvalue()
    return text[text.index("<svg") :]


def lines(labels: list[str], scale: Iterable[float] = TICKS) -> tuple[Figure, Axes]:
    """A drawing with a line for each label from the top down, on a scale whose equal steps are equal factors."""
    figure = Figure(figsize=(10, 0.16 * len(labels) + 0.6))
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xticks(list(scale), [f"{tick:g}" for tick in scale])
    axes.minorticks_off()
    axes.tick_params(top=True, labeltop=True)
    axes.grid(axis="x", color="#e4e4e4")
    axes.axvline(1, color="#222222", linestyle=":")
    return figure, axes


def shares(verdicts: Iterable[Verdict]) -> str:
    """What was found beside what is allowed, for each verdict with a number."""
    found = [(verdict, verdict.share) for verdict in verdicts if verdict.share]
    if not found:
        return ""
    figure, axes = lines([f"{verdict.case}, {verdict.contender}" for verdict, _ in found])
    for place, (verdict, share) in enumerate(found):
        low, median, high = (max(value, TICKS[0]) for value in share)
        axes.plot([low, high], [place, place], color=COLOURS[verdict.state])
        axes.plot([median], [place], "o", markersize=4, color=COLOURS[verdict.state])
    axes.set_xlim(*within([value for _, share in found for value in share]))
    return svg(figure)


def within(values: list[float]) -> tuple[float, float]:
    """Ends of a scale that has all values and some space around 1."""
    return max(TICKS[0], min([0.5, *values])) / 1.1, min(TICKS[-1], max([2.0, *values])) * 1.1


def growth(cases: list[Case]) -> str:
    """A drawing for each group that has series: what a member costs, for each MiB where it has bytes."""
    groups: dict[str, dict[str, list[tuple[Case, Summary]]]] = {}
    for case in cases:
        if case.series and (ours := case.ours()) and (found := summary(ours.samples)):
            cost = found.scaled((1 << 20) / case.bytes if case.bytes else 1.0)
            groups.setdefault(case.group, {}).setdefault(case.series, []).append((case, cost))
    return "".join(svg(series(group, members)) for group, members in groups.items())


def series(group: str, members: dict[str, list[tuple[Case, Summary]]]) -> Figure:
    figure = Figure(figsize=(7, 3.5))
    axes = figure.subplots()
    for name, points in members.items():
        around = [[cost.median - cost.low, cost.high - cost.median] for _, cost in points]
        x, medians = [case.x for case, _ in points], [cost.median for _, cost in points]
        axes.errorbar(x, medians, yerr=list(zip(*around, strict=True)), marker="o", markersize=3, label=name)
    found = [case for points in members.values() for case, _ in points]
    axes.set_yscale("log", base=2)
    per_byte = " for each MiB of the result" if any(case.bytes for case in found) else ""
    axes.set(xscale="log", title=f"{group}: time{per_byte}")
    places = {case.x: case.name.rpartition("/")[2] for case in found}
    axes.set_xticks(list(places), list(places.values()))
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: readable(value, "ns"))
    axes.grid(axis="y", color="#e4e4e4")
    axes.legend(fontsize=7)
    return figure


def samples(cases: list[Case]) -> str:
    """All samples of the cases beside the median of ours, with a box from quartile to quartile."""
    found = []
    for case in cases:
        ours = case.ours()
        one = summary(ours.samples) if ours else None
        if one and one.median > 0:
            measured = [contender for contender in case.contenders if summary(contender.samples)]
            found += [(case, contender, [s / one.median for s in contender.samples]) for contender in measured]
    if not found:
        return ""
    figure, axes = lines([f"{case.name}, {contender.name}" for case, contender, _ in found])
    for place, (_, contender, values) in enumerate(found):
        colour = "#0b6e99" if contender.is_ours else "#888888"
        axes.plot(values, [place] * len(values), ".", markersize=2, color=colour, alpha=0.4)
    boxes = axes.boxplot([values for *_, values in found], positions=range(len(found)), orientation="horizontal")
    for part in ("whiskers", "caps", "fliers"):
        for artist in boxes[part]:
            artist.set_visible(False)
    axes.set_yticks(range(len(found)), [f"{case.name}, {contender.name}" for case, contender, _ in found])
    axes.set_xlim(*within([value for *_, values in found for value in values]))
    return svg(figure)
