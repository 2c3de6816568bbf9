"""Queues, kernels, programs and arrays that are dropped under their own work, in child processes with a time limit.

``USM_TEST_DROPS`` has the number of turns of each program.
"""

import os

import pytest

from support import children

TURNS = int(os.environ.get("USM_TEST_DROPS", "200"))
SECONDS = 60 + TURNS // 20

KERNEL = """
from usm import program
SOURCE = "kernel void add(global float *x, long by) { x[get_global_id(0)] += by; }"
if QUEUE.backend is usm.backend_type.cuda:
    SOURCE = '''extern "C" __global__ void add(float *x, long long by)
    { x[blockIdx.x * (long long)blockDim.x + threadIdx.x] += by; }'''
KERNEL = program.create_program_from_source(QUEUE, SOURCE).get_sycl_kernel("add")
DEVICE, CONTEXT = QUEUE.sycl_device, QUEUE.sycl_context
"""


@pytest.fixture(params=["0", "1"], ids=["default", "strict"])
def strict(request, monkeypatch):
    monkeypatch.setenv("USM_STRICT_DEVICE", request.param)


def test_queues_under_a_kernel(strict):
    children.run(
        "sycl",
        KERNEL
        + f"""
x = array(4096, "f4")
for properties in (), ("in_order",):
    for turn in range({TURNS}):
        queue = usm.SyclQueue(CONTEXT, DEVICE, property=properties)
        event = queue.submit_async(KERNEL, [x, 1], [4096])
        del queue
        if turn % 50 == 0:
            QUEUE.wait()
event.wait()
assert x.tolist() == [{2 * TURNS}.0] * 4096
""",
        SECONDS,
    )


@pytest.mark.parametrize("backend", ["host", "sycl"])
def test_queues_and_arrays_under_a_fill(strict, backend):
    children.run(
        backend,
        f"""
for properties in (), ("in_order",):
    for turn in range({TURNS}):
        queue = usm.SyclQueue(DEVICE, property=properties)
        x = ut.ones(1 << 16, dtype="i8", sycl_queue=queue)
        del queue, x
""",
        SECONDS,
    )


def test_kernels_programs_and_contexts_under_their_work(strict):
    # Intel's driver keeps 2 MB of each program.
    programs = min(TURNS, 20)
    children.run(
        "sycl",
        KERNEL
        + f"""
x = array(1 << 16, "f4")
for turn in range({programs}):
    queue = usm.SyclQueue(CONTEXT, DEVICE)
    kernel = program.create_program_from_source(queue, SOURCE).get_sycl_kernel("add")
    event = queue.submit_async(kernel, [x, 1], [1 << 16])
    del queue, kernel
event.wait()
assert x.tolist() == [{programs}.0] * (1 << 16)
for turn in range({TURNS}):
    queue = usm.SyclQueue(usm.SyclContext(DEVICE), DEVICE)
    x = ut.ones(1 << 12, dtype="i8", sycl_queue=queue)
    del queue, x
""",
        SECONDS,
    )


def test_dropped_queues_take_no_memory_for_ever():
    children.run(
        "sycl",
        KERNEL
        + f"""
def resident():
    return 4096 * int(open("/proc/self/statm").read().split()[1])

x = array(16, "f4")
def turns(count):
    for turn in range(count):
        usm.SyclQueue(CONTEXT, DEVICE).submit_async(KERNEL, [x, 1], [16])
    QUEUE.wait()

turns(1000)
before = resident()
turns({4 * TURNS})
assert resident() - before < 16 << 20, resident() - before
""",
        SECONDS,
    )
