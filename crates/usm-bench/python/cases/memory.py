"""Memory objects: allocation, import, the interface, copies. The Rust program has the loops beside large copies."""

from collections.abc import Iterator
from contextlib import ExitStack

from case import Case, Names, each, timed
from sides import DPCTL, NUMPY, USM, Holder, Side, bytes_of_numpy, memory

SIZES = {"64 B": 64, "4 KiB": 4096, "1 MiB": 1 << 20, "64 MiB": 64 << 20}
BOTH = (USM, DPCTL)


class Until(ExitStack):
    """Is closed when the case is closed and its names go."""

    def __del__(self) -> None:
        self.close()


def direct() -> Names:
    """New memory comes from the runtime until the case ends."""
    import usm.memory

    until = Until()
    until.callback(usm.memory.use_default_pool, usm.memory.use_default_pool(False))
    before = usm.memory.default_pool_stats()["current_bytes"]
    made = memory(USM)
    if usm.memory.default_pool_stats()["current_bytes"] != before:
        raise RuntimeError("the default pool is off, and memory comes from it")
    return made | {"until": until}


def pooled() -> Names:
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
        numpys = timed(NUMPY, f"np.empty({size}, 'u1')", bytes_of_numpy)
        for way, names in {"pool": pooled, "direct": direct}.items():
            ours, dpctls = timed(USM, statement, names), each([DPCTL], statement, memory)
            yield Case(f"allocate/{label}, {way}", [ours, *dpctls, numpys])
    for label in ["64 B", "4 KiB"]:
        yield Case(f"allocate/{label}, default queue", each(BOTH, f"Memory({SIZES[label]})", memory))


def held(side: Side) -> Names:
    made = memory(side)
    return made | {"o": Holder(made["m"])}


def held_by_numpy() -> Names:
    made = bytes_of_numpy()
    return made | {"o": Holder(made["a"], "__array_interface__")}


def with_two(side: Side, nbytes: int) -> Names:
    made = memory(side, nbytes) | bytes_of_numpy(nbytes)
    made["m2"] = made["Memory"](nbytes, queue=made["queue"])
    # Written once: pages that never were are one page of zeros.
    made["m"].memset(1)
    made["m2"].memset(1)
    return made


def cases() -> Iterator[Case]:
    yield from allocations()
    sides = each(BOTH, "m.__sycl_usm_array_interface__", memory)
    numpys = timed(NUMPY, "a.__array_interface__", bytes_of_numpy)
    yield Case("exchange/interface of memory", [*sides, numpys])
    numpys = timed(NUMPY, "np.asarray(o)", held_by_numpy)
    yield Case("exchange/as_usm_memory of an object", [*each(BOTH, "um.as_usm_memory(o)", held), numpys])
    ways = {"copy_from_host": "a[...] = b", "copy_to_host": "b[...] = a"}
    for kind in ["Shared", "Host"]:
        for way, statement in ways.items():
            sides, numpys = each(BOTH, f"m.{way}(host)", memory, 4096, kind), timed(NUMPY, statement, bytes_of_numpy)
            yield Case(f"small/{way}, 4 KiB, {kind.lower()}", [*sides, numpys])
    large = {f"{way}(a)": statement for way, statement in ways.items()}
    large |= {"copy_from_device(m2)": "a[...] = b", "memset(7)": "a.fill(7)"}
    for mib in [1, 4, 16, 64, 256, 1024]:
        for call, statement in large.items():
            sides = each(BOTH, f"m.{call}", with_two, mib << 20, repeats=1)
            numpys = timed(NUMPY, statement, lambda nbytes=mib << 20: bytes_of_numpy(nbytes), 1)
            yield Case(f"memory/{call.partition('(')[0]}, {mib} MiB", [*sides, numpys])
