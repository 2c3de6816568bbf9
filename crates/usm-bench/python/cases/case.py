"""A case and its contenders."""

import timeit
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sides import Side

# Takes how often to run; gives nanoseconds for all of the runs, or a value that is no time.
Measured = Callable[[int], float]
# The names of a statement.
Names = dict[str, Any]

# A statement is written this often in the timed loop, so that the loop itself costs less than a nanosecond.
REPEATS = 10


@dataclass(frozen=True)
class Contender:
    name: str
    set_up: Callable[[], Measured]


@dataclass(frozen=True)
class Case:
    """`name` is `group/case`, or `group/series/x` with its `x`; `once`: run one at a time; `processes`: in so many, one
    after the other; `bytes` of the result, where growth is about them."""

    name: str
    contenders: list[Contender]
    unit: str = "ns"
    once: bool = False
    processes: int = 1
    bytes: int = 0
    x: float | None = None

    def description(self) -> Names:
        listed = {"case": self.name, "bytes": self.bytes, "unit": self.unit, "x": self.x}
        return listed | {"once": self.once, "processes": self.processes}


def timed(name: Side | str, statement: str, names: Callable[[], Names], repeats: int = REPEATS) -> Contender:
    """A statement, in the names that `names()` makes when the case is opened."""

    def set_up() -> Measured:
        timer = timeit.Timer("\n".join([statement] * repeats), globals=names())

        def run(count: int) -> float:
            loops = -(-count // repeats)
            return timer.timeit(loops) * 1e9 / (loops * repeats) * count

        return run

    return Contender(str(name), set_up)


def each(
    sides: Iterable[Side], statement: str, names: Callable[..., Names], *what: Any, repeats: int = REPEATS
) -> list[Contender]:
    """The statement of each side, in the names that `names(side, *what)` makes."""
    return [timed(side, statement, partial(names, side, *what), repeats) for side in sides]


def value(name: str, measure: Callable[[], float]) -> Contender:
    """What a function returns each time."""
    return Contender(name, lambda: lambda _count: measure())
