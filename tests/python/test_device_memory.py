"""Host code does not reach device memory of the host backend, and every path of the library does."""

import signal

import pytest

import usm.memory as um
import usm.tensor as ut

from support import process
from support.model import Strided
from support.values import pack

TOUCH = """
    import ctypes
    import usm, usm.memory
    queue = usm.SyclQueue("host:cpu:0")
    memory = usm.memory.MemoryUSM{kind}({nbytes}, queue=queue)
    memory.memset(65)
    address = memory._pointer + {offset}
    print("before", flush=True)
    {access}
    print("after", flush=True)
"""
READ = "assert ctypes.string_at(address, 1) == b'A'"
WRITE = "ctypes.memset(address, 66, 1)"


@pytest.mark.parametrize("access", [READ, WRITE], ids=["read", "write"])
@pytest.mark.parametrize(("nbytes", "offset"), [(1, 0), (64, 63), (1 << 24, 12345678)])
def test_host_code_faults_on_device_memory(access, nbytes, offset):
    code = TOUCH.format(kind="Device", nbytes=nbytes, offset=offset, access=access)
    done = process.run(code)
    assert done.stdout == "before\n", done.stderr
    assert done.returncode == -signal.SIGSEGV


@pytest.mark.parametrize("access", [READ, WRITE], ids=["read", "write"])
@pytest.mark.parametrize("kind", ["Host", "Shared"])
def test_host_code_may_touch_the_other_kinds(access, kind):
    """The same program, so that the fault above is the kind's doing."""
    assert process.check(TOUCH.format(kind=kind, nbytes=64, offset=63, access=access)) == "before\nafter\n"


def test_every_path_of_the_library_works(host_queue, numpy):
    a = ut.usm_ndarray((3, 4), dtype="i4", buffer="device", buffer_ctor_kwargs={"queue": host_queue})
    a.usm_data.copy_from_host(pack("int32", range(12)))
    model = Strided.c_order(list(range(12)), (3, 4))
    assert a.tolist() == model.tolist()
    assert ut.asnumpy(a).tolist() == model.tolist()
    assert ut.asnumpy(a[::-1, ::-2]).tolist() == model[::-1, ::-2].tolist()
    assert a.usm_data.tobytes() == pack("int32", range(12))
    assert bytes(a.usm_data.copy_to_host()) == pack("int32", range(12))
    assert a[1, 2].item() == 6
    a[0] = 100
    a[1:] = a[:-1]
    assert a.copy().tolist() == [[100] * 4, [100] * 4, [4, 5, 6, 7]]
    shared = um.MemoryUSMShared(48, queue=host_queue)
    shared.copy_from_device(a.usm_data)
    assert shared.tobytes() == a.usm_data.tobytes()
    assert repr(a) and repr(a.usm_data)
    assert ut.asarray(a).tolist() == a.tolist()
    assert ut.zeros((5,), dtype="f8", sycl_queue=host_queue).tolist() == [0.0] * 5
