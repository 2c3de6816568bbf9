"""Memory that crosses processes: handles, and what a copy by a pickle costs beside them."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from case import Case, Contender, Measured, Names, timed
from sides import USM, names

SIZES = {"4 KiB": 4096, "1 MiB": 1 << 20, "64 MiB": 64 << 20}
# Another process, which keeps memory and prints what opens it.
OWNERS = {
    "usm": """
import sys, usm.ipc, usm.memory, usm.tensor as ut
with usm.memory.use_pool("host", shareable={nbytes} < 32768):
    array = ut.zeros({nbytes}, dtype="u1", usm_type="shared", device="host")
handle = usm.ipc.export(array)
print(bytes(handle).hex(), flush=True)
sys.stdin.read()
""",
    "shared_memory": """
import sys
from multiprocessing.shared_memory import SharedMemory
memory = SharedMemory(create=True, size={nbytes})
print(memory.name, flush=True)
sys.stdin.read()
memory.unlink()
""",
}


class Owner:
    """The other process, which ends with this object."""

    def __init__(self, program: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline().strip()
        if not self.said:
            raise RuntimeError("the other process has nothing to open")

    def __del__(self) -> None:
        with contextlib.suppress(OSError):
            assert self.process.stdin is not None
            self.process.stdin.close()
        self.process.wait(10)


def opened(nbytes: int) -> Names:
    import usm.ipc

    owner = Owner(OWNERS["usm"].format(nbytes=nbytes))
    return {"owner": owner, "open": usm.ipc.open, "handle": bytes.fromhex(owner.said)}


def attached(nbytes: int) -> Names:
    from multiprocessing import resource_tracker
    from multiprocessing.shared_memory import SharedMemory

    import numpy

    owner = Owner(OWNERS["shared_memory"].format(nbytes=nbytes))

    def attach() -> None:
        memory = SharedMemory(owner.said)
        # The owner removes the name, and the tracker of this process would do so, too.
        resource_tracker.unregister(f"/{owner.said}", "shared_memory")
        array = numpy.ndarray(nbytes, "u1", memory.buf)
        del array
        memory.close()

    return {"owner": owner, "attach": attach}


def exported(nbytes: int) -> Names:
    import usm.ipc
    import usm.memory

    with usm.memory.use_pool("host", shareable=nbytes < 32768):
        a = names(USM)["xp"].zeros(nbytes, dtype="u1", usm_type="shared", device="host")
    return {"export": usm.ipc.export, "a": a}


def first_export(nbytes: int) -> Contender:
    """An array that was not exported before."""

    def set_up() -> Measured:
        import time

        import usm.ipc
        import usm.tensor as ut

        def run(count: int) -> float:
            arrays: list[Any] = [ut.zeros(nbytes, dtype="u1", usm_type="shared", device="host") for _ in range(count)]
            start = time.perf_counter_ns()
            handles = [usm.ipc.export(array) for array in arrays]
            taken = time.perf_counter_ns() - start
            del handles
            return taken

        return run

    return Contender("usm", set_up)


def cases() -> Iterator[Case]:
    for size, nbytes in SIZES.items():
        contenders = [
            timed(USM, "open(handle)", lambda n=nbytes: opened(n)),
            timed("shared_memory", "attach()", lambda n=nbytes: attached(n)),
        ]
        yield Case(f"processes/open and close, {size}", contenders)
        yield Case(f"processes/export again, {size}", [timed(USM, "export(a)", lambda n=nbytes: exported(n))])
    yield Case("processes/export first, 1 MiB", [first_export(1 << 20)])
