"""Arrays without axes as Python numbers, truth, iteration and membership: values and exceptions of NumPy and dpnp."""

import operator

import pytest

import usm.tensor as ut

from support.values import DTYPES, counting

CONVERSIONS = [bool, int, float, complex, operator.index]


def of(array, usm_type, dtype, value, shape=()):
    a = array(shape, dtype, buffer=usm_type)
    a[...] = value
    return a


@pytest.mark.any_memory
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("convert", CONVERSIONS, ids=lambda convert: convert.__name__)
def test_conversions(array, numpy, usm_type, dtype, convert):
    for value in counting(dtype, 3, start=41) + [0]:
        a, n = of(array, usm_type, dtype, value), numpy.asarray(value, dtype).item()
        try:
            expected = convert(n)
        except TypeError:
            with pytest.raises(TypeError):
                convert(a)
            continue
        if convert is operator.index and dtype == "bool":
            with pytest.raises(TypeError, match="bool"):
                convert(a)
            continue
        assert convert(a) == expected and type(convert(a)) is type(expected)


@pytest.mark.parametrize("convert", [int, float, complex, operator.index])
def test_arrays_with_axes(array, usm_type, convert):
    with pytest.raises(TypeError, match="axes"):
        convert(of(array, usm_type, "i4", 1, (1, 1)))
    # What is no index lets bytes() look for a buffer.
    error, words = (TypeError, "no index") if convert is operator.index else (ValueError, "one element")
    for shape in ((0,), (2,), (1, 3)):
        with pytest.raises(error, match=words):
            convert(of(array, usm_type, "i4", 1, shape))


def test_truth(array, usm_type):
    assert of(array, usm_type, "f4", 2, (1, 1)) and not of(array, usm_type, "c8", 0, (1,))
    for shape in ((2,), (0,), (0, 3)):
        with pytest.raises(ValueError, match="ambiguous"):
            bool(of(array, usm_type, "f4", 1, shape))
    assert of(array, usm_type, "f4", float("nan"))


def test_exceptions_are_those_of_dpnp(dpt, sycl_queue):
    cases = [((), "f8"), ((1,), "i4"), ((2,), "i4"), ((0,), "f8"), ((), "c16"), ((), "i8"), ((1, 1), "c8")]
    for shape, dtype in cases:
        ours, theirs = ut.zeros(shape, dtype, sycl_queue=sycl_queue), dpt.zeros(shape, dtype=dtype)
        for convert in (bool, int, float, complex, len):
            if convert is bool and shape in ((1,), (1, 1)):
                continue  # true or false here, as in NumPy
            results = []
            for a in (ours, theirs):
                try:
                    results.append(convert(a))
                except Exception as error:
                    results.append(type(error))
            assert results[0] == results[1], (shape, dtype, convert)


def test_iteration(array, numpy, usm_type):
    a = of(array, usm_type, "i4", 0, (3, 2))
    a[...] = [[1, 2], [3, 4], [5, 6]]
    assert [row.tolist() for row in a] == [[1, 2], [3, 4], [5, 6]]
    assert [row.tolist() for row in reversed(a)] == [[5, 6], [3, 4], [1, 2]]
    rows = iter(a)
    next(rows)[...] = 7
    assert a.tolist()[0] == [7, 7], "rows are views"
    assert iter(rows) is rows and len(list(rows)) == 2 and not list(rows)
    assert list(a[:0]) == [] and list(reversed(a[:0])) == []
    assert [operator.length_hint(loop(a)) for loop in (iter, reversed)] == [3, 3]
    rows = reversed(a)
    assert (next(rows).tolist(), operator.length_hint(rows)) == ([5, 6], 2)
    a.flags["W"] = False
    assert not any(row.flags.writable for row in rows)
    first, *rest = a[0]
    assert first.shape == () and len(rest) == 1
    for loop in (iter, reversed, list, len):
        with pytest.raises(TypeError):
            loop(a[0, 0])


def test_membership(array, usm_type):
    a = of(array, usm_type, "f4", 0, (2, 3))
    a[...] = [[1, 2, 3], [4, 5, 0.1]]
    for value, found in ((5, True), (7, False), (0.1, True), (5j, False), (None, False), ("5", False), (True, True)):
        assert (value in a) is found
    assert a[:, :1] in a and a[0] in a and of(array, "host", "i8", 9) not in a
    with pytest.raises(ValueError):
        _ = of(array, "shared", "i8", 1, (2,)) in a


def test_arrays_have_no_hash(array):
    with pytest.raises(TypeError, match="unhashable"):
        hash(array((), "i4"))


def test_format(array, usm_type):
    a = of(array, usm_type, "i4", 3, (2,))
    assert f"{a}" == str(a)
    with pytest.raises(TypeError, match="format"):
        format(a, "3")
