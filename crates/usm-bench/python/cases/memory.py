"""Memory objects: allocation, import, the interface, copies. The Rust program has the loops beside large copies."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from case import Case, timed
from sides import DPCTL, NUMPY, USM, Holder, bytes_of_numpy, memory

SIZES = {"64 B": 64, "4 KiB": 4096, "1 MiB": 1 << 20, "64 MiB": 64 << 20}


class Until(ExitStack):
    """Is closed when the case is closed and its names go."""

    def __del__(self) -> None:
        self.close()


def direct() -> dict[str, Any]:
    """New memory comes from the runtime until the case ends."""
    import usm.memory

    until = Until()
    until.callback(usm.memory.use_default_pool, usm.memory.use_default_pool(False))
    before = usm.memory.default_pool_stats()["current_bytes"]
    made = memory(USM)
    if usm.memory.default_pool_stats()["current_bytes"] != before:
        raise RuntimeError("the default pool is off, and memory comes from it")
    return made | {"until": until}


def pooled() -> dict[str, Any]:
    """New memory comes from a pool until the case ends."""
    import usm.memory

    until = Until()
    pool = until.enter_context(usm.memory.use_pool())
    made = memory(USM)
    if pool.stats()["current_count"] != 1:
        raise RuntimeError("a pool is in use, and memory does not come from it")
    return made | {"until": until}


def allocations() -> Iterator[Case]:
    for label, size in SIZES.items():
        statement = f"Memory({size}, queue=queue)"
        others = [
            timed(DPCTL, statement, lambda: memory(DPCTL)),
            timed(NUMPY, f"np.empty({size}, 'u1')", bytes_of_numpy),
        ]
        yield Case(f"allocate/{label}, pool", [timed(USM, statement, pooled), *others])
        yield Case(f"allocate/{label}, direct", [timed(USM, statement, direct), *others])
    for label in ["64 B", "4 KiB"]:
        sides = [timed(side, f"Memory({SIZES[label]})", lambda side=side: memory(side)) for side in (USM, DPCTL)]
        yield Case(f"allocate/{label}, default queue", sides)


def exchanges() -> Iterator[Case]:
    statement = "m.__sycl_usm_array_interface__"
    sides = [timed(side, statement, lambda side=side: memory(side)) for side in (USM, DPCTL)]
    yield Case("exchange/interface of memory", [*sides, timed(NUMPY, "a.__array_interface__", bytes_of_numpy)])

    def held(made: dict[str, Any]) -> dict[str, Any]:
        return made | {"o": Holder(made["m"])}

    def held_by_numpy() -> dict[str, Any]:
        made = bytes_of_numpy()
        return made | {"o": Holder(made["a"], "__array_interface__")}

    sides = [timed(side, "um.as_usm_memory(o)", lambda side=side: held(memory(side))) for side in (USM, DPCTL)]
    yield Case("exchange/as_usm_memory of an object", [*sides, timed(NUMPY, "np.asarray(o)", held_by_numpy)])


def small_copies() -> Iterator[Case]:
    for kind in ["Shared", "Host"]:
        for way, numpys in [("copy_from_host", "a[...] = b"), ("copy_to_host", "b[...] = a")]:
            sides = [
                timed(side, f"m.{way}(host)", lambda side=side, kind=kind: memory(side, kind=kind))
                for side in (USM, DPCTL)
            ]
            yield Case(f"small/{way}, 4 KiB, {kind.lower()}", [*sides, timed(NUMPY, numpys, bytes_of_numpy)])


def large_copies() -> Iterator[Case]:
    ways = {
        "copy_from_host": ("m.copy_from_host(a)", "a[...] = b"),
        "copy_to_host": ("m.copy_to_host(a)", "b[...] = a"),
        "copy_from_device": ("m.copy_from_device(m2)", "a[...] = b"),
        "memset": ("m.memset(7)", "a.fill(7)"),
    }

    def made(side: Any, nbytes: int) -> Callable[[], dict[str, Any]]:
        def make() -> dict[str, Any]:
            names = memory(side, nbytes) | bytes_of_numpy(nbytes)
            names["m2"] = names["Memory"](nbytes, queue=names["queue"])
            # Written once: pages that never were are one page of zeros.
            names["m"].memset(1)
            names["m2"].memset(1)
            return names

        return make

    for mib in [1, 4, 16, 64, 256, 1024]:
        for way, (statement, numpys) in ways.items():
            sides = [timed(side, statement, made(side, mib << 20), 1) for side in (USM, DPCTL)]
            numpy = timed(NUMPY, numpys, lambda nbytes=mib << 20: bytes_of_numpy(nbytes), 1)
            yield Case(f"memory/{way}, {mib} MiB", [*sides, numpy])


def cases() -> Iterator[Case]:
    yield from allocations()
    yield from exchanges()
    yield from small_copies()
    yield from large_copies()
