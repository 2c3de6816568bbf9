"""Operators and functions that providers compute: NumPy's values, in our memory, on the operands' queue."""

import math
import operator
import random
import threading

import pytest

import usm.compute
import usm.tensor as ut
from usm.compute._table import FFT, FUNCTIONS, LINALG

from support import children, requirements
from support.computing import ERRORS, MISSING
from support.process import check as run

# NumPy warns of results that are no numbers.
pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0:UserWarning"),
]

BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
]
SHIFTS = [operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod]


def same(found, expected, like, exact=True):
    """Checks type, kind, queue, dtype, shape and elements of a result."""
    assert type(found) is ut.usm_ndarray
    assert found.usm_type == like.usm_type and found.sycl_queue == like.sycl_queue
    assert found.dtype == expected.dtype and found.shape == expected.shape
    theirs = ut.asnumpy(found)
    import numpy

    if exact:
        numpy.testing.assert_array_equal(theirs, expected)
    else:
        numpy.testing.assert_allclose(theirs, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("operate", BINARY, ids=lambda operate: operate.__name__)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint8"])
def test_operators(made, operate, dtype):
    a, n = made([[1, 2, 3], [4, 5, 6]], dtype)
    b, m = made([3, 2, 1], dtype)
    exact = dtype.startswith(("int", "uint")) and operate is not operator.truediv
    for ours, theirs in (((a, b), (n, m)), ((a, 2), (n, 2)), ((2, a), (2, n)), ((a[:, ::-1], b), (n[:, ::-1], m))):
        same(operate(*ours), operate(*theirs), a, exact)
    if dtype.startswith("float"):
        same(operate(a, 1.5), operate(n, 1.5), a, exact)
        same(operate(1.5, a), operate(1.5, n), a, exact)


@pytest.mark.parametrize("operate", SHIFTS, ids=lambda operate: operate.__name__)
def test_operators_of_integers(made, operate):
    a, n = made([[1, 2, 3], [4, 5, 6]], "int32")
    b, m = made([3, 2, 1], "int32")
    same(operate(a, b), operate(n, m), a)
    same(operate(a, 1), operate(n, 1), a)
    same(operate(2, a), operate(2, n), a)
    same(~a, ~n, a)
    c, k = a.copy(), n.copy()
    c ^= 1
    c <<= b
    k ^= 1
    k <<= m
    same(c, k, a)


def test_operators_of_one_operand(made):
    a, n = made([[-1.5, 2], [0, -3]])
    same(-a, -n, a)
    same(+a, +n, a)
    same(abs(a), abs(n), a)
    for found, expected in zip(divmod(a, 2), divmod(n, 2), strict=True):
        same(found, expected, a)
    for found, expected in zip(divmod(7, a[:, 0]), divmod(7, n[:, 0]), strict=True):
        same(found, expected, a)


@pytest.mark.parametrize("assign", IN_PLACE, ids=lambda assign: assign.__name__)
def test_operators_in_place(made, assign):
    a, n = made([[1.0, 2, 3], [4, 5, 6]])
    view, address = a[1], a._pointer
    same_object = assign(a, 2.0)
    n = assign(n, 2.0)
    assert same_object is a and a._pointer == address
    same(a, n, a)
    same(view, n[1], a)
    row, m = made([3.0, 5.0, 7.0])
    same(assign(a, row), assign(n, m), a, exact=False)
    strided, model = a[:, ::-2], n[:, ::-2]
    assign(strided, row[:2])
    assign(model, m[:2])
    same(a, n, a, exact=False)


def test_in_place_keeps_dtype_and_memory(made):
    a, n = made([1, 2, 3], "int32")
    b, _ = made([0.5, 1.5, 2.5])
    with pytest.raises((TypeError, ValueError)):
        a += b
    assert a.tolist() == n.tolist()
    m, k = made([[1.0, 2], [3, 4]])
    address = m._pointer
    m @= m
    same(m, k @ k, m)
    assert m._pointer == address
    m **= 2
    same(m, (k @ k) ** 2, m)


def test_results_share_no_memory_with_operands(made):
    a, n = made([[1.0, 2], [3, 4]])
    for result in (+a, ut.positive(a), ut.linalg.diagonal(a), ut.abs(a), ut.round(a)):
        result += 1
        same(a, n, a)


def test_matrices(made):
    shapes = [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 1, 2, 3), (2, 3, 1)),
    ]
    for first, second in shapes:
        a, n = made([float(i) for i in range(_size(first))])
        b, m = made([float(i) for i in range(_size(second))])
        a, n, b, m = a.reshape(first), n.reshape(first), b.reshape(second), m.reshape(second)
        same(a @ b, n @ m, a, exact=False)
    a, n = made([[1.0, 2], [3, 4]])
    same(ut.vecdot(a, a), (n * n).sum(-1), a, exact=False)
    same(ut.tensordot(a, a, axes=1), n @ n, a, exact=False)
    with pytest.raises((TypeError, ValueError)):
        _ = a @ 2


def _size(shape):
    size = 1
    for n in shape:
        size *= n
    return size


UNARY_REAL = """
abs acos asin atan atanh ceil cos cosh exp expm1 floor log10 log1p negative positive reciprocal round sign sin sinh
sqrt square tan tanh trunc exp2 cbrt rsqrt log log2 asinh
""".split()


@pytest.mark.parametrize("name", [name for name in UNARY_REAL if name not in MISSING])
def test_elementwise_functions(made, numpy, name):
    a, n = made([[0.1, 0.5, 0.9], [0.25, 0.75, 1.0 if name != "atanh" else 0.3]], "float32")
    old = {"acos": "arccos", "asin": "arcsin", "atan": "arctan", "atanh": "arctanh", "asinh": "arcsinh"}
    old |= {"round": "rint"}
    theirs = (lambda x: 1 / numpy.sqrt(x)) if name == "rsqrt" else getattr(numpy, old.get(name, name))
    function = getattr(ut, name)
    same(function(a), theirs(n), a, exact=False)
    same(function(a.T[::-1]), theirs(n.T[::-1]), a, exact=False)
    out, _ = made(numpy.zeros((2, 3), "float32"))
    assert function(a, out=out) is out
    same(out, theirs(n), a, exact=False)


def test_results_have_the_order_of_memory_that_was_asked_for(made):
    a, n = made([[1.0, 2, 3], [4, 5, 6]])
    assert ut.sin(a, order="F").flags.f_contiguous and ut.add(a, a, order="C").flags.c_contiguous


@pytest.mark.parametrize("name", ["prod", "mean", "var", "std", "max", "min", "sum"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64"])
def test_reductions(made, numpy, name, dtype):
    if dtype == "complex64" and name in ("max", "min", "var", "std"):
        pytest.skip("no order, and no rule in the standard")
    a, n = made([[[1, 2], [3, 4], [5, 6]], [[6, 5], [4, 3], [2, 1]]], dtype)
    for axis in (None, 0, -1, (0, 2), (1, 0, -1), ()):
        for keepdims in (False, True):
            found = getattr(ut, name)(a, axis=axis, keepdims=keepdims)
            expected = numpy.asarray(getattr(numpy, name)(n, axis=axis, keepdims=keepdims))
            if found.dtype != expected.dtype:
                expected = expected.astype(found.dtype)  # dpnp: float32 for means of int32 on devices without doubles
            same(found, expected, a, exact=False)
    with pytest.raises((ValueError, IndexError)):
        getattr(ut, name)(a, axis=3)


def test_dtypes_that_are_asked_for(made):
    a, n = made([[1, 2], [3, 4]], "int8")
    same(ut.prod(a, dtype="float32"), n.prod(dtype="float32"), a)
    same(ut.cumulative_sum(a, axis=0, dtype="int16"), n.cumsum(axis=0, dtype="int16"), a)
    same(ut.linalg.trace(a, dtype="float32"), n.trace(dtype="float32"), a)
    narrow = ut.astype(a, ut.bfloat16)
    assert ut.prod(narrow, dtype="float32").dtype == "float32"
    assert ut.prod(narrow).dtype == narrow.dtype


def test_searches_and_cumulative_functions(made, numpy):
    a, n = made([[3.0, 1, 2], [2, 3, 1]])
    for axis in (None, 0, 1):
        same(ut.argmax(a, axis=axis), numpy.asarray(numpy.argmax(n, axis=axis)), a)
        same(ut.argmin(a, axis=axis, keepdims=True), numpy.asarray(numpy.argmin(n, axis=axis, keepdims=True)), a)
    for axis in (0, -1):
        same(ut.cumulative_sum(a, axis=axis), n.cumsum(axis), a, exact=False)
        same(ut.cumulative_prod(a, axis=axis), n.cumprod(axis), a, exact=False)
        first = ut.cumulative_sum(a, axis=axis, include_initial=True)
        assert first.shape[axis] == a.shape[axis] + 1
    with pytest.raises(ValueError):
        ut.cumulative_sum(a)


def test_sorting_and_sets(made, numpy):
    a, n = made([[3.0, 1, 2, 1], [2, 3, 1, 1]])
    same(ut.sort(a), numpy.sort(n), a)
    same(ut.sort(a, axis=0, descending=True), numpy.sort(n, axis=0)[::-1], a)
    same(ut.argsort(a, stable=True), numpy.argsort(n, stable=True), a)
    assert ut.argsort(a[0], descending=True, stable=True).tolist() == [0, 2, 1, 3]
    values, counts = ut.unique_counts(a)
    assert (values.tolist(), counts.tolist()) == ([1, 2, 3], [4, 2, 2])
    found = (ut.unique_inverse if "unique_all" in MISSING else ut.unique_all)(a)
    assert found.values.tolist() == [1, 2, 3] and found.inverse_indices.shape == a.shape
    assert ut.take(found.values, found.inverse_indices.reshape(-1)).tolist() == n.ravel().tolist()
    assert ut.unique_values(a).tolist() == [1, 2, 3]
    same(ut.isin(a, a[0, :2]), numpy.isin(n, n[0, :2]), a)
    sorted_, model = ut.sort(a[0]), numpy.sort(n[0])
    same(ut.searchsorted(sorted_, a), numpy.searchsorted(model, n), a)
    same(ut.diff(a, n=2), numpy.diff(n, n=2), a)
    same(ut.diff(a, prepend=a[:, :1]), numpy.diff(n, prepend=n[:, :1]), a)
    same(ut.clip(a, 1.5, 2), numpy.clip(n, 1.5, 2), a)
    same(ut.clip(a, max=a[:1]), numpy.clip(n, None, n[:1]), a)


@pytest.mark.parametrize("name", LINALG)
def test_linear_algebra(made, numpy, name):
    a, n = made([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]])
    function, theirs = getattr(ut.linalg, name), getattr(numpy.linalg, name)
    arguments = {
        "matrix_power": (3,),
        "solve": (a,),
        "cross": (a[::-1],),
        "matmul": (a,),
        "tensordot": (a,),
        "vecdot": (a,),
    }
    x, y = (a[0], n[0]) if name == "outer" else (a, n)
    extra = (a[1],) if name == "outer" else arguments.get(name, ())
    found = function(x, *extra)
    if name in ("eig", "eigh", "qr", "svd"):
        for part in found:
            assert type(part) is ut.usm_ndarray and part.usm_type == a.usm_type
        if name == "qr":
            same(found.Q @ found.R, n, a, exact=False)
        elif name == "svd":
            same((found[0] * found[1]) @ found[2], n, a, exact=False)
        else:
            values, vectors = found
            assert values.dtype.kind == ("c" if name == "eig" else "f")
            product = ut.astype(a, vectors.dtype) @ vectors
            same(product, ut.asnumpy(vectors * values), a, exact=False)
        return
    if name in ("eigvals", "eigvalsh", "svdvals"):
        assert found.dtype.kind == ("c" if name == "eigvals" else "f") and found.shape == (3,)
        return
    expected = theirs(y, *(ut.asnumpy(x) if isinstance(x, ut.usm_ndarray) else x for x in extra))
    if name == "slogdet":
        assert [part.item() for part in found] == pytest.approx([part.item() for part in expected])
        return
    same(found, numpy.asarray(expected), a, exact=False)


@pytest.mark.parametrize("name", FFT)
def test_fourier_transforms(made, numpy, name):
    a, n = made([[1.0, 2, 3, 4], [5, 6, 7, 8]])
    function, theirs = getattr(ut.fft, name), getattr(numpy.fft, name)
    if name.endswith("freq"):
        found = function(5, d=0.5, device=a.device)
        assert found.usm_type == a.usm_type and found.tolist() == pytest.approx(theirs(5, d=0.5).tolist())
        assert function(4, dtype="float32", device=a.device).dtype == "float32"
        return
    same(function(a), theirs(n), a, exact=False)


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"top_k", "clip"}))
def test_empty_arrays(made, numpy, name):
    """Each function gives a result, or an error of its own."""
    a, n = made(numpy.zeros((0, 3)))
    row = FUNCTIONS[name]
    try:
        found = getattr(ut, name)(*(a,) * (2 if "x2" in row.parameters else 1))
    except NotImplementedError:  # of dpctl.tensor and not of the standard
        assert name in {"proj", "logsumexp", "cumulative_logsumexp"} | MISSING
        return
    except (ValueError, TypeError, IndexError, *ERRORS):
        return
    for part in found if isinstance(found, tuple) else (found,):
        assert type(part) is ut.usm_ndarray and part.usm_type == a.usm_type


def test_arrays_without_axes(made):
    a, n = made(2.5)
    for found in (a + 1, ut.sqrt(a), ut.mean(a), ut.maximum(a, 3), ut.argmax(a), ut.sort(made([2.5])[0])[0]):
        assert type(found) is ut.usm_ndarray and found.shape == () and found.usm_type == a.usm_type


def test_out_of_the_wrong_kind_is_refused(made, numpy):
    a, n = made([1.0, 2, 3])
    read_only = a.copy()
    read_only.flags.writable = False
    with pytest.raises(ValueError, match="^out: found a read-only array"):
        ut.add(a, 1, out=read_only)
    for out in (made([1, 2, 3], "int32")[0], made([1.0, 2])[0]):
        before = out.tolist()
        with pytest.raises((TypeError, ValueError)):
            ut.add(a, a, out=out)
        assert out.tolist() == before
    with pytest.raises(TypeError, match="^out: "):
        ut.add(a, 1, out=n)
    assert read_only.tolist() == n.tolist()
    assert (read_only + read_only).tolist() == (n + n).tolist(), "read-only operands are operands"


def test_out_may_overlap_operands(made, numpy):
    for shift in range(1, 4):
        a, n = made(numpy.arange(10.0))
        ut.add(a[:-shift], a[:-shift], out=a[shift:])
        expected = n.copy()
        expected[shift:] = n[:-shift] + n[:-shift]
        assert a.tolist() == expected.tolist()
    a, n = made(numpy.arange(10.0))
    a += a[::-1]
    assert a.tolist() == (n + n[::-1]).tolist()


KINDS = ["host", "shared", "device"]


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_the_kind_of_the_result(made, queue, first, second, usm_type):
    if usm_type != "device":
        pytest.skip("the kinds are parameters of their own")
    a = ut.ones(3, usm_type=first, sycl_queue=queue)
    b = ut.ones(3, usm_type=second, sycl_queue=queue)
    expected = ut.get_coerced_usm_type([first, second])
    assert (a + b).usm_type == (b + a).usm_type == expected and (a + b).tolist() == [2, 2, 2]
    assert ut.linalg.vecdot(a, b).usm_type == expected
    out = ut.zeros(3, usm_type=first, sycl_queue=queue)
    assert ut.add(a, b, out=out) is out and out.tolist() == [2, 2, 2]


def test_queues_must_agree(made, usm_type):
    import usm

    a, _ = made([1.0, 2])
    other = ut.ones(2, usm_type=usm_type, sycl_queue=usm.SyclQueue("host"))
    if other.sycl_device == a.sycl_device:
        return
    for compute in (lambda: a + other, lambda: other * a, lambda: ut.matmul(a, other), lambda: ut.add(a, 1, out=other)):
        with pytest.raises(ut.ExecutionPlacementError):
            compute()


def test_operands_are_not_copied(made, numpy, host_accessible, queue, monkeypatch):
    """NumPy reads the operands and writes the result where they are."""
    a = ut.ones(1000, usm_type=host_accessible, sycl_queue=queue)
    provider = usm.compute._choice.provider_for(usm._usm._place((a,), None)[0])
    view, seen, given = provider.view, [], []

    def recorded(array, *is_written):
        theirs = view(array, *is_written)
        seen.append((theirs.__array_interface__["data"][0], array._pointer))
        return theirs

    def recording(ufunc, **keywords):
        def theirs(*operands, out):
            given.append([operand.__array_interface__["data"][0] for operand in (*operands, out)])
            return ufunc(*operands, out=out)

        return usm._usm._Ufunc(theirs, None, lambda theirs, dtypes: dtypes[0], **keywords)

    b = recording(numpy.add)((a, a), None, None)
    assert given.pop() == [a._pointer, a._pointer, b._pointer] and b.tolist() == [2.0] * 1000
    x, y = a.reshape(10, 100), b.reshape(100, 10)
    c = recording(numpy.matmul, is_product=True)((x, y), None, None)
    assert given.pop() == [x._pointer, y._pointer, c._pointer] and c.tolist() == [[200.0] * 10] * 10
    monkeypatch.setattr(provider, "view", recorded)
    monkeypatch.setattr(usm.compute._numpy, "_numpy_view", recorded)
    d = ut.cumulative_sum(b)
    e = ut.mean(d)
    assert all(theirs == ours for theirs, ours in seen)
    assert {b._pointer, d._pointer, e._pointer} <= {theirs for theirs, _ in seen}


def test_what_is_no_operand(made):
    a, _ = made([1.0, 2])
    for other in (None, "a", [1, 2], (1, 2), object()):
        with pytest.raises(TypeError):
            _ = a + other
        with pytest.raises(TypeError):
            _ = other * a
        with pytest.raises(TypeError):
            a -= other
        with pytest.raises(TypeError, match="^x2: found"):
            ut.add(a, other)
    for function in (lambda: ut.add(1, 2), lambda: ut.sin(1.0), lambda: ut.mean([1, 2])):
        with pytest.raises(TypeError, match="^x1?: found"):
            function()
    assert a.tolist() == [1, 2]


def test_other_operands_are_asked(made):
    class Theirs:
        def __radd__(self, other):
            return "theirs", other

    class Refuses:
        def __radd__(self, other):
            return NotImplemented

        def __add__(self, other):
            return NotImplemented

    a, _ = made([1, 2])
    word, other = a + Theirs()
    assert word == "theirs" and other is a
    for compute in (lambda: a + Refuses(), lambda: Refuses() + a):
        with pytest.raises(TypeError, match="unsupported operand"):
            compute()


def test_numbers_are_weak(made, numpy):
    a, n = made([1, 2], "uint8")
    same(a + 1, n + 1, a)
    with pytest.raises(OverflowError):
        _ = a + 300
    f, m = made([1, 2], "float32")
    for number in (1, 1.5, True, numpy.float64(1.5), numpy.int64(2)):
        assert (f + number).dtype == (number + f).dtype == "float32"
    assert (f + 1j).dtype == "complex64"


def test_errors_of_the_provider_come_through(made):
    a, _ = made([[1.0, 2], [3, 4], [5, 6]])
    with pytest.raises((ValueError, *ERRORS)):
        _ = a + made([1.0, 2, 3, 4])[0]
    with pytest.raises((ValueError, RuntimeError)):
        ut.linalg.inv(a)
    assert (a + 1).tolist()[0] == [2, 3]


def test_work_under_way_comes_first(made, queue):
    a, _ = made([0.0] * 100_000)
    for i in range(20):
        a[...] = i
        assert (a + 1)[-1].item() == i + 1
        b = a * 2
        b += 1
        a[...] = b
        assert a[0].item() == 2 * i + 1


def test_threads_compute(made):
    a, n = made([float(i) for i in range(1000)])
    failures = []

    def work(k):
        try:
            for _ in range(20):
                assert (a * k + k).tolist() == (n * k + k).tolist()
        except Exception as error:  # told below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_provider_is_chosen(made, numpy):
    a, _ = made([1.0, 2])
    with ut.use_provider("numpy"):
        if a.sycl_device.is_cpu and not (a.usm_type == "device" and usm._usm._place((a,), None)[0] == "sycl"):
            assert usm.compute._choice.provider_for(usm._usm._place((a,), None)[0]).name == "numpy"
        assert (a + 1).tolist() == [2, 3] and (a + 1).usm_type == a.usm_type
        with ut.use_provider(None):
            assert (a + 1).tolist() == [2, 3]
    with pytest.raises(ValueError, match="^name: found 'nunpy', allowed are"):
        ut.use_provider("nunpy")


def test_providers_are_per_thread(numpy):
    with ut.use_provider("numpy"):
        seen = []
        thread = threading.Thread(target=lambda: seen.append(usm.compute._choice._chosen.get()))
        thread.start()
        thread.join()
        assert seen == [None] and usm.compute._choice._chosen.get() == "numpy"
    assert usm.compute._choice._chosen.get() is None


def test_a_missing_provider_is_named():
    run(
        """
        import sys
        sys.modules["numpy"] = sys.modules["dpnp"] = None
        import usm.tensor as ut
        a = ut.ones(2, usm_type="host", device="host")
        assert (a == 1).tolist() == [True, True] and ut.sum(a).item() == 2
        for compute in (lambda: a + 1, lambda: ut.sin(a), lambda: a.mean(), lambda: -a, lambda: ut.linalg.inv(a)):
            try:
                compute()
            except ImportError as error:
                text = str(error)
                assert "pip install numpy" in text and "host and shared memory" in text, text
            else:
                raise AssertionError("no error")
        try:
            ut.use_provider("numpy")
        except ImportError as error:
            assert "pip install numpy" in str(error)
        else:
            raise AssertionError("no error")
        """
    )


def test_nothing_is_imported_before_the_first_computation():
    run(
        """
        import sys
        import usm, usm.tensor as ut
        a = ut.ones(3, device="host", usm_type="host")
        b = ut.sum(a[::-1]) == 3
        assert not [name for name in sys.modules if name.split(".")[0] in ("numpy", "dpnp", "cupy", "torch")]
        assert "usm.compute" not in sys.modules
        """
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_narrow_dtypes_are_computed_in_float32(made, numpy, dtype):
    a, n = made([[1.0, 2, 0.5], [1.5, 0.25, 3]])
    a, f = ut.astype(a, dtype), n.astype("float32")
    b, g = a + a, f + f
    assert b.dtype == a.dtype and b.usm_type == a.usm_type and b.tolist() == g.tolist()
    assert (a * 2).dtype == a.dtype and (2 * a).tolist() == (2 * f).tolist()
    assert ut.mean(a).dtype == a.dtype and (a @ a.T).dtype == a.dtype
    assert (a + ut.astype(a, "float32")).dtype == "float32"
    assert ut.argsort(a).dtype == "int64"
    view = a[:, ::-2]
    a += 1
    assert view.tolist() == (f + 1)[:, ::-2].tolist()
    out = ut.zeros_like(a)
    assert ut.multiply(a, 2, out=out) is out and out.dtype == a.dtype
    assert numpy.add(a, a).dtype == a.dtype
    ones = ut.astype(made(numpy.ones(1000))[0], dtype)
    assert ut.mean(ones).item() == 1


def test_out_is_neither_broadcast_to_nor_truncated(made):
    a, n = made([1.5, 2.5])
    for compute in (
        lambda out: ut.add(a, 1, out=out),
        lambda out: ut.clip(a, 0, 2, out=out),
        lambda out: ut.rsqrt(a, out=out),
        lambda out: ut.round(a, out=out),
    ):
        wide, _ = made([[0.0, 0]] * 3)
        with pytest.raises(ValueError):
            compute(wide)
        integers, _ = made([0, 0])
        with pytest.raises((TypeError, ValueError)):
            compute(integers)
        assert wide.tolist() == [[0, 0]] * 3 and integers.tolist() == [0, 0]


def test_results_keep_a_column_major_order(made):
    a, n = made([[1.0, 2, 3], [4, 5, 6]])
    provider = usm.compute._choice.provider_for(usm._usm._place((a,), None)[0])
    is_kept = provider.name != "cupy"  # The ufuncs of CuPy give C order.
    assert (a.T + 1).flags.f_contiguous == ut.sin(a.T).flags.f_contiguous == is_kept
    assert (a + 1).flags.c_contiguous


def test_the_third_argument_of_pow_is_refused(made):
    with pytest.raises(TypeError):
        pow(made([2, 3])[0], 2, 5)


def test_numbers_of_subclasses_are_operands(made):
    import enum

    class Two(enum.IntEnum):
        TWO = 2

    a, n = made([1, 2])
    assert (a + Two.TWO).tolist() == [3, 4] and (Two.TWO * a).tolist() == [2, 4]


def test_lists_are_no_operands(made):
    zero_axes, _ = made(3)
    with pytest.raises(TypeError, match="asarray makes an array of it"):
        _ = zero_axes * [1, 2]


def test_arrays_of_dpnp_are_operands(made, dpt):
    a, n = made([1.0, 2])
    if usm._usm._place((a,), None)[0] not in ("sycl", "sycl-cpu"):
        return
    theirs = dpt.asarray([3.0, 4.0], sycl_queue=a.sycl_queue)
    assert (a + theirs).tolist() == [4, 6] and type(a @ theirs) is ut.usm_ndarray


def test_a_choice_that_ends_in_another_thread(numpy):
    def lines():
        with ut.use_provider("numpy"):
            yield

    begun = lines()
    next(begun)
    thread = threading.Thread(target=begun.close)
    thread.start()
    thread.join()
    usm.compute.use_provider(None)
    choice = ut.use_provider("numpy")
    with choice:
        pass
    with pytest.raises(RuntimeError), choice:
        pass


def test_device_memory_of_sycl_in_several_threads():
    """dpnp's tasks need the interpreter, and operations of other threads wait for them with the runtime's lock held."""
    requirements.module("dpnp", required=requirements.REQUIRE_PEERS)
    children.run(
        "sycl",
        """
        a = array(5000, "f4")
        x = array(5000, "f4")
        ends = time.monotonic() + 5

        def add():
            global x
            while time.monotonic() < ends:
                x += 1

        def read():
            while time.monotonic() < ends:
                x.sum().item(), x[0].item(), x.tolist()

        threads = [threading.Thread(target=f) for f in (add, add, read, read)]
        for thread in threads:
            thread.start()
        while time.monotonic() < ends:
            ut.fft.fft(a * 2)
        for thread in threads:
            thread.join()
        """,
    )


def test_a_forked_child_is_told():
    requirements.module("dpnp", required=requirements.REQUIRE_PEERS)
    children.run(
        "sycl",
        """
        x = array(10)
        (x + 1).tolist()
        child = os.fork()
        if child == 0:
            try:
                x + 1
            except usm.UsmError as error:
                os._exit(0 if "forked" in str(error) else 2)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        """,
    )


def test_numpy_gives_what_the_standard_asks_for(numpy, queue, host_accessible):
    """Where NumPy's own functions give something else."""

    def array(values, dtype=None):
        return ut.asarray(values, dtype, usm_type=host_accessible, sycl_queue=queue)

    whole = array([2, 4])
    assert ut.reciprocal(whole).tolist() == [0.5, 0.25]
    for function in (ut.var, ut.std):
        assert math.isnan(function(array([1.0, 2.0]), correction=2))
        assert math.isnan(function(array([1.0, 2.0]), correction=3))
    for function in (ut.logsumexp, ut.reduce_hypot, ut.cumulative_logsumexp):
        with pytest.raises(ValueError, match="allowed are real numbers"):
            function(array([1j, 2.0]))
    assert ut.reduce_hypot(array([3.0, 4.0]), dtype="i4").tolist() == 5
    with pytest.raises(TypeError, match="out: found elements of int64"):
        ut.cumulative_sum(array([0.5, 1.0]), out=array([0, 0]))
    largest = ut.top_k(array([1, 3, 2]), 2)
    assert largest.values.tolist() == [3, 2] and largest.indices.tolist() == [1, 2]
    for k, mode in ((-1, "largest"), (4, "largest"), (1, "greatest")):
        with pytest.raises(ValueError, match="allowed are"):
            ut.top_k(whole, k, mode=mode)
    with pytest.raises(ValueError, match="axes"):
        ut.tensordot(array([[1.0]]), array([[1.0]]), axes=-1)
    for bound in (1.5, 1j, array([1.5, 2.5])):
        with pytest.raises(TypeError, match="clip: found"):
            ut.clip(whole, bound)
    assert ut.clip(whole, 3.0, float("inf")).tolist() == [3, 4]


@pytest.mark.parametrize(
    "change",
    ["a += 1", "numpy.add(a, 1, out=a)", "numpy.copyto(dst=a, src=2)", "numpy.put(a, [0], 2)", "numpy.add.at(a, 0, 1)"],
)
def test_work_that_reads_is_over_before_numpy_writes(made, numpy, queue, host_accessible, change):
    """Also where NumPy has the memory already, and in a buffer that others fill."""
    a = ut.ones(1 << 22, "f4", usm_type=host_accessible, sycl_queue=queue)
    target = usm.memory.MemoryUSMShared(a.nbytes, queue=queue)
    with ut.use_provider("numpy"):
        for _ in range(5):
            a[...] = 1
            copied = queue.memcpy_async(target, a.usm_data, a.nbytes)
            exec(change)
            copied.wait()
            assert (numpy.frombuffer(memoryview(target), "f4") == 1).all()
            a[...] = 1
            copied = queue.memcpy_async(target, a.usm_data, a.nbytes)
            memoryview(a)[:] = numpy.zeros(1 << 22, "f4")
            copied.wait()
            assert (numpy.frombuffer(memoryview(target), "f4") == 1).all()


def test_operations_of_the_provider_and_of_ours_in_turn(made, numpy):
    """Long ones, so that each finds the one before under way: nobody waits for a result that stays on the device."""
    a, n = made(numpy.linspace(0, 1, 1 << 20))
    rng = random.Random(5)
    for _ in range(40):
        step = rng.randrange(6)
        if step == 0:
            a, n = ut.sin(a), numpy.sin(n)
        elif step == 1:
            a += 1.0
            n += 1.0
        elif step == 2:
            a[::2] = 0.25
            n[::2] = 0.25
        elif step == 3:
            a, n = ut.flip(a) * 0.5, numpy.flip(n) * 0.5
        elif step == 4:
            a[1:] = a[:-1]
            n[1:] = n[:-1].copy()
        else:
            a, n = ut.concat([a[1000:], a[:1000]]) + a, numpy.concatenate([n[1000:], n[:1000]]) + n
    assert numpy.allclose(ut.asnumpy(a), n)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i4", "u1", "bool"])
def test_means_are_numpys_own(numpy, host_queue, dtype):
    """Bit by bit, also where the sum is beyond binary16."""
    rng = numpy.random.default_rng(1)
    with ut.use_provider("numpy"):
        for shape in [(3,), (1000, 2), (7, 5, 3)] * 20:
            n = (rng.normal(size=shape) * 50 + (1j * rng.normal(size=shape) if dtype in ("c8", "c16") else 100)).astype(
                dtype
            )
            a = ut.asarray(n, usm_type="host", sycl_queue=host_queue)
            for axis in (None, 0, -1):
                found, expected = ut.asnumpy(ut.mean(a, axis=axis)), numpy.asarray(numpy.mean(n, axis=axis))
                assert (found.dtype, found.tobytes()) == (expected.dtype, expected.tobytes())


def test_integers_of_any_size_are_operands(made):
    class Number(int):
        pass

    a, n = made([1.0, 2])
    for large in (2**70, Number(2**70)):
        assert (a + large).tolist() == (n + 2**70).tolist()
        assert (large * a).tolist() == (2**70 * n).tolist()
    with pytest.raises(OverflowError):
        a + 10**400
    integers, _ = made([1, 2])
    with pytest.raises(OverflowError):
        integers + 2**70
