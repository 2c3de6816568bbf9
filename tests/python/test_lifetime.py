"""Lifetimes of memory: it outlives its producer, and is freed exactly once."""

import gc
import weakref

import pytest

import usm
import usm.memory as um
import usm.tensor as ut

from conftest import MEMORY_CLASSES
from support.interface import Producer, changed, settled


def live():
    gc.collect()
    return usm.live_allocations()["count"]


def test_views_keep_the_memory(array, usm_type, at_start):
    a = array((4, 5), dtype="i4", buffer=usm_type)
    a[...] = 3
    view = a[1:, ::-2].T
    del a
    assert live() == at_start["count"] + 1
    assert view.tolist() == [[3] * 3] * 3
    del view
    assert settled() == at_start


def test_usm_data_keeps_the_memory(array, usm_type, at_start):
    a = array((4,), dtype="i4", buffer=usm_type)
    a[...] = 3
    memory = a.usm_data
    del a
    gc.collect()
    assert memory.tobytes() == b"\x03\0\0\0" * 4
    del memory
    assert settled() == at_start


def test_memory_keeps_its_queue(queue, usm_type):
    own = usm.SyclQueue(queue.sycl_device)
    memory = MEMORY_CLASSES[usm_type](64, queue=own)
    gone = own.sycl_device
    del own
    gc.collect()
    memory.memset(1)
    assert memory.sycl_device == gone and memory.tobytes() == b"\x01" * 64


@pytest.mark.parametrize("importer", [ut.asarray, um.as_usm_memory])
def test_an_import_keeps_its_producer(array, usm_type, importer, at_start):
    a = array((4,), dtype="i4", buffer=usm_type)
    a[...] = 3
    producer = changed(a)
    gone = weakref.ref(producer)
    imported = importer(producer)
    del a, producer
    gc.collect()
    assert gone() is not None
    assert live() == at_start["count"] + 1
    assert usm.live_allocations()["borrowed"] == at_start["borrowed"] + 1
    assert bytes(um.as_usm_memory(imported)) == b"\x03\0\0\0" * 4
    del imported
    assert settled() == at_start
    assert gone() is None


def test_a_chain_of_imports(array, usm_type, at_start):
    a = array((8,), dtype="i4", buffer=usm_type)
    a[...] = 9
    gone = weakref.ref(a)
    last = a
    for _ in range(10):
        last = ut.asarray(Producer(last.__sycl_usm_array_interface__, last))
    del a
    assert live() == at_start["count"] + 1
    assert last.tolist() == [9] * 8
    del last
    assert settled() == at_start
    assert gone() is None


def test_views_of_an_import_keep_the_producer(array, usm_type, at_start):
    a = array((4, 4), dtype="i4", buffer=usm_type)
    a[...] = 2
    producer = changed(a)
    gone = weakref.ref(producer)
    view = ut.asarray(producer)[1:][::-1].T
    del a, producer
    gc.collect()
    assert gone() is not None
    assert view.tolist() == [[2] * 3] * 4
    del view
    assert settled() == at_start
    assert gone() is None


def test_a_dict_alone_keeps_nothing(array, usm_type, at_start):
    """The protocol's dict has no owner in it: only the object that published it counts."""
    a = array((4,), dtype="i4", buffer=usm_type)
    interface = a.__sycl_usm_array_interface__
    assert interface["data"][0] == a._pointer
    del a
    assert settled() == at_start


def test_a_constructor_over_memory_keeps_it(allocate, usm_type, at_start):
    memory = allocate(usm_type, 64)
    memory.memset(0)
    a = ut.usm_ndarray((8,), dtype="f8", buffer=memory)
    del memory
    assert live() == at_start["count"] + 1
    assert a.tolist() == [0.0] * 8
    del a
    assert settled() == at_start


def test_thousands_come_and_go(array, usm_type, at_start):
    for n in range(2000):
        a = array((n % 50 + 1,), dtype="u1", buffer=usm_type)
        b = ut.asarray(changed(a))[::-1]
        del a, b
    assert settled() == at_start


def test_objects_are_weakly_referable(array, allocate, usm_type):
    for obj in (array((1,), dtype="u1", buffer=usm_type), allocate(usm_type, 1)):
        assert weakref.ref(obj)() is obj
