"""PyTorch on the CPU, each direction. Negative strides stay out: its DLPack import aborted on them up to 2.12."""

import pytest

import usm.tensor as ut

from support.dlpack import CPU, CapsuleExporter, Exporter
from support.layouts import STRIDED, strided_array
from support.narrow import NARROW
from support.values import DTYPES, counting

FORWARD = [name for name, (_, strides, _) in STRIDED.items() if all(stride >= 0 for stride in strides)]


@pytest.fixture
def not_cuda(queue):
    if queue.sycl_device.backend == "cuda":
        pytest.skip("memory of CUDA is no memory of the CPU: test_cuda_peers.py has it")


@pytest.mark.usefixtures("not_cuda")
@pytest.mark.parametrize("layout", FORWARD)
def test_arrays_are_tensors_without_a_copy(torch, allocate, host_accessible, layout):
    """Also of a SYCL device, whose kDLOneAPI this PyTorch refuses."""
    a, expected = strided_array(allocate, host_accessible, layout)
    for to_torch in (torch.from_dlpack, torch.utils.dlpack.from_dlpack, torch.as_tensor):
        theirs = to_torch(a)
        assert (tuple(theirs.shape), theirs.tolist(), theirs.device.type) == (a.shape, expected, "cpu")
        if a.size:
            assert theirs.data_ptr() == a._pointer
            theirs.fill_(-1)
            assert a.tolist() == theirs.tolist()
            expected = theirs.tolist()
    assert torch.from_dlpack(a, device="cpu", copy=True).data_ptr() != a._pointer or not a.size


@pytest.mark.usefixtures("not_cuda")
def test_work_on_the_array_is_complete(torch, queue, host_accessible):
    a = ut.zeros(2**20, dtype="i4", usm_type=host_accessible, sycl_queue=queue)
    device = ut.ones(2**20, dtype="i4", usm_type="device", sycl_queue=queue)
    for _ in range(10):
        queue.memset(a.usm_data, 0)
        queue.memcpy_async(a.usm_data, device.usm_data, a.nbytes)
        assert int(torch.from_dlpack(a).min()) == 1


def test_other_consumers_of_sycl_memory_keep_it(torch, dpt, sycl_queue, host_accessible):
    """PyTorch alone gets kDLCPU, in the module that it imports tensors with."""
    a = ut.asarray([1, 2], usm_type=host_accessible, sycl_queue=sycl_queue)
    expected = a.__dlpack_device__()
    assert torch.from_dlpack(a).data_ptr() == a._pointer
    assert a.__dlpack_device__() == expected == dpt.from_dlpack(a).__dlpack_device__()
    assert dpt.from_dlpack(a)._pointer == a._pointer
    # What a consumer names, it gets.
    asked = {"__name__": "torch.utils.dlpack", "a": a, "expected": expected}
    exec("named, found = a.__dlpack__(dl_device=expected), a.__dlpack_device__()", asked)
    assert (
        tuple(asked["found"]) == CPU and dpt.from_dlpack(CapsuleExporter(lambda: asked["named"]))._pointer == a._pointer
    )


def test_pytorch_for_intel_gpus_takes_memory_of_their_runtime(torch, queue, host_accessible, monkeypatch):
    """Such a PyTorch has the version of its runtime. It knows GPUs of SYCL, and no CPU."""
    monkeypatch.setattr(torch.version, "xpu", "20260000")
    a = ut.asarray([1.0, 2.0], usm_type=host_accessible, sycl_queue=queue)
    asked = {"__name__": "torch.utils.dlpack", "a": a}
    exec("device = a.__dlpack_device__()", asked)
    is_sycl_gpu = queue.sycl_device.is_gpu and queue.backend.name != "host"
    assert (tuple(asked["device"]) == CPU) == (not is_sycl_gpu)


@pytest.mark.parametrize("layout", FORWARD)
def test_ours_to_torch(allocate, torch, host_accessible, layout):
    a, expected = strided_array(allocate, host_accessible, layout)
    theirs = torch.from_dlpack(Exporter(a, CPU))
    assert tuple(theirs.shape) == a.shape and theirs.tolist() == expected
    if a.size:
        assert theirs.data_ptr() == a._pointer
        theirs.fill_(-1)
        assert a.tolist() == theirs.tolist()


@pytest.mark.parametrize("dtype", [name for name in DTYPES if name not in ("uint16", "uint32", "uint64")])
def test_torch_to_ours(torch, queue, dtype):
    theirs = torch.tensor(counting(dtype, 6), dtype=getattr(torch, dtype)).reshape(2, 3)
    for tensor in (theirs, theirs.T, theirs[:, ::2]):
        for a in (ut.asarray(tensor, sycl_queue=queue), ut.from_dlpack(tensor, device=queue)):
            assert (a.dtype, a.tolist(), a.flags.writable) == (dtype, tensor.tolist(), True)


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_dtypes_there_and_back(torch, queue, host_accessible, dtype):
    theirs = torch.tensor([[1.0, 2.5, -3.0], [0.25, 4.0, 0.0]]).to(getattr(torch, dtype))
    for tensor in (theirs, theirs.T):
        for a in (ut.asarray(tensor, sycl_queue=queue), ut.from_dlpack(tensor, device=queue)):
            assert (a.dtype, a.tolist()) == (dtype, tensor.float().tolist())
    a = ut.asarray([[1, 2.5], [-3, 0.25]], dtype, usm_type=host_accessible, sycl_queue=queue)
    for view in (a, a.T, a[:, 1:]):
        back = torch.from_dlpack(Exporter(view, CPU))
        assert back.dtype is getattr(torch, dtype) and back.data_ptr() == view._pointer
        assert back.float().tolist() == view.tolist()
        assert ut.from_dlpack(back, device=queue)._pointer == view._pointer


def test_casts_are_those_of_torch(torch, queue, usm_type):
    """But for NaN, and for numbers beyond the largest one of 8 bits."""
    numbers = torch.arange(-2000, 2000).float() / 7
    a = ut.asarray(numbers, usm_type=usm_type, sycl_queue=queue)
    for dtype in NARROW:
        is_in_range = numbers.abs() < ut.finfo(dtype).max
        found = torch.tensor(ut.astype(a, dtype).tolist())
        assert torch.equal(found[is_in_range], numbers.to(getattr(torch, dtype)).float()[is_in_range])


def test_tensors_over_our_memory_come_back_without_a_copy(torch, queue, host_accessible):
    a = ut.asarray([[1.0, 2.0], [3.0, 4.0]], usm_type=host_accessible, sycl_queue=queue)
    theirs = torch.from_dlpack(Exporter(a, CPU))
    assert ut.from_dlpack(theirs, device=queue)._pointer == a._pointer


def test_tensors_that_are_differentiated(torch, queue):
    theirs = torch.ones(2, requires_grad=True)
    with pytest.raises((BufferError, RuntimeError)):
        ut.from_dlpack(theirs)
    assert ut.asarray(theirs.detach(), sycl_queue=queue).tolist() == [1, 1]


WAYS = {
    "by NumPy": lambda torch, numpy, a: torch.from_numpy(numpy.asarray(a)),
    "by a capsule": lambda torch, numpy, a: torch.from_dlpack(a.__dlpack__(dl_device=CPU)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [name for name in DTYPES if name not in ("uint16", "uint32", "uint64")])
def test_the_ways_that_need_no_thought(torch, numpy, queue, host_accessible, dtype, way):
    """Documented under "Exchange": the same code with a SYCL runtime, where arrays are on kDLOneAPI, and without."""
    a = ut.asarray(counting(dtype, 6), dtype, usm_type=host_accessible, sycl_queue=queue)
    for view in (a, a[::2], a.reshape(2, 3).T, a[:0]):
        theirs = WAYS[way](torch, numpy, view)
        assert tuple(theirs.shape) == view.shape and theirs.tolist() == view.tolist()
        assert not view.size or theirs.data_ptr() == view._pointer
    WAYS[way](torch, numpy, a)[0] = 1
    assert a[0].item() == 1


@pytest.mark.usefixtures("not_cuda")
def test_torch_computes_in_place(torch, queue, host_accessible):
    a = ut.asarray([1.0, 2.0], usm_type=host_accessible, sycl_queue=queue)
    theirs = torch.from_dlpack(a)
    theirs += 1
    assert a.tolist() == [2, 3]


@pytest.mark.usefixtures("not_cuda")
def test_device_memory_is_refused_politely(torch, queue):
    a = ut.asarray([1.0, 2.0], usm_type="device", sycl_queue=queue)
    with pytest.raises(BufferError, match="device memory of .* host and shared memory"):
        torch.from_dlpack(a)
    assert a.tolist() == [1, 2]
    assert torch.from_dlpack(ut.asarray(a, usm_type="host")).tolist() == [1, 2]
