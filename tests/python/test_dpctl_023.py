"""The Python surface of dpctl 0.23 where it differs, over the installed 0.22: tuples of devices, ``dpctl.compiler``."""

import os

import pytest

from support import process

# Over a dpctl of 0.23 this changes nothing.
SURFACE = """
import sys
import dpctl, dpctl.memory

def as_tuple(call):
    return lambda *arguments, **named: tuple(call(*arguments, **named))

if isinstance(dpctl.get_devices(), list):
    import dpctl.program
    get_devices = as_tuple(dpctl.SyclContext.get_devices)
    dpctl.SyclContext = type("SyclContext", (dpctl.SyclContext,), {"get_devices": get_devices})
    for name in ("get_devices", "get_platforms", "get_composite_devices"):
        setattr(dpctl, name, as_tuple(getattr(dpctl, name)))
    dpctl.compiler = sys.modules["dpctl.compiler"] = sys.modules.pop("dpctl.program")
    del dpctl.program
"""

USE = """
import usm, usm.memory, usm.program, usm.tensor as ut

device = usm.SyclDevice({filter!r})
assert isinstance(device, dpctl.SyclDevice) and device in dpctl.get_devices()
assert isinstance(dpctl.SyclContext(device).get_devices(), tuple)
assert usm.SyclContext(device).get_devices() == [device] == list(dpctl.SyclContext(device).get_devices())
assert [d for d in usm.get_devices() if d.backend.name != "host"] == list(dpctl.get_devices())

queue = usm.SyclQueue(device)
assert isinstance(queue, dpctl.SyclQueue)
assert usm.SyclQueue().sycl_device == usm.select_default_device()
memory = usm.memory.MemoryUSMShared(8, queue=queue)
queue.memset(memory, 3)
theirs = dpctl.memory.as_usm_memory(memory)
assert theirs._pointer == memory._pointer and bytes(theirs.copy_to_host()) == bytes([3] * 8)
assert ut.asarray(theirs).tolist() == [3] * 8

source = "kernel void twice(global char *x) {{ size_t i = get_global_id(0); x[i] *= 2; }}"
made = dpctl.compiler.create_program_from_source(queue, source)
queue.submit(made.get_sycl_kernel("twice"), [theirs], [8]).wait()
ours = usm.program.create_program_from_source(queue, source)
queue.submit(ours.get_sycl_kernel("twice"), [theirs], [8])
assert memory.tobytes() == bytes([12] * 8)
"""


@pytest.mark.parametrize("order", ["dpctl first", "usm first"])
def test_exchange_with_its_surface(dpctl, sycl_queue, order):
    first = "import usm\n" if order == "usm first" else ""
    # dpctl alone does not register the driver beside it.
    driver = os.environ.get("OCL_ICD_FILENAMES", "")
    program = first + SURFACE + USE.format(filter=sycl_queue.sycl_device.filter_string)
    process.check(program, OCL_ICD_FILENAMES=driver)
