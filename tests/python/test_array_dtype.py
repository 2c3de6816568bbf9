"""Dtypes as Python objects: every form is accepted; results are NumPy's dtypes if NumPy is installed, else ours."""

import copy
import pickle

import pytest

import usm.tensor as ut

from support import process
from support.values import DTYPES


@pytest.mark.parametrize("name", DTYPES)
def test_arrays_have_numpy_dtypes(array, numpy, name):
    a = array((2,), dtype=name)
    assert type(a.dtype) is type(numpy.dtype(name)) and a.dtype == numpy.dtype(name)
    assert a.dtype is a[:1].dtype, "made once"
    assert getattr(ut, name) is a.dtype
    assert ut.dtype is numpy.dtype


@pytest.mark.parametrize("name", DTYPES)
def test_every_form_is_taken(array, numpy, name):
    there = numpy.dtype(name)
    forms = [name, there, there.type, there.str, there.str.replace("<", "|"), getattr(ut, name), ut.DType(name)]
    for form in forms:
        assert array((1,), dtype=form).dtype == name, form


def test_python_types_and_c_types(array, numpy):
    fp64 = array((1,)).sycl_device.has_aspect_fp64
    for form, name in [
        (bool, "bool"),
        (int, "int64"),
        (float, "float64" if fp64 else "float32"),
        (complex, "complex128" if fp64 else "complex64"),
        (numpy.longlong, "int64"),
        (numpy.intc, "int32"),
        (numpy.half, "float16"),
    ]:
        assert array((1,), dtype=form).dtype == name


@pytest.mark.parametrize("form", [">f4", "f16", "datetime64", 3, object, [("a", "f4")], type("float33", (), {})])
def test_what_is_no_dtype(array, form):
    with pytest.raises((TypeError, ValueError), match="dtype"):
        array((1,), dtype=form)


@pytest.mark.parametrize("name", ["M8[s]", "V3", "S2", "O", ">i4"])
def test_numpy_dtypes_without_a_place_here(array, numpy, name):
    with pytest.raises((TypeError, ValueError), match="dtype"):
        array((1,), dtype=numpy.dtype(name))


@pytest.mark.parametrize("name", DTYPES)
def test_our_own_class_is_like_that_of_numpy(numpy, name):
    ours, there = ut.DType(name), numpy.dtype(name)
    for attribute in ("name", "str", "kind", "itemsize"):
        assert getattr(ours, attribute) == getattr(there, attribute)
    assert str(ours) == str(there) and repr(ours) == repr(there)
    assert ours == there and ours == name and ours == there.str and ours == there.type and ours == ut.DType(there)
    assert {name: 1}[ours] == 1
    other = "int8" if name != "int8" else "uint8"
    assert ours != other and ours != ut.DType(other) and ours != 3 and ours is not None and ours != "nonsense"
    assert pickle.loads(pickle.dumps(ours)) == ours and copy.deepcopy(ours) == ours
    with pytest.raises(AttributeError):
        ours.name = "x"


def test_the_names_of_the_module():
    for name in ("bool", "dtype", "float32", "complex128"):
        assert name in dir(ut) and name in ut.__all__
    with pytest.raises(AttributeError, match="float128"):
        _ = ut.float128


def test_numpy_is_imported_by_the_first_dtype(numpy):
    code = """
        import sys, usm, usm.tensor as ut
        a = ut.empty((2, 3), "f4")
        a[0], a.shape, ut.DType("f4") == "float32"
        assert "numpy" not in sys.modules
        a.dtype
        print("numpy" in sys.modules, ut.dtype.__module__)
    """
    assert process.check(code).split() == ["True", "numpy"]


def test_without_numpy():
    code = """
        import sys
        sys.modules["numpy"] = None
        import usm.tensor as ut
        a = ut.empty((2, 3), "f4")
        assert type(a.dtype) is ut.DType is ut.dtype and a.dtype is ut.float32
        assert a.dtype == "float32" and a.dtype != "float64" and ut.bool == bool
        from usm.tensor import *
        print(int16, ut.empty(1, a.dtype).dtype, ut.empty(1, int).dtype)
    """
    assert process.check(code).split() == ["int16", "float32", "int64"]
