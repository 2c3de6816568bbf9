"""Manipulation functions against NumPy, on every kind of memory and strided layouts."""

import warnings

import pytest

from support import requirements

np = requirements.needed("numpy")
requirements.needed("hypothesis")

from hypothesis import assume, given
from hypothesis import strategies as st

import usm.tensor as ut

from support.campaign import campaign
from support.pairs import ALL, COMPLEX, INTEGERS, pairs, places, same, same_order, same_view, shapes

nonempty_axes = st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple)


def some_axes(ndim, data):
    """None, an integer, or a tuple of different axes, negative ones too."""
    chosen = data.draw(st.lists(st.integers(0, ndim - 1), unique=True, max_size=ndim)) if ndim else []
    signed = tuple(axis - ndim * data.draw(st.integers(0, 1)) for axis in chosen)
    return data.draw(st.sampled_from([None, signed, *signed[:1]]))


@campaign
@given(pairs(shape=nonempty_axes), st.data())
def test_axes_in_another_order(pair, data):
    ndim = pair.theirs.ndim
    order = tuple(data.draw(st.permutations(range(ndim))))
    same_view(ut.permute_dims(pair.ours, order), pair.theirs.transpose(order), pair)
    axis = st.integers(-ndim, ndim - 1)
    a, b = data.draw(axis), data.draw(axis)
    same_view(ut.swapaxes(pair.ours, a, b), np.swapaxes(pair.theirs, a, b), pair)
    same_view(ut.moveaxis(pair.ours, a, b), np.moveaxis(pair.theirs, a, b), pair)
    some = data.draw(st.integers(0, ndim))
    source, destination = order[:some], tuple(data.draw(st.permutations(range(ndim))))[:some]
    same_view(ut.moveaxis(pair.ours, source, destination), np.moveaxis(pair.theirs, source, destination), pair)
    if ndim > 1:
        same_view(ut.matrix_transpose(pair.ours), np.swapaxes(pair.theirs, -1, -2), pair)


@campaign
@given(pairs(), st.data())
def test_flip(pair, data):
    axes = some_axes(pair.theirs.ndim, data)
    same_view(ut.flip(pair.ours, axis=axes), np.flip(pair.theirs, axes), pair)


@campaign
@given(pairs(), st.data())
def test_expand_dims_and_squeeze(pair, data):
    ndim = pair.theirs.ndim
    count = data.draw(st.integers(0, 3))
    total = ndim + count
    axes = tuple(data.draw(st.permutations(range(-total, 0))))[:count] if total else ()
    axes = axes[0] if count == 1 and data.draw(st.booleans()) else axes
    wide, expected = ut.expand_dims(pair.ours, axes), np.expand_dims(pair.theirs, axes)
    same_view(wide, expected, pair)
    same_view(ut.squeeze(wide, axes), np.squeeze(expected, axes), pair)
    same_view(ut.squeeze(wide), np.squeeze(expected), pair)
    same_view(ut.expand_dims(pair.ours), pair.theirs[None], pair)


@campaign
@given(pairs(), st.sampled_from("CF"), st.sampled_from([None, True, False]), st.data())
def test_reshape(pair, order, copy, data):
    size = pair.theirs.size
    divisor = data.draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0] or [1]))
    shape = data.draw(
        st.sampled_from([(divisor, size // divisor), (-1,), (size,), -1, (1, -1, divisor), pair.theirs.shape])
    )
    with_minus_one = shape == -1 or (isinstance(shape, tuple) and -1 in shape)
    assume(size or not with_minus_one or shape in (-1, (-1,), (1, -1, divisor)))
    try:
        theirs = np.reshape(pair.theirs, shape, order=order, copy=copy)
    except ValueError:
        with pytest.raises(ValueError):
            ut.reshape(pair.ours, shape, order=order, copy=copy)
        return
    ours = ut.reshape(pair.ours, shape, order=order, copy=copy)
    same(ours, theirs, pair.ours)
    shares = ours.usm_data._pointer == pair.ours.usm_data._pointer
    assert shares == (copy is not True and (np.shares_memory(theirs, pair.theirs) or (shares and not size)))


@campaign
@given(places, st.lists(st.integers(0, 3), max_size=3), st.data())
def test_broadcasting(place, shape, data):
    def part():
        kept = shape[data.draw(st.integers(0, len(shape))) :]
        return tuple(1 if data.draw(st.booleans()) else n for n in kept)

    arrays = [
        data.draw(pairs(place=st.just(place), shape=st.just(part()))) for _ in range(data.draw(st.integers(0, 3)))
    ]
    expected = np.broadcast_shapes(*[a.theirs.shape for a in arrays])
    assert ut.broadcast_shapes(*[a.theirs.shape for a in arrays]) == expected
    made = ut.broadcast_arrays(*[a.ours for a in arrays])
    assert isinstance(made, tuple)
    for ours, pair in zip(made, arrays, strict=True):
        same(ours, np.broadcast_to(pair.theirs, expected), pair.ours)
        assert not ours.flags.writable
    for pair in arrays:
        ours = ut.broadcast_to(pair.ours, tuple(shape))
        same(ours, np.broadcast_to(pair.theirs, shape), pair.ours)
        assert not ours.flags.writable


def alike(data, place, shape, count):
    """Arrays of one shape but for one axis, of any dtypes and kinds on one queue."""
    near = places.filter(lambda other: other.queue is place.queue)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))

    def one():
        size = list(shape)
        size[axis] = data.draw(st.integers(0, 3))
        return data.draw(pairs(place=near, shape=st.just(tuple(size))))

    return axis, [one() for _ in range(count)]


@campaign
@given(places, nonempty_axes, st.integers(1, 3), st.data())
def test_concat(place, shape, count, data):
    axis, arrays = alike(data, place, shape, count)
    ours, theirs = [a.ours for a in arrays], [a.theirs for a in arrays]
    same(ut.concat(ours, axis=axis), np.concatenate(theirs, axis=axis), *ours)
    same(ut.concat(tuple(ours), axis=None), np.concatenate(theirs, axis=None), *ours)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        lambda a: a.T,
        lambda a: a.T[1:, :3],
        lambda a: a.T[::-1],
        lambda a: a[:, ::-1].T,
    ],
)
@pytest.mark.parametrize("axis", [0, 1])
def test_concat_keeps_the_order_of_memory(queue, usm_type, view, axis):
    theirs = np.arange(24, dtype="f4").reshape(4, 6)
    ours = ut.asarray(theirs, sycl_queue=queue, usm_type=usm_type)
    expected = np.concatenate([view(theirs), view(theirs)], axis)
    found = ut.concat([view(ours), view(ours)], axis=axis)
    assert found.strides == tuple(stride // 4 for stride in expected.strides)
    assert ut.asnumpy(found).tolist() == expected.tolist()
    # Operands of several orders, and repeated ones, are joined in rows.
    rows = ut.concat([view(ours), ut.asarray(view(ours), order="C", copy=True)], axis=axis)
    assert rows.flags.c_contiguous
    repeated = ut.concat([ut.broadcast_to(ours[:1], (5, 6))] * 2, axis=axis)
    assert repeated.flags.c_contiguous


@campaign
@given(places, shapes, st.integers(1, 3), st.data())
def test_stack_and_unstack(place, shape, count, data):
    near = places.filter(lambda other: other.queue is place.queue)
    arrays = [data.draw(pairs(place=near, shape=st.just(shape))) for _ in range(count)]
    ours, theirs = [a.ours for a in arrays], [a.theirs for a in arrays]
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    stacked, expected = ut.stack(ours, axis=axis), np.stack(theirs, axis=axis)
    same(stacked, expected, *ours)
    parts = ut.unstack(stacked, axis=axis)
    assert isinstance(parts, tuple)
    for part, theirs_part in zip(parts, np.moveaxis(expected, axis, 0), strict=True):
        same(part, theirs_part, stacked)


@campaign
@given(pairs(shape=nonempty_axes), st.data())
def test_repeat(pair, data):
    axis = data.draw(st.none() | st.integers(-pair.theirs.ndim, pair.theirs.ndim - 1))
    size = pair.theirs.size if axis is None else pair.theirs.shape[axis]
    counts = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    for repeats in (data.draw(st.integers(0, 3)), tuple(counts), counts):
        if repeats == () or repeats == []:
            continue
        same(ut.repeat(pair.ours, repeats, axis=axis), np.repeat(pair.theirs, repeats, axis), pair.ours)
    array = ut.asarray(np.asarray(counts, dtype="i4"), sycl_queue=pair.ours.sycl_queue, usm_type="host")
    same(ut.repeat(pair.ours, array, axis=axis), np.repeat(pair.theirs, np.asarray(counts, "i4"), axis), pair.ours)


@campaign
@given(pairs(), st.integers(0, 3) | st.lists(st.integers(0, 2), max_size=4).map(tuple))
def test_tile(pair, repetitions):
    same(ut.tile(pair.ours, repetitions), np.tile(pair.theirs, repetitions), pair.ours)


@campaign
@given(pairs(), st.integers(-9, 9), st.data())
def test_roll(pair, shift, data):
    axes = some_axes(pair.theirs.ndim, data)
    assume(axes != ())
    same(ut.roll(pair.ours, shift, axis=axes), np.roll(pair.theirs, shift, axes), pair.ours)
    if isinstance(axes, tuple):
        shifts = tuple(data.draw(st.integers(-9, 9)) for _ in axes)
        same(ut.roll(pair.ours, shifts, axis=axes), np.roll(pair.theirs, shifts, axes), pair.ours)


@campaign
@given(pairs(), st.sampled_from("CFAK"))
def test_copy(pair, order):
    ours, theirs = ut.copy(pair.ours, order=order), np.copy(pair.theirs, order=order)
    same(ours, theirs, pair.ours)
    same_order(ours, theirs)
    assert ours.usm_data._pointer != pair.ours.usm_data._pointer


@campaign
@given(pairs(), st.sampled_from(ALL), st.sampled_from("CFAK"), st.booleans())
def test_astype(pair, dtype, order, copy):
    source, target = pair.theirs.dtype, np.dtype(dtype)
    # Beyond the range of integers NumPy leaves the result to the processor.
    tricky = source.kind in "fc" and target.kind in "iu"
    assume(not tricky or (np.isfinite(pair.theirs).all() and (target.kind == "i" or (pair.theirs.real >= 0).all())))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = pair.theirs.astype(dtype, order=order, copy=copy)
    ours = ut.astype(pair.ours, dtype, order=order, copy=copy)
    same(ours, theirs, pair.ours)
    same_order(ours, theirs)
    assert (ours is pair.ours) == (theirs is pair.theirs)
    with pytest.raises(TypeError, match="casting"):
        ut.astype(ut.ones(1, "c8", sycl_queue=pair.ours.sycl_queue), "i4", casting="same_kind")


@pytest.mark.parametrize("dtype", [*INTEGERS, *COMPLEX])
def test_astype_to_another_device(array, queue, dtype):
    a = ut.astype(ut.arange(3, sycl_queue=queue), dtype)
    moved = ut.astype(a, "float32", device="host:cpu:0", copy=False)
    assert moved.sycl_device.filter_string == "host:cpu:0"
    assert moved.tolist() == [0.0, 1.0, 2.0]
