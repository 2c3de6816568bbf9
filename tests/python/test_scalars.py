"""One-element arrays as Python numbers, and arrays as lists."""

import pytest

from support.values import DTYPES, counting, pack


@pytest.mark.any_memory
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)], ids=str)
def test_item(array, usm_type, dtype, shape):
    (value,) = counting(dtype, 1, start=41)
    a = array(shape, dtype=dtype, buffer=usm_type)
    a.usm_data.copy_from_host(pack(dtype, [value]))
    assert a.item() == value
    assert type(a.item()) is type(value)
    assert bool(a) is bool(value)


def test_conversions(array, usm_type):
    a = array((), dtype="f8", buffer=usm_type)
    a[...] = 2.75
    assert float(a) == 2.75
    assert int(a) == 2
    assert bool(a) is True
    a[...] = 0.0
    assert bool(a) is False


@pytest.mark.parametrize("shape", [(2,), (0,), (1, 3)], ids=str)
def test_more_or_less_than_one_element(array, usm_type, shape):
    a = array(shape, dtype="f8", buffer=usm_type)
    for convert in (float, int, bool, lambda x: x.item()):
        with pytest.raises((TypeError, ValueError)):
            convert(a)


def test_complex_numbers_are_not_real(array, usm_type):
    a = array((), dtype="c16", buffer=usm_type)
    a[...] = 1 + 2j
    for convert in (float, int):
        with pytest.raises(TypeError):
            convert(a)
