"""Apache TVM's FFI, compiled code that uses the C exchange API: our arrays in, and its results as our arrays."""

import gc

import pytest

import usm
import usm.tensor as ut

from support.dlpack import places
from support.interface import settled
from support.layouts import STRIDED, strided_array
from support.values import DTYPES, counting

place, queue, usm_type = places()


@pytest.fixture
def echo(tvm_ffi):
    """A function in C++ that takes a tensor and gives it back."""
    return tvm_ffi.get_global_func("testing.echo")


@pytest.mark.parametrize("layout", STRIDED)
def test_there_and_back_through_compiled_code(echo, allocate, usm_type, layout):
    a, expected = strided_array(allocate, usm_type, layout)
    b = echo(a)
    assert type(b) is ut.usm_ndarray
    assert (b.shape, b.dtype, b.tolist()) == (a.shape, a.dtype, expected)
    if a.size:
        assert (b._pointer, b.strides, b.usm_type) == (a._pointer, a.strides, usm_type)


# Their dtypes have no complex numbers.
@pytest.mark.parametrize("dtype", [name for name in DTYPES if not name.startswith("complex")])
def test_every_dtype(echo, tvm_ffi, queue, usm_type, dtype):
    a = ut.asarray(counting(dtype, 6), dtype, usm_type=usm_type, sycl_queue=queue)
    b = echo(a)
    assert (b.dtype, b.tolist(), b._pointer) == (dtype, a.tolist(), a._pointer)
    theirs = tvm_ffi.from_dlpack(a)
    assert theirs.shape == (6,)
    back = ut.from_dlpack(theirs)
    assert (back._pointer, back.dtype, back.tolist()) == (a._pointer, dtype, a.tolist())


def test_their_tensors_keep_our_memory(tvm_ffi, queue, usm_type, at_start):
    a = ut.asarray([1, 2, 3], usm_type=usm_type, sycl_queue=queue)
    theirs = tvm_ffi.from_dlpack(a)
    del a
    gc.collect()
    assert usm.live_allocations()["count"] == at_start["count"] + 1
    assert ut.from_dlpack(theirs).tolist() == [1, 2, 3]
    del theirs
    assert settled() == at_start


def test_memory_of_the_host_backend_goes_as_an_added_device(tvm_ffi, host_queue):
    a = ut.asarray([1, 2], usm_type="device", sycl_queue=host_queue)
    theirs = tvm_ffi.from_dlpack(a)
    assert str(theirs.device).startswith("ext_dev")
    assert ut.from_dlpack(theirs)._pointer == a._pointer


def test_memory_without_a_device_is_an_error_of_ours(echo, sycl_queue):
    if not sycl_queue.sycl_device.partition_max_sub_devices:
        pytest.skip("the device has no parts")
    part = sycl_queue.sycl_device.create_sub_devices(partition=1)[0]
    a = ut.asarray([1, 2], usm_type="device", sycl_queue=usm.SyclQueue(part))
    with pytest.raises(BufferError, match="__sycl_usm_array_interface__"):
        echo(a)
