"""Indexing, assignment and round trips of random layouts against NumPy, on each backend and kind of memory."""

import warnings

from support import requirements

np = requirements.needed("numpy")
requirements.needed("hypothesis")

from hypothesis import given
from hypothesis import strategies as st

import usm.tensor as ut

from support.campaign import campaign
from support.expressions import REFUSED, basic, outcome, shapes, view, watched
from support.interface import Producer
from support.pairs import ALL, elements, places, seeds


def same(ours, theirs):
    assert ours.shape == theirs.shape and np.dtype(ours.dtype) == theirs.dtype
    assert ut.asnumpy(ours).tobytes() == np.ascontiguousarray(theirs).tobytes()


@campaign
@given(st.data())
def test_views(data):
    """The same elements, at the same distance from the first; the same expressions are refused."""
    array = data.draw(watched(ALL))
    key = data.draw(basic(array.theirs.shape))
    theirs = outcome(lambda: view(array.theirs, key))
    ours = outcome(lambda: array.ours[key])
    if theirs is REFUSED or ours is REFUSED:
        assert ours is theirs
        return
    same(ours, theirs)
    assert ours.usm_data._pointer == array.ours.usm_data._pointer
    wide = [axis for axis, size in enumerate(theirs.shape) if size > 1]
    if theirs.size:
        assert [ours.strides[axis] for axis in wide] == [theirs.strides[axis] // theirs.itemsize for axis in wide]
        distance = theirs.__array_interface__["data"][0] - array.all_theirs.__array_interface__["data"][0]
        assert ours._pointer - array.all_ours._pointer == distance
    again = data.draw(basic(theirs.shape, wrong=False))
    same(ours[again], view(theirs, again))


@campaign
@given(st.data())
def test_assignment_of_numbers(data):
    array = data.draw(watched(ALL))
    key = data.draw(basic(array.theirs.shape))
    number = data.draw(st.sampled_from([0, 1, 5, True]))
    theirs = outcome(lambda: view(array.theirs, key).__setitem__(..., number))
    assert outcome(lambda: array.ours.__setitem__(key, number)) is theirs
    array.check()


@campaign
@given(st.data())
def test_assignment_of_arrays(data):
    """Arrays of another layout, perhaps in other memory, that broadcast to the place or are refused."""
    array = data.draw(watched(ALL))
    key = data.draw(basic(array.theirs.shape, wrong=False))
    size = view(array.theirs, key).shape
    shape = tuple(data.draw(st.sampled_from([n, n, n, 1])) for n in size)[data.draw(st.integers(0, len(size))) :]
    if data.draw(st.integers(0, 9)) == 0:
        shape = data.draw(shapes)
    value = data.draw(watched([array.theirs.dtype.name], st.just(shape), st.just(array.place) | places))
    theirs = outcome(lambda: view(array.theirs, key).__setitem__(..., value.theirs))
    assert outcome(lambda: array.ours.__setitem__(key, value.ours)) is theirs
    array.check()
    value.check()


@campaign
@given(st.data())
def test_assignment_of_parts_of_itself(data):
    """Source and target overlap in any way: as if the source had been copied first."""
    array = data.draw(watched(ALL))
    to, of = data.draw(basic(array.theirs.shape, wrong=False)), data.draw(basic(array.theirs.shape, wrong=False))
    theirs = outcome(lambda: view(array.theirs, to).__setitem__(..., view(array.theirs, of).copy()))
    assert outcome(lambda: array.ours.__setitem__(to, array.ours[of])) is theirs
    array.check()


@campaign
@given(st.data())
def test_integer_arrays_and_masks(data):
    array = data.draw(watched(ALL))
    shape = array.theirs.shape
    parts = []
    axis = 0
    broadcast = tuple(data.draw(st.lists(st.integers(1, 3), max_size=2)))
    while axis < len(shape):
        kind = data.draw(st.sampled_from(["array", "array", "mask", "slice", "stop"]))
        if kind == "stop":
            break
        if kind == "array" and shape[axis]:
            low = data.draw(st.sampled_from([0, -shape[axis]]))
            numbers = np.random.default_rng(data.draw(seeds)).integers(low, shape[axis], broadcast)
            parts.append(np.asarray(numbers, "int64"))
        elif kind == "mask" and not any(isinstance(part, np.ndarray) for part in parts):
            parts.append(elements(data.draw(seeds), "bool", (shape[axis],)))
        else:
            start = data.draw(st.integers(0, shape[axis]))
            parts.append(slice(start, None))
        axis += 1
    theirs_key = tuple(parts)
    ours_key = tuple(array.place.put(part) if isinstance(part, np.ndarray) else part for part in parts)
    theirs = outcome(lambda: np.asarray(array.theirs[theirs_key]))
    ours = outcome(lambda: array.ours[ours_key])
    if theirs is REFUSED or ours is REFUSED:
        assert ours is theirs
        return
    same(ours, theirs)
    array.theirs[theirs_key] = 1
    array.ours[ours_key] = 1
    array.check()


@campaign
@given(watched(ALL))
def test_round_trips(array):
    """Through the interface, DLPack, NumPy and Python's buffers: the same elements, uncopied where that can be."""
    same(array.ours, array.theirs)
    again = ut.asarray(Producer(array.ours.__sycl_usm_array_interface__, array.ours))
    same(again, array.theirs)
    assert again._pointer == array.ours._pointer
    same(ut.asarray(ut.asnumpy(array.ours)), array.theirs)
    if array.place.usm_type != "device":
        seen = np.asarray(memoryview(array.ours))
        assert seen.tobytes() == np.ascontiguousarray(array.theirs).tobytes()
        if seen.size:
            assert seen.__array_interface__["data"][0] == array.ours._pointer
    same(ut.asarray(array.theirs, sycl_queue=array.place.queue), array.theirs)
    same(ut.from_dlpack(array.ours), array.theirs)
    same(ut.asarray(array.ours, copy=True, order="F"), array.theirs)


@campaign
@given(watched(ALL), st.sampled_from(ALL))
def test_casts(array, dtype):
    """Between all dtypes, as NumPy's where the number fits."""
    if array.theirs.dtype.kind in "fc" and np.dtype(dtype).kind in "iu":
        # Numbers beyond an integer type saturate here, and are up to the processor in NumPy.
        array.theirs[...] = np.abs(np.where(np.isfinite(array.theirs), array.theirs.real, 0))
        array.ours[...] = array.place.put(array.theirs)
    if array.theirs.dtype.kind == "i" and np.dtype(dtype).kind == "u":
        array.theirs[...] = np.where(array.theirs < 0, 0, array.theirs)
        array.ours[...] = array.place.put(array.theirs)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        theirs = array.theirs.astype(dtype)
    same(ut.astype(array.ours, dtype), theirs)
