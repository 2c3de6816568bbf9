"""The five constructor examples of the container specification, values checked against their buffers.

Where an example names one USM kind the test runs for every kind, since its result does not depend on the kind.
"""

import pytest

import usm.tensor as ut

from support.values import counting, pack, unpack


def fill_by_index(a, values):
    """Writes `values` in row-major order, one element at a time through the array."""
    shape = a.shape
    for n, value in enumerate(values):
        index = []
        for length in reversed(shape):
            n, i = divmod(n, length)
            index.append(i)
        a[tuple(reversed(index))] = value


def buffer_of(a, dtype):
    """All elements of the memory under `a`, also those no index reaches."""
    return unpack(dtype, a.usm_data.tobytes())


def test_1_c_contiguous_u2(array, usm_type):
    a = array((2, 3), dtype="u2", buffer=usm_type)
    assert a.usm_type == usm_type
    assert (a.shape, a.strides, a._element_offset) == ((2, 3), (3, 1), 0)
    assert a.nbytes == a.usm_data.nbytes == 12
    assert a.flags.c_contiguous
    fill_by_index(a, [1, 2, 3, 4, 5, 6])
    # buf_flat = {a[0,0], a[0,1], a[0,2], a[1,0], a[1,1], a[1,2]}
    assert buffer_of(a, "uint16") == [1, 2, 3, 4, 5, 6]


def test_2_strided_i8_gets_nine_elements(array, usm_type):
    a = array((2, 3), dtype="i8", buffer=usm_type, strides=(6, 1))
    assert a.usm_data.nbytes == 9 * 8
    assert (a.strides, a._element_offset) == ((6, 1), 0)
    assert not a.flags.c_contiguous and not a.flags.f_contiguous
    a.usm_data.copy_from_host(pack("int64", [-1] * 9))
    fill_by_index(a, [1, 2, 3, 4, 5, 6])
    # buf_flat = {a[0,0], a[0,1], a[0,2], __, __, __, a[1,0], a[1,1], a[1,2]}
    assert buffer_of(a, "int64") == [1, 2, 3, -1, -1, -1, 4, 5, 6]


def test_3_negative_stride_u1_computes_the_offset(array, usm_type):
    a = array((2, 2), dtype="u1", buffer=usm_type, strides=(2, -1))
    assert a.usm_data.nbytes == 4
    assert a._element_offset == 1
    assert a._pointer == a.usm_data._pointer + 1
    fill_by_index(a, [10, 11, 20, 21])
    # buf_flat = {a[0,1], a[0,0], a[1,1], a[1,0]}
    assert buffer_of(a, "uint8") == [11, 10, 21, 20]


def test_4_negative_stride_over_given_memory(allocate, usm_type):
    memory = allocate(usm_type, 64)
    memory.copy_from_host(pack("float64", [-1.0] * 8))
    a = ut.usm_ndarray((4,), dtype="f8", buffer=memory, strides=(-2,), offset=7)
    assert a.usm_type == usm_type
    assert a.usm_data._pointer == memory._pointer
    assert a._pointer == memory._pointer + 7 * 8
    fill_by_index(a, [0.5, 1.5, 2.5, 3.5])
    # buf_flat = {__, a[3], __, a[2], __, a[1], __, a[0]}
    assert unpack("float64", memory.tobytes()) == [-1.0, 3.5, -1.0, 2.5, -1.0, 1.5, -1.0, 0.5]


def test_5_an_array_in_place_of_the_buffer(array, usm_type):
    W = array((4, 2), dtype="i4", buffer=usm_type, strides=(-5, -2))
    # Lowest element -(3*5 + 1*2), so the buffer has 18 elements and (0, 0) is its last.
    assert W._element_offset == 17
    assert W.usm_data.nbytes == 18 * 4
    Wiface = W.__sycl_usm_array_interface__
    W2 = ut.usm_ndarray(
        Wiface["shape"],
        dtype=Wiface["typestr"],
        buffer=W,
        strides=Wiface["strides"],
        offset=Wiface["offset"],
    )
    W2iface = W2.__sycl_usm_array_interface__
    assert Wiface == W2iface
    assert W2._pointer == W._pointer

    flat = counting("int32", 18)
    W.usm_data.copy_from_host(pack("int32", flat))
    expected = [[flat[17 - 5 * i - 2 * j] for j in range(2)] for i in range(4)]
    assert W.tolist() == W2.tolist() == expected
    W2[3, 1] = -7
    assert W[3, 1].item() == -7
    assert buffer_of(W, "int32") == [-7, *flat[1:]]


@pytest.mark.parametrize("order", ["C", "F"])
def test_order_says_how_missing_strides_are_read(array, usm_type, order):
    a = array((2, 3), dtype="u2", buffer=usm_type, order=order)
    fill_by_index(a, [1, 2, 3, 4, 5, 6])
    assert a.strides == {"C": (3, 1), "F": (1, 2)}[order]
    assert buffer_of(a, "uint16") == {"C": [1, 2, 3, 4, 5, 6], "F": [1, 4, 2, 5, 3, 6]}[order]


def test_memory_of_another_array_by_usm_data(array, usm_type):
    """Passing an array as the buffer is the same as passing its `usm_data`."""
    W = array((4, 2), dtype="i4", buffer=usm_type, strides=(-5, -2))
    by_array = ut.usm_ndarray((18,), dtype="i4", buffer=W, offset=0)
    by_memory = ut.usm_ndarray((18,), dtype="i4", buffer=W.usm_data)
    assert by_array.__sycl_usm_array_interface__ == by_memory.__sycl_usm_array_interface__
    assert by_array._pointer == W.usm_data._pointer
