"""Typed use of the package, checked by mypy and pyright and run as it is: what each expression's type is."""

import asyncio
import copy
from typing import Any, Literal, assert_type

import usm
import usm.memory as um
import usm.program as up
import usm.tensor as ut

queue = usm.SyclQueue("host:cpu:0", property="in_order")
assert_type(queue.sycl_device, usm.SyclDevice)
assert_type(queue.sycl_context, usm.SyclContext)
assert_type(queue.is_in_order, bool)
assert_type(usm.get_devices(), list[usm.SyclDevice])
assert_type(queue.sycl_device.filter_string, str)

memory = um.MemoryUSMShared(64, queue=queue)
assert_type(memory, um.MemoryUSMShared)
assert_type(memory[2:8], um.MemoryUSMShared)
assert_type(memory.nbytes, int)
assert_type(memory.tobytes(), bytes)
event = queue.memset_async(memory, 1)
assert_type(event, usm.SyclEvent)
event.wait()
assert_type(copy.copy(queue), usm.SyclQueue)
assert_type(um.current_pool("host"), um.MemoryPool | None)


async def waiting() -> None:
    await queue.memset_async(memory, 1)


asyncio.run(waiting())
assert_type(um.memory_stats()["shared"]["owned_bytes"], int)


def run(kernel: up.SyclKernel) -> None:
    local = usm.LocalAccessor("f4", (4, 4))
    assert_type(queue.submit_async(kernel, [memory, 1, 2.5, local], [16], (4,), [event]), usm.SyclEvent)
    assert_type(queue.submit(kernel, (memory, usm.WorkGroupMemory(16)), [16]), usm.SyclEvent)
    assert_type(kernel.num_args, int)


try:
    assert_type(up.create_program_from_source(queue, ""), up.SyclProgram).get_sycl_kernel("k")
except up.SyclProgramCompilationError:
    pass  # the host backend has no kernels

a = ut.zeros((2, 3), "i4", usm_type="shared", sycl_queue=queue)
assert_type(a[range(2), (0, 1)], ut.usm_ndarray)
assert_type(f"{a[0, 0]:.2f}", str)
assert_type(bytes(a), bytes)
assert_type(a, ut.usm_ndarray)
assert_type(a.shape, tuple[int, ...])
assert_type(a.strides, tuple[int, ...])
assert_type(a.T, ut.usm_ndarray)
assert_type(a[::-1, None, ..., 0], ut.usm_ndarray)
assert_type(a.usm_type, Literal["host", "device", "shared"])
assert_type(a.sycl_queue, usm.SyclQueue)
assert_type(a.flags.writable, bool)
a[0] = 1
a[...] = a[::-1]
with memoryview(a) as view:
    assert_type(view.nbytes, int)
numbers: list[Any] = a.tolist()
assert numbers == [[0, 0, 0], [1, 1, 1]], numbers
assert_type(ut.asarray([[1, 2], [3, 4]]), ut.usm_ndarray)
