"""Calls on a CUDA device timed by the clock: until submitted, until done; transfers, and what a first use costs."""

from collections.abc import Iterator

from case import Case, Contender, Measured, Names, timed, value
from device_case import SIDES, Work, WrongResultError, by_clock, until_done, until_submitted
from device_sides import Array, CuPy, PyTorch, Side, Usm, queue, side
from process import printed
from sides import Holder

MIB = 1 << 20
SMALL = (64, 64)

# Statements of ours, CuPy and PyTorch.
CALLS = {
    "slice": ("a[1:-1, ::2]",) * 3,
    "empty((8, 8))": ("xp.empty((8, 8))", "xp.empty((8, 8))", "xp.empty((8, 8), device='cuda')"),
    "allocate and free 4 KiB": (
        "Memory(4096, queue=queue)",
        "xp.cuda.alloc(4096)",
        "xp.empty(4096, dtype=xp.uint8, device='cuda')",
    ),
    "import of an interface": ("xp.asarray(held)", "xp.asarray(held)", "xp.as_tensor(held, device='cuda')"),
    "from_dlpack": ("xp.from_dlpack(a)",) * 3,
    "float(a[3, 4])": ("float(a[3, 4])",) * 3,
}

# Each family of kernels for the first time in a process whose device is in use; prints the longest one.
FIRST = """
import time
import usm, usm.memory, usm.tensor as xp
queue = next(usm.SyclQueue(device) for device in usm.get_devices() if device.backend == "cuda")
def array(shape, dtype):
    return xp.zeros(shape, dtype=dtype, usm_type="device", sycl_queue=queue)
shape = (64, 64)
a, b, c, i, m = array(shape, "f4"), array(shape, "f4"), array(shape, "f8"), array(8, "i8"), array(shape, "?")
b[...] = a
queue.wait()
families = ["b[...] = a.T", "b[:, ::2] = a[:, ::2]", "b[...] = 1.5", "c[...] = a"]
families += ["xp.take(a, i, axis=0)", "a[m]", "a == b", "xp.sum(a)"]
longest = 0
for statement in families:
    start = time.perf_counter_ns()
    exec(statement)
    queue.wait()
    longest = max(longest, time.perf_counter_ns() - start)
print(longest)
"""


def small(which: type[Side]) -> Names:
    """A small array of the library, and an object with the interface of one of ours."""
    import usm.memory

    ours = side(Usm)
    a = ours.xp.ones((8, 8), dtype="f8", usm_type="device", sycl_queue=queue())
    made = side(which).names() | {"a": a, "held": Holder(a, "__cuda_array_interface__")}
    if which is Usm:
        return made | {"Memory": usm.memory.MemoryUSMDevice}
    xp = made["xp"]
    return made | {"a": xp.ones((8, 8)) if which is CuPy else xp.ones(8, 8, dtype=xp.float64, device="cuda")}


def calls() -> Iterator[Case]:
    for name, statements in CALLS.items():
        contenders = [
            timed(which.name, statement, lambda which=which: small(which))
            for which, statement in zip(SIDES, statements, strict=True)
        ]
        yield Case(f"call/{name}", contenders)


def operations() -> Iterator[Case]:
    """Operations on 64×64 elements. The ones that make no array are also timed until they are submitted."""
    a, o, d = Array(SMALL, "f4"), Array(SMALL, "f4"), Array(SMALL, "f8")
    assign = {"statement": "o[...] = v", "torch": "o.copy_(v)"}
    submitted = {
        "copy of a transpose": Work({"a": a, "o": o}, views={"v": "a.T"}, **assign),
        "strided copy": Work({"a": Array((64, 128), "f4"), "o": o}, views={"v": "a[:, ::2]"}, **assign),
        "cast": Work({"a": a, "o": d}, views={"v": "a"}, **assign),
        "fill": Work({"o": o}, "o[...] = 1.5", cupy="o.fill(1.5)", torch="o.fill_(1.5)"),
    }
    for name, work in submitted.items():
        yield by_clock(f"small/{name}, submit", work, until_submitted)
        yield by_clock(f"small/{name}, until done", work, until_done)
    i, m = Array((64,), "i8", "order"), Array(SMALL, "b1", "mask")
    made = {
        "==": Work({"a": a, "b": a}, "r = a == b", result="r"),
        "sum": Work({"a": d}, "r = xp.sum(a)", result="r"),
        "take": Work({"a": a, "i": i}, "r = xp.take(a, i, axis=0)", torch="r = xp.index_select(a, 0, i)", result="r"),
        "mask": Work({"a": a, "m": m}, "r = a[m]", result="r"),
    }
    for name, work in made.items():
        yield by_clock(f"small/{name}, until done", work, until_done)


# Ours, CuPy, PyTorch, and the plain copy between pinned memory and the device.
TO_DEVICE = ("m.copy_from_host(host)", "d.set(host)", "d.copy_(h); wait()", "queue.memcpy(m, pinned, n)")
TO_HOST = ("m.copy_to_host(host)", "d.get(out=host)", "h.copy_(d); wait()", "queue.memcpy(pinned, m, n)")


def transfers(smoke: bool) -> Iterator[Case]:
    for mib in [1, 16, 64, 256]:
        nbytes = 4096 * mib if smoke else mib * MIB
        for name, (ours, cupy, torch, pinned) in {"to the device": TO_DEVICE, "to the host": TO_HOST}.items():
            statements = {Usm: ours + "; wait()", CuPy: cupy + "; wait()", PyTorch: torch}
            contenders = [transfer(which, which.name, one, nbytes) for which, one in statements.items()]
            contenders.append(transfer(Usm, "pinned memory", pinned + "; wait()", nbytes))
            yield Case(f"transfer {name}/{mib} MiB", contenders, bytes=nbytes, x=float(mib))


def transfer(which: type[Side], name: str, statement: str, nbytes: int) -> Contender:
    """Pageable memory of NumPy, and memory of the device."""

    def set_up() -> Measured:
        import numpy

        import usm.memory

        host = numpy.random.default_rng(1).integers(0, 256, nbytes, "u1")
        made = side(which).names() | {"host": host, "n": nbytes}
        if which is Usm:
            made |= {"m": usm.memory.MemoryUSMDevice(nbytes, queue=queue())}
            made |= {"pinned": usm.memory.MemoryUSMHost(nbytes, queue=queue())}
            made["m"].copy_from_host(host)
            if bytes(made["m"].copy_to_host()) != host.tobytes():
                raise WrongResultError("the bytes differ after a transfer to the device and back")
        elif which is CuPy:
            made |= {"d": made["xp"].asarray(host)}
        else:
            made |= {"h": made["xp"].from_numpy(host), "d": made["xp"].from_numpy(host).cuda()}
        side(which).wait()
        return timed(name, statement, lambda: made, 1).set_up()

    return Contender(name, set_up)


def cases(smoke: bool) -> Iterator[Case]:
    yield from calls()
    yield from operations()
    yield from transfers(smoke)
    yield Case("process/first use of a kernel family", [value("usm", lambda: printed(FIRST))], once=True)
