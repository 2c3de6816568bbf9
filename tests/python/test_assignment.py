"""`a[key] = value`: scalars, broadcasting, other arrays, overlap; and bytes outside of the view stay."""

import pytest

import usm.tensor as ut

from support.model import Strided
from support.values import DTYPES, counting, pack, unpack

KEYS = [
    (1, 2),
    0,
    slice(None),
    slice(None, None, -1),
    (slice(None), 1),
    (slice(1, 3), slice(None, None, 2)),
    (slice(None, None, -2), slice(None, None, -3)),
    ...,
    (),
    slice(2, 2),
    (None, 3),
]


def filled(array, usm_type, shape, dtype="int32"):
    count = 1
    for n in shape:
        count *= n
    flat = counting(dtype, count)
    a = array(shape, dtype=dtype, buffer=usm_type)
    a.usm_data.copy_from_host(pack(dtype, flat))
    return a, Strided.c_order(flat, shape)


def positions(model):
    return [model.position(i) for i in model.indices()]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_a_scalar_fills_the_view_and_nothing_else(array, usm_type, key):
    a, model = filled(array, usm_type, (4, 5))
    a[key] = -9
    expected = list(model.flat)
    for position in positions(model[key]):
        expected[position] = -9
    assert unpack("int32", a.usm_data.tobytes()) == expected


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_an_array_is_copied_into_the_view(array, usm_type, key):
    a, model = filled(array, usm_type, (4, 5))
    target = model[key]
    values = counting("int32", len(positions(target)), start=50)
    source = array(target.shape, dtype="i4", buffer=usm_type)
    if values:
        source.usm_data.copy_from_host(pack("int32", values))
    a[key] = source
    expected = list(model.flat)
    for position, value in zip(positions(target), values, strict=True):
        expected[position] = value
    assert unpack("int32", a.usm_data.tobytes()) == expected


@pytest.mark.parametrize("source_type", ["host", "device", "shared"])
def test_between_usm_kinds(array, usm_type, source_type):
    a, _ = filled(array, usm_type, (3, 4))
    source, model = filled(array, source_type, (4, 3))
    a[::-1] = source.T[:, ::-1]
    assert a[::-1].tolist() == model.transposed()[:, ::-1].tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars_of_every_dtype(array, usm_type, dtype):
    values = counting(dtype, 3, start=7)
    a = array((3,), dtype=dtype, buffer=usm_type)
    for i, value in enumerate(values):
        a[i] = value
    assert a.tolist() == values
    assert unpack(dtype, a.usm_data.tobytes()) == values
    a[...] = values[1]
    assert a.tolist() == [values[1]] * 3


def test_broadcasting(array, usm_type):
    a, _ = filled(array, usm_type, (3, 4))
    row, row_model = filled(array, usm_type, (4,))
    a[...] = row
    assert a.tolist() == [row_model.tolist()] * 3
    column, column_model = filled(array, usm_type, (3, 1))
    a[...] = column
    assert a.tolist() == [value * 4 for value in column_model.tolist()]
    a[1:] = a[0]
    assert a.tolist() == [[0] * 4] * 3


def test_overlapping_source_and_target(array, usm_type):
    """As if the source were copied first."""
    a, model = filled(array, usm_type, (10,))
    a[...] = a[::-1]
    assert a.tolist() == model.flat[::-1]
    a[1:] = a[:-1]
    assert a.tolist() == [9, 9, 8, 7, 6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize("shape", [(4,), (5, 4), (2, 3, 4), (0,)], ids=str)
def test_shapes_that_do_not_broadcast(array, usm_type, shape):
    a = array((3, 5), dtype="i4", buffer=usm_type)
    before = a.tolist()
    with pytest.raises(ValueError):
        a[...] = array(shape, dtype="i4", buffer=usm_type)
    assert a.tolist() == before


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("int8", 128), ("int8", -129), ("uint8", -1), ("uint8", 256), ("int64", 2**63), ("uint64", 2**64)],
)
def test_integers_out_of_range(queue, usm_type, dtype, value):
    a = ut.zeros((2,), dtype=dtype, usm_type=usm_type, sycl_queue=queue)
    with pytest.raises((OverflowError, ValueError)):
        a[0] = value
    assert a.tolist() == [0, 0]


@pytest.mark.parametrize("value", ["1", None, object(), [], {}])
def test_values_of_wrong_type(array, usm_type, value):
    a = array((2,), dtype="i4", buffer=usm_type)
    with pytest.raises((TypeError, ValueError)):
        a[0] = value


def test_a_complex_number_is_not_an_integer(array, usm_type):
    a = array((2,), dtype="i4", buffer=usm_type)
    with pytest.raises((TypeError, ValueError)):
        a[0] = 1j


def test_index_errors_write_nothing(array, usm_type):
    a, model = filled(array, usm_type, (3, 4))
    with pytest.raises(IndexError):
        a[3] = 1
    with pytest.raises(IndexError):
        a[0, 4] = 1
    assert a.tolist() == model.tolist()
