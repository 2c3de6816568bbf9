"""The contenders: the one place that knows their modules, their arrays and memory, and how their work is waited for."""

from importlib import import_module
from typing import Any, NamedTuple


class Side(NamedTuple):
    """`arrays` is a module under the names of the array API, `package` one with queues and memory objects; `wait` is a
    statement about a result, for a library whose operations return early; `also` is imported with it."""

    name: str
    arrays: str = ""
    package: str = ""
    wait: str = ""
    has_kinds: bool = True
    also: str = ""

    def __str__(self) -> str:
        return self.name

    def finished(self, statement: str, result: str) -> str:
        """The statement and the wait for the array of that name."""
        return f"{statement}; {self.wait.format(result)}" if self.wait else statement


USM = Side("usm", arrays="usm.tensor", package="usm")
NUMPY = Side("NumPy", arrays="numpy", has_kinds=False)
DPCTL = Side("dpctl", package="dpctl")
# Its `dpnp.tensor` is the former `dpctl.tensor`. It finds the CPU driver that the import of usm announces.
DPNP = Side("dpnp", arrays="dpnp.tensor", wait="{}.sycl_queue.wait()", also="usm")


def names(side: Side, kind: str = "shared", **arrays: tuple[tuple[int, ...], str]) -> dict[str, Any]:
    """The module as `xp`, and an array for each shape and dtype. Imports here: a missing library leaves the others."""
    xp = import_module(side.arrays)
    if side.also:
        import_module(side.also)
    of_kind = {"usm_type": kind} if side.has_kinds else {}
    made = {name: xp.zeros(shape, dtype=dtype, **of_kind) for name, (shape, dtype) in arrays.items()}
    return {"xp": xp, "kind": of_kind, **made}


def memory(side: Side, nbytes: int = 4096, kind: str = "Shared") -> dict[str, Any]:
    """The module of memory objects, the class of a kind, a queue of its own, and a memory object of that queue."""
    um = import_module(f"{side.package}.memory")
    queue = import_module(side.package).SyclQueue(property="in_order")
    make = getattr(um, f"MemoryUSM{kind}")
    return {"um": um, "Memory": make, "queue": queue, "m": make(nbytes, queue=queue), "host": bytearray(nbytes)}


def bytes_of_numpy(nbytes: int = 4096) -> dict[str, Any]:
    import numpy

    return {"np": numpy, "a": numpy.ones(nbytes, "u1"), "b": numpy.ones(nbytes, "u1")}


class Holder:
    """An object of somebody else with the interface of its owner."""

    def __init__(self, owner: Any, interface: str = "__sycl_usm_array_interface__") -> None:
        self.owner = owner
        setattr(self, interface, getattr(owner, interface))
