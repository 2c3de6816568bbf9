"""Memory objects: allocation, import, the interface, small copies."""

from collections.abc import Callable, Iterator
from typing import Any

from case import Case, Contender, timed

SIZES = {"64 B": 64, "4 KiB": 4096, "1 MiB": 1 << 20, "64 MiB": 64 << 20}


def usm_memory(nbytes: int = 4096) -> dict[str, Any]:
    import usm
    import usm.memory

    queue = usm.SyclQueue(property="in_order")
    memory = usm.memory.MemoryUSMShared(nbytes, queue=queue)
    return {"Memory": usm.memory.MemoryUSMShared, "um": usm.memory, "queue": queue, "m": memory}


def direct() -> dict[str, Any]:
    return {"switch": NoDefaultPool()} | usm_memory()


def pooled() -> dict[str, Any]:
    import usm.memory

    # Kept as long as the case is open.
    return usm_memory() | {"pool": Pool(usm.memory.use_pool())}


class Pool:
    """A scope that ends with the case."""

    def __init__(self, scope: Any) -> None:
        self.scope = scope
        scope.__enter__()

    def __del__(self) -> None:
        self.scope.__exit__(None, None, None)


class NoDefaultPool:
    """New memory comes from the runtime until the case ends."""

    def __init__(self) -> None:
        import usm.memory

        self.switch = usm.memory.use_default_pool
        self.was_on = self.switch(False)

    def __del__(self) -> None:
        self.switch(self.was_on)


def dpctl_memory(nbytes: int = 4096) -> dict[str, Any]:
    import dpctl.memory

    queue = dpctl.SyclQueue(property="in_order")
    memory = dpctl.memory.MemoryUSMShared(nbytes, queue=queue)
    return {"Memory": dpctl.memory.MemoryUSMShared, "um": dpctl.memory, "queue": queue, "m": memory}


class Holder:
    """An object of somebody else with the interface."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.__sycl_usm_array_interface__ = owner.__sycl_usm_array_interface__


def held(made: dict[str, Any]) -> dict[str, Any]:
    return made | {"o": Holder(made["m"])}


def numpy_names(nbytes: int = 4096) -> dict[str, Any]:
    import numpy

    return {"np": numpy, "a": numpy.zeros(nbytes, "u1"), "b": numpy.zeros(nbytes, "u1"), "n": nbytes}


def allocations() -> Iterator[Case]:
    for label, size in SIZES.items():
        statement = f"Memory({size}, queue=queue)"
        neighbours = [
            timed("dpctl", statement, dpctl_memory),
            timed("NumPy", f"np.empty({size}, 'u1')", numpy_names),
        ]
        yield Case(f"allocate/{label}, pool", [timed("usm", statement, pooled), *neighbours])
        yield Case(f"allocate/{label}, direct", [timed("usm", statement, direct), *neighbours])
    for label in ["64 B", "4 KiB"]:
        statement = f"Memory({SIZES[label]})"
        contenders = [timed("usm", statement, usm_memory), timed("dpctl", statement, dpctl_memory)]
        yield Case(f"allocate/{label}, default queue", contenders)


def exchanges() -> Iterator[Case]:
    interface = "m.__sycl_usm_array_interface__"
    numpy_interface = timed("NumPy", "a.__array_interface__", numpy_names)
    sides: list[Contender] = [timed("usm", interface, usm_memory), timed("dpctl", interface, dpctl_memory)]
    yield Case("exchange/interface of memory", [*sides, numpy_interface])
    statement = "um.as_usm_memory(o)"
    yield Case(
        "exchange/as_usm_memory of an object",
        [
            timed("usm", statement, lambda: held(usm_memory())),
            timed("dpctl", statement, lambda: held(dpctl_memory())),
            timed("NumPy", "np.asarray(o)", numpy_holder),
        ],
    )


def numpy_holder() -> dict[str, Any]:
    import numpy

    class Host:
        def __init__(self) -> None:
            self.owner = numpy.zeros(64)
            self.__array_interface__ = self.owner.__array_interface__

    return {"np": numpy, "o": Host()}


def small_copies() -> Iterator[Case]:
    for kind in ["Shared", "Host"]:

        def ours(kind: str = kind) -> dict[str, Any]:
            made = usm_memory()
            memory = getattr(made["um"], f"MemoryUSM{kind}")(4096, queue=made["queue"])
            return {"m": memory, "host": bytearray(4096)}

        def theirs(kind: str = kind) -> dict[str, Any]:
            made = dpctl_memory()
            memory = getattr(made["um"], f"MemoryUSM{kind}")(4096, queue=made["queue"])
            return {"m": memory, "host": bytearray(4096)}

        for way, numpys in [("copy_from_host(host)", "a[...] = b"), ("copy_to_host(host)", "b[...] = a")]:
            name = f"small/{way.partition('(')[0]}, 4 KiB, {kind.lower()}"
            statement = f"m.{way}"
            contenders = [timed("usm", statement, ours), timed("dpctl", statement, theirs)]
            yield Case(name, [*contenders, timed("NumPy", numpys, numpy_names)], bytes=4096)


def large_copies() -> Iterator[Case]:
    """Beside the loops of `examples/compare/memory.rs`, which have the same names."""
    ways = {
        "copy_from_host": ("m.copy_from_host(host)", "host[...] = host2"),
        "copy_to_host": ("m.copy_to_host(host)", "host2[...] = host"),
        "copy_from_device": ("m.copy_from_device(m2)", "host[...] = host2"),
        "memset": ("m.memset(7)", "host.fill(7)"),
    }
    for mib in [1, 4, 16, 64, 256, 1024]:

        def made(side: Callable[[int], dict[str, Any]], nbytes: int = mib << 20) -> dict[str, Any]:
            import numpy

            names = side(nbytes)
            host, host2 = (numpy.ones(nbytes, "u1") for _ in range(2))
            m2 = names["Memory"](nbytes, queue=names["queue"])
            # Written once: pages that never were are one page of zeros.
            names["m"].memset(1)
            m2.memset(1)
            return names | {"m2": m2, "host": host, "host2": host2}

        def numpys(nbytes: int = mib << 20) -> dict[str, Any]:
            import numpy

            return {"host": numpy.ones(nbytes, "u1"), "host2": numpy.ones(nbytes, "u1")}

        for way, (statement, numpys_statement) in ways.items():
            contenders = [
                timed("usm", statement, lambda made=made: made(usm_memory), 1),
                timed("dpctl", statement, lambda made=made: made(dpctl_memory), 1),
                timed("NumPy", numpys_statement, numpys, 1),
            ]
            yield Case(f"memory/{way}, {mib} MiB", contenders, bytes=mib << 20)


def cases() -> Iterator[Case]:
    yield from allocations()
    yield from exchanges()
    yield from small_copies()
    yield from large_copies()
