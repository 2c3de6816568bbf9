"""Events: status, times, operands, and dependent operations."""

import gc
import threading
import time

import pytest

import usm
import usm.memory as um

from support import process
from support.interface import settled

LARGE = 64 << 20


@pytest.fixture(params=[None, "in_order"])
def any_queue(queue, request):
    """An out-of-order and an in-order queue."""
    return usm.SyclQueue(queue.sycl_context, queue.sycl_device, property=request.param)


def test_names_of_dpctl(dpctl):
    absent = {"__pyx_vtable__", "__setstate__", "addressof_ref", "_get_capsule"}
    assert set(dir(dpctl.SyclEvent)) - set(dir(usm.SyclEvent)) == absent


def test_an_event_of_nothing():
    event = usm.SyclEvent()
    event.wait()
    assert event.execution_status is usm.event_status_type.complete
    assert event.backend == usm.select_default_device().backend
    assert event.get_wait_list() == [] and "complete" in repr(event)
    with pytest.raises(ValueError, match="profiling"):
        _ = event.profiling_info_end
    for wrong in (3, "event", object()):
        with pytest.raises(TypeError, match="^arg"):
            usm.SyclEvent(wrong)


def test_waiting(any_queue, usm_type, allocate):
    memory = allocate(usm_type, 64)
    event = any_queue.memcpy_async(memory, bytes(range(64)), 64)
    assert event.backend == any_queue.backend
    event.wait()
    event.wait()
    usm.SyclEvent(event).wait()
    usm.SyclEvent.wait_for(event)
    usm.SyclEvent.wait_for([event, usm.SyclEvent(), event])
    usm.SyclEvent.wait_for(())
    assert event.execution_status == "complete"
    assert memory.tobytes() == bytes(range(64))
    for wrong in (3, [3], [event, None]):
        with pytest.raises(TypeError, match="^event"):
            usm.SyclEvent.wait_for(wrong)


def test_profiling(queue):
    timed = usm.SyclQueue(queue.sycl_context, queue.sycl_device, property="enable_profiling")
    memory = um.MemoryUSMDevice(1 << 16, queue=timed)
    for submitted in (
        lambda: timed.memset_async(memory, 1),
        lambda: timed.prefetch_async(memory),
        timed.submit_barrier,
    ):
        event = submitted()
        submit, start, end = event.profiling_info_submit, event.profiling_info_start, event.profiling_info_end
        assert 0 < submit <= start <= end
        event.wait()
    # On the queue that was asked for, wherever the memory comes from.
    other = um.MemoryUSMDevice(64, queue=queue)
    event = timed.memset_async(other, 1)
    assert event.profiling_info_end > 0
    event.wait()
    untimed = queue.memset_async(other, 2)
    with pytest.raises(ValueError, match="profiling"):
        _ = untimed.profiling_info_start
    untimed.wait()


def test_operations_come_after_events(queue, allocate):
    a, b = allocate("device", 1 << 20), allocate("device", 1 << 20)
    out = bytearray(1 << 20)
    first = queue.fill_async(a, b"\1\2\3\4")
    second = queue.memcpy_async(b, a, 1 << 20, dEvents=[first])
    barrier = queue.submit_barrier([second])
    third = queue.memcpy_async(out, b, 1 << 20, (barrier,))
    third.wait()
    assert out == b"\1\2\3\4" * (1 << 18)
    usm.SyclEvent.wait_for([first, second, barrier])
    everything = queue.submit_barrier()
    assert isinstance(everything.get_wait_list(), list)
    everything.wait()


def test_an_in_order_queue_needs_no_events(queue, allocate):
    ordered = usm.SyclQueue(queue.sycl_context, queue.sycl_device, property="in_order")
    a, b = allocate("device", 1 << 20), allocate("shared", 1 << 20)
    for value in range(1, 20):
        ordered.memset_async(a, value)
        ordered.memcpy_async(b, a, 1 << 20)
    out = bytearray(1 << 20)
    ordered.memcpy(out, b, 1 << 20)
    assert out == bytes([19]) * (1 << 20)


def test_a_conflict_is_an_error_not_a_race(queue, allocate):
    memory = allocate("device", LARGE)
    event = queue.memset_async(memory, 1)
    # Either still under way, which is told, or complete, which allows it.
    try:
        queue.memset_async(memory, 2).wait()
    except BufferError:
        event.wait()
        queue.memset_async(memory, 2).wait()
    event.wait()
    assert memory.tobytes() == b"\2" * LARGE


def test_wrong_dependencies(queue, allocate):
    memory = allocate("shared", 8)
    for wrong in (3, usm.SyclEvent(), [3], [usm.SyclEvent(), None], "ab"):
        with pytest.raises(TypeError, match="^dEvents"):
            queue.memset_async(memory, 1, dEvents=wrong)
        with pytest.raises(TypeError, match="^dependent_events"):
            queue.submit_barrier(wrong)


def test_events_of_dpctl(dpctl, sycl_queue):
    theirs = dpctl.SyclQueue(sycl_queue._get_capsule())
    memory = dpctl.memory.MemoryUSMDevice(1 << 20, queue=theirs)
    host = bytes(range(256)) * (1 << 12)
    event = theirs.memcpy_async(memory, host, 1 << 20)
    out = bytearray(1 << 20)
    sycl_queue.memcpy_async(out, memory, 1 << 20, dEvents=[event, usm.SyclEvent()]).wait()
    assert out == host
    sycl_queue.submit_barrier([event]).wait()


def test_operands_live_as_long_as_the_operation(queue):
    before = settled()
    memory = um.MemoryUSMDevice(LARGE, queue=queue)
    source = bytearray(b"x") * LARGE
    event = queue.memcpy_async(memory, source, LARGE)
    del memory
    gc.collect()
    with pytest.raises(BufferError):
        source.clear()  # exported as long as the event owns it
    event.wait()
    source.clear()
    del event
    assert settled() == before


def test_events_may_be_dropped(any_queue, allocate):
    memory = allocate("device", LARGE)
    any_queue.memset_async(memory, 7)
    any_queue.wait()
    # Everything is let go when the wait returns.
    any_queue.memset(memory, 8)
    assert memory.tobytes() == b"\x08" * LARGE


def test_seeing_the_end_lets_go(queue, allocate):
    memory = allocate("device", 1 << 20)
    event = queue.memset_async(memory, 7)
    deadline = time.monotonic() + 30
    while event.execution_status != "complete":
        assert time.monotonic() < deadline
    assert memory.tobytes() == b"\7" * (1 << 20)


def test_many_threads(queue):
    def work():
        memory = um.MemoryUSMDevice(4096, queue=queue)
        for value in range(50):
            source = bytes([value]) * 4096
            out = bytearray(4096)
            first = queue.memcpy_async(memory, source, 4096)
            queue.memcpy_async(out, memory, 4096, [first]).wait()
            assert out == source

    failures = []

    def guarded():
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    queue.wait()
    assert failures == []


def pending_copies(queue, copies):
    """Two buffers and the last event of that many copies of one to the other, in a chain; more of them on a device that
    was as fast as their submission."""
    a, b = (um.MemoryUSMDevice(LARGE, queue=queue) for _ in range(2))
    a.memset(3)
    b.memset(1)
    while True:
        event = usm.SyclEvent()
        for _ in range(copies):
            event = queue.memcpy_async(b, a, LARGE, [event])
        if event.execution_status != "complete":
            return a, b, event
        copies *= 2
        assert copies < 1 << 16, "submitting waits for the copies"


def test_submitting_does_not_wait(queue):
    """Memory that was never published is not waited for."""
    _, b, event = pending_copies(queue, 20)
    event.wait()
    assert b.tobytes() == b"\3" * LARGE


def test_the_interpreter_may_end_before_the_operation():
    code = """
import usm, usm.memory
for device in usm.get_devices():
    queue = usm.SyclQueue(device)
    memory = usm.memory.MemoryUSMDevice(64 << 20, queue=queue)
    event = queue.memcpy_async(memory, bytearray(64 << 20), 64 << 20)
    queue.memcpy_async(bytearray(64 << 20), memory, 64 << 20, [event])
"""
    process.check(code)
