"""Indexing functions against NumPy, on every kind of memory and strided layouts."""

import contextlib
import ctypes
import threading

import pytest

from support import requirements

np = requirements.needed("numpy")
requirements.needed("hypothesis")

from hypothesis import given
from hypothesis import strategies as st

import usm.tensor as ut

from support.campaign import campaign
from support.pairs import ALL, INTEGERS, Pair, elements, pairs, places, same, same_elements, same_order, shapes

nonempty = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)
modes = st.sampled_from(["raise", "wrap", "clip"])


def index_array(data, place, shape, size, mode):
    """Integers of any dtype: inside of an axis, and outside where the mode admits that."""
    dtype = data.draw(st.sampled_from(INTEGERS))
    reach = size if mode == "raise" else 3 * size
    low = 0 if dtype.startswith("u") else -reach
    numbers = data.draw(
        st.lists(st.integers(low, reach - 1), min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))
    )
    theirs = np.array(numbers, dtype).reshape(shape)
    return Pair(place.put(theirs), theirs)


def near(place):
    """Memory of any kind on the same queue."""
    return places.filter(lambda other: other.queue is place.queue)


def inside(theirs, size, mode):
    wide = theirs.astype("int64")
    return {"raise": wide, "wrap": wide % size, "clip": np.clip(wide, 0, size - 1)}[mode]


@campaign
@given(places, nonempty, modes, st.data())
def test_take(place, shape, mode, data):
    pair = data.draw(pairs(place=st.just(place), shape=st.just(shape)))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    count = data.draw(st.lists(st.integers(0, 3), max_size=2))
    index = index_array(data, data.draw(near(place)), count, shape[axis], mode)
    expected = np.take(pair.theirs, index.theirs.astype("int64"), axis, mode=mode)
    same(ut.take(pair.ours, index.ours, axis=axis, mode=mode), expected, pair.ours, index.ours)
    out = ut.zeros_like(place.put(expected))
    assert ut.take(pair.ours, index.ours, axis=axis, mode=mode, out=out) is out
    same_elements(out, expected)
    if len(shape) == 1:
        same(ut.take(pair.ours, index.ours, mode=mode), expected, pair.ours, index.ours)


@campaign
@given(places, nonempty, modes, st.data())
def test_put(place, shape, mode, data):
    pair = data.draw(pairs(place=st.just(place), shape=st.just(shape), dtypes=["int32", "float64", "complex64"]))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    index = index_array(data, data.draw(near(place)), data.draw(st.integers(0, 4)), shape[axis], mode)
    picked = list(shape)
    picked[axis] = index.theirs.size
    values = data.draw(pairs(place=near(place), shape=st.just(tuple(picked)), dtypes=["int8", "uint16"]))
    where = [slice(None)] * len(shape)
    where[axis] = inside(index.theirs, shape[axis], mode)
    pair.theirs[tuple(where)] = values.theirs
    assert ut.put(pair.ours, index.ours, values.ours, axis=axis, mode=mode) is None
    same_elements(pair.ours, pair.theirs)
    pair.theirs[tuple(where)] = 7
    ut.put(pair.ours, index.ours, 7.5 if pair.theirs.dtype == "int32" else 7, axis=axis, mode=mode)
    same_elements(pair.ours, pair.theirs)


@campaign
@given(places, nonempty, modes, st.data())
def test_along_an_axis(place, shape, mode, data):
    pair = data.draw(pairs(place=st.just(place), shape=st.just(shape), dtypes=["int32", "float64", "complex64"]))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    of = [n if data.draw(st.booleans()) else 1 for n in shape]
    of[axis] = data.draw(st.integers(0, 3))
    index = index_array(data, data.draw(near(place)), of, shape[axis], mode)
    picked = inside(index.theirs, shape[axis], mode)
    expected = np.take_along_axis(pair.theirs, picked, axis)
    same(ut.take_along_axis(pair.ours, index.ours, axis=axis, mode=mode), expected, pair.ours, index.ours)
    if axis in (-1, len(shape) - 1):
        same(ut.take_along_axis(pair.ours, index.ours, mode=mode), expected, pair.ours, index.ours)
    values = data.draw(pairs(place=near(place), shape=st.just(expected.shape), dtypes=["int8", "uint16"]))
    np.put_along_axis(pair.theirs, picked, values.theirs, axis)
    ut.put_along_axis(pair.ours, index.ours, values.ours, axis=axis, mode=mode)
    same_elements(pair.ours, pair.theirs)


@campaign
@given(pairs(shape=shapes.filter(len)))
def test_nonzero(pair):
    ours = ut.nonzero(pair.ours)
    assert isinstance(ours, tuple)
    for a, b in zip(ours, np.nonzero(pair.theirs), strict=True):
        same(a, b, pair.ours)


@campaign
@given(places, shapes, st.data())
def test_extract_and_place(place, shape, data):
    pair = data.draw(pairs(place=st.just(place), shape=st.just(shape), dtypes=["int32", "float64", "complex64"]))
    condition = data.draw(pairs(place=near(place), shape=st.just(shape), dtypes=["bool", "int8", "float32"]))
    expected = np.extract(condition.theirs, pair.theirs)
    same(ut.extract(condition.ours, pair.ours), expected, condition.ours, pair.ours)
    values = data.draw(pairs(place=near(place), shape=st.tuples(st.integers(1, 4)), dtypes=["int8", "uint16"]))
    # As NumPy's place, which wants C-contiguous arrays.
    true = np.flatnonzero(condition.theirs)
    changed = pair.theirs.flatten()
    changed[true] = np.resize(values.theirs, true.size)
    ut.place(pair.ours, condition.ours, values.ours)
    same_elements(pair.ours, changed.reshape(shape))


@campaign
@given(places, shapes, st.sampled_from("CFAK"), st.data())
def test_where(place, shape, order, data):
    def operand(dtypes=ALL):
        kept = shape[data.draw(st.integers(0, len(shape))) :]
        part = tuple(1 if data.draw(st.booleans()) else n for n in kept)
        return data.draw(pairs(place=near(place), shape=st.just(part), dtypes=dtypes))

    condition, x, y = operand(["bool", "int16", "float32"]), operand(), operand()
    expected = np.where(condition.theirs, x.theirs, y.theirs)
    same(ut.where(condition.ours, x.ours, y.ours, order=order), expected, condition.ours, x.ours, y.ours)
    made = ut.where(condition.ours, x.ours, y.ours, order=order)
    assert order != "F" or made.flags.f_contiguous
    assert order != "C" or made.flags.c_contiguous
    number = data.draw(st.sampled_from([True, 3, 0.5, 1 - 2j]))
    same(ut.where(condition.ours, x.ours, number), np.where(condition.theirs, x.theirs, number), condition.ours, x.ours)
    same(ut.where(condition.ours, number, x.ours), np.where(condition.theirs, number, x.theirs), condition.ours, x.ours)
    same(ut.where(condition.ours, number, 1), np.where(condition.theirs, number, 1), condition.ours)
    out = ut.zeros_like(place.put(expected), usm_type="shared")
    assert ut.where(condition.ours, x.ours, y.ours, out=out) is out
    same_elements(out, expected)


@campaign
@given(places, st.data())
def test_orders_that_all_arrays_share_are_kept(place, data):
    theirs = np.asfortranarray(elements(data.draw(st.integers(0, 999)), "float32", (2, 3)))
    ours = ut.permute_dims(place.put(theirs.T), (1, 0))
    same_order(ut.where(ut.isfinite(ours), ours, ours), theirs)
    same_order(ut.equal(ours, 1), theirs)
    same_order(ut.equal(ours, 1, order="C"), np.ascontiguousarray(theirs))


REFUSED = [
    (lambda a, at: ut.take(a, at([5])), IndexError, "5"),
    (lambda a, at: ut.take(a, at([-6])), IndexError, "-6"),
    (lambda a, at: ut.take(a, a), IndexError, "integers"),
    (lambda a, at: ut.take(a, at([0]), axis=1), ValueError, "axis"),
    (lambda a, at: ut.take(ut.reshape(a, (1, 5)), at([0])), ValueError, "axis: found None"),
    (lambda a, at: ut.take(a, at([0]), mode="other"), ValueError, "mode"),
    (lambda a, at: ut.take(a, at([0]), out=ut.zeros_like(a)), ValueError, "out: found shape"),
    (lambda a, at: ut.take(a, at([0]), out=ut.broadcast_to(a, (1, 5))), ValueError, "out: found a read-only"),
    (lambda a, at: ut.take([1], at([0])), TypeError, "x: found list"),
    (lambda a, at: ut.take(a, {0}), TypeError, "indices: found set"),
    (lambda a, at: ut.put(a, at([0, 5]), 1), IndexError, "5"),
    (lambda a, at: ut.put(a, at([0, 1]), ut.zeros_like(a)), ValueError, "broadcast"),
    (lambda a, at: ut.put(a, at([0, 1]), object()), TypeError, "object"),
    (lambda a, at: ut.put(ut.broadcast_to(a, (2, 5)), at([0]), 1, axis=0), ValueError, "read-only"),
    (lambda a, at: ut.take_along_axis(a, at([[0]])), ValueError, "axes"),
    (lambda a, at: ut.take_along_axis(a, at([9])), IndexError, "9"),
    (lambda a, at: ut.put_along_axis(a, at([9]), 1), IndexError, "9"),
    (lambda a, at: ut.nonzero(a[0]), ValueError, "axes"),
    (lambda a, at: ut.extract(at([1]), a), ValueError, "condition"),
    (lambda a, at: ut.place(a, at([1]), a), ValueError, "condition"),
    (lambda a, at: ut.place(a, ut.ones_like(a), a[:0]), ValueError, "none"),
    (lambda a, at: ut.where(a, a, ut.zeros_like(a)[:3]), ValueError, "broadcast"),
    (lambda a, at: ut.where(1, a, a), TypeError, "condition: found int"),
    (lambda a, at: ut.where(a, a, "x"), TypeError, "x2: found str"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusals_name_the_argument_and_change_nothing(queue, usm_type, number):
    call, error, words = REFUSED[number]
    a = ut.full(5, 2.5, dtype="f4", sycl_queue=queue, usm_type=usm_type)
    with pytest.raises(error, match=words):
        call(a, lambda numbers: ut.asarray(np.array(numbers, "i8"), sycl_queue=queue, usm_type=usm_type))
    assert a.tolist() == [2.5] * 5


def test_an_array_without_axes_has_one_place(queue):
    a = ut.full((), 7, dtype="i4", sycl_queue=queue)
    zeros = ut.zeros(2, "i8", sycl_queue=queue)
    assert ut.take(a, zeros).tolist() == ut.take(a, zeros, axis=0).tolist() == [7, 7]
    ut.put(a, zeros, 8)
    assert a.item() == 8


@pytest.fixture
def flipping():
    """Starts a thread that writes bytes into memory again and again, without regard to the guards of this package."""
    stop, threads = threading.Event(), []

    def start(address, nbytes, *values):
        def flip():
            while not stop.is_set():
                for value in values:
                    ctypes.memset(address, value, nbytes)

        threads.append(threading.Thread(target=flip))
        threads[-1].start()

    yield start
    stop.set()
    for thread in threads:
        thread.join()


def test_places_that_another_thread_changes_meanwhile(queue, host_accessible, flipping):
    """Each place is checked as it is used: nothing beside the array is written, and a refusal writes nothing."""
    place = {"sycl_queue": queue, "usm_type": host_accessible}
    n = 100_000
    whole = ut.zeros(3 * n, dtype="i8", **place)
    array = whole[n : 2 * n]
    indices = ut.zeros(n, dtype="i4", **place)
    # 0 and the last place, then -1 and others that are outside.
    flipping(indices.usm_data._pointer, 4 * n, 0, 0xFF, 0x7F, 0x80)
    for value in range(1, 40):
        for write in (lambda v: ut.put(array, indices, v), lambda v: array.__setitem__(indices, v)):
            before = array.tolist() if value % 10 == 0 else None
            try:
                write(value)
            except IndexError:
                assert before is None or array.tolist() == before
        with contextlib.suppress(IndexError):
            assert ut.take(array, indices).shape == (n,)
    assert ut.count_nonzero(whole[:n]) == ut.count_nonzero(whole[2 * n :]) == 0


def test_masks_that_another_thread_changes_meanwhile(queue, host_accessible, flipping):
    place = {"sycl_queue": queue, "usm_type": host_accessible}
    mask = ut.zeros((250, 400), dtype="?", **place)
    flipping(mask.usm_data._pointer, mask.nbytes, 0, 1)
    for _ in range(60):
        rows, columns = (ut.asnumpy(indices) for indices in ut.nonzero(mask))
        assert rows.shape == columns.shape and rows.size <= 100_000
        assert not rows.size or (0 <= rows.min() and rows.max() < 250 and 0 <= columns.min() and columns.max() < 400)
