"""JAX on the CPU, each direction: it refuses gaps and negative strides, and does not mark its arrays read-only."""

import pytest

import usm.tensor as ut

from support.dlpack import CPU, Exporter
from support.layouts import STRIDED, strided_array
from support.narrow import NARROW
from support.values import DTYPES, counting


@pytest.mark.parametrize("layout", STRIDED)
def test_ours_to_jax(allocate, jax, numpy, host_accessible, layout):
    a, expected = strided_array(allocate, host_accessible, layout)
    assert jax.numpy.asarray(numpy.asarray(a)).tolist() == expected
    if not a.flags.c_contiguous or not a.size:
        a = ut.asarray(a, order="C", copy=True)
        assert a._pointer % 64 == 0
    theirs = jax.dlpack.from_dlpack(Exporter(a, CPU))
    assert theirs.shape == a.shape and theirs.tolist() == expected
    # It copies what is not aligned to 64 bytes, as new arrays of ours are.
    if a.size and a._pointer % 64 == 0:
        for view in (theirs, jax.dlpack.from_dlpack(numpy.asarray(a))):
            assert view.unsafe_buffer_pointer() == a._pointer


@pytest.mark.parametrize("dtype", [name for name in DTYPES if "64" not in name and name != "complex128"])
def test_jax_to_ours(jax, queue, dtype):
    theirs = jax.numpy.asarray(counting(dtype, 6), dtype=dtype)
    for a in (ut.asarray(theirs, sycl_queue=queue), ut.from_dlpack(theirs, device=queue)):
        assert (a.dtype, a.tolist(), a.flags.writable) == (dtype, counting(dtype, 6), True)
    assert ut.asarray(theirs.reshape(2, 3).T, sycl_queue=queue).tolist() == theirs.reshape(2, 3).T.tolist()
    with pytest.raises(BufferError):
        ut.from_dlpack(theirs, copy=False)


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_dtypes_there_and_back(jax, numpy, queue, host_accessible, dtype):
    theirs = jax.numpy.asarray([1.0, 2.5, -3.0, 0.25, 4.0, 0.0], dtype=dtype)
    for a in (ut.asarray(theirs, sycl_queue=queue), ut.from_dlpack(theirs, device=queue)):
        assert (a.dtype, a.tolist()) == (dtype, theirs.tolist())
    a = ut.asarray([1, 2.5, -3, 0.25], dtype, usm_type=host_accessible, sycl_queue=queue)
    back = jax.dlpack.from_dlpack(Exporter(a, CPU))
    assert (back.dtype, back.tolist()) == (dtype, a.tolist())
    assert a._pointer % 64 or back.unsafe_buffer_pointer() == a._pointer
    assert jax.numpy.asarray(numpy.asarray(a)).dtype == dtype
