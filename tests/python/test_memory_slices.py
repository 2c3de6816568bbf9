"""Parts of memory objects by slicing, and copies of them."""

import copy
import weakref

import pytest

import usm
import usm.memory as um
import usm.tensor as ut

from conftest import MEMORY_CLASSES
from support.interface import changed, settled

DATA = bytes(range(32))
SLICES = [
    slice(None),
    slice(3, 9),
    slice(-5, None),
    slice(None, -30),
    slice(5, 5),
    slice(9, 3),
    slice(40, 50),
    slice(-100, 100),
    slice(31, 32, 1),
    slice(32, None),
]


@pytest.mark.parametrize("key", SLICES, ids=repr)
def test_parts_share_the_memory(allocate, usm_type, key):
    memory = allocate(usm_type, 32)
    memory.copy_from_host(DATA)
    part = memory[key]
    assert type(part) is MEMORY_CLASSES[usm_type]
    assert part.tobytes() == bytes(part) == DATA[key]
    assert len(part) == part.nbytes == len(DATA[key])
    if part.nbytes:
        assert part._pointer == memory._pointer + DATA.index(DATA[key])
    part.memset(0xFF)
    changed_data = bytearray(DATA)
    changed_data[key] = b"\xff" * part.nbytes
    assert memory.tobytes() == changed_data


def test_parts_of_parts_and_their_interfaces(allocate, usm_type):
    memory = allocate(usm_type, 32)
    memory.copy_from_host(DATA)
    part = memory[4:28][2:-2][1:]
    assert part.tobytes() == DATA[7:26]
    assert part.__sycl_usm_array_interface__["data"] == (memory._pointer + 7, False)
    assert part.__sycl_usm_array_interface__["shape"] == (19,)
    assert ut.asarray(part)[1:3].tolist() == [8, 9]
    assert um.as_usm_memory(part)._pointer == part._pointer


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (3, TypeError),
        ((slice(1), slice(1)), TypeError),
        (..., TypeError),
        (None, TypeError),
        ("a", TypeError),
        (slice(None, None, 2), ValueError),
        (slice(None, None, -1), ValueError),
        (slice(None, None, 0), ValueError),
        (slice("a", None), TypeError),
    ],
    ids=repr,
)
def test_keys_that_are_no_range_of_bytes(allocate, usm_type, key, error):
    with pytest.raises(error):
        allocate(usm_type, 32)[key]


def test_memory_is_no_sequence(allocate, usm_type):
    with pytest.raises(TypeError):
        list(allocate(usm_type, 4))


def test_read_only_stays(allocate, usm_type):
    memory = allocate(usm_type, 8)
    memory.memset(1)
    frozen = um.as_usm_memory(changed(memory, data=(memory._pointer, True)))
    for part in (frozen, frozen[2:], frozen[2:][:3], um.as_usm_memory(frozen[1:]), MEMORY_CLASSES[usm_type](frozen)):
        assert part.readonly
        assert part.__sycl_usm_array_interface__["data"][1] is True
        with pytest.raises(ValueError, match="read-only"):
            part.memset(2)
    assert not copy.copy(frozen[2:]).readonly
    assert memory.tobytes() == b"\x01" * 8


def test_parts_keep_the_memory(allocate, usm_type, at_start):
    memory = allocate(usm_type, 64)
    memory.memset(5)
    gone = weakref.ref(memory)
    part = memory[10:20]
    del memory
    assert gone() is None
    assert usm.live_allocations()["count"] == at_start["count"] + 1
    assert part.tobytes() == b"\x05" * 10
    assert weakref.ref(part)() is part
    del part
    assert settled() == at_start


def test_buffers_of_parts(allocate, host_accessible):
    memory = allocate(host_accessible, 32)
    memory.copy_from_host(DATA)
    with memoryview(memory[4:8]) as view:
        assert bytes(view) == DATA[4:8]
        view[0] = 255
    assert memory.tobytes()[4] == 255


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_are_deep(allocate, usm_type, duplicate):
    memory = allocate(usm_type, 32)
    memory.copy_from_host(DATA)
    other = duplicate(memory[4:])
    assert type(other) is type(memory) and other.sycl_queue == memory.sycl_queue
    memory.memset(0)
    assert other.tobytes() == DATA[4:]
    assert duplicate(memory[:0]).tobytes() == b""
