"""What a run found: cases, their contenders and samples; medians, quartiles, and how numbers are written."""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

# Contenders whose name begins so are ours.
OURS = "usm"


class Summary(NamedTuple):
    """The median of samples, and the quartiles around it."""

    low: float
    median: float
    high: float

    def scaled(self, factor: float) -> "Summary":
        return Summary(*(value * factor for value in self))

    def is_apart_from(self, other: "Summary") -> bool:
        """The middle halves of the samples have nothing in common."""
        return self.low > other.high or self.high < other.low

    def __str__(self) -> str:
        return f"{digits(self.median)} ({digits(self.low)} … {digits(self.high)})"


def summary(samples: Iterable[float]) -> Summary | None:
    """None without samples, or where one is no number."""
    values = list(samples)
    if not values or not all(map(math.isfinite, values)):
        return None
    return Summary(*statistics.quantiles(values * 2 if len(values) == 1 else values, n=4, method="inclusive"))


def ratios(above: "Contender", below: "Contender") -> Summary | None:
    """Of the ratios round by round: a disturbance of a round affects both of its samples."""
    return summary(a / b for a, b in zip(above.samples, below.samples, strict=False))


@dataclass
class Contender:
    """`samples` has one number a round, for one call; `missing` is the reason why there are none."""

    name: str
    samples: list[float] = field(default_factory=list)
    missing: str | None = None

    @property
    def is_ours(self) -> bool:
        return self.name.startswith(OURS)

    def fail(self, reason: object) -> None:
        self.samples, self.missing = [], str(reason)


@dataclass
class Case:
    """`name` is `group/case` or `group/series/x`, `bytes` the size of the result or 0, `unit` "ns", "B" or "×"."""

    name: str
    bytes: int
    unit: str
    x: float | None = None
    contenders: list[Contender] = field(default_factory=list)

    @classmethod
    def from_json(cls, saved: dict) -> "Case":
        return cls(**saved | {"contenders": [Contender(**one) for one in saved["contenders"]]})

    @property
    def group(self) -> str:
        return self.name.partition("/")[0]

    @property
    def series(self) -> str | None:
        return None if self.x is None else self.name.rpartition("/")[0]

    def contender(self, name: str) -> Contender | None:
        return next((one for one in self.contenders if one.name == name), None)

    def ours(self) -> Contender | None:
        """The Python package where it was measured, else the crates."""
        found = (self.contender(name) for name in (OURS, f"{OURS} in Rust"))
        return next((one for one in found if one and one.samples), None)


SCALES = {
    "ns": [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")],
    "B": [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")],
}


def digits(value: float) -> str:
    """Three digits, and all digits before the point."""
    return f"{value:.{0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2}f}"


def readable(value: float, unit: str) -> str:
    """A number with three digits and the unit that suits it."""
    scale = SCALES.get(unit, [(1, unit)])
    size, name = next(((size, name) for size, name in scale if abs(value) >= size), scale[-1])
    return f"{digits(value / size)} {name}"
