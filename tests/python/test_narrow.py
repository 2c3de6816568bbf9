"""bfloat16 and the floating-point dtypes of 8 bits: with ml_dtypes and without, on every kind of memory."""

import copy
import math
import pickle

import pytest

import usm.tensor as ut

from support.dlpack import CPU, Exporter, tensor_in
from support.narrow import NARROW, itemsize, number, numbers, pattern, same
from support.process import check

CODES = {"bfloat16": 4, "float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e5m2fnuz": 13}


@pytest.fixture(params=NARROW)
def dtype(request):
    return request.param


@pytest.fixture
def every(dtype, queue, usm_type):
    """All numbers of the dtype."""
    bits = ut.asarray(
        memoryview(pattern(dtype)).cast("H" if itemsize(dtype) == 2 else "B"), sycl_queue=queue, usm_type=usm_type
    )
    return ut.usm_ndarray(bits.shape, dtype, buffer=bits)


def all_same(found, expected):
    return len(found) == len(expected) and all(map(same, found, expected))


def test_every_number(dtype, every):
    assert str(every.dtype) == dtype and every.itemsize == itemsize(dtype)
    expected = numbers(dtype)
    assert all_same(every.tolist(), expected)
    for longer in ("float32", "float64"):
        cast = ut.astype(every, longer)
        assert all_same(cast.tolist(), expected)
        assert all_same(ut.astype(cast, dtype).tolist(), expected)
    assert all_same(every[::-3].copy().tolist(), expected[::-3])
    assert all_same(ut.astype(every[5::7], "float64").tolist(), expected[5::7])


def test_arrays_are_made_viewed_and_moved(dtype, queue, usm_type):
    at = {"sycl_queue": queue, "usm_type": usm_type}
    a = ut.asarray([[1, 2.5, -3], [0.25, 4, 0]], dtype, **at)
    assert (a.dtype, a.shape, a.tolist()) == (dtype, (2, 3), [[1, 2.5, -3], [0.25, 4, 0]])
    assert ut.zeros(2, dtype, **at).tolist() == [0, 0] and ut.ones(2, dtype, **at).tolist() == [1, 1]
    assert ut.full(2, 1.3, dtype, **at).tolist() == [ut.full((), 1.3, dtype, **at).item()] * 2
    assert ut.arange(4, dtype=dtype, **at).tolist() == [0, 1, 2, 3]
    assert ut.linspace(0, 1, 3, dtype=dtype, **at).tolist() == [0, 0.5, 1]
    assert ut.eye(2, dtype=dtype, **at).tolist() == [[1, 0], [0, 1]]
    assert ut.zeros_like(a).dtype == dtype and ut.empty(3, dtype, **at).dtype == dtype
    assert a.T.tolist() == [[1, 0.25], [2.5, 4], [-3, 0]] and a[1, ::-2].tolist() == [0, 0.25]
    assert ut.concat([a, a[:1]]).tolist() == [*a.tolist(), a.tolist()[0]] and ut.concat([a, a]).dtype == dtype
    assert ut.stack([a, a]).shape == (2, 2, 3) and ut.tile(a, (1, 2)).dtype == dtype
    assert ut.take(a, ut.asarray([2, 0], **at), axis=1).tolist() == [[-3, 1], [0, 0.25]]
    mask = a > 0
    assert mask.tolist() == [[True, True, False], [True, True, False]] and a[mask].tolist() == [1, 2.5, 0.25, 4]
    assert ut.where(mask, a, ut.zeros_like(a)).dtype == dtype
    b = a.copy()
    b[mask] = 2
    b[0, 2] = 0.5
    assert b.tolist() == [[2, 2, 0.5], [2, 2, 0]]
    assert (b == a).tolist() == [[False, False, False], [False, False, True]]
    assert ut.astype(a, "bool").tolist() == [[True, True, True], [True, True, False]]
    assert ut.astype(a, "int8").tolist() == [[1, 2, -3], [0, 4, 0]]
    assert ut.astype(a, "complex64").tolist()[0] == [1, 2.5, -3]
    for other in NARROW:
        assert ut.astype(a, other).tolist() == a.tolist()


def test_operations_are_those_of_the_numbers(dtype, every):
    values = numbers(dtype)
    finite = [value for value in values if math.isfinite(value)]
    assert ut.isnan(every).tolist() == [math.isnan(value) for value in values]
    assert ut.isinf(every).tolist() == [math.isinf(value) for value in values]
    assert ut.isfinite(every).tolist() == [math.isfinite(value) for value in values]
    assert ut.signbit(every).tolist() == [bits >= len(values) // 2 for bits in range(len(values))]
    assert (every != every).tolist() == [math.isnan(value) for value in values]
    assert ut.logical_not(every).tolist() == [value == 0 for value in values]
    assert ut.count_nonzero(every).item() == sum(value != 0 for value in values)
    numbers_only = every[ut.isfinite(every)]
    assert ut.max(numbers_only).item() == max(finite) and ut.min(numbers_only).item() == min(finite)
    assert ut.max(numbers_only).dtype == dtype and math.isnan(ut.min(every).item())
    bound = 40 * 2**-53 * sum(map(abs, finite))
    assert abs(ut.sum(numbers_only, dtype="float64").item()) <= bound
    ones = ut.ones(1000, dtype, sycl_queue=every.sycl_queue, usm_type=every.usm_type)
    # Not 16, where sums in these dtypes end.
    expected = ut.full((), 1000, dtype, device="host").item()
    assert same(ut.sum(ones).item(), expected) and ut.sum(ones).dtype == dtype


def test_text_and_pickles(dtype, queue, usm_type):
    a = ut.asarray([[1, 2.5], [0.25, -4]], dtype, sycl_queue=queue, usm_type=usm_type)
    assert str(a) == "[[ 1.    2.5 ]\n [ 0.25 -4.  ]]" and f"dtype={dtype})" in repr(a)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(a.T, protocol))
        assert (again.dtype, again.usm_type, again.tolist()) == (dtype, usm_type, a.T.tolist())
    buffers = []
    data = pickle.dumps(a, 5, buffer_callback=buffers.append)
    assert pickle.loads(data, buffers=buffers).tolist() == a.tolist()
    assert copy.deepcopy(a).tolist() == a.tolist()
    assert float(a[0, 1]) == 2.5 and int(a[1, 1]) == -4 and bool(a[0, 0]) and complex(a[0, 1]) == 2.5


def test_names_of_dtypes(dtype):
    found = getattr(ut, dtype)
    assert found == dtype and found.name == dtype and found.itemsize == itemsize(dtype)
    assert ut.zeros(1, found, device="host").dtype is found and dtype in ut.__all__
    assert found.kind == ("f" if dtype == "float8_e5m2" else "V")
    assert pickle.loads(pickle.dumps(found)) == found
    with pytest.raises(ValueError, match="typestr|kind|bytes"):
        ut.zeros(1, "V2", device="host")


def test_promotion_and_kinds(dtype):
    other = "float8_e5m2" if dtype == "bfloat16" else "bfloat16"
    for beside, expected in [
        (dtype, dtype),
        ("bool", dtype),
        ("int8", dtype),
        ("uint8", dtype),
        ("int16", "float32"),
        ("uint16", "float32"),
        ("int32", "float64"),
        ("int64", "float64"),
        ("float16", "float32"),
        (other, "float32"),
        ("float32", "float32"),
        ("float64", "float64"),
        ("complex64", "complex64"),
        ("complex128", "complex128"),
        (True, dtype),
        (1, dtype),
        (1.0, dtype),
        (1j, "complex64"),
    ]:
        assert ut.result_type(dtype, beside) == expected == ut.result_type(beside, dtype), beside
    assert ut.can_cast(dtype, "float32") and ut.can_cast("int8", dtype) and not ut.can_cast(dtype, "float16")
    assert ut.can_cast("float64", dtype, casting="same_kind") and not ut.can_cast(dtype, "int32", casting="same_kind")
    for kind in ("bool", "integral", "real floating", "complex floating", "numeric"):
        assert not ut.isdtype(getattr(ut, dtype), kind)
    assert ut.isdtype(getattr(ut, dtype), getattr(ut, dtype))
    assert dtype not in ut.__array_namespace_info__().dtypes(device="host")


def test_limits(dtype):
    limits = ut.finfo(dtype)
    values = sorted(value for value in numbers(dtype) if math.isfinite(value))
    above_one = next(value for value in values if value > 1)
    assert (limits.max, limits.min, limits.eps) == (values[-1], values[0], above_one - 1)
    assert limits.bits == 8 * itemsize(dtype) and limits.dtype == dtype
    fraction = round(-math.log2(limits.eps))
    assert limits.smallest_normal == number(dtype, 1 << fraction)
    with pytest.raises(ValueError, match=dtype):
        ut.iinfo(dtype)


def test_what_has_no_name_for_them_names_dlpack(dtype, queue, host_accessible):
    a = ut.ones(3, dtype, sycl_queue=queue, usm_type=host_accessible)
    with pytest.raises(AttributeError, match=f"__sycl_usm_array_interface__.*{dtype}.*DLPack"):
        _ = a.__sycl_usm_array_interface__
    assert not hasattr(a, "__sycl_usm_array_interface__")
    with pytest.raises(BufferError, match=f"buffer protocol.*{dtype}.*DLPack"):
        memoryview(a)


def test_the_interface_of_cuda_names_dlpack(dtype, cuda_queue):
    a = ut.ones(3, dtype, sycl_queue=cuda_queue)
    with pytest.raises(AttributeError, match=f"__cuda_array_interface__.*{dtype}.*DLPack"):
        _ = a.__cuda_array_interface__


def test_dlpack_carries_them(dtype, queue, usm_type):
    a = ut.asarray([[1, 2.5, -3], [0.25, 4, 0]], dtype, sycl_queue=queue, usm_type=usm_type)
    for view in (a, a.T, a[:, ::-2], a[:0]):
        for keywords in ({}, {"max_version": (1, 3)}):
            capsule = view.__dlpack__(**keywords)
            assert capsule is not None
        again = ut.from_dlpack(view, device=None)
        assert (again.dtype, again.tolist()) == (dtype, view.tolist())
        assert not view.size or again._pointer == view._pointer
    if usm_type != "device":
        b = ut.from_dlpack(Exporter(a, CPU), device=queue)
        assert (b.dtype, b._pointer) == (dtype, a._pointer)


def test_their_codes(dtype):
    tensor, _ = tensor_in(ut.ones(1, dtype, device="host", usm_type="host").__dlpack__())
    assert (tensor.code, tensor.bits, tensor.lanes) == (CODES[dtype], 8 * itemsize(dtype), 1)


WITHOUT = """
import sys
sys.modules["ml_dtypes"] = None
import pickle, usm.tensor as ut
assert type(ut.bfloat16) is ut.DType and str(ut.bfloat16) == "bfloat16", ut.bfloat16
a = ut.asarray([1, 2.5], "bfloat16", device="host", usm_type="shared")
assert a.dtype is ut.bfloat16 and a.dtype == "bfloat16" and a.dtype.kind == "V" and ut.float8_e5m2.kind == "f"
assert a.dtype.str == "<V2" and ut.float8_e4m3fn.str == "|V1"
assert pickle.loads(pickle.dumps(a)).dtype == a.dtype == pickle.loads(pickle.dumps(a.dtype))
assert ut.result_type(a, "f4") == "float32" and ut.finfo(a.dtype).dtype is a.dtype
for function in (ut.asnumpy, lambda a: __import__("numpy").asarray(a)):
    try:
        function(a)
    except ModuleNotFoundError as error:
        assert "ml_dtypes" in str(error) or "umpy" in str(error), error
    else:
        raise AssertionError("NumPy has no bfloat16")
"""


def test_without_ml_dtypes():
    check(WITHOUT)


def test_ml_dtypes_is_imported_when_it_is_needed():
    check("""
import sys, usm.tensor as ut
ut.asarray([1.0, 2.0], "float16", device="host")
_ = ut.float32, ut.finfo("float16"), ut.__array_namespace_info__().dtypes()
assert "ml_dtypes" not in sys.modules
""")


def test_rounding_is_to_nearest_even(dtype, queue, usm_type):
    one = ut.finfo(dtype).eps
    cases = {1 + one / 2: 1, 1 + one * 3 / 2: 1 + 2 * one, 1 + one * 0.51: 1 + one, 0.0: 0.0}
    a = ut.asarray(list(cases), "float32", sycl_queue=queue, usm_type=usm_type)
    assert ut.astype(a, dtype).tolist() == list(cases.values())
    largest = ut.finfo(dtype).max
    beyond = ut.asarray(
        [largest * 1.5, -largest * 1.5, math.inf, math.nan], "float32", sycl_queue=queue, usm_type=usm_type
    )
    found = ut.astype(beyond, dtype).tolist()
    if dtype in ("bfloat16", "float8_e5m2"):
        assert found[:3] == [math.inf, -math.inf, math.inf] and math.isnan(found[3])
    else:
        assert all(map(math.isnan, found))
