"""Exchange with real dpctl, both ways, on a real SYCL device: equal pointers, shared values, right owners."""

import gc
import weakref

import pytest

import usm
import usm.memory as um
import usm.tensor as ut

from conftest import MEMORY_CLASSES
from support import capsules
from support.interface import Producer, changed, settled
from support.values import pack


@pytest.fixture
def ours(sycl_queue, usm_type):
    memory = MEMORY_CLASSES[usm_type](64, queue=sycl_queue)
    memory.memset(1)
    return memory


@pytest.fixture
def theirs(dpctl, usm_type):
    memory = dpctl_class(dpctl, usm_type)(64)
    memory.copy_from_host(b"\x02" * 64)
    return memory


def dpctl_class(dpctl, usm_type):
    return getattr(dpctl.memory, f"MemoryUSM{usm_type.capitalize()}")


def their_bytes(memory):
    return bytes(memory.copy_to_host())


def test_ours_to_dpctl(dpctl, ours, usm_type):
    view = dpctl.memory.as_usm_memory(ours)
    assert type(view) is dpctl_class(dpctl, usm_type)
    assert (view._pointer, view.nbytes, view.get_usm_type()) == (ours._pointer, 64, usm_type)
    assert their_bytes(view) == b"\x01" * 64
    view.copy_from_host(b"\x05" * 64)
    assert ours.tobytes() == b"\x05" * 64
    ours.memset(6)
    assert their_bytes(view) == b"\x06" * 64


def test_dpctl_to_ours(theirs, usm_type):
    view = um.as_usm_memory(theirs)
    assert type(view) is MEMORY_CLASSES[usm_type]
    assert (view._pointer, view.nbytes) == (theirs._pointer, 64)
    assert view.reference_obj is theirs
    assert view.tobytes() == b"\x02" * 64
    # dpctl.memory objects publish the read-only flag and are writable.
    assert view.readonly is False
    view.memset(7)
    assert their_bytes(theirs) == b"\x07" * 64
    theirs.copy_from_host(bytes(range(64)))
    assert view.tobytes() == bytes(range(64))


def test_dpctl_memory_as_an_array(theirs, usm_type):
    a = ut.asarray(theirs)
    assert (a.shape, a.dtype, a.usm_type, a._pointer) == ((64,), "uint8", usm_type, theirs._pointer)
    assert a.flags.writable
    a[::-2] = 9
    assert their_bytes(theirs) == b"\x02\x09" * 32
    b = ut.usm_ndarray((4,), dtype="f8", buffer=theirs, strides=(-2,), offset=7)
    assert b._pointer == theirs._pointer + 56
    b[0] = 1.5
    assert their_bytes(theirs)[56:] == pack("float64", [1.5])


def test_our_arrays_to_dpctl(dpctl, sycl_queue, usm_type):
    a = ut.usm_ndarray((3, 4), dtype="i4", buffer=usm_type, buffer_ctor_kwargs={"queue": sycl_queue})
    a.usm_data.copy_from_host(pack("int32", range(12)))
    view = dpctl.memory.as_usm_memory(a)
    assert (view._pointer, view.nbytes) == (a._pointer, 48)
    assert their_bytes(view) == pack("int32", range(12))
    part = dpctl.memory.as_usm_memory(a[1:, 1:3])
    assert part._pointer == a._pointer + 4 * 5
    view.copy_from_host(pack("int32", [-1] * 12))
    assert a.tolist() == [[-1] * 4] * 3


def test_dpctl_keeps_ours_alive(dpctl, sycl_queue, usm_type, at_start):
    ours = MEMORY_CLASSES[usm_type](64, queue=sycl_queue)
    ours.memset(1)
    view = dpctl.memory.as_usm_memory(ours)
    gone = weakref.ref(ours)
    del ours
    gc.collect()
    assert gone() is not None
    assert usm.live_allocations()["count"] == at_start["count"] + 1
    assert their_bytes(view) == b"\x01" * 64
    del view
    assert settled() == at_start
    assert gone() is None


def test_ours_keep_dpctl_alive(dpctl, usm_type, at_start):
    tracked = type("Tracked", (dpctl_class(dpctl, usm_type),), {})
    theirs = tracked(64)
    theirs.copy_from_host(b"\x02" * 64)
    gone = weakref.ref(theirs)
    view, a = um.as_usm_memory(theirs), ut.asarray(theirs)[::-1]
    del theirs
    gc.collect()
    assert gone() is not None
    # Theirs is borrowed, and not an allocation of ours.
    assert usm.live_allocations()["count"] == at_start["count"]
    assert usm.live_allocations()["borrowed"] == at_start["borrowed"] + 2
    assert view.tobytes() == b"\x02" * 64
    del view
    gc.collect()
    assert gone() is not None
    assert a.tolist() == [2] * 64
    del a
    assert settled() == at_start
    assert gone() is None


def test_there_and_back(dpctl, ours):
    back = um.as_usm_memory(dpctl.memory.as_usm_memory(ours))
    assert back._pointer == ours._pointer
    back.memset(8)
    assert ours.tobytes() == b"\x08" * 64


def test_dpctl_takes_our_queue(dpctl, ours):
    queue = dpctl.SyclQueue(ours.sycl_queue._get_capsule())
    assert usm.SyclQueue(queue) == ours.sycl_queue
    assert queue.sycl_device.filter_string == ours.sycl_device.filter_string
    context = dpctl.SyclContext(ours.sycl_context._get_capsule())
    assert usm.SyclContext(context) == ours.sycl_context


def test_ours_on_a_queue_of_dpctl(dpctl, usm_type):
    queue = dpctl.SyclQueue()
    memory = MEMORY_CLASSES[usm_type](64, queue=queue)
    memory.memset(4)
    assert usm.SyclContext(queue.sycl_context) == memory.sycl_context
    assert their_bytes(dpctl.memory.as_usm_memory(memory)) == b"\x04" * 64


@pytest.mark.parametrize("form", ["queue", "context", "queue_capsule", "context_capsule", "object"])
def test_every_syclobj_of_dpctl(theirs, form):
    syclobj = {
        "queue": lambda: theirs.sycl_queue,
        "context": lambda: theirs.sycl_context,
        "queue_capsule": theirs.sycl_queue._get_capsule,
        "context_capsule": theirs.sycl_context._get_capsule,
        "object": lambda: capsules.CapsuleSource(theirs.sycl_queue),
    }[form]()
    a = ut.asarray(changed(theirs, syclobj=syclobj, data=(theirs._pointer, False)))
    assert a._pointer == theirs._pointer
    a[0] = 77
    assert their_bytes(theirs)[0] == 77


@pytest.mark.parametrize("form", ["sycl_queue", "sycl_context"])
def test_a_capsule_is_left_for_dpctl(dpctl, theirs, form):
    """We copy what is in a capsule; dpctl, after us, still finds it unused."""
    capsule = getattr(theirs, form)._get_capsule()
    producer = changed(theirs, syclobj=capsule)
    first, second = ut.asarray(producer), ut.asarray(producer)
    assert first._pointer == second._pointer == theirs._pointer
    assert capsules.name_of(capsule) in (capsules.QUEUE, capsules.CONTEXT)
    assert dpctl.memory.as_usm_memory(producer)._pointer == theirs._pointer
    assert first.tolist() == [2] * 64


@pytest.mark.parametrize("form", ["sycl_queue", "sycl_context"])
def test_a_capsule_that_dpctl_used_is_refused(dpctl, theirs, form):
    """dpctl renames what it consumed; by its name it is none of the two supported kinds."""
    producer = changed(theirs, syclobj=getattr(theirs, form)._get_capsule())
    assert dpctl.memory.as_usm_memory(producer)._pointer == theirs._pointer
    before = settled()
    with pytest.raises((ValueError, TypeError), match=r"^syclobj.*used_"):
        ut.asarray(producer)
    assert settled() == before


@pytest.mark.parametrize("form", ["sycl_queue", "sycl_context"])
def test_our_capsules_in_an_external_dict(dpctl, ours, form):
    capsule = getattr(ours, form)._get_capsule()
    assert dpctl.memory.as_usm_memory(changed(ours, syclobj=capsule))._pointer == ours._pointer


def test_dpctl_refuses_our_host_backend_cleanly(dpctl, host_queue, usm_type):
    memory = MEMORY_CLASSES[usm_type](64, queue=host_queue)
    with pytest.raises((ValueError, TypeError)):
        dpctl.memory.as_usm_memory(memory)


def test_memcpy_of_dpctl(dpctl, ours, theirs):
    queue = dpctl.SyclQueue()
    queue.memcpy(theirs, dpctl.memory.as_usm_memory(ours), 64)
    assert their_bytes(theirs) == b"\x01" * 64
    theirs.copy_from_host(b"\x03" * 64)
    ours.copy_from_device(theirs)
    assert ours.tobytes() == b"\x03" * 64


def test_host_accessible_memory_through_the_buffer_protocol(dpctl, sycl_queue, host_accessible):
    ours = MEMORY_CLASSES[host_accessible](64, queue=sycl_queue)
    ours.memset(5)
    target = bytearray(64)
    dpctl.SyclQueue().memcpy(target, ours, 64)
    assert target == b"\x05" * 64


def test_subclasses_of_dpctl_memory_are_writable(dpctl, usm_type):
    tracked = type("Tracked", (dpctl_class(dpctl, usm_type),), {})
    assert um.as_usm_memory(tracked(8)).readonly is False


def test_the_same_dict_from_a_stranger_is_read_only(theirs):
    """Only dpctl's own objects are known to say read-only without meaning it."""
    assert theirs.__sycl_usm_array_interface__["data"][1] is True
    assert um.as_usm_memory(Producer(theirs.__sycl_usm_array_interface__, theirs)).readonly is True
