"""Comparisons, logic and reductions against NumPy, on every kind of memory and strided layouts."""

import pytest

from support import requirements

np = requirements.needed("numpy")
requirements.needed("hypothesis")

from hypothesis import assume, given
from hypothesis import strategies as st

import usm
import usm.tensor as ut

from support.campaign import campaign
from support.interface import Producer
from support.pairs import ALL, BOOL, INTEGERS, REALS, pairs, places, same, same_elements, shapes

ORDERED = [*BOOL, *INTEGERS, *REALS]
numbers = st.sampled_from([True, 3, -2, 0.5, float("nan"), float("inf")])


def two(data, place, shape, dtypes):
    near = places.filter(lambda other: other.queue is place.queue)

    def one():
        kept = shape[data.draw(st.integers(0, len(shape))) :]
        part = tuple(1 if data.draw(st.booleans()) else n for n in kept)
        return data.draw(pairs(place=near, shape=st.just(part), dtypes=dtypes))

    return one(), one()


def check_binary(name, data, place, shape, dtypes, number):
    a, b = two(data, place, shape, dtypes)
    ours, theirs = getattr(ut, name), getattr(np, name)
    with np.errstate(all="ignore"):
        expected = theirs(a.theirs, b.theirs)
        same(ours(a.ours, b.ours), expected, a.ours, b.ours)
        out = ut.zeros(expected.shape, "bool", sycl_queue=place.queue)
        assert ours(a.ours, b.ours, out=out) is out
        same_elements(out, expected)
        if number is not None:
            same(ours(a.ours, number), theirs(a.theirs, number), a.ours)
            same(ours(number, a.ours), theirs(number, a.theirs), a.ours)


@pytest.mark.parametrize("name", ["equal", "not_equal"])
@campaign
@given(places, shapes, numbers, st.data())
def test_equality(name, place, shape, number, data):
    check_binary(name, data, place, shape, ALL, number)


@pytest.mark.parametrize("name", ["less", "less_equal", "greater", "greater_equal"])
@campaign
@given(places, shapes, numbers, st.data())
def test_order(name, place, shape, number, data):
    check_binary(name, data, place, shape, ORDERED, number)


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
@campaign
@given(places, shapes, numbers, st.data())
def test_logic(name, place, shape, number, data):
    check_binary(name, data, place, shape, ALL, number)


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
@campaign
@given(places, shapes, st.booleans(), st.data())
def test_bitwise(name, place, shape, number, data):
    check_binary(name, data, place, shape, BOOL, number)


@pytest.mark.parametrize("name", ["isnan", "isfinite", "isinf", "signbit", "logical_not", "bitwise_invert"])
@campaign
@given(st.data())
def test_one_operand(name, data):
    dtypes = {"signbit": ORDERED, "bitwise_invert": BOOL}.get(name, ALL)
    pair = data.draw(pairs(dtypes=dtypes))
    theirs = getattr(np, name)
    values = pair.theirs.astype("int8") if name == "signbit" and pair.theirs.dtype == bool else pair.theirs
    expected = theirs(values)
    same(getattr(ut, name)(pair.ours), expected, pair.ours)
    out = ut.zeros(np.shape(expected), "bool", sycl_queue=pair.ours.sycl_queue)
    assert getattr(ut, name)(pair.ours, out=out) is out
    same_elements(out, expected)


def axes_of(ndim, data):
    chosen = data.draw(st.lists(st.integers(0, ndim - 1), unique=True, max_size=ndim)) if ndim else []
    signed = tuple(axis - ndim * data.draw(st.integers(0, 1)) for axis in chosen)
    return data.draw(st.sampled_from([None, signed, *signed[:1]]))


@pytest.mark.parametrize("name", ["all", "any", "count_nonzero"])
@campaign
@given(pairs(), st.booleans(), st.data())
def test_truth(name, pair, keepdims, data):
    axes = axes_of(pair.theirs.ndim, data)
    expected = np.asarray(getattr(np, name)(pair.theirs, axis=axes, keepdims=keepdims))
    same(getattr(ut, name)(pair.ours, axis=axes, keepdims=keepdims), expected, pair.ours)


@pytest.mark.parametrize("name", ["min", "max"])
@campaign
@given(pairs(dtypes=ORDERED), st.booleans(), st.data())
def test_extremes(name, pair, keepdims, data):
    axes = axes_of(pair.theirs.ndim, data)
    try:
        expected = np.asarray(getattr(np, name)(pair.theirs, axis=axes, keepdims=keepdims))
    except ValueError:
        with pytest.raises(ValueError):
            getattr(ut, name)(pair.ours, axis=axes, keepdims=keepdims)
        return
    same(getattr(ut, name)(pair.ours, axis=axes, keepdims=keepdims), expected, pair.ours)
    out = ut.zeros_like(getattr(ut, name)(pair.ours, axis=axes, keepdims=keepdims))
    assert getattr(ut, name)(pair.ours, axis=axes, keepdims=keepdims, out=out) is out
    same_elements(out, expected)


@campaign
@given(pairs(), st.sampled_from([None, "int64", "float64", "complex128"]), st.booleans(), st.data())
def test_sum(pair, dtype, keepdims, data):
    axes = axes_of(pair.theirs.ndim, data)
    assume(not (pair.theirs.dtype.kind == "c" and dtype in ("int64", "float64")))
    assume(not (pair.theirs.dtype.kind == "f" and dtype == "int64"))
    with np.errstate(all="ignore"):
        # All numbers are quarters, whose sums are exact in every dtype but float16, where NumPy rounds on the way.
        half = pair.theirs.dtype == "float16" and dtype is None
        expected = np.asarray(np.sum(pair.theirs, axis=axes, keepdims=keepdims, dtype="float64" if half else dtype))
        expected = expected.astype("float16") if half else expected
    same(ut.sum(pair.ours, axis=axes, keepdims=keepdims, dtype=dtype), expected, pair.ours)


@campaign
@given(places, shapes, st.booleans(), st.data())
def test_closeness(place, shape, equal_nan, data):
    a, b = two(data, place, shape, ["float32", "float64", "complex128", "int16"])
    keywords = {"rtol": data.draw(st.sampled_from([0.0, 1e-5, 0.5])), "atol": 1e-3, "equal_nan": equal_nan}
    with np.errstate(all="ignore"):
        expected = np.isclose(a.theirs, b.theirs, **keywords)
    same(ut.isclose(a.ours, b.ours, **keywords), expected, a.ours, b.ours)
    closeness = ut.allclose(a.ours, b.ours, **keywords)
    assert closeness.shape == () and closeness.item() == expected.all()
    assert ut.allclose(a.ours, a.ours, equal_nan=True).item()


def test_numbers_compare_by_value(queue):
    """Where NumPy rounds both to float64 first."""
    big = ut.full(1, 2**53 + 1, sycl_queue=queue)
    assert ut.greater(big, float(2**53)).tolist() == [True]
    assert ut.less(ut.full(1, -1, sycl_queue=queue), ut.full(1, 2**64 - 1, dtype="u8", sycl_queue=queue)).tolist() == [
        True
    ]
    assert ut.equal(ut.ones(1, "u1", sycl_queue=queue), 300).tolist() == [False]


REFUSED = [
    (lambda a: ut.equal(1, 2), ut.ExecutionPlacementError, "x1, x2"),
    (lambda a: ut.equal(a, "x"), TypeError, "x2: found str"),
    (lambda a: ut.equal(a, ut.zeros(2, sycl_queue=a.sycl_queue)), ValueError, "broadcast"),
    (lambda a: ut.equal(a, a, out=a), ValueError, "out: found shape"),
    (lambda a: ut.equal(a, a, order="X"), ValueError, "order"),
    (lambda a: ut.less(ut.astype(a, "c8"), a), ValueError, "less"),
    (lambda a: ut.signbit(ut.astype(a, "c8")), ValueError, "signbit"),
    (lambda a: ut.bitwise_and(a, a), ValueError, "bitwise_and"),
    (lambda a: ut.bitwise_invert(a), ValueError, "bitwise_invert"),
    (lambda a: ut.min(a[:0]), ValueError, "min"),
    (lambda a: ut.max(ut.astype(a, "c8")), ValueError, "max"),
    (lambda a: ut.all(a, axis=1), ValueError, "axis"),
    (lambda a: ut.any(a, axis=(0, 0)), ValueError, "axis"),
    (lambda a: ut.sum(a, dtype="bool"), ValueError, "sum"),
    (lambda a: ut.sum(a, axis=1.5), TypeError, "axis"),
    (lambda a: ut.isnan(3), TypeError, "x: found int"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusals(queue, number):
    call, error, words = REFUSED[number]
    with pytest.raises(error, match=words):
        call(ut.ones(3, "f4", sycl_queue=queue))


# Calls that fail, what they say, and the dtype of their results.
OUT = [
    (lambda a, out: ut.less(ut.astype(a, "c8"), a, out=out), "less", "bool"),
    (lambda a, out: ut.signbit(ut.astype(a, "c8"), out=out), "signbit", "bool"),
    (lambda a, out: ut.bitwise_and(a, a, out=out), "bitwise_and", "bool"),
    (lambda a, out: ut.bitwise_invert(a, out=out), "bitwise_invert", "bool"),
    (lambda a, out: ut.where(a, 300, ut.astype(a, "i1"), out=out), "300", "i1"),
]
OUT_ELSEWHERE = [
    *OUT,
    (lambda a, out: ut.max(ut.astype(a, "c8"), out=out), "max", "c8"),
    (lambda a, out: ut.sum(a, dtype="bool", out=out), "sum", "bool"),
    (lambda a, out: ut.take(a, [9], out=out), "9", "f4"),
]
FAILURES = (ValueError, TypeError, IndexError, OverflowError)


@pytest.mark.parametrize("number", range(len(OUT)))
def test_shape_and_dtype_of_out_are_checked_before_the_work(queue, number):
    """The work would fail, too."""
    call, words, dtype = OUT[number]
    a = ut.ones(3, "f4", sycl_queue=queue)
    for out in (ut.zeros(4, dtype, sycl_queue=queue), a):
        with pytest.raises(ValueError, match="^out: found shape"):
            call(a, out)
    with pytest.raises(FAILURES, match=words):
        call(a, ut.zeros(3, dtype, sycl_queue=queue))


@pytest.mark.parametrize("number", range(len(OUT_ELSEWHERE)))
def test_the_place_of_out_is_checked_before_the_work(queue, number):
    call, words, dtype = OUT_ELSEWHERE[number]
    a = ut.ones(3, "f4", sycl_queue=queue)
    elsewhere = usm.SyclQueue(queue.sycl_context, queue.sycl_device)
    with pytest.raises(ut.ExecutionPlacementError, match="out"):
        call(a, ut.zeros(3, dtype, sycl_queue=elsewhere))
    with pytest.raises(ValueError, match="^out: found a read-only"):
        call(a, ut.broadcast_to(ut.zeros(1, dtype, sycl_queue=queue), (3,)))
    with pytest.raises(FAILURES, match=words):
        call(a, ut.zeros(3, dtype, sycl_queue=queue))


class Counted(Producer):
    """How often its interface was read."""

    reads = 0

    @property
    def __sycl_usm_array_interface__(self):
        self.reads += 1
        return self.interface


@pytest.mark.parametrize("dtype", ["bool", "int32"])
@pytest.mark.parametrize(
    "call",
    [
        lambda x: ut.bitwise_and(x, True),
        lambda x: ut.bitwise_or(True, x),
        lambda x: ut.bitwise_xor(x, x.owner),
        lambda x: ut.bitwise_invert(x),
        lambda x: ut.full_like(x, 1),
        lambda x: ut.equal(x, 1),
    ],
)
def test_an_object_is_imported_once(dtype, call):
    owner = ut.ones(3, dtype, usm_type="shared")
    x = Counted(owner.__sycl_usm_array_interface__, owner)
    assert call(x).shape == (3,)
    assert x.reads == 1
