"""Queues, kernels, programs and arrays that are dropped under their own work, in child processes with a time limit.

``USM_TEST_DROPS`` has the number of turns of each program.
"""

import os

import pytest

from support import children

TURNS = int(os.environ.get("USM_TEST_DROPS", "500"))
SECONDS = 60 + TURNS // 20

KERNEL = """
from usm import program
SOURCE = "kernel void add(global float *x, float by) { x[get_global_id(0)] += by; }"
KERNEL = program.create_program_from_source(QUEUE, SOURCE).get_sycl_kernel("add")
DEVICE, CONTEXT = QUEUE.sycl_device, QUEUE.sycl_context
"""


@pytest.fixture(params=["0", "1"], ids=["default", "strict"], autouse=True)
def strict(request, monkeypatch):
    monkeypatch.setenv("USM_STRICT_DEVICE", request.param)


@pytest.mark.parametrize("keyword", ["", ", property='in_order'"], ids=["out_of_order", "in_order"])
def test_queues_under_a_kernel(keyword):
    children.run(
        "sycl",
        KERNEL
        + f"""
x = array(4096, "f4")
for turn in range({TURNS}):
    queue = usm.SyclQueue(CONTEXT, DEVICE{keyword})
    event = queue.submit_async(KERNEL, [x, 1.0], [4096])
    del queue, event
    if turn % 50 == 0:
        QUEUE.wait()
assert x.tolist() == [{TURNS}.0] * 4096
""",
        SECONDS,
    )


@pytest.mark.parametrize("keyword", ["", ", property='in_order'"], ids=["out_of_order", "in_order"])
@pytest.mark.parametrize("backend", ["host", "sycl"])
def test_queues_and_arrays_under_a_fill(backend, keyword):
    children.run(
        backend,
        f"""
for turn in range({TURNS}):
    queue = usm.SyclQueue(DEVICE{keyword})
    x = ut.ones(1 << 16, dtype="i8", sycl_queue=queue)
    del queue, x
""",
        SECONDS,
    )


def test_kernels_and_programs_under_their_work():
    # Intel's driver keeps 2 MB of each program.
    children.run(
        "sycl",
        KERNEL
        + f"""
x = array(1 << 16, "f4")
for turn in range({min(TURNS, 100)}):
    queue = usm.SyclQueue(CONTEXT, DEVICE)
    kernel = program.create_program_from_source(queue, SOURCE).get_sycl_kernel("add")
    queue.submit_async(kernel, [x, 1.0], [1 << 16])
    del queue, kernel
assert x.tolist()[0] == {float(min(TURNS, 100))}
""",
        SECONDS,
    )


def test_contexts_under_their_work():
    children.run(
        "sycl",
        f"""
for turn in range({TURNS}):
    queue = usm.SyclQueue(usm.SyclContext(QUEUE.sycl_device), QUEUE.sycl_device)
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
        usm.SyclQueue(CONTEXT, DEVICE).submit_async(KERNEL, [x, 1.0], [16])
    QUEUE.wait()

turns(1000)
before = resident()
turns({4 * TURNS})
assert resident() - before < 16 << 20, resident() - before
""",
        SECONDS,
    )
