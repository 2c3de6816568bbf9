"""DLPack with real dpnp.tensor and dpctl, both ways."""

import gc

import pytest

import usm
import usm.tensor as ut

from support.dlpack import CPU, Exporter, OldExporter
from support.interface import settled
from support.layouts import STRIDED, strided_array
from support.values import DTYPES, counting


@pytest.fixture(params=STRIDED)
def layout(request):
    return request.param


@pytest.fixture
def queue(sycl_queue):
    return sycl_queue


def test_ours_to_dpnp(dpt, allocate, usm_type, layout):
    a, expected = strided_array(allocate, usm_type, layout)
    theirs = dpt.from_dlpack(a)
    assert (theirs.shape, theirs.dtype, dpt.asnumpy(theirs).tolist()) == (a.shape, "int32", expected)
    assert theirs.__dlpack_device__() == a.__dlpack_device__()
    assert theirs.usm_type == usm_type
    if a.size:
        assert (theirs._pointer, theirs.strides) == (a._pointer, a.strides)


def test_dpnp_to_ours(dpt, usm_type, layout):
    shape, strides, offset = STRIDED[layout]
    memory = dpt.arange(60, dtype="i4", usm_type=usm_type)
    theirs = dpt.usm_ndarray(shape, "i4", buffer=memory, strides=strides, offset=offset)
    expected = dpt.asnumpy(theirs).tolist()
    for source in (theirs, Exporter(theirs)):
        a = ut.from_dlpack(source)
        assert (a.shape, a.dtype, a.tolist()) == (shape, "int32", expected)
        # They publish arrays without axes as read-only.
        assert a.flags.writable == (theirs.ndim > 0)
        assert a.usm_type == usm_type
        if a.size:
            assert (a._pointer, a.strides) == (theirs._pointer, strides)
    assert ut.from_dlpack(OldExporter(theirs)).tolist() == expected


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_there_and_back(dpt, sycl_queue, usm_type, dtype):
    if dtype == "float16" and not sycl_queue.sycl_device.has_aspect_fp16:
        pytest.skip("dpnp has float16 on devices that compute with it only")
    a = ut.asarray(counting(dtype, 6), dtype, usm_type=usm_type, sycl_queue=sycl_queue)
    theirs = dpt.from_dlpack(a)
    back = ut.from_dlpack(theirs)
    assert (theirs.dtype, back.dtype, back._pointer) == (dtype, dtype, a._pointer)
    assert back.tolist() == a.tolist()


def test_both_sides_write_the_same_memory(dpt, sycl_queue, usm_type):
    a = ut.asarray([1, 2, 3], usm_type=usm_type, sycl_queue=sycl_queue)
    theirs = dpt.from_dlpack(a)
    for _ in range(50):
        theirs += 1
    # A tensor does not tell us which queue its consumer uses.
    theirs.sycl_queue.wait()
    assert a.tolist() == [51, 52, 53]
    a[0] = 0
    # Nor does it know of work that is submitted later.
    sycl_queue.wait()
    assert dpt.asnumpy(theirs).tolist() == [0, 52, 53]


def test_pending_work_of_the_producer_is_waited_for(dpt, usm_type):
    theirs = dpt.zeros(2_000_000, dtype="i8", usm_type=usm_type)
    for _ in range(100):
        theirs += 1
    assert ut.from_dlpack(theirs)[-1].item() == 100
    for _ in range(100):
        theirs += 1
    assert ut.from_dlpack(theirs, copy=True)[-1].item() == 200
    for _ in range(100):
        theirs += 1
    assert ut.from_dlpack(theirs, device="host")[-1].item() == 300


def test_pending_work_is_waited_for_when_we_produce(dpt, usm_type):
    theirs = dpt.zeros(2_000_000, dtype="i8", usm_type=usm_type)
    ours = ut.asarray(theirs)
    for _ in range(100):
        theirs += 1
    assert dpt.asnumpy(dpt.from_dlpack(ours, device=dpt.Device.create_device(theirs.sycl_device)))[-1] == 100


def test_devices(dpt, sycl_queue, usm_type):
    theirs = dpt.arange(4, usm_type=usm_type)
    name = theirs.sycl_device.filter_string
    for device in (theirs.device, theirs.sycl_queue, theirs.sycl_device, theirs.__dlpack_device__(), name):
        a = ut.from_dlpack(theirs, device=device)
        assert a._pointer == theirs._pointer and a.tolist() == [0, 1, 2, 3]
    assert ut.from_dlpack(theirs, device=theirs.sycl_queue).sycl_queue == usm.SyclQueue(theirs.sycl_queue)
    host = ut.from_dlpack(theirs, device=CPU)
    assert host.usm_type != "device" and host.tolist() == [0, 1, 2, 3]


def test_read_only_goes_along(dpt, sycl_queue, usm_type):
    theirs = dpt.arange(4, usm_type=usm_type)
    theirs.flags.writable = False
    assert not ut.from_dlpack(theirs).flags.writable
    frozen = ut.from_dlpack(theirs)
    assert not dpt.from_dlpack(frozen).flags.writable


def test_each_keeps_the_other_alive(dpt, sycl_queue, usm_type, at_start):
    a = ut.asarray([1, 2], usm_type=usm_type, sycl_queue=sycl_queue)
    theirs = dpt.from_dlpack(a)
    del a
    gc.collect()
    assert usm.live_allocations()["count"] == at_start["count"] + 1
    assert dpt.asnumpy(theirs).tolist() == [1, 2]
    del theirs
    assert settled() == at_start
    theirs = dpt.asarray([3, 4], usm_type=usm_type)
    ours = ut.from_dlpack(theirs)
    del theirs
    gc.collect()
    assert ours.tolist() == [3, 4]


def test_dpnp_arrays_that_are_no_tensors(dpt, sycl_queue):
    import dpnp

    theirs = dpnp.arange(6).reshape(2, 3)
    for convert in (ut.asarray, ut.from_dlpack):
        a = convert(theirs)
        assert a.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert dpnp.asnumpy(dpnp.from_dlpack(a.T)).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_dpctl_memory(dpctl, sycl_queue, usm_type):
    memory = {"host": dpctl.memory.MemoryUSMHost, "device": dpctl.memory.MemoryUSMDevice}.get(
        usm_type, dpctl.memory.MemoryUSMShared
    )(8)
    memory.copy_from_host(b"abcdefgh")
    a = ut.asarray(memory)
    assert (a.dtype, a.usm_type, bytes(a.tolist()), a._pointer) == ("uint8", usm_type, b"abcdefgh", memory._pointer)
