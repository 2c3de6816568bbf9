"""Queues on streams that another library captures into a graph, here by calls of the driver."""

import gc
import struct
import time

import pytest

import usm
import usm.memory as um
import usm.program as up
import usm.tensor as ut

from support.cuda import SCALE
from support.dlpack import CapsuleExporter

SHAPE = (60, 52)
SIZE = SHAPE[0] * SHAPE[1]


@pytest.fixture(params=["external", "own"])
def queue(driver, cuda_queue, request):
    """A queue on a stream of the other library, or one of ours whose stream the other one knows."""
    if request.param == "external":
        return usm.from_cuda_stream(driver.new_stream(), cuda_queue.sycl_device)
    queue = usm.SyclQueue(cuda_queue.sycl_device, property="in_order")
    assert queue.native_stream > 2
    return queue


def numbers(start):
    return [float(start + number) for number in range(SIZE)]


def matrix(values):
    return [values[row * SHAPE[1] : (row + 1) * SHAPE[1]] for row in range(SHAPE[0])]


def uint(number):
    return memoryview(struct.pack("I", number)).cast("I", [])


def single(number):
    return memoryview(struct.pack("f", number)).cast("f", [])


class Operations:
    """Each kind of operation that a graph records, from `source` into an array of its own."""

    def __init__(self, queue):
        self.source = ut.asarray(matrix(numbers(0)), "f4", usm_type="device", sycl_queue=queue)
        self.copied, self.small = (ut.zeros(SHAPE, dtype="f4", sycl_queue=queue) for _ in range(2))
        self.transposed = ut.zeros(SHAPE[::-1], dtype="f4", sycl_queue=queue)
        self.cast = ut.zeros(SHAPE, dtype="f8", sycl_queue=queue)
        self.strided = ut.zeros(SHAPE, dtype="f4", sycl_queue=queue)
        self.filled = ut.zeros(SHAPE, dtype="i8", sycl_queue=queue)
        self.scaled = ut.zeros(SHAPE, dtype="f4", sycl_queue=queue)
        self.bytes = um.MemoryUSMDevice(64, queue=queue)
        self.scale = up.create_program_from_ptx(queue, SCALE).get_sycl_kernel("scale")
        self.queue = queue

    def submit(self):
        self.copied[...] = self.source
        self.small[0, :3] = self.source[5, :3]
        self.transposed[...] = self.source.T
        self.cast[...] = self.source
        self.strided[::2, ::-3] = self.source[1::2, ::3]
        self.filled[...] = 1
        self.filled[1:-1, ::2] = 7
        self.scaled[...] = self.source
        self.queue.submit_async(self.scale, [self.scaled, single(3), uint(SIZE)], [SIZE])
        self.queue.memset_async(self.bytes, 5)
        self.queue.memcpy_async(self.bytes, self.source.usm_data, 8)

    def check(self, start):
        rows = matrix(numbers(start))
        assert self.copied.tolist() == rows
        assert self.small[0, :3].tolist() == rows[5][:3] and self.small[1, 0].tolist() == 0
        assert self.transposed.tolist() == [list(column) for column in zip(*rows, strict=True)]
        assert self.cast.tolist() == rows
        assert self.strided[::2, ::-3].tolist() == [row[::3] for row in rows[1::2]]
        assert self.strided[1::2].tolist() == [[0] * SHAPE[1]] * (SHAPE[0] // 2)
        assert self.filled[1:-1, ::2].tolist() == [[7] * (SHAPE[1] // 2)] * (SHAPE[0] - 2)
        assert self.filled[0].tolist() == self.filled[-1].tolist() == [1] * SHAPE[1]
        assert self.scaled.tolist() == [[3 * number for number in row] for row in rows]
        assert self.bytes.tobytes() == struct.pack("2f", *numbers(start)[:2]) + b"\5" * 56


def test_operations_replay_with_new_contents(driver, queue):
    operations = Operations(queue)
    with driver.capture(queue.native_stream) as graph:
        operations.submit()
        assert driver.is_capturing(queue.native_stream)
    assert graph.nodes >= 11
    assert ut.max(operations.copied).tolist() == 0  # nothing ran
    for start, stream in ((100, queue.native_stream), (2000, driver.new_stream())):
        operations.source[...] = ut.asarray(matrix(numbers(start)), "f4", sycl_queue=queue)
        queue.wait()
        driver.launch(graph, stream)
        operations.check(start)
    driver.destroy(graph)


def test_what_cannot_be_recorded(driver, queue):
    a, b = (ut.ones(5000, dtype="f4", usm_type="device", sycl_queue=queue) for _ in range(2))
    shared = ut.ones(5000, dtype="f4", usm_type="shared", sycl_queue=queue)
    memory = um.MemoryUSMDevice(4, queue=queue)
    elsewhere = usm.SyclQueue(queue.sycl_device, property="in_order")
    other = ut.ones(3, sycl_queue=elsewhere)
    stream = driver.new_stream()
    refused = [
        lambda: a.tolist(),
        lambda: float(a[7]),
        lambda: a.__setitem__(slice(3), [1, 2, 3]),
        lambda: a.__setitem__(..., shared),
        lambda: shared.__setitem__(..., a),
        lambda: ut.zeros(3, sycl_queue=queue),
        lambda: ut.asarray(a, copy=True),
        lambda: a == b,
        lambda: ut.sum(a),
        lambda: ut.nonzero(a),
        lambda: a[a == a],
        lambda: a.__setitem__(slice(1, None), a[:-1]),
        lambda: um.MemoryUSMDevice(4, queue=queue),
        lambda: memory.copy_from_host(b"1234"),
        lambda: memory.tobytes(),
        lambda: queue.memcpy_async(memory, b"1234", 4),
        lambda: queue.wait(),
        lambda: queue.submit_barrier(),
        lambda: a.__dlpack__(stream=stream),
    ]
    with driver.capture(queue.native_stream) as graph:
        for number, operation in enumerate(refused):
            with pytest.raises((usm.UsmError, ValueError, BufferError), match="captured") as found:
                operation()
            assert driver.is_capturing(queue.native_stream), (number, found.value)
        # Other queues go on, and memory goes back.
        other[...] = 4
        assert other.tolist() == [4] * 3
        del other, elsewhere
        gc.collect()
        assert driver.is_capturing(queue.native_stream)
    assert graph.nodes == 0
    driver.destroy(graph)
    assert a.tolist() == b.tolist() == [1] * 5000


def test_an_event_of_a_capture(driver, queue):
    source, target = (um.MemoryUSMDevice(1000, queue=queue) for _ in range(2))
    queue.memset(source, 3)
    with driver.capture(queue.native_stream) as graph:
        event = queue.memcpy_async(target, source, 1000)
        for ask in (event.wait, lambda: event.execution_status, lambda: event.profiling_info_end):
            with pytest.raises(usm.UsmError, match="when the graph is launched"):
                ask()
        with pytest.raises(usm.UsmError, match="captured"):
            target.tobytes()
        assert driver.is_capturing(queue.native_stream)
    assert graph.nodes == 1
    with pytest.raises(usm.UsmError, match="when the graph is launched"):
        event.wait()
    queue.memset(target, 1)
    driver.launch(graph, queue.native_stream)
    assert target.tobytes() == b"\3" * 1000
    driver.destroy(graph)


def test_exports_in_a_capture(driver, queue):
    a = ut.ones(10, usm_type="device", sycl_queue=queue)
    queue.wait()  # `from_dlpack` reads in the order of another stream than the capsule's
    with driver.capture(queue.native_stream) as graph:
        stream = queue.native_stream
        capsule = a.__dlpack__(stream=stream, max_version=(1, 0))
        assert a.__cuda_array_interface__["stream"] == stream
        assert driver.is_capturing(stream)
    assert graph.nodes == 0
    driver.destroy(graph)
    b = ut.from_dlpack(CapsuleExporter(lambda: capsule, a.__dlpack_device__()))
    assert b.tolist() == [1] * 10


def test_a_graph_keeps_its_memory(driver, queue):
    """Memory of dropped arrays has no other owner before the graph is gone."""
    gc.collect()
    before = usm.live_allocations()["count"]
    source, target = (ut.ones(1000, usm_type="device", sycl_queue=queue) for _ in range(2))
    addresses = {source._pointer, target._pointer}
    with driver.capture(queue.native_stream) as graph:
        target[...] = source
    del source, target
    gc.collect()
    others = [ut.zeros(1000, usm_type="device", sycl_queue=queue) for _ in range(20)]
    assert addresses.isdisjoint(other._pointer for other in others)
    driver.launch(graph, queue.native_stream)
    assert all(ut.sum(other).tolist() == 0 for other in others)
    del others
    driver.destroy(graph)
    # The driver tells of the end on a thread of its own.
    deadline = time.monotonic() + 20
    while usm.live_allocations()["count"] != before:
        assert time.monotonic() < deadline
        time.sleep(0.001)
