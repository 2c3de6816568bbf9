"""ml_dtypes: its dtypes and numbers in NumPy, and its casts, bit by bit."""

import pytest

from support import requirements

np = requirements.needed("numpy")

import usm.tensor as ut

from support.narrow import NARROW, edges, itemsize, pattern

ml_dtypes = requirements.needed("ml_dtypes", required=requirements.REQUIRE_PEERS)


@pytest.fixture(params=NARROW)
def dtype(request):
    return np.dtype(getattr(ml_dtypes, request.param))


@pytest.fixture
def at(queue, usm_type):
    return {"sycl_queue": queue, "usm_type": usm_type}


def unsigned(dtype):
    return f"uint{8 * dtype.itemsize}"


def check_bits(found, expected):
    """The same bits, NaN included."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    found, expected = (a.view(unsigned(a.dtype)) for a in (ut.asnumpy(found), expected))
    wrong = np.flatnonzero(found != expected)
    assert not wrong.size, [(i, hex(found[i]), hex(expected[i])) for i in wrong[:5]]


def every(dtype):
    return np.frombuffer(pattern(dtype.name), unsigned(dtype)).view(dtype)


def test_dtypes_are_those_of_numpy(dtype):
    assert getattr(ut, dtype.name) is ut.zeros(1, dtype, device="host").dtype
    assert getattr(ut, dtype.name) == dtype and isinstance(getattr(ut, dtype.name), np.dtype)
    assert ut.zeros(1, dtype.type, device="host").dtype == dtype
    limits, expected = ut.finfo(dtype), ml_dtypes.finfo(dtype)
    for name in ("bits", "eps", "max", "min", "smallest_normal", "tiny"):
        assert getattr(limits, name) == float(getattr(expected, name)), name


@pytest.mark.any_memory
@pytest.mark.parametrize("other", ["float16", "float32", "float64", *NARROW])
def test_casts_of_every_number(dtype, other, at):
    theirs = every(dtype)
    with np.errstate(all="ignore"):
        expected = theirs.astype(getattr(ml_dtypes, other, other))
    check_bits(ut.astype(ut.asarray(theirs, **at), other), expected)


@pytest.mark.any_memory
@pytest.mark.parametrize("source", ["float32", "float64", "float16"])
def test_casts_to_them(dtype, source, at):
    numbers = np.array(edges(dtype.name), "float32")
    special = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF, 1, 0x80000000], "uint32").view("float32")
    numbers = np.concatenate(
        [numbers, special, np.random.default_rng(7).integers(0, 2**32, 5000, "uint32").view("float32")]
    )
    with np.errstate(all="ignore"):
        numbers = numbers.astype(source)
        if source == "float64":
            # Between numbers of binary32: both are rounded in two steps.
            numbers = np.concatenate([numbers, np.nextafter(numbers, 0), np.nextafter(numbers, np.inf)])
        if source == "float16":
            numbers = np.arange(65536).astype("uint16").view("float16")
        expected = numbers.astype(dtype)
    check_bits(ut.astype(ut.asarray(numbers, **at), dtype), expected)


def test_integers_and_booleans_become_them(dtype, at):
    for source in ("int8", "uint8", "int16", "int32", "int64", "uint64", "bool"):
        info = np.iinfo(source) if source != "bool" else None
        values = (
            [0, 1] if info is None else [info.min, info.min + 1, 0, 1, 2, 3, 5, 17, 100, 127, info.max - 1, info.max]
        )
        numbers = np.array(values, source)
        # ml_dtypes casts them by way of binary32, too, but not on all machines to the same NaN.
        expected = numbers.astype("float32").astype(dtype)
        check_bits(ut.astype(ut.asarray(numbers, **at), dtype), expected)


def test_arrays_of_numpy(dtype, at, usm_type):
    theirs = (np.arange(12) % 8).reshape(3, 4).astype(dtype)
    for view in (theirs, theirs.T, theirs[::-1, ::2], theirs[:0], theirs[1, 1], np.asfortranarray(theirs)):
        for a in (ut.asarray(view, **at), ut.from_numpy(view, **at)):
            assert (a.dtype, a.tolist()) == (dtype, view.tolist())
            back = ut.asnumpy(a)
            assert (back.dtype, back.tolist()) == (dtype, view.tolist())
    a = ut.asarray(theirs, **at)
    a[0] = theirs[1]
    a[1, 2] = theirs[2, 3]
    assert a.tolist()[0] == [4, 5, 6, 7] and a.tolist()[1] == [4, 5, 3, 7]
    if usm_type == "device":
        with pytest.raises(TypeError, match="asnumpy"):
            np.asarray(a)
        return
    view = np.asarray(a)
    assert view.dtype == dtype and view.ctypes.data == a._pointer
    view[0, 0] = -7
    assert a.tolist()[0][0] == -7
    assert np.asarray(a[::-1, ::2]).tolist() == a[::-1, ::2].tolist()
    assert np.array(a).ctypes.data != a._pointer and np.asarray(a, "float32").dtype == "float32"
    assert not np.shares_memory(np.array(a, copy=True), view)
    assert (np.asarray(a) + np.asarray(a)).dtype == dtype


def test_numbers(dtype, at):
    number = dtype.type(1.5)
    assert ut.asarray(number, **at).dtype == dtype and ut.asarray(number, **at).item() == 1.5
    a = ut.zeros(3, dtype, **at)
    a[0] = number
    a[1:] = dtype.type(2)
    assert a.tolist() == [1.5, 2, 2] and (a == number).tolist() == [True, False, False]
    assert ut.full(2, number, dtype, **at).tolist() == [1.5, 1.5]
    assert ut.result_type(number, "float32") == "float32"


def test_others_are_refused_by_name(dtype):
    swapped = np.ones(2, dtype).view(dtype.newbyteorder(">"))
    if itemsize(dtype.name) == 2:
        with pytest.raises((TypeError, ValueError), match="order|V2"):
            ut.asarray(swapped)
    for name in ("int4", "float8_e8m0fnu", "float8_e3m4"):
        with pytest.raises((TypeError, ValueError)):
            ut.asarray(np.ones(2, getattr(ml_dtypes, name)))
        with pytest.raises((TypeError, ValueError)):
            ut.zeros(2, getattr(ml_dtypes, name))
