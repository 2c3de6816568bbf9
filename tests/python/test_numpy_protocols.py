"""NumPy's functions on arrays of ours: ``__array_ufunc__`` and ``__array_function__``."""

import operator

import pytest
from test_compute import same

import usm.compute
import usm.tensor as ut

from support.computing import PROVIDER

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
]


@pytest.mark.parametrize("operate", OPERATORS, ids=lambda operate: operate.__name__)
def test_numpy_on_the_left(made, numpy, operate):
    a, n = made([[1.0, 2], [3, 4]])
    for left in (n, n[:1], numpy.float64(2), numpy.float32(2), numpy.int64(3), numpy.asarray(2.0), numpy.bool_(True)):
        found, other = operate(left, a), operate(a, left)
        assert type(found) is type(other) is ut.usm_ndarray
        assert found.usm_type == other.usm_type == a.usm_type
        expected = operate(left.item() if numpy.ndim(left) == 0 else left, n)
        same(found, numpy.asarray(expected, found.dtype), a, exact=False)
    same(n @ a, n @ n, a, exact=False)


def test_functions_of_elements(made, numpy):
    a, n = made([[0.25, 0.5], [0.75, 1.0]])
    for name in ("sin", "absolute", "arccos", "negative", "sqrt", "exp", "rint", "floor", "isnan", "isfinite"):
        same(getattr(numpy, name)(a), getattr(numpy, name)(n), a, exact=False)
    for name in ("add", "power", "arctan2", "true_divide", "maximum", "less", "not_equal", "logical_and", "hypot"):
        function = getattr(numpy, name)
        same(function(a, 0.5), function(n, 0.5), a, exact=False)
        same(function(0.5, a), function(0.5, n), a, exact=False)
        same(function(a, a[::-1]), function(n, n[::-1]), a, exact=False)
    out, _ = made([[0.0, 0], [0, 0]])
    assert numpy.add(a, a, out=out) is out and out.tolist() == (n + n).tolist()
    assert numpy.add(n, 1, out=out) is out and out.tolist() == (n + 1).tolist()
    truth, _ = made([[False, True], [True, False]])
    assert numpy.less(a, 0.6, out=truth) is truth and truth.tolist() == (n < 0.6).tolist()
    for found, expected in zip(numpy.divmod(a, 0.5), numpy.divmod(n, 0.5), strict=True):
        same(found, expected, a)


def test_methods_of_ufuncs(made, numpy, host_accessible, queue):
    a, n = made([1.0, 2, 3])
    if a.usm_type == "device":
        a = ut.asarray(a, usm_type=host_accessible)
    same(numpy.add.reduce(a), numpy.asarray(n.sum()), a)
    same(numpy.add.accumulate(a), n.cumsum(), a)
    same(numpy.multiply.outer(a, n), numpy.multiply.outer(n, n), a)
    numpy.add.at(a, [0, 0], 1)
    assert a.tolist() == [3, 2, 3]
    theirs = numpy.zeros(3)
    assert numpy.add(a, 1, out=theirs) is theirs and theirs.tolist() == [4, 3, 4]
    theirs += a
    assert theirs.tolist() == [7, 5, 7]


def test_functions_of_arrays(made, numpy):
    a, n = made([[1.0, 2, 3], [4, 5, 6]])
    functions = [
        lambda x: numpy.concatenate([x, x]),
        lambda x: numpy.concatenate([x, n], axis=1),
        lambda x: numpy.stack([x, x], axis=1),
        lambda x: numpy.sum(x, axis=0),
        lambda x: numpy.mean(x, axis=1),
        lambda x: numpy.std(x),
        lambda x: numpy.max(x, axis=0, keepdims=True),
        lambda x: numpy.reshape(x, (3, 2)),
        lambda x: numpy.transpose(x),
        lambda x: numpy.transpose(x, (1, 0)),
        lambda x: numpy.where(x > 2, x, 0),
        lambda x: numpy.zeros_like(x),
        lambda x: numpy.ones_like(x, shape=(2,), dtype="float32"),
        lambda x: numpy.full_like(x, 7),
        lambda x: numpy.broadcast_to(x, (2, 2, 3)),
        lambda x: numpy.expand_dims(x, 0),
        lambda x: numpy.squeeze(x[:1]),
        lambda x: numpy.take(x, [0, 2], axis=1),
        *([] if PROVIDER == "torch" else [lambda x: numpy.dot(x, x.T)]),
        lambda x: numpy.linalg.norm(x),
        lambda x: numpy.sort(x, axis=0),
        lambda x: numpy.roll(x, 1, axis=1),
        lambda x: numpy.tile(x, (2, 1)),
        lambda x: numpy.cumsum(x, axis=1),
        lambda x: numpy.copy(x),
    ]
    for function in functions:
        same(function(a), numpy.asarray(function(n)), a, exact=False)
    assert (numpy.shape(a), numpy.ndim(a), numpy.size(a), numpy.size(a, 1)) == ((2, 3), 2, 6, 3)
    for creation in (
        lambda: numpy.asarray(0, like=a),
        lambda: numpy.zeros(3, like=a),
        lambda: numpy.arange(3, like=a),
        lambda: numpy.array([1, 2], like=a),
        lambda: numpy.full(2, 1, like=a),
    ):
        found = creation()
        assert type(found) is ut.usm_ndarray and found.usm_type == a.usm_type and found.sycl_queue == a.sycl_queue


def test_views_share_the_memory(made, numpy):
    a, n = made([[1.0, 2], [3, 4]])
    for view in (numpy.transpose(a), numpy.reshape(a, (4,)), numpy.expand_dims(a, 0), numpy.broadcast_to(a, (2, 2, 2))):
        view_address = view._pointer
        assert view_address == a._pointer


def test_views_of_read_only_arrays_are_read_only(made, numpy):
    a, n = made([[0.25, 0.5], [0.75, 1.0]])
    a.flags.writable = False
    for function in (
        *(numpy.diagonal, numpy.atleast_1d, numpy.atleast_3d, numpy.rot90, numpy.fliplr, numpy.ravel, numpy.transpose),
        *(lambda a: numpy.split(a, 2)[1], lambda a: numpy.array_split(a, 2)[0], lambda a: numpy.vsplit(a, 2)[1]),
    ):
        found = function(a)
        (begin, end), (first, last) = a._byte_bounds, found._byte_bounds
        assert not found.flags.writable or last <= begin or end <= first
        if found.flags.writable:
            found[...] = 9
        assert a.tolist() == n.tolist()


def test_functions_without_a_counterpart_are_named(made, numpy):
    a, _ = made([1.0, 2])
    if usm.compute._choice.provider_for(usm_memory(a)).name == "numpy":
        pytest.skip("NumPy has all of its functions")
    for call in (lambda: numpy.busday_count(a, a), lambda: numpy.add.outer(a, a)):
        with pytest.raises(TypeError, match=r"no such function; usm\.tensor\.asnumpy"):
            call()


def usm_memory(a):
    from usm._usm import _place

    return _place((a,), None)[0]


def test_external_classes_are_asked(made, numpy):
    class Theirs:
        def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
            return "theirs"

        def __array_function__(self, func, types, args, kwargs):
            return "theirs"

    a, _ = made([1.0, 2])
    assert numpy.add(a, Theirs()) == "theirs" and numpy.concatenate([a, Theirs()]) == "theirs"


def test_functions_that_write_to_their_arguments(made, numpy):
    """Protected memory is computed on a copy, which goes back."""
    memory = usm_memory(made([1.0])[0])
    if usm.compute._choice.provider_for(memory).name != "numpy":
        a, n = made([[1.0, 2], [3, 4]])
        (a + 1).tolist()
        a.flags.writable = False
        with pytest.raises((ValueError, TypeError)):
            numpy.copyto(a, 1.0)
        assert a.tolist() == n.tolist()
        return
    a, n = made([[1.0, 2], [3, 4]])
    numpy.copyto(a, 9.0)
    assert a.tolist() == [[9, 9], [9, 9]]
    numpy.fill_diagonal(a, 5)
    assert a.tolist() == [[5, 9], [9, 5]]
    assert numpy.clip(a, 6, 8, out=a) is a and a.tolist() == [[6, 8], [8, 6]]
    numpy.cumsum(a, 0, None, a)
    assert a.tolist() == [[6, 8], [14, 14]]
    a.flags.writable = False
    # A function that writes the values that are there already is refused, too.
    same_values = (lambda: numpy.copyto(a, n), lambda: numpy.cumsum([[6.0, 8], [8, 6]], 0, None, a))
    n = numpy.asarray([[6.0, 8], [14, 14]])
    for change in (lambda: numpy.copyto(a, 1.0), lambda: numpy.copyto(src=1.0, dst=a), *same_values):
        with pytest.raises(ValueError, match="read-only"):
            change()
    assert a.tolist() == [[6, 8], [14, 14]]


def test_divmod_with_numpy_on_the_left(made, numpy):
    a, n = made([2.0, 3])
    for left in (numpy.float64(7), numpy.asarray([7.0, 8])):
        for found, expected in zip(divmod(left, a), divmod(left, n), strict=True):
            same(found, expected, a)


def test_more_arguments_of_numpy(made, numpy):
    a, n = made([[1.0, 2], [3, 4]])
    same(numpy.sum(a=a), numpy.asarray(n.sum()), a)
    same(numpy.stack([a, a], dtype="float32"), numpy.stack([n, n], dtype="float32"), a)
    same(numpy.where(n > 2, a, a), numpy.where(n > 2, n, n), a)
    same(numpy.vecdot(a, a), numpy.vecdot(n, n), a)
    same(numpy.fmax(n, a), n, a)
    same(numpy.array([1, 2], "float32", like=a), numpy.array([1, 2], "float32"), a)
    same(numpy.eye(2, like=a), numpy.eye(2), a)
    with pytest.raises(ValueError):
        numpy.concatenate([a, a], out=made(numpy.zeros((5, 2)))[0])


def test_the_kind_follows_from_all_arguments(queue, numpy, made, usm_type):
    if usm_type != "device":
        pytest.skip("the kinds are given here")
    host, shared = (ut.ones((2, 2), usm_type=kind, sycl_queue=queue) for kind in ("host", "shared"))
    assert numpy.dot(host, shared).usm_type == "shared"
    other = ut.ones((2, 2), usm_type="host", sycl_queue="host")
    if other.sycl_queue != host.sycl_queue:
        with pytest.raises(ut.ExecutionPlacementError):
            numpy.dot(host, other)


def test_masks_of_numpy_by_name(made, numpy):
    a, n = made([[1.0, 2], [3, 4]])
    mask = n > 2
    numpy.place(arr=a, mask=mask, vals=[9.0])
    numpy.place(arr=n, mask=mask, vals=[9.0])
    assert a.tolist() == n.tolist()


def test_subclasses_with_operators_of_their_own_come_first(made, numpy):
    """NEP 13: units and masks are not dropped in silence."""

    class Units(numpy.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
            return ufunc.__name__

    a, n = made([1.0, 2, 3])
    units, masked = n.view(Units), numpy.ma.masked_array(n, [False, True, False])
    for operate, name in ((operator.add, "add"), (operator.matmul, "matmul"), (operator.eq, "equal")):
        assert operate(a, units) == operate(units, a) == name
    assert numpy.add(a, units) == numpy.add(units, a) == "add"
    for function in (ut.add, numpy.add):
        with pytest.raises(TypeError, match=r"x2: found .*MaskedArray.*plain arrays.*numpy\.asarray"):
            function(a, masked)
    with pytest.raises(TypeError, match=r"found .*MaskedArray"):
        a += masked
    for operate in (operator.add, operator.mul, operator.lt):
        if a.usm_type != "device":
            found, expected = operate(a, masked), operate(n, masked)
            assert type(found) is numpy.ma.MaskedArray and found.mask.tolist() == [False, True, False]
            assert found.tolist() == expected.tolist()
        else:
            with pytest.raises(TypeError):
                operate(a, masked)


def test_plain_subclasses_are_arrays(made, numpy):
    class Plain(numpy.ndarray):
        pass

    a, n = made([1.0, 2, 3])
    same(a + n.view(Plain), n + n, a)
    same(n.view(Plain) + a, n + n, a)
    assert (a == n.view(Plain)).tolist() == [True] * 3


def test_creation_takes_the_arguments_of_numpy(made, numpy):
    a, n = made([[1.0, 2], [3, 4]])
    for create in (
        lambda like: numpy.arange(0, 3, 1, "float32", like=like),
        lambda like: numpy.tri(3, 4, 1, "int32", like=like),
        lambda like: numpy.identity(3, like=like),
        lambda like: numpy.fromiter(range(3), "float32", like=like),
        lambda like: numpy.ascontiguousarray(like.T, like=like),
        lambda like: numpy.asfortranarray(like, like=like),
        lambda like: numpy.full_like(like, 3, "int32"),
        lambda like: numpy.full_like(like, fill_value=3, shape=(3,)),
        lambda like: numpy.zeros_like(like, "int32", "C", True, (2,)),
        lambda like: numpy.linspace(like[0, 0], 3, 5),
        lambda like: numpy.linspace(like[0], like[1], 3),
        lambda like: numpy.add(like, 1, dtype="float32"),
    ):
        same(create(a), create(n), a)
    assert numpy.ascontiguousarray(a.T, like=a).flags.c_contiguous
    assert numpy.asfortranarray(a, like=a).flags.f_contiguous
    assert numpy.result_type(a, numpy.float32) == numpy.float64
