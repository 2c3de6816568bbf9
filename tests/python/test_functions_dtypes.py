"""dtype functions and the namespace's inspection against NumPy, and array-api-strict where it is installed."""

import itertools

import pytest

from support import requirements

np = requirements.needed("numpy")
requirements.needed("hypothesis")

from hypothesis import given
from hypothesis import strategies as st

import usm
import usm.tensor as ut

from support.campaign import campaign
from support.pairs import ALL, COMPLEX, INTEGERS, REALS, pairs

KINDS = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"]


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
def test_can_cast(casting):
    for a, b in itertools.product(ALL, ALL):
        assert ut.can_cast(a, b, casting=casting) == np.can_cast(a, b, casting), (a, b)
        assert ut.can_cast(np.dtype(a), getattr(np, b) if b != "bool" else bool, casting=casting) == np.can_cast(
            a, b, casting
        )


def test_can_cast_of_an_array(queue):
    a = ut.zeros(1, "f8", sycl_queue=queue)
    assert not ut.can_cast(a, "f4") and ut.can_cast(a, "c16")
    with pytest.raises(TypeError):
        ut.can_cast(3.5, "f4")
    with pytest.raises(TypeError):
        ut.can_cast("f4", a)
    with pytest.raises(ValueError, match="casting"):
        ut.can_cast("f4", "f8", casting="maybe")
    with pytest.raises(TypeError, match="to: "):
        ut.can_cast("f4", "M8[s]")


numbers = st.sampled_from([True, 7, -3.5, 2j])


@campaign
@given(st.lists(st.sampled_from(ALL), min_size=1, max_size=4), st.lists(numbers, max_size=3), st.data())
def test_result_type(dtypes, weak, data):
    operands = data.draw(st.permutations([*map(np.dtype, dtypes), *weak]))
    # NumPy promotes a bool among numbers as an array of bools.
    expected = np.result_type(*[one for one in operands if one is not True])
    assert np.dtype(ut.result_type(*operands)) == expected
    arrays = [
        data.draw(pairs(dtypes=[one.name], shape=st.just(()))).ours if isinstance(one, np.dtype) else one
        for one in operands
    ]
    assert np.dtype(ut.result_type(*arrays)) == expected


def test_result_type_of_numbers_alone():
    for number, expected in [(True, "bool"), (1, "int64"), (1.5, "float64"), (1j, "complex128")]:
        assert np.dtype(ut.result_type(number)) == np.result_type(number) == expected
        assert np.dtype(ut.result_type(number, True, 3)) == np.result_type(number, 3)
    assert np.dtype(ut.result_type(np.float32(1), 2)) == "float32"
    with pytest.raises(ValueError, match="arrays_and_dtypes"):
        ut.result_type()
    with pytest.raises(TypeError, match=r"arrays_and_dtypes\[1\]"):
        ut.result_type("i4", object())


@pytest.mark.parametrize("dtype", ALL)
def test_isdtype(dtype):
    kinds = {"b": {"bool"}, "i": {"signed integer", "integral"}, "u": {"unsigned integer", "integral"}}
    kinds |= {"f": {"real floating"}, "c": {"complex floating"}}
    expected = kinds[np.dtype(dtype).kind] | ({"numeric"} if dtype != "bool" else set())
    assert {kind for kind in KINDS if ut.isdtype(np.dtype(dtype), kind)} == expected
    assert ut.isdtype(np.dtype(dtype), tuple(KINDS))
    assert not ut.isdtype(np.dtype(dtype), ())
    assert [other for other in ALL if ut.isdtype(np.dtype(dtype), np.dtype(other))] == [dtype]
    assert ut.isdtype(np.dtype(dtype), (np.dtype("bool"), np.dtype(dtype)))


def test_isdtype_of_what_is_no_kind():
    for kind, error in [("other", ValueError), (3, TypeError), (None, TypeError), (("bool", 3), TypeError)]:
        with pytest.raises(error, match="kind"):
            ut.isdtype(np.dtype("i4"), kind)


@pytest.mark.parametrize("dtype", [*REALS, *COMPLEX])
def test_finfo(dtype, queue):
    ours, theirs = ut.finfo(dtype), np.finfo(dtype)
    for name in ("bits", "eps", "epsneg", "max", "min", "smallest_normal", "tiny", "precision"):
        assert getattr(ours, name) == float(getattr(theirs, name)), name
        assert isinstance(getattr(ours, name), float if name != "bits" else int)
    assert theirs.dtype.type(ours.resolution) == theirs.resolution
    assert np.dtype(ours.dtype) == theirs.dtype
    assert ut.finfo(ut.zeros(1, dtype, sycl_queue=queue)).max == ours.max
    assert dtype.replace("complex64", "float32").replace("complex128", "float64") in repr(ours)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_iinfo(dtype, queue):
    ours, theirs = ut.iinfo(dtype), np.iinfo(dtype)
    assert (ours.bits, ours.max, ours.min) == (theirs.bits, theirs.max, theirs.min)
    assert np.dtype(ours.dtype) == theirs.dtype
    assert ut.iinfo(ut.zeros(1, dtype, sycl_queue=queue)).min == ours.min
    assert dtype in repr(ours)


def test_limits_of_other_dtypes():
    for dtype in [*INTEGERS, "bool"]:
        with pytest.raises(ValueError, match="dtype"):
            ut.finfo(dtype)
    for dtype in [*REALS, *COMPLEX, "bool"]:
        with pytest.raises(ValueError, match="dtype"):
            ut.iinfo(dtype)


def test_the_namespace(queue):
    info = ut.__array_namespace_info__()
    assert ut.__array_api_version__ == "2025.12"
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert ut.zeros((1,) * 64, device="host").ndim == 64
    assert info.default_device() == usm.select_default_device()
    assert info.devices() == tuple(usm.get_devices())
    assert info.default_device() in info.devices() and ut.zeros(1).device in info.devices()
    assert all(ut.zeros(1, device=device).device == device for device in info.devices())
    assert ut.zeros(1, sycl_queue=usm.SyclQueue(queue.sycl_device)).device not in info.devices()
    for device in (None, queue, queue.sycl_device, queue.sycl_device.filter_string):
        defaults = info.default_dtypes(device=device)
        assert list(defaults) == ["real floating", "complex floating", "integral", "indexing"]
        made = [ut.empty(1, device=device), ut.full(1, 1j, device=device), ut.full(1, 1, device=device)]
        assert [np.dtype(defaults[kind]) for kind in list(defaults)[:3]] == [np.dtype(a.dtype) for a in made]
        assert set(info.dtypes(device=device)) == set(ALL) - {"float16"}
        for kind in KINDS:
            found = info.dtypes(device=device, kind=kind)
            assert set(found) == {n for n in ALL if n != "float16" and ut.isdtype(np.dtype(n), kind)}
            assert all(np.dtype(dtype).name == name for name, dtype in found.items())
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", "float32", "float64"}
    with pytest.raises(ValueError, match="kind"):
        info.dtypes(kind="other")


def test_the_namespace_is_that_of_the_standard():
    strict = requirements.module("array_api_strict", required=requirements.REQUIRE_PEERS)
    ours, theirs = ut.__array_namespace_info__(), strict.__array_namespace_info__()
    assert strict.__array_api_version__ == ut.__array_api_version__
    assert set(ours.capabilities()) == set(theirs.capabilities())
    assert set(ours.dtypes()) == set(theirs.dtypes())
    assert set(ours.default_dtypes()) == set(theirs.default_dtypes())
    for kind in KINDS:
        assert set(ours.dtypes(kind=kind)) == set(theirs.dtypes(kind=kind))


def test_constants():
    assert (ut.e, ut.pi, ut.inf, ut.newaxis) == (np.e, np.pi, np.inf, None)
    assert np.isnan(ut.nan)
