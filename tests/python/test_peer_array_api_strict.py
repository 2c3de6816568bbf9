"""array-api-strict, the array library with the standard's behaviour only, each direction."""

import pytest

import usm.tensor as ut

from support.dlpack import CPU, Exporter
from support.layouts import STRIDED, strided_array
from support.values import DTYPES, counting


@pytest.mark.parametrize("layout", STRIDED)
def test_ours_to_strict(allocate, numpy, strict, host_accessible, layout):
    a, expected = strided_array(allocate, host_accessible, layout)
    for theirs in (strict.from_dlpack(Exporter(a, CPU)), strict.asarray(memoryview(a))):
        assert theirs.shape == a.shape and numpy.from_dlpack(theirs).tolist() == expected
    if a.size:
        assert numpy.from_dlpack(strict.from_dlpack(Exporter(a, CPU))).ctypes.data == a._pointer


@pytest.mark.parametrize("dtype", [name for name in DTYPES if name != "float16"])
def test_every_dtype_of_the_standard(queue, strict, dtype):
    theirs = strict.asarray(counting(dtype, 6), dtype=getattr(strict, dtype))
    for a in (ut.asarray(theirs, sycl_queue=queue), ut.from_dlpack(theirs, device=queue)):
        assert (a.dtype, a.tolist()) == (dtype, counting(dtype, 6))
    back = strict.from_dlpack(Exporter(ut.asarray(theirs, usm_type="host", sycl_queue=queue), CPU))
    assert back.dtype == theirs.dtype and strict.all(back == theirs)


def test_the_keywords_of_the_standard(queue, strict):
    theirs = strict.asarray([[1, 2], [3, 4]])
    a = ut.from_dlpack(theirs, device=None, copy=None)
    assert a.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(BufferError):
        ut.from_dlpack(theirs, copy=False)
    with pytest.raises(ValueError):
        ut.asarray(theirs, copy=False)
    assert ut.asarray(a, dtype="float32", device=a.device, copy=True).tolist() == a.tolist()
