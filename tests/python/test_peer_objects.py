"""Queues, contexts and devices beside real dpctl and dpnp: objects come back, and equality holds both ways."""

import gc
import subprocess
import sys
import textwrap

import pytest

import usm
import usm.memory as um
import usm.tensor as ut

from conftest import MEMORY_CLASSES
from support import requirements


def equal(a, b):
    """Equal and unequal in both directions, with one hash; the order of the operands decides who answers."""
    assert (a == b) is True and (b == a) is True
    assert (a != b) is False and (b != a) is False
    assert hash(a) == hash(b)
    assert {a: 1}[b] == {b: 1}[a] == 1
    return True


def different(a, b):
    assert (a == b) is False and (b == a) is False
    assert (a != b) is True and (b != a) is True
    return True


@pytest.fixture
def their_queue(dpctl, sycl_queue):
    return dpctl.SyclQueue(sycl_queue.sycl_device.filter_string)


@pytest.fixture
def array_there(their_queue, usm_type):
    return ut.ones((2, 3), dtype="i4", usm_type=usm_type, sycl_queue=their_queue)


def test_arrays_give_back_what_they_got(array_there, their_queue):
    for a in (array_there, array_there[1:], array_there.T, ut.copy(array_there), ut.concat([array_there] * 2)):
        assert a.sycl_queue is their_queue
        assert a.sycl_context is their_queue.sycl_context
        assert a.sycl_device is their_queue.sycl_device
        assert a.device.sycl_queue is their_queue
        assert a.device.sycl_context is their_queue.sycl_context
        assert a.device.sycl_device is their_queue.sycl_device
        assert a.__sycl_usm_array_interface__["syclobj"] is their_queue
        assert a.usm_data.sycl_queue is their_queue


def test_memory_gives_back_what_it_got(their_queue, usm_type):
    memory = MEMORY_CLASSES[usm_type](64, queue=their_queue)
    assert memory.sycl_queue is their_queue
    assert memory.sycl_context is their_queue.sycl_context
    assert memory.sycl_device is their_queue.sycl_device
    assert memory[8:].sycl_queue is their_queue
    assert memory.__sycl_usm_array_interface__["syclobj"] is their_queue


def test_imported_memory_has_its_producers_queue(dpctl, dpt, their_queue, usm_type):
    memory = getattr(dpctl.memory, f"MemoryUSM{usm_type.capitalize()}")(64, queue=their_queue)
    assert um.as_usm_memory(memory).sycl_queue is their_queue
    theirs = dpt.zeros(3, usm_type=usm_type, sycl_queue=their_queue)
    assert ut.asarray(theirs).sycl_queue is their_queue


def test_equal_queues_are_not_mixed_up(dpctl, their_queue):
    other = dpctl.SyclQueue(their_queue._get_capsule())
    assert other is not their_queue and other == their_queue
    for _ in range(3):
        for queue in (their_queue, other):
            for size in (1, 1000, 1_000_000):
                assert ut.empty(size, sycl_queue=queue).sycl_queue is queue


def test_many_queues_come_back(dpctl, their_queue):
    """More than are remembered at a time."""
    queues = [dpctl.SyclQueue(their_queue.sycl_device) for _ in range(30)]
    arrays = [ut.ones(3, sycl_queue=queue) for queue in queues]
    for array, queue in zip(arrays, queues, strict=True):
        assert array.sycl_queue is queue


def test_contexts_that_were_given_come_back(dpctl, their_queue):
    context = dpctl.SyclContext(their_queue.sycl_device)
    queue = usm.SyclQueue(context)
    assert queue.sycl_context is context
    assert equal(ut.ones(3, sycl_queue=queue).sycl_context, context)


def test_subclasses_of_their_queues(dpctl, their_queue):
    """A class of the program may refer to our arrays: its objects are not kept, equal ones come back."""
    queue = type("Mine", (dpctl.SyclQueue,), {})(their_queue._get_capsule())
    queue.array = ut.ones(3, sycl_queue=queue)
    assert equal(queue.array.sycl_queue, queue)


def test_equality_and_hash(dpctl, their_queue):
    q = their_queue
    assert equal(usm.SyclQueue(q), q)
    assert equal(usm.SyclContext(q.sycl_context), q.sycl_context)
    assert equal(usm.SyclContext(q), q.sycl_context)
    assert equal(usm.SyclDevice(q.sycl_device), q.sycl_device)
    assert equal(usm.SyclQueue(q).sycl_device, q.sycl_device)
    assert equal(usm.SyclQueue(q).sycl_context, q.sycl_context)
    a = ut.ones(3, sycl_queue=q)
    assert a.device == q and hash(a.device) == hash(q)
    assert different(usm.SyclQueue(q), dpctl.SyclQueue(q.sycl_device))
    assert different(usm.SyclQueue(q.sycl_device), q)
    assert different(usm.SyclContext([usm.SyclDevice()]), q.sycl_context)
    assert different(usm.SyclDevice("host"), q.sycl_device)
    for ours in (usm.SyclQueue(q), usm.SyclContext(q), usm.SyclDevice(q.sycl_device)):
        for other in (None, 3, "opencl:cpu", object()):
            assert different(ours, other)
    assert different(usm.SyclQueue(q), q.sycl_context)
    assert different(usm.SyclContext(q), q.sycl_device)


def test_lists_of_devices_agree(dpctl):
    ours = [device for device in usm.get_devices() if device.backend != "host"]
    assert len(ours) == len(dpctl.get_devices())
    for device, other in zip(ours, dpctl.get_devices(), strict=True):
        assert equal(device, other)
        assert device.backend == other.backend and other.backend == device.backend
        assert device.device_type == other.device_type and hash(device.device_type) == hash(other.device_type)
    assert equal(usm.select_default_device(), dpctl.select_default_device())


def test_sub_devices_agree(dpctl, sycl_queue):
    if sycl_queue.sycl_device.partition_max_sub_devices < 2:
        pytest.skip("the device has no sub-devices")
    [part, *_] = usm.SyclDevice(sycl_queue.sycl_device.filter_string).create_sub_devices(partition=1)
    assert isinstance(part, dpctl.SyclDevice)
    queue = dpctl.SyclQueue(part)
    assert equal(queue.sycl_device, part) and equal(part.parent_device, sycl_queue.sycl_device)
    assert ut.ones(3, sycl_queue=queue).sycl_queue is queue


def test_ours_are_theirs_and_keep_their_names(dpctl, their_queue):
    """What this package makes is of dpctl's classes and of ours, with the attributes of ours."""
    queue = usm.SyclQueue(their_queue.sycl_device)
    for ours, theirs, own in (
        (queue, dpctl.SyclQueue, usm.SyclQueue),
        (queue.sycl_context, dpctl.SyclContext, usm.SyclContext),
        (queue.sycl_device, dpctl.SyclDevice, usm.SyclDevice),
    ):
        assert isinstance(ours, theirs) and isinstance(ours, own)
        assert repr(ours).startswith(f"<usm.{own.__name__}")
        assert set(dir(own)) <= set(dir(ours))
    assert ut.ones(3, sycl_queue=queue).sycl_queue is queue
    memory = um.MemoryUSMDevice(8, queue=queue)
    queue.memset(memory, 7)
    event = queue.memcpy_async(memory, b"\x01\x02", 2, [queue.submit_barrier()])
    event.wait()
    assert memory.tobytes() == b"\x01\x02" + b"\x07" * 6


def test_a_timer_takes_their_queues(dpctl, sycl_queue):
    queue = dpctl.SyclQueue(sycl_queue.sycl_device.filter_string, property="enable_profiling")
    timer = usm.SyclTimer()
    with timer(ut.ones(3, sycl_queue=queue).sycl_queue):
        ut.ones(1000, sycl_queue=queue)
    assert timer.dt.host_dt > 0


def test_a_forked_child_gets_the_error_of_the_runtime(dpctl):
    """Neither library makes a SYCL object there; what is known can still be looked at."""
    told, _ = child("""
        import os, sys
        import dpctl, usm, usm.tensor as ut
        a = ut.ones(3)
        mine = ut.ones(3, sycl_queue=usm.SyclQueue())
        if (pid := os.fork()) == 0:
            try:
                ut.ones(3)
            except usm.UsmError as error:
                print("refused", flush=True)
            print(a.sycl_queue is not None, mine.sycl_queue is not None, flush=True)
            print(ut.ones(1, device="host").tolist() == [1], flush=True)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """)
    assert told == ["refused", "True", "True", "True", "0"]


def test_objects_of_ours_that_nobody_holds_go(dpctl, sycl_queue):
    """Of queues in contexts of their own, nothing is kept."""
    device = dpctl.SyclDevice(sycl_queue.sycl_device.filter_string)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(300):
        context = dpctl.SyclContext([device])
        array = ut.ones(3, sycl_queue=dpctl.SyclQueue(context, device))
        assert array.sycl_context is context
        mine = usm.SyclQueue(usm.SyclContext([device]))
        assert ut.ones(3, sycl_queue=mine).sycl_queue is mine
    del context, array, mine
    gc.collect()
    assert len(gc.get_objects()) - before < 150


def test_dpctl_and_dpnp_take_ours(dpctl, dpt, array_there, usm_type):
    dpnp = requirements.module("dpnp", required=requirements.REQUIRE_PEERS)
    queue = array_there.sycl_queue
    assert dpctl.memory.MemoryUSMShared(8, queue=queue).sycl_queue is queue
    for a in (array_there, ut.ones((2, 3), dtype="i4", usm_type=usm_type)):
        for call in (dpnp.asarray, dpnp.array, dpt.asarray, dpt.from_dlpack if a is not array_there else dpt.asarray):
            theirs = call(a)
            assert theirs.sycl_queue == a.sycl_queue and theirs.usm_type == usm_type
            assert (
                theirs.tolist() == a.tolist()
                if hasattr(theirs, "tolist")
                else dpt.asnumpy(theirs).tolist() == a.tolist()
            )
        assert dpt.asarray(a)._pointer == a._pointer


def test_devices_of_the_array_api(dpt, their_queue):
    a = ut.ones(3, sycl_queue=their_queue)
    theirs = dpt.ones(3, sycl_queue=their_queue)
    assert equal(a.device, theirs.device)
    assert different(a.device, dpt.ones(3).device)
    assert isinstance(a.device, ut.Device)
    assert dpt.zeros(3, device=a.device).sycl_queue is their_queue
    assert dpt.ones(3).to_device(a.device).sycl_queue == their_queue
    assert ut.ones(3).to_device(theirs.device).sycl_queue is their_queue


def test_the_default_queue_is_theirs(dpctl, dpt, usm_type):
    default = dpctl.get_device_cached_queue(dpctl.select_default_device())
    assert ut.ones(3, usm_type=usm_type).sycl_queue is default is dpt.ones(3).sycl_queue
    assert um.MemoryUSMShared(8).sycl_queue is default
    assert ut.Device.create_device().sycl_queue is default
    assert ut.asarray([1, 2]).sycl_queue is default
    assert ut.zeros(3, device=default.sycl_device.filter_string).sycl_queue is default
    assert ut.zeros(3, device=usm.select_default_device()).sycl_queue is default
    assert usm.get_device_cached_queue(usm.select_default_device()) is default
    assert ut.from_dlpack(dpt.ones(3)).sycl_queue is default


def test_both_compute_together(dpt, usm_type):
    ours, theirs = ut.ones(3, usm_type=usm_type), dpt.ones(3, usm_type=usm_type)
    assert dpt.asnumpy(dpt.asarray(ours) + theirs).tolist() == [2] * 3
    mine = ut.asarray(theirs)
    assert (mine == ours).tolist() == [True] * 3
    assert ut.concat([ours, mine]).tolist() == ut.concat([mine, ours]).tolist() == [1] * 6
    assert ut.where(ut.asarray([True, False, True]), mine, ut.zeros(3, usm_type=usm_type)).tolist() == [1, 0, 1]


def child(program, **environment):
    """What a fresh process prints, and its warnings."""
    import os

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


@pytest.mark.parametrize("first", ["usm.tensor", "dpnp.tensor", "dpctl"])
def test_whichever_is_imported_first(dpt, first):
    told, _ = child(
        f"""
        import {first}
        import usm.tensor as ut, dpnp.tensor as dpt
        print(*dpt.asnumpy(dpt.asarray(ut.ones(3)) + dpt.ones(3)).tolist())
        print(*ut.concat([ut.asarray(dpt.ones(1)), ut.ones(1)]).tolist())
        print(ut.ones(3).sycl_queue is dpt.ones(3).sycl_queue)
    """,
        OCL_ICD_FILENAMES=usm._locate.os.environ.get("OCL_ICD_FILENAMES", ""),
    )
    assert told == ["2.0"] * 3 + ["1.0"] * 2 + ["True"]


def test_arrays_from_before_dpctl_was_imported(dpctl):
    told, _ = child("""
        import usm, usm.tensor as ut
        old, device, queue = ut.ones(3), usm.SyclDevice(), usm.SyclQueue()
        context, mine = queue.sycl_context, ut.ones(3, sycl_queue=queue)
        print(type(old.sycl_queue).__mro__ == (usm.SyclQueue, object), old.sycl_queue.is_in_order)
        import dpctl, dpctl.memory
        print(isinstance(old.sycl_queue, dpctl.SyclQueue), isinstance(mine.sycl_queue, dpctl.SyclQueue))
        print(mine.sycl_queue == queue, queue == mine.sycl_queue, hash(queue) == hash(mine.sycl_queue))
        print(mine.sycl_context == context, context == mine.sycl_context)
        print(mine.sycl_device == device, device == mine.sycl_device)
        print(dpctl.memory.MemoryUSMShared(8, queue=old.sycl_queue).sycl_queue == old.sycl_queue)
        # dpctl's default queue has taken over from ours.
        new = ut.ones(3)
        print(old.sycl_queue is new.sycl_queue, ut.all(old == new).item(), ut.concat([old, new]).size)
        moved = old.to_device(new.device)
        print(moved.sycl_queue is new.sycl_queue, moved._pointer == old._pointer)
    """)
    assert told == ["True"] * 14 + ["6"] + ["True"] * 2


def test_without_dpctl_objects_are_ours(sycl_queue):
    told, _ = child("""
        import sys, usm, usm.tensor as ut
        a = ut.ones(3)
        for thing in (a.sycl_queue, a.sycl_context, a.sycl_device, usm.SyclQueue(), usm.get_devices()[0]):
            print(type(thing).__mro__[-2].__module__)
        print("dpctl" in sys.modules, a.sycl_queue == usm.get_device_cached_queue(a.sycl_device))
        print(a.sycl_queue.is_in_order)
    """)
    assert told == ["usm"] * 5 + ["False", "True", "True"]


def test_threads_of_dpctl_have_one_default_queue(dpctl):
    import threading

    found = []
    thread = threading.Thread(
        target=lambda: found.append((ut.ones(3).sycl_queue, dpctl.get_device_cached_queue("cpu")))
    )
    thread.start()
    thread.join()
    [(ours, theirs)] = found
    assert ours == theirs


def test_operations_on_their_out_of_order_queue_are_in_order(dpt, usm_type):
    """Their work is pending when ours begins, and ours is complete when theirs begins."""
    size = 300_000
    theirs = dpt.zeros(size, dtype="i8", usm_type=usm_type)
    ours = ut.asarray(theirs)
    assert not theirs.sycl_queue.is_in_order
    for n in range(10):
        theirs += 1
        doubled = ut.concat([ours, ours])
        ours[...] = 7 * n
        assert int(doubled[-1]) == int(doubled[0]) == (1 if n == 0 else 7 * (n - 1) + 1)
        assert int(dpt.max(theirs)) == int(dpt.min(theirs)) == 7 * n


@pytest.mark.parametrize("shape", [(0,), (2, 0, 3)])
def test_empty_arrays_by_dlpack(dpt, usm_type, shape):
    ours = ut.zeros(shape, dtype="i2", usm_type=usm_type)
    theirs = dpt.from_dlpack(ours)
    assert (theirs.shape, theirs.dtype, theirs.usm_type) == (shape, "int16", usm_type)
    back = ut.from_dlpack(dpt.zeros(shape, dtype="i2", usm_type=usm_type))
    assert (back.shape, back.dtype, back.usm_type) == (shape, "int16", usm_type)
    part = ut.zeros(3, usm_type=usm_type)[3:]
    assert dpt.from_dlpack(part).usm_type == usm_type


def test_different_queues_are_told_in_one_sentence(their_queue):
    x1, x2 = ut.ones(3), ut.ones(3, sycl_queue=their_queue)
    mask, indices = ut.ones(3, dtype=bool), ut.zeros(1, dtype="i8")
    calls = {
        "x1 == x2": lambda: x1 == x2,
        "equal": lambda: ut.equal(x1, x2),
        "logical_and": lambda: ut.logical_and(x1, x2),
        "bitwise_or": lambda: ut.bitwise_or(mask, ut.astype(x2, bool)),
        "isclose": lambda: ut.isclose(x1, x2),
        "allclose": lambda: ut.allclose(x1, x2),
        "concat": lambda: ut.concat([x1, x1, x2]),
        "stack": lambda: ut.stack([x1, x2]),
        "where": lambda: ut.where(mask, x1, x2),
        "extract": lambda: ut.extract(mask, x2),
        "place": lambda: ut.place(x2, mask, x1),
        "take": lambda: ut.take(x2, indices),
        "put": lambda: ut.put(x2, indices, x1[:1]),
        "take_along_axis": lambda: ut.take_along_axis(x2, indices),
        "put_along_axis": lambda: ut.put_along_axis(x2, indices, x1[:1]),
        "repeat": lambda: ut.repeat(x2, ut.ones(3, dtype="i8")),
        "out": lambda: ut.isfinite(x1, out=ut.zeros(3, dtype=bool, sycl_queue=their_queue)),
        "x[mask]": lambda: x2[mask],
        "x[indices]": lambda: x2[indices],
        "x[mask] = y": lambda: x2.__setitem__(mask, 1),
        "asarray": lambda: ut.asarray([x1, x2]),
        "meshgrid": lambda: ut.meshgrid(x1, x2),
        "broadcast_arrays": lambda: ut.broadcast_arrays(x1, x2),
    }
    told = {}
    for name, call in calls.items():
        try:
            call()
        except ut.ExecutionPlacementError as error:
            told[name] = str(error)
    for name, text in told.items():
        assert ".to_device(" in text and ".device)" in text, (name, text)
        assert "QueueProperties" not in text and "Queue(" not in text and "Device(" not in text, (name, text)
        assert "\n" not in text and text.count(";") <= 1, (name, text)
    # Views need no queue, and an assignment from another queue is a copy.
    assert set(calls) - set(told) <= {"meshgrid", "broadcast_arrays", "x[mask]", "x[indices]", "x[mask] = y"}
    assert told["equal"].startswith("x2 is on another queue") and "x2.to_device(x1.device)" in told["equal"]
    assert "arrays[2].to_device(arrays[0].device)" in told["concat"]
    with pytest.raises(TypeError, match="sycl_queue, device: found") as info:
        ut.zeros(3, sycl_queue=their_queue, device=x1.device)
    assert "QueueProperties" not in str(info.value)


LATE = """
    import warnings
    import dpctl
    print(len(dpctl.get_devices()))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import usm, usm.tensor as ut
        print(ut.zeros(3).sycl_device.filter_string)
        ut.zeros(3), usm.select_default_device(), ut.asarray([1])
    print(len(caught), *{warning.category.__name__ for warning in caught})
    for warning in caught:
        print(warning.message)
"""


def test_a_device_list_that_dpctl_asked_for_too_early_is_told(dpctl):
    import os

    driver = usm._locate._CPU_DRIVER
    listed = os.environ.get("OCL_ICD_FILENAMES", "")
    others = ":".join(entry for entry in listed.split(":") if entry and driver not in entry)
    told, _ = child(LATE, OCL_ICD_FILENAMES=others)
    if told[0] != "0":
        pytest.skip("another driver has devices")
    assert told[1:4] == ["host:cpu:0", "1", "RuntimeWarning"]
    text = " ".join(told[4:])
    assert "OCL_ICD_FILENAMES=" in text and "`import usm`" in text and driver in text
    # With the driver configured there is nothing to tell.
    told, _ = child(LATE, OCL_ICD_FILENAMES=listed)
    assert told[0] != "0" and told[1] != "host:cpu:0" and told[2] == "0"
