"""Calls on small arrays: what Python itself costs."""

from collections.abc import Iterator

from case import Case, Contender, Names, each
from sides import DPNP, NUMPY, USM, Holder, Side, names

ALL = (USM, NUMPY, DPNP)
KINDS = ["shared", "host"]

VIEWS = {
    "a[1:-1, ::2]": "a[1:-1, ::2]",
    "a[::-1]": "a[::-1]",
    "a[3]": "a[3]",
    "a[..., None]": "a[..., None]",
    "a.T": "a.T",
    "reshape": "xp.reshape(a, (4, 16))",
    "permute_dims": "xp.permute_dims(a, (1, 0))",
    "broadcast_to": "xp.broadcast_to(a, (8, 8, 8))",
    "expand_dims": "xp.expand_dims(a, axis=0)",
    "flip": "xp.flip(a)",
}
ATTRIBUTES = ["shape", "strides", "flags", "dtype", "device"]
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


def small(side: Side, kind: str = "shared", shape: tuple[int, ...] = (8, 8)) -> Names:
    return names(side, kind, a=(shape, "f8"))


def with_memory(side: Side) -> Names:
    """An array over existing memory: the memory, the class, and an object with the interface."""
    made = small(side)
    made["Array"] = type(made["a"])
    if side is NUMPY:
        return made | {"m": memoryview(bytearray(512))}
    return made | {"m": made["a"].usm_data, "o": Holder(made["a"])}


def exchanges() -> Iterator[Case]:
    ours_and_dpnp = (USM, DPNP)

    def case(name: str, statement: str, numpys: str | None = None) -> Case:
        numpy: list[Contender] = each([NUMPY], numpys, with_memory) if numpys else []
        return Case(f"exchange/{name}", [*each(ours_and_dpnp, statement, with_memory), *numpy])

    yield case("interface of an array", "a.__sycl_usm_array_interface__", "a.__array_interface__")
    yield case("asarray of an object", "xp.asarray(o)")
    over = "Array((8, 8), dtype='f8', buffer=m)"
    yield case("array over existing memory", over, over)
    yield case("array with new memory", "Array((8, 8), dtype='f8', buffer='shared')", "Array((8, 8), dtype='f8')")
    # Ours is measured in a process without dpctl, which knows the queue of each array here.
    yield Case("exchange/__dlpack__", each((NUMPY, DPNP), "a.__dlpack__()", small))
    yield Case("exchange/from_dlpack", each(ALL, "xp.from_dlpack(a)", small))


def cases() -> Iterator[Case]:
    for name, statement in VIEWS.items():
        yield Case(f"view/{name}", each(ALL, statement, small))
    for name in ATTRIBUTES:
        yield Case(f"attribute/{name}", each(ALL, f"a.{name}", small))
    yield Case("attribute/usm_type", each((USM, DPNP), "a.usm_type", small))
    yield from exchanges()
    for kind in KINDS:
        for name, statement in CREATIONS.items():
            yield Case(f"create/{name}, {kind}", each(ALL, statement, small, kind))
        for name, (statement, numpys, shape) in SMALL.items():
            ours, dpnps = each((USM, DPNP), statement, small, kind, shape)
            yield Case(f"small/{name}, {kind}", [ours, *each([NUMPY], numpys, small, kind, shape), dpnps])
