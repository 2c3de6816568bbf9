"""NumPy, which stays optional: `asnumpy` copies every kind, dtype and layout."""

import pytest

import usm.tensor as ut

from support.values import DTYPES, counting, pack


@pytest.mark.parametrize("dtype", DTYPES)
def test_asnumpy_copies_values(array, numpy, usm_type, dtype):
    values = counting(dtype, 24)
    a = array((2, 3, 4), dtype=dtype, buffer=usm_type)
    a.usm_data.copy_from_host(pack(dtype, values))
    expected = numpy.array(values, dtype=dtype).reshape(2, 3, 4)
    n = ut.asnumpy(a)
    assert type(n) is numpy.ndarray and n.dtype == expected.dtype
    assert (n == expected).all()
    n[...] = 0
    assert (ut.asnumpy(a) == expected).all()


@pytest.mark.parametrize(
    "key",
    [
        ...,
        (slice(None, None, -1), slice(None, None, -2), slice(3, 0, -1)),
        (slice(None), 1, slice(None)),
        (0, ..., None),
        (1, 2, 3),
        slice(2, 2),
    ],
    ids=repr,
)
def test_asnumpy_of_views(array, numpy, usm_type, key):
    a = array((2, 3, 4), dtype="i4", buffer=usm_type)
    a.usm_data.copy_from_host(pack("int32", range(24)))
    expected = numpy.arange(24, dtype="i4").reshape(2, 3, 4)
    for ours, theirs in ((a, expected), (a.T, expected.T)):
        try:
            theirs = theirs[key]
        except IndexError:
            with pytest.raises(IndexError):
                ours[key]
            continue
        n = ut.asnumpy(ours[key])
        assert n.shape == theirs.shape
        assert (n == theirs).all()


@pytest.mark.parametrize("dtype", ["bool", "float16", "int32", "complex128"])
def test_asnumpy_of_much_memory(array, numpy, usm_type, dtype):
    """Where the copy may be in memory of the pool: it is nobody else's, keeps its order, and outlives the array."""
    base = (numpy.arange(3 * (2 << 20) // numpy.dtype(dtype).itemsize) % 100).astype(dtype).reshape(3, -1)
    a = array(base.shape, dtype=dtype, buffer=usm_type)
    a[...] = base
    rows, columns, some = ut.asnumpy(a), ut.asnumpy(a.T), ut.asnumpy(a[::-1, 1:])
    a[...] = 0
    del a
    for n, expected in ((rows, base), (columns, base.T), (some, base[::-1, 1:])):
        assert type(n) is numpy.ndarray and n.dtype == base.dtype and n.flags.writeable
        assert n.shape == expected.shape and n.strides == expected.copy("A").strides
        assert (n == expected).all()
    rows[...] = 1
    assert (columns == base.T).all()


def test_numpy_asarray_views_host_accessible_memory(array, numpy, host_accessible):
    a = array((3,), dtype="f4", buffer=host_accessible)
    a.usm_data.copy_from_host(pack("float32", [1, 2, 3]))
    n = numpy.asarray(a)
    assert n.dtype == numpy.float32 and n.tolist() == [1.0, 2.0, 3.0]
    assert n.ctypes.data == a._pointer
    n[0] = 9
    assert a[0].item() == 9.0
    assert numpy.array(a, dtype="i2").tolist() == [9, 2, 3]
    assert numpy.asarray(a[::-1]).tolist() == [3.0, 2.0, 9.0]


def test_the_array_method_only_tells_what_to_do(array, numpy, usm_type):
    a = array((2,), dtype="f8", buffer=usm_type)
    for arguments, keywords in (((), {}), (("f4",), {}), ((), {"copy": True}), ((None,), {"copy": False})):
        with pytest.raises(TypeError, match=r"usm\.tensor\.asnumpy"):
            a.__array__(*arguments, **keywords)
    if usm_type != "device":
        with pytest.raises(TypeError, match=r"numpy\.asarray\(array\)"):
            a.__array__()


def test_asarray_of_numpy_copies(queue, numpy, usm_type):
    n = numpy.arange(12, dtype="f4").reshape(3, 4)[::-1, ::2]
    a = ut.asarray(n, usm_type=usm_type, sycl_queue=queue)
    assert (a.shape, a.dtype, a.usm_type) == ((3, 2), "float32", usm_type)
    assert a.tolist() == n.tolist()


def test_asnumpy_refuses_other_things(numpy):
    for wrong in (3, None, "text", object()):
        with pytest.raises(TypeError):
            ut.asnumpy(wrong)
