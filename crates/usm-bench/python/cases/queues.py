"""Small operations on device memory that host code may not reach: each is an operation of a queue."""

from collections.abc import Iterator
from typing import Any

from calls import SMALL, small
from case import Case, timed
from sides import DPCTL, DPNP, USM, Side, memory, names

# How the threads of the driver take turns with ours is different in each process, and stays so while it lives.
PROCESSES = 5


def cases() -> Iterator[Case]:
    for name, (statement, _, shape) in SMALL.items():
        sides = [timed(side, statement, small(side, "device", shape)) for side in (USM, DPNP)]
        yield Case(f"queue/{name}", sides, processes=PROCESSES)
    for way in ["copy_from_host", "copy_to_host"]:
        sides = [timed(side, f"m.{way}(host)", lambda s=side: memory(s, kind="Device")) for side in (USM, DPCTL)]
        yield Case(f"queue/{way}, 4 KiB", sides, processes=PROCESSES)
    yield from strided()
    yield from transfers()


def strided() -> Iterator[Case]:
    """Strided copies by kernels, beside the same copies of shared memory by host code."""
    shape = (4096, 2048)
    for view in ["a", "a.T", "a[:, ::2]", "a[::-1, ::-1]"]:
        statement = f"b[...] = {view}"

        def on(side: Side, kind: str, view: str = view) -> dict[str, Any]:
            made = names(side, kind, a=(shape, "f8"))
            made["a"][...] = 1
            result = eval(view, {"a": made["a"]}).shape
            return made | names(side, kind, b=(result, "f8"))

        contenders = [
            timed(USM, statement, lambda on=on: on(USM, "device"), 1),
            timed("usm on shared memory", statement, lambda on=on: on(USM, "shared"), 1),
            timed(DPNP, DPNP.finished(statement, "a"), lambda on=on: on(DPNP, "device"), 1),
        ]
        yield Case(f"kernel/{view} f8 4096x2048", contenders)


def transfers() -> Iterator[Case]:
    """Between the host and device memory, strided beside contiguous."""
    # The first statement of a pair moves as many bytes as the second one.
    shape = (4096, 2048)

    def made(side: Side) -> dict[str, Any]:
        import numpy

        square = numpy.ones((2048, 2048))
        arrays = names(side, "device", a=(shape, "f8"), b=((2048, 2048), "f8"))
        arrays["a"][...] = 1
        return arrays | {"host": square}

    strided = {
        "asnumpy(a.T)": ("xp.asnumpy(a.T)", "xp.asnumpy(a)"),
        "asnumpy(a[::-1])": ("xp.asnumpy(a[::-1])", "xp.asnumpy(a)"),
        "a[...] = host.T": ("b[...] = host.T", "b[...] = host"),
    }
    for name, (statement, contiguous) in strided.items():
        contenders = [
            timed(USM, statement, lambda: made(USM), 1),
            timed("usm contiguous", contiguous, lambda: made(USM), 1),
            timed(DPNP, DPNP.finished(statement, "a"), lambda: made(DPNP), 1),
        ]
        yield Case(f"transfer/{name}", contenders)
