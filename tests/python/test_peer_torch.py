"""PyTorch on the CPU, each direction. Negative strides stay out: its DLPack import aborted on them up to 2.12."""

import pytest

import usm.tensor as ut

from support.dlpack import CPU, Exporter
from support.layouts import STRIDED, strided_array
from support.values import DTYPES, counting

FORWARD = [name for name, (_, strides, _) in STRIDED.items() if all(stride >= 0 for stride in strides)]


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


def test_tensors_over_our_memory_come_back_without_a_copy(torch, queue, host_accessible):
    a = ut.asarray([[1.0, 2.0], [3.0, 4.0]], usm_type=host_accessible, sycl_queue=queue)
    theirs = torch.from_dlpack(Exporter(a, CPU))
    assert ut.from_dlpack(theirs, device=queue)._pointer == a._pointer


def test_tensors_that_are_differentiated(torch, queue):
    theirs = torch.ones(2, requires_grad=True)
    with pytest.raises((BufferError, RuntimeError)):
        ut.from_dlpack(theirs)
    assert ut.asarray(theirs.detach(), sycl_queue=queue).tolist() == [1, 1]
