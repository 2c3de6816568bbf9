"""Zero-copy exchange of unified shared memory, told step by step; every claim is checked.

Runs anywhere: with a SYCL device and dpctl (and dpnp, if installed) memory really
changes hands between libraries; without them the embedded host backend stands in.
The exit code is not 0 when a claim fails.

    cargo xtask demo            what this machine has
    cargo xtask demo --sycl     installs a SYCL runtime with a CPU device first
"""

import ctypes
import gc
import importlib
import sys
import textwrap

import usm
import usm.memory as um
import usm.tensor as ut

MEMORY_CLASSES = (um.MemoryUSMHost, um.MemoryUSMDevice, um.MemoryUSMShared)
ADD_SYCL = "cargo xtask demo --sycl"


class ClaimFailed(Exception):
    """Something this program says is not so."""


def claim(text, true):
    """Prints a claim that holds; raises for one that does not."""
    if not true:
        raise ClaimFailed(text)
    print(f"  [ok] {text}")


def chapter(title):
    print(f"\n{title}\n{'-' * len(title)}")


def optional(name):
    """A module, or None when it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in (name, name.split(".")[0]):
            raise
        return None


def live():
    gc.collect()
    return usm.live_allocations()["count"]


def show_devices():
    chapter("Backends and devices")
    for backend in usm.backends():
        state = "available" if backend["available"] else f"missing: {backend['reason']}"
        print(textwrap.indent(f"{backend['name']}: {state}", "  "))
        if backend["library"]:
            print(f"      {backend['library']}")
    for device in usm.get_devices():
        print(f"  {device.filter_string:<14} {device.name.strip()}")
    claim("the embedded host device is always there", usm.SyclDevice("host:cpu:0") in usm.get_devices())


def show_kinds(queue):
    chapter(f"Memory of each kind on {queue.sycl_device.filter_string}")
    for memory_class in MEMORY_CLASSES:
        memory = memory_class(64, queue=queue)
        kind = memory.get_usm_type()
        memory.copy_from_host(bytes(range(64)))
        claim(f"{kind:<6} 64 bytes at {memory._pointer:#x} read back as written", memory.tobytes() == bytes(range(64)))
        try:
            memoryview(memory).release()
            reachable = True
        except BufferError as error:
            reachable = False
            print(f"       host code is refused: {error}")
        claim(f"{kind:<6} memory is {'' if reachable else 'not '}open to host code", reachable == (kind != "device"))


def show_strides(queue):
    chapter(f"A strided array over device memory on {queue.sycl_device.filter_string}")
    a = ut.usm_ndarray((4, 2), dtype="i4", strides=(-5, -2), buffer="device", buffer_ctor_kwargs={"queue": queue})
    interface = a.__sycl_usm_array_interface__
    print(f"  shape {a.shape}, strides {a.strides}, offset {interface['offset']}, {a.usm_data.nbytes} bytes underneath")
    for i in range(4):
        for j in range(2):
            a[i, j] = 10 * i + j
    claim(f"values {a.tolist()}", a.tolist() == [[10 * i + j for j in range(2)] for i in range(4)])
    again = ut.usm_ndarray(
        interface["shape"],
        dtype=interface["typestr"],
        buffer=a,
        strides=interface["strides"],
        offset=interface["offset"],
    )
    claim("dict -> array -> dict is equal", again.__sycl_usm_array_interface__ == interface)
    view = a[::-1, 1]
    view[...] = -1
    claim(f"a view wrote through: {a.tolist()}", a.tolist() == [[10 * i, -1] for i in range(4)])


def show_exchange_with_dpctl(queue, dpctl_memory):
    chapter("dpctl and usm, the same memory")
    for memory_class in MEMORY_CLASSES:
        name = memory_class.__name__
        start = live()
        # Eight elements in reverse: element 0 is the last in memory.
        ours = ut.usm_ndarray((8,), dtype="i4", strides=(-1,), buffer=memory_class(32, queue=queue), offset=7)
        ours[...] = 1
        theirs = dpctl_memory.as_usm_memory(ours)
        address = ours.usm_data._pointer
        claim(f"{name}: ours {address:#x} == dpctl's {theirs._pointer:#x}", address == theirs._pointer)
        theirs.copy_from_host(b"".join(i.to_bytes(4, sys.byteorder) for i in range(8)))
        claim(f"    dpctl wrote 0 to 7, we read {ours.tolist()}", ours.tolist() == [7, 6, 5, 4, 3, 2, 1, 0])
        ours[0] = 9
        last = int.from_bytes(bytes(theirs.copy_to_host())[28:], sys.byteorder)
        claim(f"    we wrote element 0, dpctl reads {last} at the end", last == 9)
        del ours
        claim(
            "    we let go, dpctl keeps it alive", live() == start + 1 and bytes(theirs.copy_to_host())[:4] == bytes(4)
        )
        del theirs
        claim("    dpctl let go, it is freed", live() == start)

        source = getattr(dpctl_memory, name)(32)
        source.copy_from_host(b"\x04" * 32)
        view = ut.usm_ndarray((8,), dtype="i4", buffer=source, strides=(-1,), offset=7)
        address = view.usm_data._pointer
        claim(f"    and back: dpctl's {source._pointer:#x} == ours {address:#x}", source._pointer == address)
        view[0] = 5
        last = int.from_bytes(bytes(source.copy_to_host())[28:], sys.byteorder)
        claim("    our element 0 of the reversed view is dpctl's last", last == 5)
        source.copy_from_host(b"\x06" * 32)
        del source
        gc.collect()
        claim("    dpctl let go, our view still reads it", view.tolist() == [0x06060606] * 8)


def show_exchange_with_dpnp(queue, dpt):
    chapter("dpnp and usm, the same array")
    ours = ut.usm_ndarray((3, 4), dtype="i4", buffer="device", buffer_ctor_kwargs={"queue": queue})
    ours[...] = 1
    theirs = dpt.asarray(ours)
    claim(f"ours {ours._pointer:#x} == dpnp's {theirs._pointer:#x}", ours._pointer == theirs._pointer)
    theirs[1, :] = 2
    theirs.sycl_queue.wait()
    claim(f"dpnp wrote a row, we read it: {ours.tolist()}", ours.tolist() == [[1] * 4, [2] * 4, [1] * 4])
    ours[:, 3] = 7
    claim("we wrote a column, dpnp reads it", dpt.asnumpy(theirs).tolist() == ours.tolist())

    source = dpt.reshape(dpt.arange(12, dtype="i4"), (3, 4))
    view = ut.asarray(source[::-1, ::-2])
    claim(f"dpnp's reversed view, strides {view.strides}: {view.tolist()}", view.tolist() == [[11, 9], [7, 5], [3, 1]])
    view[0, 0] = -1
    claim("we wrote through it, dpnp reads it", int(source[2, 3]) == -1)


class Stranger:
    """A library that knows nothing of usm but the protocol: it publishes a dict and owns what is behind it."""

    def __init__(self, owner):
        self.owner = owner
        self.__sycl_usm_array_interface__ = owner.__sycl_usm_array_interface__


def show_exchange_on_the_host(queue):
    chapter("Two libraries, one memory, on the embedded host backend")
    start = live()
    ours = ut.usm_ndarray((3, 4), dtype="i4", buffer="shared", buffer_ctor_kwargs={"queue": queue})
    ours[...] = 1
    stranger = Stranger(ours[::-1, ::2])
    theirs = ut.asarray(stranger)
    print(f"  the dict: {stranger.__sycl_usm_array_interface__}")
    claim(
        f"published {stranger.owner._pointer:#x} == imported {theirs._pointer:#x}",
        stranger.owner._pointer == theirs._pointer,
    )
    theirs[0] = 2
    claim(f"a write on their side shows on ours: {ours.tolist()}", ours.tolist() == [[1] * 4, [1] * 4, [2, 1, 2, 1]])
    ctypes.c_int32.from_address(ours._pointer).value = 9
    claim("a write of plain C code to our address shows on theirs", theirs[2, 0].item() == 9)
    del ours, stranger
    claim("every name of the producer is gone, the import still reads it", theirs.tolist() == [[2, 2], [1, 1], [9, 1]])
    claim("one allocation lives", live() == start + 1)
    del theirs
    claim("and is freed with the last user", live() == start)


def main():
    print("usm: zero-copy exchange of unified shared memory")
    start = live()
    show_devices()
    host = usm.SyclQueue("host:cpu:0")
    show_kinds(host)
    show_strides(host)
    show_exchange_on_the_host(host)

    sycl_devices = [device for device in usm.get_devices() if device.backend != "host"]
    dpctl_memory = optional("dpctl.memory")
    if sycl_devices:
        queue = usm.SyclQueue(sycl_devices[0])
        show_kinds(queue)
        show_strides(queue)
    if sycl_devices and dpctl_memory:
        show_exchange_with_dpctl(queue, dpctl_memory)
        if dpt := optional("dpnp.tensor"):
            show_exchange_with_dpnp(queue, dpt)
        else:
            print("\ndpnp is not installed; with it, whole arrays change hands the same way.")
    else:
        why = "no SYCL device was found" if not sycl_devices else "dpctl is not installed"
        print(f"\n{why}, so nothing changed hands on a SYCL device. To add both:\n\n    {ADD_SYCL}")

    chapter("At the end")
    claim("every allocation was freed", live() == start)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ClaimFailed as failed:
        sys.exit(f"  [FAILED] {failed}")
