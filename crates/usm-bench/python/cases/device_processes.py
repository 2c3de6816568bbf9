"""Device memory of another process on the same GPU: what it costs to open it and to close it again."""

from collections.abc import Iterator

from case import Case, Names, timed
from device_sides import CuPy, Usm, queue, side
from processes import Owner

MIB = 1 << 20
# Another process, which keeps memory of the device and prints what opens it.
OWNERS = {
    Usm: """
import sys, usm, usm.ipc, usm.tensor as ut
queue = next(usm.SyclQueue(device) for device in usm.get_devices() if device.backend == "cuda")
array = ut.zeros({nbytes}, dtype="u1", usm_type="device", sycl_queue=queue)
handle = usm.ipc.export(array)
print(bytes(handle).hex(), flush=True)
sys.stdin.read()
""",
    CuPy: """
import sys, cupy
memory = cupy.cuda.runtime.malloc({nbytes})
print(cupy.cuda.runtime.ipcGetMemHandle(memory).hex(), flush=True)
sys.stdin.read()
""",
}


def opened(which: type[Usm] | type[CuPy], nbytes: int) -> Names:
    owner = Owner(OWNERS[which].format(nbytes=nbytes))
    made = side(which).names() | {"owner": owner, "handle": bytes.fromhex(owner.said)}
    if which is Usm:
        import usm.ipc

        return made | {"open": usm.ipc.open}
    runtime = made["xp"].cuda.runtime
    return made | {"open": runtime.ipcOpenMemHandle, "close": runtime.ipcCloseMemHandle}


def exported(nbytes: int) -> Names:
    import usm.ipc

    array = side(Usm).xp.zeros(nbytes, dtype="u1", usm_type="device", sycl_queue=queue())
    return {"export": usm.ipc.export, "a": array}


def cases(smoke: bool) -> Iterator[Case]:
    for mib in [1, 64, 1024]:
        nbytes = 4096 * mib if smoke else mib * MIB
        yield Case(
            f"processes/open and close, {mib} MiB",
            [
                timed(Usm.name, "open(handle)", lambda n=nbytes: opened(Usm, n), 1),
                timed(CuPy.name, "close(open(handle))", lambda n=nbytes: opened(CuPy, n), 1),
            ],
        )
        yield Case(f"processes/export again, {mib} MiB", [timed(Usm.name, "export(a)", lambda n=nbytes: exported(n))])
