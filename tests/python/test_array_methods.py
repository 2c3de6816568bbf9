"""Methods of arrays that every user of NumPy types."""

import pytest
from test_compute import same

import usm.tensor as ut

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def test_reductions(made, numpy):
    a, n = made([[1.0, 2, 3], [4, 5, 7]])
    for name in ("sum", "mean", "min", "max", "prod", "std", "var", "all", "any", "argmin", "argmax"):
        method, theirs = getattr(a, name), getattr(n, name)
        same(method(), numpy.asarray(theirs()), a, exact=False)
        same(method(axis=0), numpy.asarray(theirs(axis=0)), a, exact=False)
        same(method(0, keepdims=True), numpy.asarray(theirs(0, keepdims=True)), a, exact=False)
        out, _ = made(numpy.asarray(theirs(axis=1)))
        out[...] = 0
        assert method(axis=1, out=out) is out
        same(out, numpy.asarray(theirs(axis=1)), a, exact=False)
    same(a.std(ddof=1), numpy.asarray(n.std(ddof=1)), a, exact=False)
    same(a.var(0, correction=1), n.var(0, ddof=1), a, exact=False)
    for axis in (None, 0, 1):
        same(a.cumsum(axis), n.cumsum(axis), a, exact=False)
        same(a.cumprod(axis), n.cumprod(axis), a, exact=False)


def test_shapes(made, numpy):
    a, n = made([[1.0, 2, 3], [4, 5, 6]])
    same(a.ravel(), n.ravel(), a)
    assert a.ravel()._pointer == a._pointer and a.flatten()._pointer != a._pointer
    same(a.T.ravel(), n.T.ravel(), a)
    same(a.flatten("F"), n.flatten("F"), a)
    same(a.transpose(), n.transpose(), a)
    same(a.transpose(1, 0), n.transpose(1, 0), a)
    same(a.transpose((1, 0)), n.transpose((1, 0)), a)
    same(a.swapaxes(0, 1), n.swapaxes(0, 1), a)
    same(a[:1].squeeze(), n[:1].squeeze(), a)
    same(a[:1].squeeze(0), n[:1].squeeze(0), a)
    same(a.repeat(2), n.repeat(2), a)
    same(a.repeat(2, 1), n.repeat(2, 1), a)
    same(a.take([0, 2], 1), n.take([0, 2], 1), a)
    same(a.take([0, 5]), n.take([0, 5]), a)
    assert [i.tolist() for i in (a > 3).nonzero()] == [i.tolist() for i in (n > 3).nonzero()]


def test_elements(made, numpy):
    a, n = made([[1.5, -2.5, 3], [4, 5, 6]])
    same(a.astype("int32"), n.astype("int32"), a)
    assert a.astype("float64", copy=False)._pointer == a._pointer
    same(a.clip(0, 4), n.clip(0, 4), a)
    same(a.round(), n.round(), a)
    with pytest.raises(ValueError, match="^decimals"):
        a.round(2)
    same(a.conj(), n.conj(), a)
    same(a.dot(a.T), n.dot(n.T), a, exact=False)
    same(a.dot(2.0), n.dot(2.0), a)
    assert a.tobytes() == n.tobytes() and a.T.tobytes() == n.T.tobytes() and a.tobytes("F") == n.tobytes("F")
    with pytest.raises(ValueError, match="^order"):
        a.tobytes("A")
    b = a.copy()
    b.sort()
    same(b, numpy.sort(n), a)
    same(a.argsort(0), n.argsort(0), a)
    b.fill(7)
    assert b.tolist() == [[7] * 3] * 2


def test_items(array, usm_type):
    a = array((2, 3), "i4", buffer=usm_type)
    a[...] = [[1, 2, 3], [4, 5, 6]]
    assert (a.item(0), a.item(4), a.item(-1), a.item(1, 2), a.item((0, 1))) == (1, 5, 6, 6, 2)
    assert a[0].item(-1) == 3 and a[0, 0].item() == 1 and a.T.item(1) == 4
    for index in ((6,), (-7,), (2, 0), (0, 0, 0), (0, 3)):
        with pytest.raises(IndexError):
            a.item(*index)
    with pytest.raises(ValueError):
        a.item()


def test_views_of_other_dtypes(array, usm_type):
    a = array((2, 4), "f4", buffer=usm_type)
    a[...] = 1
    assert a.view("u4").tolist() == [[0x3F800000] * 4] * 2 and a.view("u4")._pointer == a._pointer
    assert a.view("u1").shape == (2, 16) and a.view("c8").shape == (2, 2)
    a.view("u4")[...] = 0
    assert a.tolist() == [[0] * 4] * 2
    for refused, dtype in ((a[:, ::2], "u1"), (a[:, :3], "f8"), (a[0, 0], "u1")):
        with pytest.raises(ValueError):
            refused.view(dtype)
    read_only = a[:]
    read_only.flags.writable = False
    assert not read_only.view("u4").flags.writable


def test_methods_have_documentation():
    for name in ("astype", "ravel", "sum", "mean", "std", "argsort", "tobytes", "cumsum", "all", "argmin"):
        method = getattr(ut.usm_ndarray, name)
        assert method.__doc__ and method.__name__ == name
