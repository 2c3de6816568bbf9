"""NumPy in every way: the buffer protocol, DLPack, and copies; all layouts and dtypes, each direction."""

import pytest

import usm.tensor as ut

from support.dlpack import CPU, Exporter
from support.interface import Producer
from support.layouts import STRIDED, strided_array
from support.values import DTYPES


@pytest.fixture(params=STRIDED)
def layout(request):
    return request.param


def views(numpy, a):
    """NumPy arrays over the memory of a host-accessible array."""
    yield numpy.asarray(a)
    yield numpy.asarray(memoryview(a))
    yield numpy.from_dlpack(Exporter(a, CPU))
    yield numpy.from_dlpack(a, device="cpu")
    yield numpy.from_dlpack(a, device="cpu", copy=False)


def test_ours_to_numpy_without_a_copy(allocate, numpy, host_accessible, layout):
    a, expected = strided_array(allocate, host_accessible, layout)
    for n in views(numpy, a):
        assert (n.shape, n.dtype) == (a.shape, numpy.int32) and n.tolist() == expected
        if a.size:
            assert n.ctypes.data == a._pointer
            assert n.strides == tuple(4 * s for s in a.strides)
    if a.size:
        n[...] = -1
        assert a.tolist() == n.tolist() != expected


def test_ours_to_numpy_by_a_copy(allocate, numpy, usm_type, layout):
    a, expected = strided_array(allocate, usm_type, layout)
    for n in (ut.asnumpy(a), ut.to_numpy(a), numpy.from_dlpack(a, device="cpu", copy=True)):
        assert n.tolist() == expected
        if a.size:
            assert n.ctypes.data != a._pointer
            n[...] = -1
            assert a.tolist() == expected


def test_device_memory_is_copied_only_where_asked(queue, numpy):
    a = ut.asarray([1, 2, 3], usm_type="device", sycl_queue=queue)
    with pytest.raises(TypeError, match="asnumpy"):
        numpy.asarray(a)
    with pytest.raises((BufferError, RuntimeError)):
        numpy.from_dlpack(a)
    with pytest.raises((BufferError, ValueError)):
        numpy.from_dlpack(a, device="cpu", copy=False)
    assert numpy.from_dlpack(a, device="cpu").tolist() == [1, 2, 3]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_both_ways(queue, numpy, host_accessible, dtype):
    n = numpy.arange(6).astype(dtype).reshape(2, 3)
    for a in (
        ut.asarray(n, usm_type=host_accessible, sycl_queue=queue),
        ut.from_numpy(n, usm_type=host_accessible, sycl_queue=queue),
        ut.from_dlpack(n, device=queue),
        ut.from_dlpack(n, device=CPU),
    ):
        assert (a.dtype, a.shape, a.tolist()) == (dtype, (2, 3), n.tolist())
        assert a.flags.writable
    for back in views(numpy, ut.asarray(n, usm_type=host_accessible, sycl_queue=queue)):
        assert back.dtype == n.dtype and (back == n).all()


def test_numpy_to_ours_in_every_layout(numpy, queue, layout):
    shape, strides, offset = STRIDED[layout]
    flat = numpy.arange(60, dtype="i4")
    n = numpy.lib.stride_tricks.as_strided(flat[offset:], shape, [4 * s for s in strides])
    for a in (ut.asarray(n, sycl_queue=queue), ut.from_numpy(n, sycl_queue=queue), ut.from_dlpack(n, device=queue)):
        assert (a.shape, a.dtype, a.tolist()) == (shape, "int32", n.tolist())


def test_numpy_over_our_memory_comes_back_without_a_copy(queue, numpy, host_accessible):
    """DLPack says host memory; the runtime knows that it is USM."""
    a = ut.asarray([[1, 2, 3], [4, 5, 6]], usm_type=host_accessible, sycl_queue=queue)
    n = numpy.asarray(a)[:, ::-1]
    back = ut.from_dlpack(n, device=queue)
    assert (back._pointer, back.usm_type, back.tolist()) == (n.ctypes.data, host_accessible, n.tolist())
    back[0, 0] = 99
    assert a[0, 2].item() == 99
    assert ut.from_dlpack(n, device=queue, copy=False)._pointer == n.ctypes.data


def test_read_only_both_ways(queue, numpy, host_accessible):
    a = ut.asarray([1, 2], usm_type=host_accessible, sycl_queue=queue)
    frozen = ut.asarray(Producer({**a.__sycl_usm_array_interface__, "data": (a._pointer, True)}, a))
    for n in views(numpy, frozen):
        assert not n.flags.writeable
    n = numpy.asarray(a)
    n.flags.writeable = False
    assert not ut.from_dlpack(n, device=queue).flags.writable


def test_numpy_refuses_devices_it_does_not_know(sycl_queue, numpy):
    """NumPy looks at the device first: "cpu" has to be asked for. The buffer protocol needs nothing."""
    a = ut.asarray([1, 2], usm_type="shared", sycl_queue=sycl_queue)
    if sycl_queue.native_stream:
        assert numpy.from_dlpack(a).ctypes.data == a._pointer  # NumPy knows managed memory
    else:
        with pytest.raises((RuntimeError, BufferError)):
            numpy.from_dlpack(a)
    assert numpy.from_dlpack(a, device="cpu").ctypes.data == numpy.asarray(a).ctypes.data == a._pointer
