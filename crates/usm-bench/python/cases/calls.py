"""Calls on small arrays: what Python itself costs."""

from collections.abc import Callable, Iterator
from typing import Any

from case import Case, Contender, timed
from sides import DPNP, NUMPY, USM, Holder, Side, names

KINDS = ["shared", "host"]

VIEWS = ["a[1:-1, ::2]", "a[::-1]", "a[3]", "a[..., None]", "a.T"]
# The last two are not in NumPy.
ATTRIBUTES = ["shape", "strides", "flags", "dtype", "device", "usm_type"]
MANIPULATIONS = {
    "reshape": "xp.reshape(a, (4, 16))",
    "permute_dims": "xp.permute_dims(a, (1, 0))",
    "broadcast_to": "xp.broadcast_to(a, (8, 8, 8))",
    "expand_dims": "xp.expand_dims(a, axis=0)",
    "flip": "xp.flip(a)",
}
CREATIONS = {
    "empty((8, 8))": "xp.empty((8, 8), **kind)",
    "zeros(10)": "xp.zeros(10, **kind)",
    "arange(10)": "xp.arange(10, **kind)",
    "full(10, 1.5)": "xp.full(10, 1.5, **kind)",
}
# NumPy has no function `asnumpy`; the copy of a memory view is the nearest that it does.
SMALL = {
    "float(a[3, 4])": ("float(a[3, 4])", "float(a[3, 4])", (8, 8)),
    "a[0, 0] = 1.0": ("a[0, 0] = 1.0", "a[0, 0] = 1.0", (8, 8)),
    "asnumpy(a)": ("xp.asnumpy(a)", "xp.array(a)", (4, 4)),
    "copy(a)": ("xp.copy(a)", "xp.copy(a)", (4, 4)),
}


def small(side: Side, kind: str = "shared", shape: tuple[int, ...] = (8, 8)) -> Callable[[], dict[str, Any]]:
    return lambda: names(side, kind, a=(shape, "f8"))


def of_all(statement: str, sides: tuple[Side, ...] = (USM, NUMPY, DPNP), kind: str = "shared") -> list[Contender]:
    return [timed(side, statement, small(side, kind)) for side in sides]


def with_memory(side: Side) -> Callable[[], dict[str, Any]]:
    """An array over existing memory: the memory, the class, and an object with the interface."""

    def make() -> dict[str, Any]:
        made = names(side, a=((8, 8), "f8"))
        array = made["a"]
        made["Array"] = type(array)
        if side is NUMPY:
            return made | {"m": memoryview(bytearray(512))}
        return made | {"m": array.usm_data, "o": Holder(array)}

    return make


def exchanges() -> Iterator[Case]:
    statement = "a.__sycl_usm_array_interface__"
    numpys = timed(NUMPY, "a.__array_interface__", small(NUMPY))
    yield Case("exchange/interface of an array", [*of_all(statement, (USM, DPNP)), numpys])
    sides = (USM, DPNP)
    objects = [timed(side, "xp.asarray(o)", with_memory(side)) for side in sides]
    yield Case("exchange/asarray of an object", objects)
    over = [timed(side, "Array((8, 8), dtype='f8', buffer=m)", with_memory(side)) for side in (*sides, NUMPY)]
    yield Case("exchange/array over existing memory", over)
    new = [timed(side, "Array((8, 8), dtype='f8', buffer='shared')", with_memory(side)) for side in sides]
    numpys = timed(NUMPY, "Array((8, 8), dtype='f8')", with_memory(NUMPY))
    yield Case("exchange/array with new memory", [*new, numpys])
    # Ours is measured in a process without dpctl, which knows the queue of each array here.
    yield Case("exchange/__dlpack__", [timed(side, "a.__dlpack__()", small(side)) for side in (NUMPY, DPNP)])
    yield Case("exchange/from_dlpack", of_all("xp.from_dlpack(a)"))


def cases() -> Iterator[Case]:
    for statement in VIEWS:
        yield Case(f"view/{statement}", of_all(statement))
    for name, statement in MANIPULATIONS.items():
        yield Case(f"view/{name}", of_all(statement))
    for name in ATTRIBUTES:
        yield Case(f"attribute/{name}", of_all(f"a.{name}", (USM, DPNP) if name == "usm_type" else (USM, NUMPY, DPNP)))
    yield from exchanges()
    for kind in KINDS:
        for name, statement in CREATIONS.items():
            yield Case(f"create/{name}, {kind}", of_all(statement, kind=kind))
        for name, (statement, numpys, shape) in SMALL.items():
            contenders = [
                timed(USM, statement, small(USM, kind, shape)),
                timed(NUMPY, numpys, small(NUMPY, kind, shape)),
                timed(DPNP, statement, small(DPNP, kind, shape)),
            ]
            yield Case(f"small/{name}, {kind}", contenders)
