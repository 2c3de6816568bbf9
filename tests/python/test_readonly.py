"""`data[1]` makes an array read-only, and the flag survives every view and every export."""

import pytest

import usm.memory as um
import usm.tensor as ut

from conftest import MEMORY_CLASSES
from support.interface import Producer, changed


@pytest.fixture
def source(array, usm_type):
    a = array((3, 4), dtype="i4", buffer=usm_type)
    a[...] = 5
    yield a
    assert a.tolist() == [[5] * 4] * 3


@pytest.fixture
def frozen(source):
    return ut.asarray(changed(source, data=(source._pointer, True)))


def is_read_only(a):
    assert a.flags.writable is not a.__sycl_usm_array_interface__["data"][1]
    return not a.flags.writable


def test_the_flag_is_read(source, frozen):
    assert not is_read_only(ut.asarray(changed(source)))
    assert is_read_only(frozen)


VIEWS = {
    "slice": lambda a: a[1:],
    "element": lambda a: a[1, 2],
    "reversed": lambda a: a[::-1, ::-1],
    "transposed": lambda a: a.T,
    "new_axis": lambda a: a[None],
    "everything": lambda a: a[...],
    "empty": lambda a: a[:0],
    "asarray": ut.asarray,
    "dict": lambda a: ut.asarray(Producer(a.__sycl_usm_array_interface__, a)),
    "constructor": lambda a: ut.usm_ndarray((12,), dtype="i4", buffer=a),
    "usm_data": lambda a: ut.usm_ndarray((48,), dtype="u1", buffer=a.usm_data),
    "memory": lambda a: bytes_over(um.as_usm_memory(a)),
    "memory_dict": lambda a: ut.asarray(um.as_usm_memory(a)),
}
SECOND = ("slice", "transposed", "asarray", "dict", "memory", "memory_dict")
# A 0-d array has no slices, and memory of no bytes is nothing to look at.
CHAINS = [
    (first, second)
    for first in VIEWS
    for second in SECOND
    if (first, second) != ("element", "slice") and not (first == "empty" and second.startswith("memory"))
]


def bytes_over(memory):
    return ut.usm_ndarray((memory.nbytes,), dtype="u1", buffer=memory)


@pytest.mark.any_memory
@pytest.mark.parametrize(("first", "second"), CHAINS)
def test_it_survives_chains_of_views(frozen, first, second):
    view = VIEWS[first](frozen)
    assert is_read_only(view)
    assert is_read_only(VIEWS[second](view))


def test_writes_are_refused(frozen):
    for key in (0, (1, 2), ..., slice(None, None, -1)):
        with pytest.raises(ValueError, match=r"read.?only"):
            frozen[key] = 1
    with pytest.raises(ValueError, match=r"read.?only"):
        frozen[0][...] = frozen[1]


def test_memory_over_it_is_read_only(frozen, usm_type):
    for memory in (frozen.usm_data, um.as_usm_memory(frozen), MEMORY_CLASSES[usm_type](frozen)):
        assert memory.readonly is True
        assert memory.__sycl_usm_array_interface__["data"][1] is True
        for write in (
            lambda m: m.memset(1),
            lambda m: m.copy_from_host(bytes(m.nbytes)),
            lambda m: m.copy_from_device(m),
        ):
            with pytest.raises(ValueError, match=r"read.?only"):
                write(memory)


def test_a_queue_does_not_write_to_it(queue, frozen):
    memory = um.as_usm_memory(frozen)
    with pytest.raises(ValueError, match=r"read.?only"):
        queue.memcpy(memory, bytes(48), 48)


def test_copies_are_writable(frozen, usm_type):
    copy = frozen.copy()
    assert not is_read_only(copy)
    copy[...] = 0
    memory = MEMORY_CLASSES[usm_type](frozen, copy=True)
    assert memory.readonly is False
    memory.memset(0)
    assert copy.tolist() == [[0] * 4] * 3


def test_a_claim_of_our_own_memory_under_an_external_name(allocate, usm_type):
    """Only objects of dpctl.memory do not mean it; a class that is merely called so is taken at its word."""
    memory = allocate(usm_type, 16)
    impostor = type("MemoryUSMShared", (Producer,), {"__module__": "elsewhere"})
    a = ut.asarray(impostor({**memory.__sycl_usm_array_interface__, "data": (memory._pointer, True)}, memory))
    assert is_read_only(a)
