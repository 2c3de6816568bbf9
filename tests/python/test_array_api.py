"""The container part of the Python array API 2025.12, from the text of the standard, with arrays on the default queue.

Random arrays, shapes and indices come from ``hypothesis.extra.array_api``, which uses the namespace like any
consumer.
"""

import itertools
import math
import operator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import usm.tensor as ut

from support.campaign import campaign
from support.dlpack import Exporter

xps = make_strategies_namespace(ut, api_version="2024.12")
pytestmark = pytest.mark.indifferent

SHAPES = xps.array_shapes(min_dims=0, min_side=0, max_dims=4, max_side=4)
BEYOND = st.integers() | st.integers(-(2**80), 2**80) | st.sampled_from([2**63, -(2**63) - 1, 2**64])
NAMES = ["bool"] + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
NAMES += ["float32", "float64", "complex64", "complex128"]


def arrays(dtypes=None, **keywords):
    return xps.arrays(xps.scalar_dtypes() if dtypes is None else dtypes, keywords.pop("shape", SHAPES), **keywords)


def same(a, b):
    """Equal lists, NaN being equal to itself."""
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return a == b or (a != a and b != b)


def element(nested, index):
    for i in index:
        nested = nested[i]
    return nested


def indices(shape):
    return itertools.product(*map(range, shape))


def test_the_namespace():
    a = ut.zeros(1)
    assert a.__array_namespace__() is ut and a.__array_namespace__(api_version="2025.12") is ut
    assert ut.__array_api_version__ == "2025.12"
    assert (ut.e, ut.inf, ut.newaxis, ut.pi) == (math.e, math.inf, None, math.pi) and math.isnan(ut.nan)
    assert {str(getattr(ut, name)) for name in NAMES} == set(NAMES)


def test_the_inspection_of_the_namespace():
    info = ut.__array_namespace_info__()
    assert type(info.devices()) is tuple and info.default_device() in info.devices()
    for device in (None, *info.devices()):
        dtypes = info.dtypes(device=device)
        assert set(dtypes) <= set(NAMES) and {"bool", "int64", "float32", "complex64"} <= set(dtypes)
        for name, dtype in dtypes.items():
            assert ut.empty(1, dtype=dtype, device=device).dtype == getattr(ut, name)
        defaults = info.default_dtypes(device=device)
        assert set(defaults) == {"real floating", "complex floating", "integral", "indexing"}
        assert ut.zeros(1, device=device).dtype == defaults["real floating"]
        assert ut.asarray(1, device=device).dtype == defaults["integral"]
        assert ut.asarray(1j, device=device).dtype == defaults["complex floating"]
    assert ut.empty(1).device == info.default_device()
    for kinds, names in {
        "bool": "bool",
        "signed integer": "int8 int16 int32 int64",
        "unsigned integer": "uint8 uint16 uint32 uint64",
        "real floating": "float32 float64",
        ("bool", "complex floating"): "bool complex64 complex128",
    }.items():
        assert set(info.dtypes(kind=kinds)) == set(names.split()) & set(info.dtypes())


@campaign
@given(arrays())
def test_attributes(a):
    assert a.ndim == len(a.shape) and a.size == math.prod(a.shape) and a.device == ut.empty(0).device
    assert a.dtype in ut.__array_namespace_info__().dtypes().values()
    if a.ndim == 2:
        expected = [[a[i, j].item() for i in range(a.shape[0])] for j in range(a.shape[1])]
        assert same(a.T.tolist(), expected) and same(a.mT.tolist(), expected)
    if a.ndim >= 2:
        assert a.mT.shape == (*a.shape[:-2], a.shape[-1], a.shape[-2])


@campaign
@given(arrays(), st.data())
def test_reading_and_writing_by_basic_indices(a, data):
    key = data.draw(xps.indices(a.shape, allow_newaxis=True))
    nested, view = a.tolist(), a[key]
    assert view.dtype == a.dtype
    # Which elements: numbers of all elements, cut in the same way by Python's own ranges.
    items = list(key) if isinstance(key, tuple) else [key]
    if Ellipsis not in items:
        items.append(Ellipsis)
    whole = a.ndim - sum(item is not None and item is not Ellipsis for item in items)
    at = items.index(Ellipsis)
    items[at : at + 1] = [slice(None)] * whole
    axes, shape, axis = [], [], 0
    for item in items:
        if item is None:
            shape.append(1)
            continue
        chosen = range(a.shape[axis])[item]
        if isinstance(item, slice):
            shape.append(len(chosen))
        axes.append(chosen if isinstance(item, slice) else [chosen])
        axis += 1
    assert view.shape == tuple(shape)
    expected = [element(nested, index) for index in itertools.product(*axes)]
    flat = ut.reshape(view, (-1,)) if view.size else view
    assert not view.size or same(flat.tolist(), expected)
    if view.size:
        copy = ut.asarray(a, copy=True)
        copy[key] = a[next(iter(itertools.product(*axes)))]
        assert all(same(copy[index].item(), expected[0]) for index in itertools.product(*axes))
        untouched = set(indices(a.shape)) - set(itertools.product(*axes))
        assert all(same(copy[index].item(), element(nested, index)) for index in untouched)


@campaign
@given(arrays(), st.data())
def test_masks(a, data):
    mask = data.draw(xps.arrays(xps.boolean_dtypes(), a.shape))
    chosen = [index for index in indices(a.shape) if mask[index]]
    assert same(a[mask].tolist(), [a[index].item() for index in chosen])
    copy = ut.asarray(a, copy=True)
    copy[mask] = ut.zeros((), dtype=a.dtype)
    assert all(copy[index].item() == 0 for index in chosen)
    for wrong in (ut.zeros((*a.shape, 1), dtype=ut.bool), ut.zeros([n + 1 for n in a.shape], dtype=ut.bool)):
        if a.ndim:
            with pytest.raises(IndexError):
                a[wrong]


@campaign
@given(st.data(), xps.array_shapes(max_dims=3, max_side=3))
def test_integer_arrays_and_integers(data, shape):
    a = data.draw(xps.arrays(xps.scalar_dtypes(), shape))
    n = data.draw(st.integers(1, 4))
    keys = [data.draw(xps.arrays("int64", n, elements=st.integers(-size, size - 1))) for size in shape]
    expected = [a[tuple(int(key[i]) for key in keys)].item() for i in range(n)]
    assert same(a[tuple(keys)].tolist(), expected)
    assert same(ut.take(a, keys[0], axis=0).tolist(), [a[int(i), ...].tolist() for i in keys[0]])


@pytest.mark.parametrize("dtype", NAMES)
def test_conversions_to_python_numbers(dtype):
    one = ut.ones((), dtype=dtype)
    assert bool(one) is True and complex(one) == 1 and type(complex(one)) is complex
    if not dtype.startswith("complex"):
        assert (int(one), type(int(one)), float(one), type(float(one))) == (1, int, 1.0, float)
    if "int" in dtype:
        assert (operator.index(one), type(operator.index(one))) == (1, int)
    else:
        with pytest.raises(TypeError):
            operator.index(one)


@campaign
@given(SHAPES | st.integers(0, 9), st.none() | xps.scalar_dtypes())
def test_constant_arrays(shape, dtype):
    expected = (shape,) if isinstance(shape, int) else shape
    keywords = {} if dtype is None else {"dtype": dtype}
    for made, value in ((ut.empty, None), (ut.zeros, 0), (ut.ones, 1)):
        a = made(shape, **keywords)
        assert a.shape == expected and a.dtype == (
            dtype or ut.__array_namespace_info__().default_dtypes()["real floating"]
        )
        assert value is None or ut.all(a == value)
        like = {ut.empty: ut.empty_like, ut.zeros: ut.zeros_like, ut.ones: ut.ones_like}[made](a)
        assert (like.shape, like.dtype) == (a.shape, a.dtype) and (value is None or ut.all(like == value))


@campaign
@given(SHAPES, xps.scalar_dtypes(), st.data())
def test_full(shape, dtype, data):
    value = data.draw(xps.from_dtype(dtype))
    for a in (ut.full(shape, value, dtype=dtype), ut.full_like(ut.empty(shape, dtype=dtype), value)):
        assert (a.shape, a.dtype) == (shape, dtype)
        assert all(same(a[index].item(), value) for index in indices(shape))


@campaign
@given(st.integers(0, 6), st.none() | st.integers(0, 6), BEYOND | st.integers(-7, 7), xps.numeric_dtypes())
def test_eye(rows, columns, k, dtype):
    a = ut.eye(rows, columns, k=k, dtype=dtype)
    width = rows if columns is None else columns
    assert (a.shape, a.dtype) == ((rows, width), dtype)
    assert a.tolist() == [[j - i == k for j in range(width)] for i in range(rows)]


@campaign
@given(arrays(shape=xps.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=4)), BEYOND | st.integers(-5, 5))
def test_triangles(a, k):
    low, high = ut.tril(a, k=k), ut.triu(a, k=k)
    for index in indices(a.shape):
        *_, i, j = index
        assert same(low[index].item(), a[index].item() if j - i <= k else 0)
        assert same(high[index].item(), a[index].item() if j - i >= k else 0)


@campaign
@given(st.integers(-20, 20), st.integers(-20, 20), st.integers(-5, 5).filter(bool), st.none() | xps.integer_dtypes())
def test_arange(start, stop, step, dtype):
    expected = range(start, stop, step)
    assume(dtype is None or all(ut.iinfo(dtype).min <= n <= ut.iinfo(dtype).max for n in (start, stop, step)))
    a = ut.arange(start, stop, step, dtype=dtype)
    assert a.tolist() == list(expected) and a.dtype == (dtype or ut.int64)
    if start == 0 and step == 1:
        assert ut.arange(stop, dtype=dtype).tolist() == a.tolist()


@campaign
@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(0, 9), xps.floating_dtypes(), st.booleans())
def test_linspace(start, stop, num, dtype, endpoint):
    a = ut.linspace(start, stop, num, dtype=dtype, endpoint=endpoint)
    assert (a.shape, a.dtype) == ((num,), dtype)
    if num:
        assert a[0].item() == start
    if num > 1:
        assert not endpoint or a[-1].item() == stop
        step = (stop - start) / (num - endpoint)
        assert all(math.isclose(a[i].item(), start + i * step, rel_tol=1e-5, abs_tol=1e-5) for i in range(num))


@campaign
@given(arrays(), st.sampled_from([None, True, False]))
def test_asarray(a, copy):
    b = ut.asarray(a, copy=copy)
    assert same(b.tolist(), a.tolist()) and (b.shape, b.dtype, b.device) == (a.shape, a.dtype, a.device)
    if a.size:
        a[...] = ut.ones((), dtype=a.dtype)
        b[...] = ut.zeros((), dtype=a.dtype)
        assert ut.all(a == (1 if copy else 0))
    again = ut.asarray(a.tolist(), dtype=a.dtype)
    assert a.size == 0 or same(again.tolist(), a.tolist())


@campaign
@given(arrays(dtypes=xps.numeric_dtypes()), xps.scalar_dtypes(), st.booleans())
def test_astype(a, dtype, copy):
    if str(a.dtype).startswith("complex") and not str(dtype).startswith("complex"):
        return
    b = ut.astype(a, dtype, copy=copy)
    assert (b.shape, b.dtype) == (a.shape, dtype)
    assert (b is a or b._pointer == a._pointer) == (not copy and a.dtype == dtype) or not a.size


@campaign
@given(st.data())
def test_result_types(data):
    names = data.draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3))
    dtypes = [getattr(ut, name) for name in names]
    try:
        expected = ut.result_type(*dtypes)
    except (TypeError, ValueError):
        return
    mixed = [ut.ones((), dtype=d) if data.draw(st.booleans()) else d for d in dtypes]
    assert ut.result_type(*mixed) == expected
    assert all(ut.can_cast(d, expected) or "int" in str(d) for d in dtypes)


@campaign
@given(arrays(), st.data())
def test_axes(a, data):
    order = data.draw(st.permutations(range(a.ndim)))
    b = ut.permute_dims(a, tuple(order))
    assert b.shape == tuple(a.shape[axis] for axis in order)
    for index in indices(a.shape):
        assert same(b[tuple(index[axis] for axis in order)].item(), a[index].item())
    axis = data.draw(st.integers(-a.ndim - 1, a.ndim))
    wider = ut.expand_dims(a, axis=axis)
    assert wider.ndim == a.ndim + 1 and wider.shape[axis] == 1
    assert ut.squeeze(wider, axis=axis).shape == a.shape
    for wrong in (a.ndim + 1, -a.ndim - 2):
        with pytest.raises(IndexError):
            ut.expand_dims(a, axis=wrong)
    if a.ndim:
        source, target = (data.draw(st.integers(-a.ndim, a.ndim - 1)) for _ in range(2))
        assert ut.moveaxis(a, source, target).shape[target] == a.shape[source]
        flipped = ut.flip(a, axis=source)
        assert same(ut.flip(flipped, axis=source).tolist(), a.tolist())


@campaign
@given(arrays(), st.data())
def test_reshape(a, data):
    shape = data.draw(
        st.sampled_from([a.shape[::-1], (1, *a.shape), (*a.shape, 1), (a.size,), (2, a.size // 2), (-1,)])
    )
    assume(math.prod(shape) in (a.size, -1))
    b = ut.reshape(a, shape)
    assert b.size == a.size and same(ut.reshape(b, a.shape).tolist(), a.tolist())
    flat = [a[index].item() for index in indices(a.shape)]
    assert not a.size or same(ut.reshape(a, (a.size,)).tolist(), flat)


@campaign
@given(st.data(), st.integers(1, 3))
def test_joining(data, count):
    shape = data.draw(xps.array_shapes(max_dims=3, min_side=0, max_side=3))
    parts = [data.draw(xps.arrays("int32", shape)) for _ in range(count)]
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    joined = ut.concat(parts, axis=axis)
    assert joined.shape[axis] == count * shape[axis]
    flat = ut.concat(parts, axis=None)
    assert flat.tolist() == [part[index].item() for part in parts for index in indices(shape)]
    stacked = ut.stack(parts, axis=axis)
    assert [part.tolist() for part in ut.unstack(stacked, axis=axis)] == [part.tolist() for part in parts]
    repeats = data.draw(st.integers(0, 3))
    assert ut.repeat(parts[0], repeats, axis=axis).shape[axis] == repeats * shape[axis]
    assert ut.tile(parts[0], (repeats,)).shape == (*shape[:-1], shape[-1] * repeats)


@campaign
@given(arrays(shape=xps.array_shapes(max_dims=3, max_side=4)), st.data())
def test_roll(a, data):
    shift = data.draw(st.integers(-(2**40), 2**40))
    axis = data.draw(st.none() | st.integers(-a.ndim, a.ndim - 1))
    rolled = ut.roll(a, shift, axis=axis)
    if axis is None:
        flat = [a[index].item() for index in indices(a.shape)]
        n = shift % len(flat)
        expected = flat[-n:] + flat[:-n] if n else flat
        assert same([rolled[index].item() for index in indices(a.shape)], expected)
    else:
        for index in indices(a.shape):
            target = list(index)
            target[axis] = (index[axis] + shift) % a.shape[axis]
            assert same(rolled[tuple(target)].item(), a[index].item())


@campaign
@given(xps.mutually_broadcastable_shapes(3, max_side=3, max_dims=3, min_side=0))
def test_broadcasting(drawn):
    made = [ut.reshape(ut.arange(math.prod(shape)), shape) for shape in drawn.input_shapes]
    for a, b in zip(made, ut.broadcast_arrays(*made), strict=True):
        assert b.shape == drawn.result_shape and ut.broadcast_to(a, drawn.result_shape).tolist() == b.tolist()
        for index in indices(b.shape):
            own = index[len(index) - a.ndim :]
            assert b[index].item() == a[tuple(0 if n == 1 else i for i, n in zip(own, a.shape, strict=True))].item()


@campaign
@given(arrays(dtypes=xps.complex_dtypes() | xps.real_dtypes()))
def test_parts_of_complex_numbers(a):
    """Many checks of consumers begin with these three."""
    is_complex = str(a.dtype).startswith("complex")
    part = {"complex64": "float32", "complex128": "float64"}.get(str(a.dtype), str(a.dtype))
    real, imag, conj = ut.real(a), ut.imag(a), ut.conj(a)
    assert (str(real.dtype), str(imag.dtype), conj.dtype) == (part, part, a.dtype)
    for index in indices(a.shape):
        number = a[index].item()
        assert same(real[index].item(), number.real) and same(imag[index].item(), number.imag if is_complex else 0)
        found = conj[index].item()
        assert same(found.real, number.real) and same(found.imag, -number.imag if is_complex else 0)


@campaign
@given(arrays(), st.sampled_from([None, True, False]))
def test_dlpack(a, copy):
    """Whatever place is the default: in a bare installation it is device memory of the host backend."""
    kind, number = a.__dlpack_device__()
    assert kind in ut.DLDeviceType and type(number) is int
    for version in (None, (0, 8), (1, 0), (1, 1), (2, 0)):
        a.__dlpack__(max_version=version, copy=copy)
        a.__dlpack__(max_version=version, dl_device=(1, 0), copy=copy or None)
    for source in (a, Exporter(a)):
        for keywords in ({}, {"device": a.device}, {"device": (kind, number)}):
            b = ut.from_dlpack(source, copy=copy, **keywords)
            assert (b.shape, b.dtype, b.device) == (a.shape, a.dtype, a.device) and same(b.tolist(), a.tolist())
            assert not a.size or (b._pointer == a._pointer) == (not copy)


def test_dlpack_to_every_device():
    a = ut.arange(3)
    for device in ut.__array_namespace_info__().devices():
        for source in (a, Exporter(a)):
            b = ut.from_dlpack(source, device=device)
            assert b.device == device and b.tolist() == [0, 1, 2]
            assert a.to_device(device).device == device


@campaign
@given(
    arrays(dtypes=xps.real_dtypes() | xps.boolean_dtypes(), shape=xps.array_shapes(max_dims=3, max_side=3)), st.data()
)
def test_searching(a, data):
    assume(not ut.any(ut.isnan(a)))
    assert [tuple(int(i) for i in index) for index in zip(*ut.nonzero(a), strict=True)] == [
        index for index in indices(a.shape) if a[index].item() != 0
    ]
    mask = data.draw(xps.arrays(xps.boolean_dtypes(), a.shape))
    chosen = ut.where(mask, a, ut.zeros_like(a))
    assert all(chosen[index].item() == (a[index].item() if mask[index] else 0) for index in indices(a.shape))
    assert int(ut.count_nonzero(a)) == sum(a[index].item() != 0 for index in indices(a.shape))
    assert bool(ut.any(a)) == any(a[index].item() != 0 for index in indices(a.shape))
    assert bool(ut.all(a)) == all(a[index].item() != 0 for index in indices(a.shape))
