"""NumPy, which stays optional: `asnumpy` copies every kind, dtype and layout."""

import tracemalloc

import pytest

import usm.tensor as ut

from support import process
from support.values import DTYPES, counting, pack


@pytest.mark.parametrize("dtype", DTYPES)
def test_asnumpy_copies_values(array, numpy, usm_type, dtype):
    values = counting(dtype, 24)
    a = array((2, 3, 4), dtype=dtype, buffer=usm_type)
    a.usm_data.copy_from_host(pack(dtype, values))
    expected = numpy.array(values, dtype=dtype).reshape(2, 3, 4)
    n = ut.asnumpy(a)
    assert type(n) is numpy.ndarray and n.dtype is expected.dtype
    assert (n == expected).all()
    assert n.flags.owndata and n.flags.writeable and n.flags.aligned and n.strides == expected.strides
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


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,) * 9, (2, 1, 3)], ids=repr)
def test_asnumpy_of_every_rank(array, numpy, usm_type, shape):
    a = array(shape, dtype="c8", buffer=usm_type)
    a[...] = 1 + 2j
    n = ut.asnumpy(a)
    assert n.shape == shape and n.strides == numpy.empty(shape, "c8").strides and (n == 1 + 2j).all()
    n.resize((5,), refcheck=False)
    assert n.tolist() == ([1 + 2j] * a.size + [0] * 5)[:5]


def test_asnumpy_frees_its_copies(array, numpy, usm_type):
    a = array((1000,), dtype="f8", buffer=usm_type)
    ut.asnumpy(a)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(100):
            ut.asnumpy(a)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before > 8000, "the copies are not NumPy's, or this does not see them"
    assert after - before < 8000


# A table whose first function says that it is of another ABI, and whose others must not be called.
EXTERNAL_TABLE = """
import ctypes
version = ctypes.CFUNCTYPE(ctypes.c_uint)(lambda: 0x03000000)
table = (ctypes.c_void_p * 100)(ctypes.cast(version, ctypes.c_void_p).value, *[16] * 99)
capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
numpy._core._multiarray_umath._ARRAY_API = capsule(ctypes.addressof(table), None, None)
"""

HIDDEN = """
import numpy
{hide}
calls, empty = [], numpy.empty
numpy.empty = lambda *arguments: calls.append(arguments) or empty(*arguments)
import usm.tensor as ut
array = ut.asarray([[1, 2], [3, 4]], "i2", usm_type="shared")
assert ut.asnumpy(array[:, ::-1]).tolist() == [[2, 1], [4, 3]]
assert ut.asnumpy(array).dtype == numpy.int16
assert array.usm_data.copy_to_host().tolist() == [1, 0, 2, 0, 3, 0, 4, 0]
assert len(calls) == {calls}, calls
"""


@pytest.mark.parametrize(
    "hide",
    [
        "",
        "del numpy._core._multiarray_umath._ARRAY_API",
        "numpy._core._multiarray_umath._ARRAY_API = 3",
        "import datetime; numpy._core._multiarray_umath._ARRAY_API = datetime.datetime_CAPI",
        EXTERNAL_TABLE,
        "import sys; sys.modules['numpy._core._multiarray_umath'] = sys.modules['numpy.core._multiarray_umath'] = None",
    ],
)
def test_asnumpy_with_and_without_the_c_interface_of_numpy(numpy, hide):
    process.check(HIDDEN.format(hide=hide, calls=3 if hide else 0))


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_copies_around_the_size_that_gets_a_thread(queue, numpy, usm_type, more):
    base = numpy.arange((16 << 20) + more, dtype="u1")
    a = ut.asarray(base, usm_type=usm_type, sycl_queue=queue)
    assert (ut.asnumpy(a) == base).all()
    assert (a.usm_data.copy_to_host() == base).all()


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


def test_advice_that_can_be_followed_without_numpy():
    process.check(
        """
        import sys
        sys.modules["numpy"] = None
        import usm.memory, usm.tensor as ut

        def text_of(attempt, error):
            try:
                attempt()
            except error as found:
                return str(found)
            raise AssertionError(attempt)

        device = ut.asarray([1, 2], "u1", usm_type="device", device="host")
        for attempt in (lambda: bytes(device), lambda: bytearray(device), lambda: memoryview(device), device.__array__):
            text = text_of(attempt, (BufferError, TypeError))
            for part in ('usm.tensor.asarray(array, usm_type="host")', 'usm_type="shared"', "pip install numpy"):
                assert part in text, text
        text_of(lambda: memoryview(device.usm_data), BufferError)
        for attempt in (lambda: ut.asnumpy(device), lambda: ut.to_numpy(device), lambda: ut.asnumpy(ut.asarray(1)),
                        lambda: ut.from_numpy(object())):
            text = text_of(attempt, ModuleNotFoundError)
            for part in ("pip install numpy", "array.tolist()", 'usm.tensor.asarray(array, usm_type="host")'):
                assert part in text, text
        try:
            ut.asnumpy(device)
        except ImportError as error:
            assert error.name == "numpy" and error.__cause__ is not None
        # Each way that the messages name.
        assert bytes(ut.asarray(device, usm_type="host")) == bytes(ut.asarray(device, usm_type="shared")) == b"\\1\\2"
        assert memoryview(ut.asarray(device, usm_type="host")).tolist() == device.tolist() == [1, 2]
        assert device.usm_data.copy_to_host() == bytearray(b"\\1\\2")
        """
    )
