"""Functions that another library computes for `usm.tensor`, beside the same library on arrays of its own."""

from collections.abc import Callable, Iterator
from typing import Any

from case import REPEATS, Case, Contender, Measured, Names, timed
from device_case import WrongResultError
from queues import PROCESSES
from sides import DPNP, NUMPY, USM, Side, names

# Shapes and dtypes of operands.
Operands = dict[str, tuple[tuple[int, ...], str]]

# The library that computes on each kind of memory, and its name as a provider.
PROVIDERS = {"host": (NUMPY, "numpy"), "device": (DPNP, "dpnp")}

F4, F8, SQUARE = ((4096, 4096), "f4"), ((4096, 2048), "f8"), ((2048, 2048), "f4")
# Each statement gives the result `r`.
LARGE: dict[str, tuple[str, Operands]] = {
    "a + b f4 64 MiB": ("r = a + b", {"a": F4, "b": F4}),
    "a + b f8 64 MiB": ("r = a + b", {"a": F8, "b": F8}),
    "mean(a, axis=0) f4 64 MiB": ("r = xp.mean(a, axis=0)", {"a": F4}),
    "mean(a, axis=0) f8 64 MiB": ("r = xp.mean(a, axis=0)", {"a": F8}),
    "a @ b f4 2048x2048": ("r = a @ b", {"a": SQUARE, "b": SQUARE}),
    "stable sort f8 1048576": ("r = xp.sort(a, stable=True)", {"a": ((1 << 20,), "f8")}),
}
SMALL = {
    "a + b": "r = a + b",
    "a + 1.0": "r = a + 1.0",
    "sin(a)": "r = xp.sin(a)",
    "mean(a)": "r = xp.mean(a)",
    "a @ b": "r = a @ b",
    # An assignment makes a local name, which needs a value first.
    "a += b": "r = a; r += b",
}
EIGHT: Operands = {"a": ((8,), "f8"), "b": ((8,), "f8")}

# Sums in another order differ by so much. No operand is negative, so that nothing cancels out.
TOLERANCES = {"f4": 1e-4, "f8": 1e-11}


def by_provider(provider: str, call: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function while this provider is chosen."""
    import usm.tensor

    with usm.tensor.use_provider(provider):
        return call(*arguments)


def operands(side: Side, kind: str, arrays: Operands) -> Names:
    """The arrays with numbers from 0 to 1, the same ones for each library."""
    import numpy

    made, generator = names(side, kind, **arrays), numpy.random.default_rng(1)
    for name, (shape, dtype) in arrays.items():
        made[name][...] = generator.random(shape, dtype)
    return made


def check(statement: str, found: Names, kind: str, arrays: Operands) -> None:
    """Compares a result with NumPy's."""
    import numpy

    made = operands(NUMPY, kind, arrays)
    exec(statement, made)
    # NumPy has no function `asnumpy`.
    numbers, expected = getattr(found["xp"], "asnumpy", numpy.asarray)(found["r"]), made["r"]
    tolerance = max(TOLERANCES[dtype] for _, dtype in arrays.values())
    same = numbers.dtype == expected.dtype and numbers.shape == expected.shape
    if not same or not numpy.allclose(numbers, expected, rtol=tolerance, atol=0):
        raise WrongResultError("the result differs from NumPy's")


def contender(side: Side, statement: str, kind: str, arrays: Operands, repeats: int) -> Contender:
    library, provider = PROVIDERS[kind]
    # dpnp's operations return early, also where `usm` calls them.
    finished = library.finished(statement, "r")

    def checked() -> Names:
        made = operands(side, kind, arrays)
        exec(finished, made)
        check(statement, made, kind, arrays)
        return made

    def set_up() -> Measured:
        measured = by_provider(provider, timed(side, finished, checked, repeats).set_up)
        return lambda count: by_provider(provider, measured, count)

    return Contender(side.name, set_up if side is USM else timed(side, finished, checked, repeats).set_up)


def cases() -> Iterator[Case]:
    for kind, (library, _) in PROVIDERS.items():
        both = (USM, library)
        for name, (statement, arrays) in LARGE.items():
            yield Case(f"compute/{name}, {kind}", [contender(side, statement, kind, arrays, 1) for side in both])
        for name, statement in SMALL.items():
            contenders = [contender(side, statement, kind, EIGHT, REPEATS) for side in both]
            yield Case(f"compute/{name}, {kind}", contenders, processes=PROCESSES if kind == "device" else 1)
