"""Small operations on device memory that host code may not reach: each is an operation of a queue."""

from collections.abc import Iterator

from calls import SMALL, small
from case import Case, Names, each, timed
from sides import DPCTL, DPNP, USM, Side, memory, names

# How the threads of the driver take turns with ours is different in each process, and stays so while it lives.
PROCESSES = 5
SHAPE = (4096, 2048)


def cases() -> Iterator[Case]:
    for name, (statement, _, shape) in SMALL.items():
        yield Case(f"queue/{name}", each((USM, DPNP), statement, small, "device", shape), processes=PROCESSES)
    for way in ["copy_from_host", "copy_to_host"]:
        sides = each((USM, DPCTL), f"m.{way}(host)", memory, 4096, "Device")
        yield Case(f"queue/{way}, 4 KiB", sides, processes=PROCESSES)
    yield from strided()
    yield from transfers()


def operands(side: Side, kind: str, view: str) -> Names:
    made = names(side, kind, a=(SHAPE, "f8"))
    made["a"][...] = 1
    return made | names(side, kind, b=(eval(view, {"a": made["a"]}).shape, "f8"))


def strided() -> Iterator[Case]:
    """Strided copies by kernels, beside the same copies of shared memory by host code."""
    for view in ["a", "a.T", "a[:, ::2]", "a[::-1, ::-1]"]:
        statement = f"b[...] = {view}"
        shared = timed("usm on shared memory", statement, lambda view=view: operands(USM, "shared", view), 1)
        device = each([USM], statement, operands, "device", view, repeats=1)
        dpnps = each([DPNP], DPNP.finished(statement, "a"), operands, "device", view, repeats=1)
        yield Case(f"kernel/{view} f8 4096x2048", [*device, shared, *dpnps])


def with_host(side: Side) -> Names:
    import numpy

    square = (2048, 2048)
    made = names(side, "device", a=(SHAPE, "f8"), b=(square, "f8"))
    made["a"][...] = 1
    return made | {"host": numpy.ones(square)}


def transfers() -> Iterator[Case]:
    """Between the host and device memory, strided beside contiguous: the second statement moves as many bytes."""
    strided = {
        "asnumpy(a.T)": ("xp.asnumpy(a.T)", "xp.asnumpy(a)"),
        "asnumpy(a[::-1])": ("xp.asnumpy(a[::-1])", "xp.asnumpy(a)"),
        "a[...] = host.T": ("b[...] = host.T", "b[...] = host"),
    }
    for name, (statement, contiguous) in strided.items():
        beside = timed("usm contiguous", contiguous, lambda: with_host(USM), 1)
        dpnps = each([DPNP], DPNP.finished(statement, "a"), with_host, repeats=1)
        yield Case(f"transfer/{name}", [*each([USM], statement, with_host, repeats=1), beside, *dpnps])
