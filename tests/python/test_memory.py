"""`usm.memory.MemoryUSM{Host,Device,Shared}`: allocate, fill, copy, free."""

import array as stdlib_array
import ctypes
import weakref

import pytest

import usm
import usm.memory as um

from conftest import MEMORY_CLASSES
from support.interface import settled


def test_attributes(allocate, queue, usm_type):
    memory = allocate(usm_type, 100)
    assert type(memory) is MEMORY_CLASSES[usm_type]
    assert memory.get_usm_type() == usm_type
    assert memory.nbytes == memory.size == len(memory) == 100
    assert memory._pointer != 0
    assert memory.sycl_queue == queue
    assert memory.sycl_context == queue.sycl_context
    assert memory.sycl_device == queue.sycl_device
    assert memory.reference_obj is None
    assert memory.readonly is False
    assert usm_type in repr(memory) and "100" in repr(memory)


def test_counted_while_alive_and_freed_once(allocate, usm_type, at_start):
    memory = allocate(usm_type, 1000)
    now = usm.live_allocations()
    assert now["count"] == at_start["count"] + 1
    assert now["bytes"] >= at_start["bytes"] + 1000
    assert now["borrowed"] == at_start["borrowed"]
    gone = weakref.ref(memory)
    del memory
    assert settled() == at_start
    assert gone() is None


@pytest.mark.parametrize("alignment", [1, 2, 64, 4096, 1 << 21])
def test_alignment(allocate, usm_type, alignment):
    assert allocate(usm_type, 10, alignment=alignment)._pointer % alignment == 0


@pytest.mark.parametrize("alignment", [3, 12, 2**63 + 1, 2**70])
def test_impossible_alignments(allocate, usm_type, alignment):
    with pytest.raises((ValueError, OverflowError, MemoryError)):
        allocate(usm_type, 10, alignment=alignment)


@pytest.mark.parametrize("alignment", [0, -1, -64])
def test_alignments_that_ask_for_nothing(allocate, usm_type, alignment):
    assert allocate(usm_type, 10, alignment=alignment)._pointer % 16 == 0


@pytest.mark.parametrize("alignment", [1 << 32, 1 << 40, 1 << 46])
def test_huge_alignments_are_honoured_or_refused(allocate, usm_type, alignment):
    """SYCL answers some of these with memory that is not so aligned."""
    try:
        memory = allocate(usm_type, 10, alignment=alignment)
    except (ValueError, MemoryError):
        return
    assert memory._pointer % alignment == 0


@pytest.mark.parametrize("nbytes", [0, -1, 2**63, 2**70])
def test_impossible_sizes(allocate, usm_type, nbytes):
    with pytest.raises((ValueError, OverflowError, MemoryError)):
        allocate(usm_type, nbytes)


@pytest.mark.parametrize("nbytes", [1.0, "10", None, b"10", [10]])
def test_sizes_of_wrong_type(allocate, usm_type, nbytes):
    with pytest.raises(TypeError):
        allocate(usm_type, nbytes)


def test_more_than_the_device_offers(allocate, queue, usm_type):
    too_much = queue.sycl_device.max_mem_alloc_size + 1
    with pytest.raises(usm.USMAllocationError, match=str(too_much)):
        allocate(usm_type, too_much)
    assert issubclass(um.USMAllocationError, MemoryError)


def test_host_round_trip(allocate, usm_type):
    memory = allocate(usm_type, 256)
    data = bytes(range(256))
    memory.copy_from_host(data)
    assert memory.tobytes() == data
    assert bytes(memory) == data
    assert bytes(memory.copy_to_host()) == data
    target = bytearray(256)
    assert memory.copy_to_host(target) is target
    assert target == data


def test_typed_buffers(allocate, usm_type):
    memory = allocate(usm_type, 80)
    memory.copy_from_host(stdlib_array.array("d", range(10)))
    back = stdlib_array.array("d", bytes(80))
    memory.copy_to_host(back)
    assert back.tolist() == list(range(10))
    # Its buffers have no strides, which means contiguous.
    in_c = (ctypes.c_double * 10)(*range(10, 20))
    memory.copy_from_host(in_c)
    back = (ctypes.c_double * 10)()
    memory.copy_to_host(back)
    assert list(back) == list(range(10, 20))


def test_memset(allocate, usm_type):
    memory = allocate(usm_type, 1001)
    memory.memset(0xAB)
    assert memory.tobytes() == b"\xab" * 1001
    memory.memset()
    assert memory.tobytes() == bytes(1001)
    for value in (-1, 256):
        with pytest.raises((ValueError, OverflowError)):
            memory.memset(value)


@pytest.mark.parametrize("source_type", ["host", "device", "shared"])
def test_copy_from_device(allocate, usm_type, source_type):
    source, target = allocate(source_type, 64), allocate(usm_type, 64)
    source.copy_from_host(bytes(range(64)))
    target.copy_from_device(source)
    assert target.tobytes() == bytes(range(64))


def test_copies_that_do_not_fit(allocate, usm_type):
    memory = allocate(usm_type, 8)
    memory.memset(1)
    with pytest.raises(ValueError):
        memory.copy_from_host(bytes(9))
    with pytest.raises(ValueError):
        memory.copy_to_host(bytearray(7))
    with pytest.raises(BufferError):
        memory.copy_to_host(bytes(8))  # not writable
    with pytest.raises(ValueError):
        memory.copy_from_device(allocate(usm_type, 9))
    for wrong in (3, "text", None, object()):
        with pytest.raises(TypeError):
            memory.copy_from_host(wrong)
        with pytest.raises(ValueError, match="found"):
            memory.copy_from_device(wrong)
    assert memory.tobytes() == b"\x01" * 8


def test_queue_memcpy(allocate, queue, usm_type):
    source, target = allocate(usm_type, 16), allocate("device", 16)
    source.copy_from_host(bytes(range(16)))
    target.memset(0xFF)
    queue.memcpy(target, source, 10)
    queue.wait()
    assert target.tobytes() == bytes(range(10)) + b"\xff" * 6
    out = bytearray(16)
    queue.memcpy(out, target, 16)
    queue.wait()
    assert out == target.tobytes()
    queue.memcpy(target, bytes(16), 16)
    queue.wait()
    assert target.tobytes() == bytes(16)
    for count in (17, -1):
        with pytest.raises((ValueError, OverflowError)):
            queue.memcpy(target, source, count)


@pytest.mark.parametrize("usm_class", MEMORY_CLASSES.values())
def test_without_a_queue(usm_class):
    memory = usm_class(32)
    assert memory.sycl_device in usm.get_devices()
    memory.memset(7)
    assert memory.tobytes() == b"\x07" * 32


def test_view_over_memory_of_the_same_kind(allocate, usm_type):
    memory = allocate(usm_type, 32)
    view = MEMORY_CLASSES[usm_type](memory)
    assert (view._pointer, view.nbytes) == (memory._pointer, 32)
    # Memory of our own is shared, not borrowed from the first object.
    assert view.reference_obj is None
    view.memset(5)
    assert memory.tobytes() == b"\x05" * 32


@pytest.mark.parametrize("other", ["host", "device", "shared"])
def test_copy_into_another_kind(allocate, queue, usm_type, other):
    memory = allocate(other, 32)
    memory.memset(9)
    if other != usm_type:
        with pytest.raises((ValueError, TypeError), match="copy"):
            MEMORY_CLASSES[usm_type](memory)
    copied = MEMORY_CLASSES[usm_type](memory, copy=True)
    assert copied.get_usm_type() == usm_type
    assert copied._pointer != memory._pointer
    memory.memset(0)
    assert copied.tobytes() == b"\x09" * 32


def test_as_usm_memory(allocate, usm_type):
    memory = allocate(usm_type, 32)
    view = um.as_usm_memory(memory)
    assert type(view) is type(memory)
    assert (view._pointer, view.nbytes) == (memory._pointer, 32)
    for wrong in (3, None, "text", b"bytes", object()):
        with pytest.raises(ValueError, match="found"):
            um.as_usm_memory(wrong)


@pytest.mark.parametrize(
    ("key", "first", "count"),
    [
        (..., 0, 12),
        (slice(None, None, -1), 0, 12),
        ((slice(None), slice(None, None, -2)), 1, 11),
        ((slice(1, None), slice(1, 3)), 5, 6),
        ((1, 1), 5, 1),
    ],
    ids=repr,
)
def test_memory_of_an_array_is_the_span_of_its_elements(array, usm_type, key, first, count):
    a = array((3, 4), dtype="i4", buffer=usm_type)
    memory = um.as_usm_memory(a[key])
    assert memory._pointer == a._pointer + 4 * first
    assert memory.nbytes == 4 * count


def test_interface_of_memory(allocate, queue, usm_type):
    memory = allocate(usm_type, 48)
    interface = memory.__sycl_usm_array_interface__
    # Unlike dpctl's memory objects ours tell the truth about being writable.
    assert interface["data"] == (memory._pointer, False)
    assert interface["shape"] == (48,)
    assert interface["strides"] is None
    assert interface["typestr"] == "|u1"
    assert interface["version"] == 1 and type(interface["version"]) is int
    assert interface.get("offset", 0) == 0
    named = usm.SyclQueue(interface["syclobj"])
    assert named == queue or queue.sycl_device.backend == "cuda" and named.sycl_device == queue.sycl_device
