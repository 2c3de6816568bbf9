"""Functions that CuPy and PyTorch compute for `usm.tensor` on a CUDA device, beside each library on its own arrays.

Contenders of ours have the name of the provider: each is compared with its own library alone.
"""

import timeit
from collections.abc import Iterator
from functools import partial
from typing import Any

from case import Case, Contender, Measured
from compute import by_provider
from device_case import Way, Work, WrongResultError, by_events, until_done, until_submitted
from device_copies import MIB, Sizes
from device_sides import Array, CuPy, OnHost, PyTorch, Side, Usm, side

SMALL = (64, 64)

# Sums in another order, and other roundings, differ by so much of the greatest element.
TOLERANCE = 1e-5


class WithCuPy(Usm):
    name = "usm with CuPy"


class WithPyTorch(Usm):
    name = "usm with PyTorch"


PROVIDERS: dict[type[Side], str] = {WithCuPy: "cupy", WithPyTorch: "torch"}
SIDES: tuple[type[Side], ...] = (*PROVIDERS, CuPy, PyTorch)


def check(work: Work, which: type[Side], found: Any) -> None:
    """Compares a result with NumPy's."""
    import numpy

    # A result without axes is a number of NumPy.
    expected = numpy.asarray(work.ran(OnHost)[work.result])
    data = side(which).host_bytes(found)
    if len(data) != expected.nbytes or tuple(found.shape) != expected.shape:
        raise WrongResultError("the shape or the size of the result differs from NumPy's")
    numbers = numpy.frombuffer(data, expected.dtype).reshape(expected.shape)
    if not numpy.allclose(numbers, expected, rtol=0, atol=TOLERANCE * abs(expected).max()):
        raise WrongResultError("the result differs from NumPy's")


def contender(work: Work, which: type[Side], way: Way) -> Contender:
    def set_up() -> Measured:
        made = work.ran(which)
        check(work, which, made[work.result])
        statement = work.of(which) + ("; wait()" if way is until_done else "")
        return way(timeit.Timer(statement, globals=made), which)

    def set_up_by_provider() -> Measured:
        measured = by_provider(PROVIDERS[which], set_up)
        return lambda count: by_provider(PROVIDERS[which], measured, count)

    return Contender(which.name, set_up_by_provider if which in PROVIDERS else set_up)


def case(name: str, work: Work, way: Way) -> Case:
    return Case(f"compute/{name}", [contender(work, which, way) for which in SIDES], bytes=work.moved)


def large(sizes: Sizes) -> Iterator[Case]:
    """Timed by events."""
    for dtype, columns in [("f4", 4096), ("f8", 2048)]:
        a = Array(sizes.shape(4096, columns), dtype)
        work = Work({"a": a, "b": a}, "r = a + b", result="r", moved=a.nbytes)
        yield case(f"a + b {dtype} 64 MiB", work, by_events)
        work = Work({"a": a}, "r = xp.mean(a, axis=0)", torch="r = xp.mean(a, 0)", result="r")
        yield case(f"mean(a, axis=0) {dtype} 64 MiB", work, by_events)
    a = Array(sizes.shape(2048, 2048), "f4")
    work = Work({"a": a, "b": a}, "r = a @ b", result="r", moved=a.nbytes)
    yield case("a @ b f4 2048x2048", work, by_events)
    a = Array((sizes.count(MIB),), "f8")
    # CuPy's sort is always stable, and has no parameter for it.
    others = {"cupy": "r = xp.sort(a)", "torch": "r = xp.sort(a, stable=True).values"}
    work = Work({"a": a}, "r = xp.sort(a, stable=True)", **others, result="r", moved=a.nbytes)
    yield case("stable sort f8 1048576", work, by_events)


def small() -> Iterator[Case]:
    """Operations on 64×64 elements, timed by the clock."""
    a = Array(SMALL, "f4")
    one, two = partial(Work, {"a": a}, result="r"), partial(Work, {"a": a, "b": a}, result="r")
    works = {
        "a + b": two("r = a + b"),
        "a + 1.0": one("r = a + 1.0"),
        "sin(a)": one("r = xp.sin(a)"),
        "mean(a)": one("r = xp.mean(a)"),
        "a @ b": two("r = a @ b"),
        # `o` is the operand that is written. An assignment makes a local name, which needs a value first.
        "a += b": Work({"o": a, "b": a}, "r = o; r += b", result="r"),
    }
    for name, work in works.items():
        yield case(f"{name}, submit", work, until_submitted)
        yield case(f"{name}, until done", work, until_done)


def cases(smoke: bool) -> Iterator[Case]:
    yield from large(Sizes(smoke))
    yield from small()
