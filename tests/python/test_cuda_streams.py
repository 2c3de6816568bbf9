"""Queues on streams of other libraries, streams of our queues, and the stream protocol of DLPack."""

import gc
import weakref

import pytest

import usm
import usm.tensor as ut

from support import capsules
from support.dlpack import CapsuleExporter, ManagedVersioned

KINDS = {
    "device": ut.DLDeviceType.kDLCUDA,
    "host": ut.DLDeviceType.kDLCUDAHost,
    "shared": ut.DLDeviceType.kDLCUDAManaged,
}


def test_the_stream_of_a_queue(cuda_queue):
    assert cuda_queue.native_stream > 2
    assert cuda_queue.__cuda_stream__() == (0, cuda_queue.native_stream)
    with pytest.raises(ValueError, match="no SYCL queue"):
        cuda_queue._get_capsule()


def test_a_queue_on_a_stream(cuda_queue, usm_type):
    class OfTorch:
        cuda_stream = cuda_queue.native_stream

    class OfCuPy:
        ptr = cuda_queue.native_stream

    for stream in (cuda_queue, cuda_queue.native_stream, OfTorch(), OfCuPy()):
        for device in (None, cuda_queue.sycl_device):
            queue = usm.from_cuda_stream(stream, device)
            assert queue.native_stream == cuda_queue.native_stream and queue.is_in_order
            assert queue.sycl_device == cuda_queue.sycl_device
            a = ut.asarray([1, 2], usm_type=usm_type, sycl_queue=queue)
            a[0] = 5
            assert a.tolist() == [5, 2]
    for default in (0, 1):
        assert usm.from_cuda_stream(default).native_stream == 1


def test_the_stream_stays_as_long_as_memory(cuda_queue):
    class Stream:
        ptr = cuda_queue.native_stream

    stream = Stream()
    gone = weakref.ref(stream)
    a = ut.zeros(3, sycl_queue=usm.from_cuda_stream(stream))
    del stream
    gc.collect()
    assert gone() is not None and a.tolist() == [0, 0, 0]
    del a
    gc.collect()
    assert gone() is None


def test_what_is_no_stream(cuda_queue, host_queue):
    for wrong in (object(), "1", 1.5, None, host_queue):
        with pytest.raises(TypeError, match="^stream"):
            usm.from_cuda_stream(wrong)
    with pytest.raises(ValueError, match="^stream: found 2"):
        usm.from_cuda_stream(2)
    with pytest.raises(ValueError, match="^stream"):
        usm.from_cuda_stream(1, host_queue.sycl_device)


def test_no_device_no_stream(host_queue):
    with pytest.raises(ValueError, match="^stream: "):
        usm.from_cuda_stream(1, host_queue.sycl_device)


@pytest.mark.parametrize("stream", [None, -1, 1, 2, "own"])
def test_dlpack(cuda_queue, usm_type, stream):
    a = ut.asarray([1, 2, 3], "i4", usm_type=usm_type, sycl_queue=cuda_queue)
    # DLPack numbers device memory alone.
    number = ut.sycl_device_to_dldevice(cuda_queue.sycl_device)[1] if usm_type == "device" else 0
    assert a.__dlpack_device__() == (KINDS[usm_type], number)
    asked = cuda_queue.native_stream if stream == "own" else stream
    capsule = a.__dlpack__(stream=asked, max_version=(1, 0))
    cuda_queue.wait()  # the consumer is on another queue than the stream
    b = ut.from_dlpack(CapsuleExporter(lambda: capsule, a.__dlpack_device__()))
    assert (b._pointer, b.usm_type) == (a._pointer, usm_type)
    b[1] = 9
    assert a.tolist() == [1, 9, 3]
    del b
    gc.collect()
    assert a.tolist() == [1, 9, 3]


def test_managed_memory_is_device_memory_too(cuda_queue):
    a = ut.asarray([1, 2], usm_type="shared", sycl_queue=cuda_queue)
    capsule = a.__dlpack__(dl_device=(2, 0), copy=False, max_version=(1, 0))
    assert ut.from_dlpack(CapsuleExporter(lambda: capsule, (2, 0)))._pointer == a._pointer
    pinned = ut.asarray([1, 2], usm_type="host", sycl_queue=cuda_queue)
    with pytest.raises(BufferError):
        pinned.__dlpack__(dl_device=(2, 0), copy=False)
    capsule = pinned.__dlpack__(dl_device=(2, 0), max_version=(1, 0))
    assert ut.from_dlpack(CapsuleExporter(lambda: capsule, (2, 0))).usm_type == "device"


def test_the_kind_has_to_be_that_of_the_device(cuda_queue):
    a = ut.asarray([1, 2], usm_type="host", sycl_queue=cuda_queue)
    capsule = a.__dlpack__(max_version=(1, 0))
    ManagedVersioned.from_address(capsules.pointer_of(capsule)).tensor.device_type = 2
    with pytest.raises(ValueError, match="^data: found host memory at .* kDLCUDA"):
        ut.from_dlpack(CapsuleExporter(lambda: capsule, (2, 0)))
