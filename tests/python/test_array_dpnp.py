"""Every public name of dpnp's usm_ndarray and its companions is here, or in the README's table of differences."""

import pathlib

import pytest

import usm.tensor as ut

README = pathlib.Path(__file__).parents[2] / "crates" / "usm-python" / "README.md"


def public(of):
    return {name for name in dir(of) if not name.startswith("_")}


def test_attributes(dpt):
    missing = public(dpt.usm_ndarray) - public(ut.usm_ndarray)
    assert missing == set()
    for ours, theirs in ((ut.zeros(1).flags, dpt.zeros(1).flags), (ut.zeros(1).device, dpt.zeros(1).device)):
        assert public(theirs) - public(ours) <= {"sycl_queue_"}


def test_special_methods(dpt):
    """Those that are missing belong to arithmetic, or to how Cython makes classes."""
    arithmetic = "add floordiv matmul mod mul pow sub truediv lshift rshift".split()
    absent = {f"__{prefix}{name}__" for name in arithmetic for prefix in ("", "r", "i")}
    absent |= {"__abs__", "__neg__", "__pos__", "__pyx_vtable__", "__setstate__"}
    here = {name for name in dir(dpt.usm_ndarray) if name.startswith("__")}
    assert here - set(dir(ut.usm_ndarray)) <= absent
    text = README.read_text()
    for word in ("`x + y`", "`_set_namespace`", "`x.T`", "`flags[name]`", "`bool(x)`", "`x.shape = …`"):
        assert word in text, word


def test_constants_and_dtypes(dpt):
    for (
        name
    ) in "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split():
        assert getattr(ut, name) == getattr(dpt, name)
    assert ut.dtype is dpt.dtype


@pytest.mark.parametrize("key", [5, (0, 5), (0, 0, 0), (..., ...), "a", 1.5])
def test_exceptions_of_indexing(dpt, key):
    for a in (ut.zeros((3, 4)), dpt.zeros((3, 4))):
        with pytest.raises(IndexError):
            a[key]
        with pytest.raises(IndexError):
            a[key] = 1


def test_exceptions_of_attributes(dpt):
    for a in (ut.zeros(3), dpt.zeros(3)):
        for act in (lambda a=a: a.mT, lambda a=a: a.__array_namespace__(api_version="1.0"), lambda a=a: bool(a)):
            with pytest.raises(ValueError):
                act()
        for act in (lambda a=a: hash(a), lambda a=a: len(a[0]), lambda a=a: hash(a.flags), lambda a=a: format(a, "d")):
            with pytest.raises(TypeError):
                act()
