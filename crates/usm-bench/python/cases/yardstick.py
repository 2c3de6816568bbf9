"""How fast Python is at the moment: calls of NumPy, beside every call whose bound is a time."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from statistics import median

from case import Case, Contender, Measured, timed
from sides import NUMPY, names

# Nanoseconds that they took on the machine on which the bounds were set.
TOOK = {
    "a[1:-1, ::2]": 105,
    "a[::-1]": 67,
    "a[3]": 42,
    "a[..., None]": 42,
    "a.T": 40,
    "float(a[3, 4])": 44,
    "a[0, 0] = 1.0": 32,
    "xp.empty((8, 8))": 140,
    "xp.zeros(10)": 90,
    "xp.arange(10)": 240,
    "xp.full(10, 1.5)": 600,
}
# What the median of them would have taken there, by definition.
UNIT = 100
# All of them together take about as many times as long.
UNITS = 15


def set_up() -> Measured:
    runs = [(timed(call, call, lambda: names(NUMPY, a=((8, 8), "f8"))).set_up(), took) for call, took in TOOK.items()]

    def run(count: int) -> float:
        each = max(10, count // UNITS)
        return median(call(each) / each / took for call, took in runs) * UNIT * count

    return run


def beside(cases: Iterable[Case]) -> Iterator[Case]:
    """The cases with one more contender: by how much calls of NumPy are slower than there, by the median."""
    for case in cases:
        yield replace(case, contenders=[*case.contenders, Contender("yardstick", set_up)])
