"""Deviations of other libraries from the protocol's text that imports accept."""

import ctypes

import pytest

import usm.tensor as ut

from support.interface import changed
from support.values import DTYPES, counting, pack


def test_lists_are_accepted_wherever_a_tuple_is(array, usm_type):
    a = array((2, 3), dtype="i4", buffer=usm_type)
    a.usm_data.copy_from_host(pack("int32", range(6)))
    b = ut.asarray(changed(a.T, data=[a._pointer, False], shape=[3, 2], strides=[1, 3]))
    assert b.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert b.__sycl_usm_array_interface__ == a.T.__sycl_usm_array_interface__


def test_numpy_integers_are_accepted(array, numpy, usm_type):
    a = array((2, 3), dtype="i4", buffer=usm_type)
    a.usm_data.copy_from_host(pack("int32", range(6)))
    b = ut.asarray(
        changed(
            a,
            data=(numpy.uintp(a._pointer), False),
            shape=(numpy.int64(2), numpy.uint8(2)),
            strides=(numpy.int32(3), numpy.int8(-1)),
            offset=numpy.int16(1),
        )
    )
    assert b.tolist() == [[1, 0], [4, 3]]


@pytest.mark.any_memory
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["|", "<", "="])
def test_native_byte_orders(array, usm_type, dtype, order):
    values = counting(dtype, 3)
    a = array((3,), dtype=dtype, buffer=usm_type)
    a.usm_data.copy_from_host(pack(dtype, values))
    b = ut.asarray(changed(a, typestr=order + DTYPES[dtype][0]))
    assert (b.dtype, b.tolist()) == (dtype, values)


def test_strides_of_axes_that_do_not_matter(array, usm_type):
    """Axes of length 1, and every axis of an empty array, may carry any stride."""
    a = array((2, 1, 3), dtype="i4", buffer=usm_type)
    a.usm_data.copy_from_host(pack("int32", range(6)))
    b = ut.asarray(changed(a, strides=(3, 10**6, 1)))
    assert b.tolist() == [[[0, 1, 2]], [[3, 4, 5]]]
    e = ut.asarray(changed(a, shape=(0, 5), strides=(10**6, -(10**6))))
    assert (e.shape, e.tolist()) == ((0, 5), [])


def test_interface_as_plain_attribute(array, usm_type):
    class Holder:
        pass

    a = array((3,), dtype="i4", buffer=usm_type)
    a[...] = 4
    holder = Holder()
    holder.__sycl_usm_array_interface__ = a.__sycl_usm_array_interface__
    holder.owner = a
    assert ut.asarray(holder).tolist() == [4, 4, 4]


def test_without_data_the_buffer_protocol_is_used(allocate, host_accessible):
    memory = allocate(host_accessible, 24)
    memory.copy_from_host(pack("int32", range(6)))
    interface = {
        "shape": (2, 3),
        "strides": None,
        "typestr": "<i4",
        "version": 1,
        "syclobj": memory.sycl_queue,
    }

    class Exporter(ctypes.c_char * 24):
        """Any object with a buffer and the interface."""

        __sycl_usm_array_interface__ = interface

    exporter = Exporter.from_buffer(memory)
    a = ut.asarray(exporter)
    assert (a._pointer, a.usm_type) == (memory._pointer, host_accessible)
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]]
    a[1, 2] = -1
    assert memory.tobytes() == pack("int32", [0, 1, 2, 3, 4, -1])

    # A buffer that is not USM is found the same way, and refused for what it is.
    with pytest.raises((ValueError, TypeError), match=r"^data"):
        ut.asarray(Exporter.from_buffer(bytearray(24)))
