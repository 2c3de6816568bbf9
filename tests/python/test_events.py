"""Events: status, times, operands, and dependent operations."""

import gc
import threading
import time

import pytest

import usm
import usm.memory as um
import usm.tensor as ut

from support import children, process
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


def test_operations_on_the_same_memory_run_in_their_order(any_queue, usm_type, allocate):
    """No operation is refused because of an earlier one, and no event is asked for the order."""
    a, b = allocate(usm_type, LARGE), allocate(usm_type, LARGE)
    other = usm.SyclQueue(any_queue.sycl_context, any_queue.sycl_device)
    for value in (1, 2):
        any_queue.memset_async(a, value)
        any_queue.memcpy_async(b, a, LARGE)
        any_queue.memcpy_async(b, a, LARGE)
    other.fill_async(a, b"\3\4")
    any_queue.memcpy_async(b, a, LARGE // 2)
    other.prefetch_async(b)
    # A read waits, and a write by host code comes after all of it.
    assert b.tobytes() == b"\3\4" * (LARGE // 4) + b"\2" * (LARGE // 2)
    any_queue.memset_async(a, 5)
    a.copy_from_host(b"\6")
    assert a.tobytes() == b"\6" + b"\5" * (LARGE - 1)


def test_complete_operations_hold_nothing(any_queue, usm_type, allocate):
    memory, source = allocate(usm_type, 4096), bytes(range(256)) * 16
    events = [any_queue.memset_async(memory, 1), any_queue.memcpy_async(memory, source, 4096)]
    time.sleep(0.05)
    # Nobody waits for an event, asks it or drops it.
    assert memory.tobytes() == source
    memory.memset(7)
    assert memory.tobytes() == b"\7" * 4096
    array = ut.usm_ndarray((1024,), "i4", buffer=memory)
    any_queue.memset_async(memory, 0)
    assert array.tolist() == [0] * 1024
    any_queue.memset_async(array, 1, 4)
    assert int(array[0]) == 0x01010101
    any_queue.memset_async(memory, 0)
    array[1] = 5
    assert array[:3].tolist() == [0, 5, 0]
    del events


@pytest.mark.parametrize("usm_kind", ["host", "shared"])
def test_new_views_wait(any_queue, allocate, usm_kind):
    for _ in range(5):
        memory = allocate(usm_kind, LARGE)
        any_queue.memset_async(memory, 3)
        any_queue.memset_async(memory, 4)
        view = memoryview(memory)
        assert view[0] == view[LARGE - 1] == 4
        view.release()


def test_memory_goes_under_its_operations(any_queue):
    before = settled()
    for _ in range(5):
        a, b = (um.MemoryUSMDevice(LARGE, queue=any_queue) for _ in range(2))
        any_queue.memset_async(a, 1)
        any_queue.memcpy_async(b, a, LARGE)
        any_queue.memcpy_async(b, a, LARGE)
        del a, b
    c = um.MemoryUSMDevice(LARGE, queue=any_queue)
    any_queue.memset_async(c, 2)
    assert c.tobytes() == b"\2" * LARGE
    del c
    any_queue.wait()
    assert settled() == before


def test_refused_operations_leave_nothing(any_queue, allocate):
    memory, other = allocate("device", 64), allocate("shared", 8)
    memory.memset(1)
    readonly = bytes(64)
    for refused in (
        lambda: any_queue.memcpy_async(memory, other, 64),
        lambda: any_queue.memcpy_async(memory, readonly, 65),
        lambda: any_queue.memcpy_async(readonly, memory, 64),
        lambda: any_queue.memset_async(memory, 1, 65),
        lambda: any_queue.fill_async(memory, b"abc"),
        lambda: any_queue.fill_async(memory, b""),
    ):
        with pytest.raises((ValueError, BufferError)):
            refused()
    memory.memset(2)
    assert memory.tobytes() == b"\2" * 64


def test_threads_on_one_memory(queue, allocate):
    memory, failures = allocate("device", 1 << 16), []

    def work(value):
        try:
            for _ in range(30):
                queue.memset_async(memory, value)
                queue.memcpy_async(memory, bytes([value]) * 4096, 4096)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(value,)) for value in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert memory.tobytes()[0] in (1, 2, 3)


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


@pytest.mark.parametrize("backend", ["host", "sycl"])
@pytest.mark.parametrize("done", ["wait", "drop", "status", "launch"])
def test_a_finalizer_of_a_buffer_waits_for_a_thread_with_an_event(backend, done):
    """The finalizer waits for a lock of a thread, which needs nothing of it and is done with its own event."""
    printed = children.run(
        backend,
        f"""
        import weakref
        class Buffer(bytearray):
            pass
        lock, entered = threading.RLock(), threading.Event()
        def finalize():
            entered.set()
            with lock:
                pass
        a, b = (um.MemoryUSMDevice(64, queue=QUEUE) for _ in range(2))
        event = QUEUE.memcpy_async(b, bytes(64), 64)
        event.wait()
        done = dict(
            wait=lambda: event.wait(),
            drop=lambda: globals().pop("event"),
            status=lambda: event.execution_status,
            launch=lambda: QUEUE.memcpy_async(b, bytes(64), 64),
        )[{done!r}]
        with lock:
            buffer = Buffer(64)
            weakref.finalize(buffer, finalize)
            QUEUE.memcpy_async(a, buffer, 64)
            del buffer
            sweep = threading.Thread(target=QUEUE.wait)
            sweep.start()
            entered.wait()
            done()
        sweep.join()
        print("over")
        """,
        seconds=30,
    )
    assert printed == "over\n"
