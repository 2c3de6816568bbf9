"""Creation functions against NumPy, on every kind of memory."""

import pytest

from support import requirements

np = requirements.needed("numpy")
requirements.needed("hypothesis")

from hypothesis import given
from hypothesis import strategies as st

import usm
import usm.tensor as ut

from support.campaign import campaign
from support.pairs import ALL, COMPLEX, INTEGERS, PLACES, REALS, pairs, places, same_elements, same_order, shapes

orders = st.sampled_from("CF")
numeric = [*INTEGERS, *REALS, *COMPLEX]


def where(place, data):
    """The keywords for a place: a queue, or the device of an array there."""
    if data.draw(st.booleans()):
        return {"sycl_queue": place.queue, "usm_type": place.usm_type}
    return {"device": place.queue, "usm_type": place.usm_type}


def check(ours, theirs, place):
    same_elements(ours, theirs)
    assert (ours.sycl_queue, ours.usm_type) == (place.queue, place.usm_type)


@campaign
@given(places, shapes, st.sampled_from([*ALL, None]), orders, st.data())
def test_zeros_ones_empty(place, shape, dtype, order, data):
    keywords = {"dtype": dtype, "order": order}
    if len(shape) == 1 and data.draw(st.booleans()):
        shape = shape[0]
    for name in ("zeros", "ones"):
        theirs = getattr(np, name)(shape, **keywords)
        ours = getattr(ut, name)(shape, **keywords, **where(place, data))
        check(ours, theirs, place)
        same_order(ours, theirs)
    ours, theirs = ut.empty(shape, **keywords, **where(place, data)), np.empty(shape, **keywords)
    assert (ours.shape, np.dtype(ours.dtype)) == (theirs.shape, theirs.dtype)
    same_order(ours, theirs)


numbers = st.one_of(
    st.booleans(),
    st.integers(-100, 100),
    st.integers(-100, 100).map(lambda n: n / 4),
    st.builds(complex, st.integers(-9, 9)),
)


@campaign
@given(places, shapes, st.sampled_from([*ALL, None]), numbers, orders, st.data())
def test_full(place, shape, dtype, value, order, data):
    if dtype in ("uint8", "uint16", "uint32", "uint64"):
        value = abs(value)
    if isinstance(value, complex) and dtype is not None and np.dtype(dtype).kind in "iuf":
        value = value.real
    theirs = np.full(shape, value, dtype=dtype, order=order)
    ours = ut.full(shape, value, dtype=dtype, order=order, **where(place, data))
    check(ours, theirs, place)
    same_order(ours, theirs)


@campaign
@given(pairs(dtypes=["int16", "float32"]), st.integers(1, 3), st.sampled_from([None, "float64", "complex64"]))
def test_full_of_an_array_follows_it(pair, rows, dtype):
    shape = (rows, *pair.theirs.shape)
    ours = ut.full(shape, pair.ours, dtype=dtype)
    same_elements(ours, np.full(shape, pair.theirs, dtype=dtype or pair.theirs.dtype))
    assert (ours.sycl_queue, ours.usm_type) == (pair.ours.sycl_queue, pair.ours.usm_type)


@campaign
@given(pairs(), places, st.sampled_from([*ALL, None]), st.sampled_from("CFAK"), st.booleans())
def test_like(pair, place, dtype, order, elsewhere):
    keywords = {"sycl_queue": place.queue, "usm_type": place.usm_type} if elsewhere else {}
    expected = (place.queue, place.usm_type) if elsewhere else (pair.ours.sycl_queue, pair.ours.usm_type)
    for name in ("zeros_like", "ones_like"):
        ours = getattr(ut, name)(pair.ours, dtype=dtype, order=order, **keywords)
        theirs = getattr(np, name)(pair.theirs, dtype=dtype, order=order)
        same_elements(ours, theirs)
        same_order(ours, theirs)
        assert (ours.sycl_queue, ours.usm_type) == expected
    ours = ut.full_like(pair.ours, True, dtype=dtype, order=order, **keywords)
    same_elements(ours, np.full_like(pair.theirs, True, dtype=dtype, order=order))
    ours = ut.empty_like(pair.ours, dtype=dtype, order=order, **keywords)
    theirs = np.empty_like(pair.theirs, dtype=dtype, order=order)
    assert (ours.shape, np.dtype(ours.dtype)) == (theirs.shape, theirs.dtype)
    same_order(ours, theirs)


@campaign
@given(places, st.integers(-50, 50), st.integers(-50, 50), st.integers(-9, 9).filter(bool), st.data())
def test_arange_of_integers(place, start, stop, step, data):
    dtype = data.draw(st.sampled_from([None, "int8", "int64", *REALS, *COMPLEX]))
    check(
        ut.arange(start, stop, step, dtype=dtype, **where(place, data)),
        np.arange(start, stop, step, dtype=dtype),
        place,
    )
    check(ut.arange(stop, dtype=dtype, **where(place, data)), np.arange(stop, dtype=dtype), place)


eighths = st.integers(-200, 200).map(lambda n: n / 8)


@campaign
@given(places, eighths, eighths, eighths.filter(bool), st.sampled_from([None, *REALS]), st.data())
def test_arange_of_real_numbers(place, start, stop, step, dtype, data):
    # Sums of eighths are exact, so that the way of adding does not matter.
    check(
        ut.arange(start, stop, step, dtype=dtype, **where(place, data)),
        np.arange(start, stop, step, dtype=dtype),
        place,
    )


@campaign
@given(places, eighths, eighths, st.integers(0, 12), st.booleans(), st.sampled_from([None, *numeric]), st.data())
def test_linspace(place, start, stop, num, endpoint, dtype, data):
    if dtype is not None and dtype.startswith("uint"):
        start, stop = abs(start), abs(stop)
    theirs = np.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)
    check(ut.linspace(start, stop, num, endpoint=endpoint, dtype=dtype, **where(place, data)), theirs, place)


@campaign
@given(
    places,
    st.integers(0, 5),
    st.none() | st.integers(0, 5),
    st.integers(-6, 6),
    st.sampled_from([*ALL, None]),
    orders,
    st.data(),
)
def test_eye(place, rows, columns, k, dtype, order, data):
    theirs = np.eye(rows, columns, k, dtype=dtype or float, order=order)
    ours = ut.eye(rows, columns, k=k, dtype=dtype, order=order, **where(place, data))
    check(ours, theirs, place)
    same_order(ours, theirs)


@campaign
@given(pairs(shape=st.lists(st.integers(0, 4), min_size=2, max_size=3).map(tuple)), st.integers(-5, 5))
def test_tril_triu(pair, k):
    for name in ("tril", "triu"):
        ours, theirs = getattr(ut, name)(pair.ours, k=k), getattr(np, name)(pair.theirs, k)
        check(ours, theirs, pair_place(pair))


def pair_place(pair):
    return next(p for p in PLACES if (p.queue, p.usm_type) == (pair.ours.sycl_queue, pair.ours.usm_type))


@campaign
@given(places, st.lists(st.integers(0, 3), max_size=3), st.sampled_from(["xy", "ij"]), st.data())
def test_meshgrid(place, sizes, indexing, data):
    vectors = [data.draw(pairs(place=st.just(place), shape=st.just((n,)))) for n in sizes]
    ours = ut.meshgrid(*[v.ours for v in vectors], indexing=indexing)
    theirs = np.meshgrid(*[v.theirs for v in vectors], indexing=indexing)
    assert isinstance(ours, tuple) and len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        check(a, b, place)


def test_a_place_is_named_in_every_form(queue, usm_type):
    device = queue.sycl_device
    model = ut.ones(3, sycl_queue=queue, usm_type=usm_type)
    forms = [
        device,
        device.filter_string,
        queue,
        ut.Device.create_device(queue),
        ut.Device.create_device(device),
        model,
    ]
    for form in forms:
        made = ut.zeros(2, "i4", device=form, usm_type=usm_type)
        assert (made.sycl_device, made.usm_type) == (device, usm_type)
    assert ut.zeros(2, device=model).sycl_queue == queue
    assert ut.zeros(2, device=queue, sycl_queue=queue).sycl_queue == queue
    assert ut.zeros(2).sycl_device == usm.select_default_device()
    with pytest.raises(TypeError, match="sycl_queue, device"):
        ut.zeros(2, device=queue, sycl_queue=usm.SyclQueue(device))


def test_devices_of_dpctl_and_dpnp(dpctl, dpt, sycl_queue):
    theirs = dpt.empty(1)
    for form in (theirs.device, theirs.sycl_queue, theirs.sycl_device, theirs):
        assert ut.zeros(2, device=form).sycl_device.filter_string == theirs.sycl_device.filter_string
    assert ut.zeros(2, device=theirs.device).sycl_queue == usm.SyclQueue(theirs.sycl_queue)
    assert ut.Device.create_device(theirs.device) == usm.SyclQueue(theirs.sycl_queue)


def test_the_device_class(queue):
    device = ut.Device.create_device(queue)
    assert (device.sycl_queue, device.sycl_context, device.sycl_device) == (
        queue,
        queue.sycl_context,
        queue.sycl_device,
    )
    assert device == queue and device == ut.Device.create_device(device) and hash(device) == hash(queue)
    assert device != usm.SyclQueue(queue.sycl_device) and device != 3
    assert repr(device) == f"Device({queue.sycl_device.filter_string})"
    device.wait()
    with pytest.raises(TypeError):
        ut.Device()
    with pytest.raises(usm.SyclDeviceCreationError):
        ut.Device.create_device("nonsense")


def test_a_part_of_a_device_is_no_device_of_the_array_api(sycl_queue):
    part = requirements.parts_of(sycl_queue.sycl_device)[0]
    with pytest.raises(ValueError, match=r"device: .*root devices"):
        ut.Device.create_device(part)
    with pytest.raises(ValueError, match=r"device: .*root devices"):
        ut.zeros(2, device=part)
    assert ut.zeros(2, device=usm.SyclQueue(part)).sycl_device == part


def test_sequences_fill_too(queue):
    made = ut.full((2, 3), np.arange(3, dtype="i2"), sycl_queue=queue, usm_type="shared")
    assert made.tolist() == [[0, 1, 2], [0, 1, 2]]
