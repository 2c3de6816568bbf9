"""Cases on a CUDA device: a statement on operands, checked once and then timed by events or by the clock."""

import re
import timeit
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from case import Case, Contender, Measured
from device_sides import Array, CuPy, OnHost, PyTorch, Side, Usm, plain, side

# So many operations are submitted at once. A stream has space for about a thousand, and a full one makes its user wait.
BURST = 20
# A smaller result is compared with NumPy's.
OF_NUMPY = 1 << 20


@dataclass(frozen=True)
class Work:
    """`views` are made of `arrays`, once; `statement` is timed, and `result` has the outcome. CuPy's and PyTorch's
    statements are ours where nothing is said; `moved` are the bytes of the plain copy that it is compared with."""

    arrays: dict[str, Array]
    statement: str
    views: dict[str, str] = field(default_factory=dict)
    cupy: str = ""
    torch: str = ""
    result: str = "o"
    moved: int = 0
    also: dict[str, Any] = field(default_factory=dict)

    def of(self, which: type[Side]) -> str:
        own = {CuPy: self.cupy, OnHost: self.cupy, PyTorch: self.torch}.get(which)
        return own or self.statement

    def names(self, which: type[Side]) -> dict[str, Any]:
        """The operands of a library, with their content, and the views of them."""
        made = side(which).names() | self.also
        for name, array in self.arrays.items():
            made[name] = side(which).operand(name, array, is_written=name == "o")
        for name, view in self.views.items():
            # PyTorch has no negative strides; its statement then does without the view.
            if re.search(rf"\b{name}\b", self.of(which)):
                made[name] = eval(view, made)
        return made

    def ran(self, which: type[Side]) -> dict[str, Any]:
        """The names after one run."""
        made = self.names(which)
        exec(self.of(which), made)
        side(which).wait()
        return made


class WrongResultError(Exception):
    """A result differs from that of the reference."""


def check(work: Work, which: type[Side], made: dict[str, Any]) -> None:
    """Compares the result, byte for byte: with CuPy's, with PyTorch's where CuPy has none, or with NumPy's where it is
    small or no other library has one."""
    found = made[work.result]
    if work.moved > OF_NUMPY:
        for reference in (CuPy, PyTorch):
            # CuPy's own results are compared in smoke runs.
            if reference is which:
                return
            if (expected := of_peer(work, reference)) is not None:
                agree = found.nbytes == expected.nbytes and tuple(found.shape) == tuple(expected.shape)
                if not agree or not side(reference).same(side(reference).taken(found, which, expected), expected):
                    raise WrongResultError(f"the result differs from {reference.name}'s")
                return
    expected = work.ran(OnHost)[work.result]
    if side(which).host_bytes(found) != expected.tobytes():
        raise WrongResultError("the result differs from NumPy's")


def of_peer(work: Work, which: type[Side]) -> Any:
    """None where the library is not there or cannot do it; its own contender has the reason."""
    try:
        return work.ran(which)[work.result]
    except Exception:  # Each library has its own.
        return None


def by_events(loop: timeit.Timer, which: type[Side]) -> Measured:
    """What the device takes between two events around the calls."""
    start, stop = plain().timer()

    def run(count: int) -> float:
        start()
        loop.timeit(count)
        return stop()

    return run


def until_submitted(loop: timeit.Timer, which: type[Side]) -> Measured:
    """What the calls take, without the wait for their work."""

    def run(count: int) -> float:
        took, left = 0.0, count
        while left:
            calls = min(left, BURST)
            took += loop.timeit(calls)
            side(which).wait()
            left -= calls
        return took * 1e9

    return run


def until_done(loop: timeit.Timer, which: type[Side]) -> Measured:
    """What the calls take when each is waited for, by its statement."""
    return lambda count: loop.timeit(count) * 1e9


Way = Callable[[timeit.Timer, type[Side]], Measured]


def contender(work: Work, which: type[Side], way: Way) -> Contender:
    def set_up() -> Measured:
        statement = work.of(which)
        made = work.ran(which)
        check(work, which, made)
        statement += "; wait()" if way is until_done else ""
        return way(timeit.Timer(statement, globals=made), which)

    return Contender(which.name, set_up)


def plain_contender(name: str, nbytes: int) -> Contender:
    """A plain copy or fill of so many bytes."""

    def set_up() -> Measured:
        make = {"memcpy": plain().copier, "memset": plain().setter}[name]
        return by_events(timeit.Timer(make(nbytes)), Usm)

    return Contender(name, set_up)


SIDES: tuple[type[Side], ...] = (Usm, CuPy, PyTorch)


def on_device(name: str, work: Work, beside: str = "memcpy", x: float | None = None) -> Case:
    """A case timed by events, beside a plain copy or fill of as many bytes."""
    contenders = [contender(work, which, by_events) for which in SIDES]
    return Case(name, [*contenders, plain_contender(beside, work.moved)], bytes=work.moved, x=x)


def by_clock(name: str, work: Work, way: Way) -> Case:
    """A case timed by the clock: a call, without or with the wait for its work."""
    return Case(name, [contender(work, which, way) for which in SIDES])
