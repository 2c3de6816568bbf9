"""Comparisons and logic by operators: NumPy's values, placement, in-place forms, refusals."""

import operator

import pytest

import usm
import usm.tensor as ut

from support import requirements
from support.values import DTYPES, counting

COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
LOGIC = [operator.and_, operator.or_, operator.xor]
IN_PLACE = [operator.iand, operator.ior, operator.ixor]
KINDS = ["host", "shared", "device"]


def made(array, kind, values, dtype=None):
    numpy = requirements.module("numpy", required=requirements.REQUIRE_SYCL or requirements.REQUIRE_PEERS)
    n = numpy.asarray(values, dtype)
    a = array(n.shape, n.dtype, buffer=kind)
    a[...] = n
    return a, n


@pytest.mark.parametrize("compare", COMPARISONS, ids=lambda compare: compare.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_comparisons(array, numpy, usm_type, compare, dtype):
    if dtype.startswith("complex") and compare not in COMPARISONS[:2]:
        a, _ = made(array, usm_type, [1j], dtype)
        with pytest.raises(ValueError, match="real numbers"):
            compare(a, a)
        return
    a, n = made(array, usm_type, counting(dtype, 6), dtype)
    b, m = made(array, usm_type, counting(dtype, 6)[::-1], dtype)
    found = compare(a, b)
    assert found.dtype == "bool" and found.usm_type == usm_type and found.sycl_queue == a.sycl_queue
    assert found.tolist() == compare(n, m).tolist()
    assert compare(a, a[:1]).tolist() == compare(n, n[:1]).tolist()
    for value in (0, 1, True, n[2].item()):
        assert compare(a, value).tolist() == compare(n, value).tolist()
        assert compare(value, a).tolist() == compare(value, n).tolist()
    for value in (n[2], n[2:3], n[::-1]):
        assert compare(a, value).tolist() == compare(n, value).tolist()


def test_numbers_are_compared_by_value(array, usm_type):
    a, _ = made(array, usm_type, [0, 200], "u1")
    assert (a > -1).tolist() == [True, True] and (a == 256).tolist() == [False, False]
    assert (a < 2**100).tolist() == [True, True] and (300 > a).tolist() == [True, True]
    f, _ = made(array, usm_type, [0.1], "f4")
    assert (f == 0.1).tolist() == [True]


def test_shapes(array, usm_type):
    column, n = made(array, usm_type, [[1], [2]])
    row, m = made(array, usm_type, [1, 2, 3])
    assert (column < row).tolist() == (n < m).tolist()
    with pytest.raises(ValueError):
        _ = row == made(array, usm_type, [1, 2])[0]
    assert (row[:0] == 1).shape == (0,) and (row[0] == 1).item() is True


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_the_kind_of_the_result(array, first, second):
    a, n = made(array, first, [1, 2, 3])
    b, m = made(array, second, [2, 2, 2])
    expected = max(first, second, key=KINDS.index)
    for compare in COMPARISONS:
        assert compare(a, b).usm_type == expected and compare(a, b).tolist() == compare(n, m).tolist()
    for logic in LOGIC:
        assert logic(a > 1, b > 1).usm_type == expected


@pytest.mark.parametrize("compare", COMPARISONS, ids=lambda compare: compare.__name__)
def test_other_libraries(dpt, usm_type, compare):
    n = [[1, 2], [3, 4]]
    theirs = dpt.asarray([[1, 3], [3, 3]], usm_type=usm_type)
    ours = ut.asarray(n, usm_type=usm_type, sycl_queue=theirs.sycl_queue)
    assert compare(ours, theirs).tolist() == dpt.asnumpy(compare(dpt.asarray(n), theirs)).tolist()


def test_where_to_compute_is_no_guess(array, queue, usm_type):
    """As in dpnp: arrays of several queues are refused."""
    a, _ = made(array, usm_type, [1, 2])
    other = ut.asarray([1, 2], usm_type=usm_type, sycl_queue=usm.SyclQueue(queue.sycl_device))
    for compare in COMPARISONS:
        with pytest.raises(ut.ExecutionPlacementError, match="to_device"):
            compare(a, other)
        assert compare(a, other.to_device(queue)).shape == (2,)
    for operate in LOGIC + IN_PLACE:
        with pytest.raises(ut.ExecutionPlacementError):
            operate(a > 1, other > 1)
    # Membership gives no array, and assignment says where.
    assert other in a
    a[...] = other


def test_what_is_no_operand(array, usm_type):
    a, _ = made(array, usm_type, [1, 2])
    for other in (None, "a", [1, 2], (1, 2), object(), b"ab", {}):
        assert (a == other) is False and (a != other) is True
        for compare in COMPARISONS[2:]:
            with pytest.raises(TypeError, match="not supported between"):
                compare(a, other)
        for logic in LOGIC:
            with pytest.raises(TypeError, match="unsupported operand"):
                logic(a > 1, other)
        for assign in IN_PLACE:
            with pytest.raises(TypeError, match="booleans"):
                assign(a > 1, other)


@pytest.mark.parametrize("logic", LOGIC, ids=lambda logic: logic.__name__)
def test_logic(array, numpy, usm_type, logic):
    a, n = made(array, usm_type, [[True, True, False, False]])
    b, m = made(array, usm_type, [[True], [False]])
    assert logic(a, b).tolist() == logic(n, m).tolist()
    for value in (True, False, numpy.bool_(True), numpy.asarray([True, False, True, False])):
        assert logic(a, value).tolist() == logic(n, value).tolist()
    for value in (True, False):
        assert logic(value, a).tolist() == logic(value, n).tolist()
    assert (~a).tolist() == (~n).tolist() and (~a[:, ::-2]).tolist() == (~n[:, ::-2]).tolist()


def test_logic_is_for_integers_and_booleans(array, usm_type):
    a, _ = made(array, usm_type, [1.0, 2])
    for apply in (lambda: a & a, lambda: a | True, lambda: (a > 1) ^ a, lambda: ~a):
        with pytest.raises(ValueError, match="booleans"):
            apply()
    with pytest.raises(TypeError, match="bool"):
        _ = (a > 1) & 1.0


@pytest.mark.parametrize("assign", IN_PLACE, ids=lambda assign: assign.__name__)
def test_in_place(array, numpy, usm_type, assign):
    a, n = made(array, usm_type, [[True, True, False, False]] * 2)
    b, m = made(array, "shared", [True, False, True, False])
    view = a[0]
    same = assign(a, b)
    assert same is a and a.tolist() == assign(n.copy(), m).tolist() and view.tolist() == a[0].tolist()
    strided, model = a[:, ::-2], numpy.asarray(a.tolist())
    assign(strided, True)
    assign(model[:, ::-2], True)
    assert a.tolist() == model.tolist()
    with pytest.raises(ValueError):
        assign(view, a)
    a.flags.writable = False
    before = a.tolist()
    with pytest.raises(ValueError, match="read-only"):
        assign(a, ~a)
    assert a.tolist() == before


REFLECTED = {"lt": "gt", "le": "ge", "eq": "eq", "ne": "ne", "ge": "le", "gt": "lt"}


@pytest.mark.parametrize("name", REFLECTED)
def test_comparisons_with_numpy_on_the_left(array, numpy, usm_type, name):
    a, n = made(array, usm_type, [1, 2, 3])
    operate, reflected = getattr(operator, name), getattr(operator, REFLECTED[name])
    for left in (
        numpy.float64(2),
        numpy.float32(2),
        numpy.int8(2),
        numpy.uint64(2),
        numpy.complex64(2) if name in ("eq", "ne") else numpy.float16(2),
        numpy.asarray(2),
        numpy.asarray([3, 2, 1]),
        numpy.asarray([[2], [1]], "f4"),
    ):
        found, expected = operate(left, a), reflected(a, left)
        for one in (found, expected):
            assert type(one) is ut.usm_ndarray and one.usm_type == usm_type and one.sycl_queue == a.sycl_queue
        assert found.tolist() == expected.tolist() == operate(left, n).tolist()
    assert operate(numpy.asarray(2), array((), "i4", buffer=usm_type)).shape == ()


@pytest.mark.parametrize("name", ["and_", "or_", "xor"])
def test_logic_with_numpy_on_the_left(array, numpy, usm_type, name):
    a, n = made(array, usm_type, [True, False])
    operate = getattr(operator, name)
    for left in (numpy.bool_(True), numpy.asarray([True, True])):
        found = operate(left, a)
        assert type(found) is ut.usm_ndarray and found.usm_type == usm_type
        assert found.tolist() == operate(a, left).tolist() == operate(left, n).tolist()
