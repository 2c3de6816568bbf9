"""New arrays of 64 MiB: creation, copies, casts, from the host and to it."""

from collections.abc import Callable, Iterator
from typing import Any

from case import Case, timed
from sides import NUMPY, PEER, USM, names

NUMBERS = 8 << 20
BYTES = 8 * NUMBERS

# Ours and the neighbour's, NumPy's where it is another one.
RESULTS = {
    "copy(a)": ("xp.copy(a)", None),
    "asnumpy(a)": ("xp.asnumpy(a)", "xp.array(a)"),
    "zeros(n)": ("xp.zeros(n, dtype='f8', **kind)", None),
    "full(n, 1.5)": ("xp.full(n, 1.5, dtype='f8', **kind)", None),
    "arange(n)": ("xp.arange(n, dtype='f8', **kind)", None),
    "linspace(0, 1, n)": ("xp.linspace(0, 1, n, dtype='f8', **kind)", None),
    "asarray(host.T)": ("xp.asarray(host.T, **kind)", "xp.array(host.T, order='C')"),
    "astype(f8 to f4)": ("xp.astype(a, 'f4')", None),
    "asnumpy of 4 elements of 64 MiB": ("xp.asnumpy(a[1000:1004])", "xp.array(a[1000:1004])"),
}


def made(side: str) -> Callable[[], dict[str, Any]]:
    def make() -> dict[str, Any]:
        import numpy

        all_names = names(side, a=((NUMBERS,), "f8"))
        all_names["a"][...] = 1
        return all_names | {"n": NUMBERS, "host": numpy.ones((4096, 2048))}

    return make


def cases() -> Iterator[Case]:
    for name, (statement, numpys) in RESULTS.items():
        few = "4 elements" in name
        size = 32 if few else BYTES // 2 if "f4" in name else BYTES
        contenders = []
        for side in (USM, NUMPY, PEER):
            own = numpys if side == NUMPY and numpys else statement
            # The neighbour returns before the work has ended; not so where the result is on the host.
            own = f"r = {own}; r.sycl_queue.wait()" if side == PEER and "asnumpy" not in name else own
            contenders.append(timed(side, own, made(side), 10 if few else 1))
        yield Case(f"new/{name}", contenders, bytes=size)
