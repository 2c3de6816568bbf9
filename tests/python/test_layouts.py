"""Every layout, through the dict and back: values, and dict -> array -> dict equality."""

import math

import pytest

import usm.tensor as ut

from support.interface import Producer, changed
from support.layouts import SHAPES, STRIDED
from support.model import Strided, c_strides, is_c_contiguous
from support.values import counting, nested, pack


@pytest.fixture(params=STRIDED)
def strided(request):
    return STRIDED[request.param]


def reimported(a):
    return ut.asarray(Producer(a.__sycl_usm_array_interface__, a))


@pytest.mark.any_memory
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32", "complex128"])
def test_contiguous_arrays_of_every_rank(array, usm_type, shape, dtype):
    a = array(shape, dtype=dtype, buffer=usm_type)
    assert (a.shape, a.strides, a.ndim, a.size) == (shape, c_strides(shape), len(shape), math.prod(shape))
    values = counting(dtype, math.prod(shape))
    data = pack(dtype, values)
    # An empty array owns one element all the same, so that its pointer is not 0.
    assert a._pointer != 0 and a.usm_data.nbytes >= max(len(data), 1)
    if data:
        a.usm_data.copy_from_host(data)
    assert a.tolist() == nested(values, shape)

    interface = a.__sycl_usm_array_interface__
    assert interface["strides"] is None
    assert interface["shape"] == shape
    b = reimported(a)
    assert b._pointer == a._pointer
    assert (b.shape, b.dtype, b.usm_type, b.tolist()) == (shape, dtype, usm_type, a.tolist())
    assert b.__sycl_usm_array_interface__ == interface


@pytest.mark.any_memory
def test_strided_arrays_round_trip_through_the_dict(allocate, usm_type, strided):
    shape, strides, offset = strided
    flat = counting("int32", 60)
    memory = allocate(usm_type, 240)
    memory.copy_from_host(pack("int32", flat))
    a = ut.usm_ndarray(shape, dtype="i4", buffer=memory, strides=strides, offset=offset)
    expected = Strided(flat, shape, strides, offset).tolist()
    assert a.tolist() == expected

    interface = a.__sycl_usm_array_interface__
    # The address stays the producer's; where element (0, …, 0) is, the offset says.
    assert interface["data"][0] + 4 * interface["offset"] == a._pointer == memory._pointer + 4 * offset
    assert (interface["strides"] is None) == is_c_contiguous(shape, strides)
    b = reimported(a)
    assert b.__sycl_usm_array_interface__ == interface
    assert b.tolist() == expected
    assert (b._pointer, b.shape) == (a._pointer, a.shape)
    # And once more, so that the second export is not a different kind of dict.
    assert reimported(b).__sycl_usm_array_interface__ == interface


@pytest.mark.any_memory
def test_external_dicts_of_every_layout(allocate, usm_type, strided):
    """The dict written by hand, not by our own export."""
    shape, strides, offset = strided
    flat = counting("int16", 60)
    memory = allocate(usm_type, 120)
    memory.copy_from_host(pack("int16", flat))
    given = {
        "data": (memory._pointer, False),
        "shape": shape,
        "strides": strides,
        "offset": offset,
        "typestr": "<i2",
        "version": 1,
        "syclobj": memory.sycl_queue,
    }
    a = ut.asarray(Producer(given, memory))
    assert a.tolist() == Strided(flat, shape, strides, offset).tolist()
    exported = a.__sycl_usm_array_interface__
    assert exported["data"] == given["data"]
    assert exported["offset"] == offset
    assert exported["shape"] == shape
    if exported["strides"] is not None:
        assert exported["strides"] == strides


def test_a_dict_may_move_the_address_instead_of_the_offset(allocate, usm_type):
    memory = allocate(usm_type, 64)
    memory.copy_from_host(pack("int32", range(16)))
    moved = changed(memory, data=(memory._pointer + 40, False), shape=(3,), strides=(-4,), typestr="<i4")
    a = ut.asarray(moved)
    assert a.tolist() == [10, 6, 2]
    assert a.__sycl_usm_array_interface__["data"][0] == memory._pointer + 40
    assert a.__sycl_usm_array_interface__["offset"] == 0


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (5,), (), (2, 0, 3)], ids=str)
def test_transposed(array, usm_type, shape):
    flat = counting("int32", math.prod(shape))
    a = array(shape, dtype="i4", buffer=usm_type)
    if flat:
        a.usm_data.copy_from_host(pack("int32", flat))
    model = Strided.c_order(flat, shape).transposed()
    t = a.T
    assert (t.shape, t.strides, t._pointer) == (model.shape, model.strides, a._pointer)
    assert t.tolist() == model.tolist()
    assert reimported(t).tolist() == model.tolist()
    assert t.T.__sycl_usm_array_interface__ == a.__sycl_usm_array_interface__


def test_copy_is_contiguous_and_apart(allocate, usm_type, strided):
    shape, strides, offset = strided
    flat = counting("int32", 60)
    memory = allocate(usm_type, 240)
    memory.copy_from_host(pack("int32", flat))
    a = ut.usm_ndarray(shape, dtype="i4", buffer=memory, strides=strides, offset=offset)
    c = a.copy()
    assert (c.shape, c.dtype, c.usm_type, c.tolist()) == (a.shape, a.dtype, a.usm_type, a.tolist())
    assert c.flags.writable and c.usm_data._pointer != memory._pointer
    memory.memset(0xFF)
    assert c.tolist() == Strided(flat, shape, strides, offset).tolist()
