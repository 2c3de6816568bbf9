"""Calls that depend on who knows a queue, in a process that never imports dpctl: with it, dpctl knows each queue."""

import sys
from collections.abc import Iterator

from case import Case, Names, timed
from sides import USM, names

# Each is one access to memory that others know.
ACCESSES = {
    "float(a[3, 4])": "float(a[3, 4])",
    "a[0, 0] = 1.0": "a[0, 0] = 1.0",
    "copy_from_host, 4 KiB": "m.copy_from_host(host)",
    "copy_to_host, 4 KiB": "m.copy_to_host(host)",
    "__dlpack__": "a.__dlpack__()",
    "memoryview": "memoryview(a)",
}


def array_and_memory() -> Names:
    """4 KiB on a new queue, which no other library has."""
    import usm

    queue = usm.SyclQueue(property="in_order")
    a = names(USM)["xp"].zeros((16, 32), dtype="f8", usm_type="shared", sycl_queue=queue)
    return {"a": a, "m": a.usm_data, "host": bytearray(4096)}


def exported() -> Names:
    """The same, with the queue known to others: they have taken a capsule of it, as dpctl does."""
    made = array_and_memory()
    return made | {"capsule": made["a"].__sycl_usm_array_interface__["syclobj"]._get_capsule()}


def exported_alone() -> Names:
    """The same with the interface read, of whose queue nobody took a capsule; with dpctl, each queue object has one."""
    if "dpctl" in sys.modules:
        raise RuntimeError("dpctl is imported, and knows each queue that is an object")
    made = array_and_memory()
    return made | {"interface": made["a"].__sycl_usm_array_interface__}


def cases() -> Iterator[Case]:
    """The bare wait of the C interface beside the first ones is in Rust."""
    yield Case("exchange/__dlpack__", [timed(USM, "a.__dlpack__()", array_and_memory)])
    for name, statement in ACCESSES.items():
        yield Case(f"exported/{name}, queue of others", [timed(USM, statement, exported)])
        alone = timed("usm not exported", statement, array_and_memory)
        yield Case(f"exported/{name}, queue of ours", [timed(USM, statement, exported_alone), alone])
