"""Host and shared USM through PEP 3118; device memory refuses with a hint."""

import ctypes
import gc
import io
import math
import operator
import sys

import pytest

import usm
import usm.tensor as ut

from support.interface import changed
from support.model import Strided
from support.values import DTYPES, counting, itemsize, pack

# What memoryview itself can convert to Python objects.
READABLE = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]


def test_memory_is_its_bytes(allocate, host_accessible):
    memory = allocate(host_accessible, 16)
    memory.memset(3)
    with memoryview(memory) as view:
        assert (view.nbytes, view.ndim, view.itemsize, view.readonly) == (16, 1, 1, False)
        assert bytes(view) == b"\x03" * 16
        view[2] = 77
    assert memory.tobytes() == b"\x03\x03\x4d" + b"\x03" * 13


@pytest.mark.parametrize("dtype", READABLE)
def test_arrays_of_every_readable_dtype(array, host_accessible, dtype):
    values = counting(dtype, 6)
    a = array((2, 3), dtype=dtype, buffer=host_accessible)
    a.usm_data.copy_from_host(pack(dtype, values))
    with memoryview(a) as view:
        assert (view.shape, view.itemsize) == ((2, 3), itemsize(dtype))
        assert view.strides == (3 * itemsize(dtype), itemsize(dtype))
        assert view.tolist() == a.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_sees_the_same_memory(array, numpy, host_accessible, dtype):
    values = counting(dtype, 6)
    a = array((2, 3), dtype=dtype, buffer=host_accessible)
    a.usm_data.copy_from_host(pack(dtype, values))
    n = numpy.asarray(memoryview(a))
    assert n.dtype == numpy.dtype(dtype)
    assert n.ctypes.data == a._pointer
    assert n.tolist() == a.tolist()
    n[1, 2] = values[1]
    assert a[1, 2].item() == values[1]
    a[0, 0] = values[3]
    assert n[0, 0] == values[3]


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        ((3, 4), (-4, 1), 8),
        ((3, 4), (4, -1), 3),
        ((4, 3), (0, 1), 2),
        ((5, 3), (1, 5), 0),
        ((), (), 7),
        ((0, 2), (2, 1), 0),
    ],
    ids=str,
)
def test_strided_arrays(allocate, host_accessible, shape, strides, offset):
    flat = counting("int32", 20)
    memory = allocate(host_accessible, 80)
    memory.copy_from_host(pack("int32", flat))
    a = ut.usm_ndarray(shape, dtype="i4", buffer=memory, strides=strides, offset=offset)
    with memoryview(a) as view:
        assert view.shape == shape
        if math.prod(shape):
            assert view.strides == tuple(4 * s for s in strides)
            assert view.tolist() == Strided(flat, shape, strides, offset).tolist()


def test_a_view_without_strides_needs_contiguous_memory(array, host_accessible):
    a = array((8,), dtype="u1", buffer=host_accessible)
    a.usm_data.copy_from_host(b"abcdefgh")
    # readinto asks for a plain contiguous writable buffer.
    assert io.BytesIO(b"ABCDEFGH").readinto(a) == 8
    assert a.usm_data.tobytes() == b"ABCDEFGH"
    with pytest.raises((BufferError, TypeError)):
        io.BytesIO(b"xxxx").readinto(a[::2])
    assert a.usm_data.tobytes() == b"ABCDEFGH"


def test_read_only_arrays_give_read_only_buffers(array, host_accessible):
    a = array((4,), dtype="u1", buffer=host_accessible)
    a.usm_data.memset(1)
    frozen = ut.asarray(changed(a, data=(a._pointer, True)))
    with memoryview(frozen) as view:
        assert view.readonly
        with pytest.raises(TypeError):
            view[0] = 2
    with pytest.raises((BufferError, TypeError)):
        io.BytesIO(b"xxxx").readinto(frozen)
    assert a.tolist() == [1, 1, 1, 1]


def test_a_buffer_keeps_the_memory_alive(allocate, host_accessible, at_start):
    memory = allocate(host_accessible, 64)
    memory.memset(6)
    view = memoryview(memory)
    del memory
    gc.collect()
    assert usm.live_allocations()["count"] == at_start["count"] + 1
    assert bytes(view) == b"\x06" * 64
    view.release()
    gc.collect()
    assert usm.live_allocations() == at_start


def test_device_memory_refuses_with_a_hint(allocate, array):
    with pytest.raises(BufferError, match=r"copy_to_host|usm\.tensor\.asnumpy"):
        memoryview(allocate("device", 8))
    a = array((2,), dtype="f8", buffer="device")
    with pytest.raises(BufferError, match=r"usm\.tensor\.asnumpy"):
        memoryview(a)


def test_numpy_refuses_device_memory_with_the_hint(array, numpy):
    a = array((2,), dtype="f8", buffer="device")
    with pytest.raises(TypeError, match=r"usm\.tensor\.asnumpy"):
        numpy.asarray(a)
    with pytest.raises(TypeError, match=r"usm\.tensor\.asnumpy"):
        a.__array__()


def test_asarray_of_a_host_buffer_copies(queue, usm_type):
    source = bytearray(pack("int32", range(6)))
    with memoryview(source).cast("i", (2, 3)) as view:
        a = ut.asarray(view, usm_type=usm_type, sycl_queue=queue)
    assert (a.shape, a.dtype, a.usm_type, a.sycl_queue) == ((2, 3), "int32", usm_type, queue)
    source[0] = 99
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_asarray_of_buffers_without_shape_or_strides(queue, usm_type):
    """A 0-d buffer has no shape, and ctypes arrays give no strides."""
    scalar = ut.asarray(ctypes.c_int32(7), usm_type=usm_type, sycl_queue=queue)
    assert (scalar.shape, scalar.dtype, scalar.tolist()) == ((), "int32", 7)
    row = ut.asarray((ctypes.c_float * 3)(1, 2, 3), usm_type=usm_type, sycl_queue=queue)
    assert (row.shape, row.dtype, row.tolist()) == ((3,), "float32", [1.0, 2.0, 3.0])


def test_asarray_of_strided_and_empty_buffers(queue, usm_type):
    data = memoryview(bytearray(range(12))).cast("B", (3, 4))
    strided = ut.asarray(memoryview(bytearray(range(12)))[::-3], usm_type=usm_type, sycl_queue=queue)
    assert strided.tolist() == [11, 8, 5, 2]
    assert ut.asarray(data, usm_type=usm_type, sycl_queue=queue).tolist() == data.tolist()
    empty = ut.asarray(b"", usm_type=usm_type, sycl_queue=queue)
    assert (empty.shape, empty.tolist()) == ((0,), [])


def test_asarray_of_buffers_it_cannot_hold(queue):
    for buffer in (memoryview(b"abc").cast("c"), (ctypes.c_char_p * 2)(), ctypes.create_string_buffer(4)):
        with pytest.raises((TypeError, ValueError)):
            ut.asarray(buffer, sycl_queue=queue)
    big_endian = (ctypes.c_int32.__ctype_be__ * 2)(1, 2)
    with pytest.raises((TypeError, ValueError)):
        ut.asarray(big_endian, sycl_queue=queue)
    for wrong in (None, object(), "text", {}, [1, "a"], [None]):
        with pytest.raises(TypeError):
            ut.asarray(wrong, sycl_queue=queue)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes of Python have no buffers before 3.12")
def test_only_refusals_of_a_producer_become_refusals(queue):
    class Producer:
        def __buffer__(self, flags):
            raise self.error

    class Described(Producer):
        __sycl_usm_array_interface__ = {"version": 1, "shape": (2,), "typestr": "|u1", "syclobj": queue}

    for kind in (Producer, Described):
        producer = kind()
        for refusal in (BufferError, ValueError):
            producer.error = refusal("sparse")
            with pytest.raises((TypeError, ValueError), match="^(obj|data): "):
                ut.asarray(producer, sycl_queue=queue)
        for other in (KeyboardInterrupt, MemoryError, ZeroDivisionError):
            producer.error = other("not a refusal")
            with pytest.raises(other, match="^not a refusal$"):
                ut.asarray(producer, sycl_queue=queue)


@pytest.mark.parametrize("dtype", ["i8", "u1", "f4", "?", "c8"])
def test_bytes_are_those_of_the_elements(array, numpy, host_accessible, dtype):
    """As of NumPy's arrays: no integer without axes is a number of bytes."""
    n = numpy.asarray([[1, 0, 1], [0, 1, 1]], dtype)
    a = array(n.shape, dtype, buffer=host_accessible)
    a[...] = n
    for ours, theirs in (
        (a, n),
        (a.T, n.T),
        (a[:, ::-2], n[:, ::-2]),
        (a[1], n[1]),
        (a[:1, :1], n[:1, :1]),
        (a[:0], n[:0]),
    ):
        assert bytes(ours) == theirs.tobytes() == bytes(bytearray(ours)) == memoryview(ours).tobytes()
    for refused in (a, a[0], a[:1, :1]):
        with pytest.raises(TypeError, match="is no index, allowed are integers without axes"):
            operator.index(refused)


def test_an_integer_without_axes_is_a_number_of_bytes(array, usm_type):
    three = ut.asarray(3, "u1", usm_type=usm_type)
    assert operator.index(three) == 3 and bytes(three) == bytes(3) and [5, 6, 7, 8][three] == 8


def test_bytes_of_device_memory_say_what_works(array):
    for a in (array((3,), "i8", buffer="device"), array((3,), "f4", buffer="device")):
        for make in (bytes, bytearray, memoryview):
            with pytest.raises((BufferError, TypeError), match=r"usm\.tensor\.asarray\(array, usm_type=\"host\"\)"):
                make(a)
        assert len(bytes(ut.asarray(a, usm_type="host"))) == a.nbytes
