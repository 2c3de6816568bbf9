"""Properties of an array: attributes, flags, parts of complex numbers, the namespace."""

import gc

import pytest

import usm.tensor as ut

from support.values import DTYPES


def filled(array, usm_type, shape, dtype="i4"):
    a = array(shape, dtype, buffer=usm_type)
    a[...] = 0
    return a


def test_sizes(array, usm_type):
    a = filled(array, usm_type, (2, 3, 4), "f4")[:, ::-2]
    assert (a.shape, a.strides, a.ndim, a.size, a.itemsize, a.nbytes) == ((2, 2, 4), (12, -8, 1), 3, 16, 4, 64)
    assert a._byte_bounds == (a.usm_data._pointer, a.usm_data._pointer + 96)
    assert a._pointer == a.usm_data._pointer + 4 * a._element_offset and a._element_offset == 8
    assert a.usm_type == usm_type and a.base._pointer == a.usm_data._pointer
    empty = a[:0]
    low, high = empty._byte_bounds
    assert low == high


@pytest.mark.parametrize("name", "shape strides dtype ndim size T mT real imag usm_data usm_type device flags".split())
def test_nothing_can_be_set(array, name):
    a = array((2, 3), "f4")
    with pytest.raises(AttributeError):
        setattr(a, name, getattr(a, name))


def test_attributes_are_made_once_and_outlive_the_array(array, usm_type):
    a = filled(array, usm_type, (2, 3))
    first = a.shape, a.strides, a.device
    a.flags.writable = False
    assert all(x is y for x, y in zip(first, (a.shape, a.strides, a.device), strict=True))
    view = a.T
    assert (view.shape, view.strides, view.device == a.device) == ((3, 2), (1, 3), True)
    queue = a.sycl_queue
    del a, view
    gc.collect()
    assert first[:2] == ((2, 3), (3, 1)) and first[2].sycl_queue == queue


def test_matrix_transpose(array, usm_type):
    a = filled(array, usm_type, (2, 3, 4))
    assert (a.mT.shape, a.mT.strides, a.mT._pointer) == ((2, 4, 3), (12, 1, 4), a._pointer)
    with pytest.raises(ValueError, match="axes"):
        _ = a[0, 0].mT


@pytest.mark.parametrize("dtype", DTYPES)
def test_real_and_imaginary_parts(array, numpy, usm_type, dtype):
    values = numpy.arange(6).reshape(2, 3).astype(dtype)
    if dtype.startswith("complex"):
        values = values * (1 - 2j)
    a = array((2, 3), dtype, buffer=usm_type)
    a[...] = values
    for view, expected in ((a, values), (a[:, ::-2], values[:, ::-2])):
        assert view.real.tolist() == expected.real.tolist() and view.imag.tolist() == expected.imag.tolist()
        assert view.real.dtype == expected.real.dtype and view.imag.dtype == expected.imag.dtype
    if dtype.startswith("complex"):
        a.real[0] = 7
        a.imag[1] = 8
        assert a[0].real.tolist() == [7] * 3 and a[1].imag.tolist() == [8] * 3
    else:
        assert a.real is a
        zeros = a.imag
        zeros[...] = 1
        assert a.tolist() == values.tolist(), "new memory"


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a,
        lambda a: a.T,
        lambda a: a[:, ::2],
        lambda a: a[0],
        lambda a: a[:1, :1],
        lambda a: a[:0],
        lambda a: a[::-1],
    ],
)
def test_flags_are_those_of_numpy(array, numpy, usm_type, make):
    flags, expected = make(filled(array, usm_type, (2, 4))).flags, make(numpy.zeros((2, 4), "i4")).flags
    c, f = expected.c_contiguous, expected.f_contiguous
    assert (flags.c_contiguous, flags.contiguous, flags["C"], flags["C_CONTIGUOUS"], flags["CONTIGUOUS"]) == (c,) * 5
    assert (flags.f_contiguous, flags["F"], flags["F_CONTIGUOUS"]) == (f,) * 3
    assert flags.forc == flags["FORC"] == expected.forc and flags.fnc == flags["FNC"] == expected.fnc
    assert flags.fc == flags["FC"] == (c and f)
    assert flags.writable and flags["W"] and flags["WRITABLE"]
    assert flags.flags == c + 2 * f + 4 and flags == flags.flags
    assert repr(flags).split() == f"C_CONTIGUOUS : {c} F_CONTIGUOUS : {f} WRITABLE : True".split()


def test_flags_compare_by_value(array):
    a = array((2, 3), "f4")
    assert a.flags == array((3, 2), "i1").flags and a.flags != a.T.flags and a.flags != "C" and a.flags is not None
    assert a.flags != 5.5
    with pytest.raises(TypeError, match="unhashable"):
        hash(a.flags)
    for key in ("X", "c_contiguous", ""):
        with pytest.raises(KeyError, match="C_CONTIGUOUS"):
            a.flags[key]
        with pytest.raises(KeyError, match="C_CONTIGUOUS"):
            a.flags[key] = False
    for key in ("C", "FORC"):
        with pytest.raises(TypeError, match="strides"):
            a.flags[key] = True
    with pytest.raises(AttributeError):
        a.flags.c_contiguous = True


@pytest.mark.parametrize("by", ["attribute", "item"])
def test_writable_goes_one_way(array, usm_type, by):
    a = filled(array, usm_type, (2, 3))
    view = a[0]
    flags = a.flags

    def set_writable(value):
        if by == "item":
            a.flags["W"] = value
        else:
            a.flags.writable = value

    set_writable(True)
    assert a.flags.writable
    set_writable(False)
    assert not a.flags.writable and not flags.writable and not flags["WRITABLE"]
    for refused in (a, a[1:], a.T, ut.asarray(a), a.real, ut.usm_ndarray((2, 3), "i4", buffer=a)):
        with pytest.raises(ValueError, match="read-only"):
            refused[...] = 1
    with pytest.raises(ValueError, match="read-only"):
        a.usm_data.memset(1)
    with pytest.raises(ValueError, match="read-only"):
        set_writable(True)
    set_writable(False)
    assert a.__sycl_usm_array_interface__["data"][1]
    # As in NumPy, what exists already is as before.
    view[...] = 5
    assert a.tolist() == [[5] * 3, [0] * 3]
    assert a.copy().flags.writable
    with pytest.raises(TypeError):
        set_writable(1)


def test_the_namespace(array):
    a = array((2,), "f4")
    assert a.__array_namespace__() is ut and a.__array_namespace__(api_version=None) is ut
    assert a.__array_namespace__(api_version="2025.12") is ut and a.__array_namespace__("2024.12") is ut
    for version in ("2021.11", "", "latest"):
        with pytest.raises(ValueError, match="api_version"):
            a.__array_namespace__(api_version=version)
    with pytest.raises(TypeError):
        a.__array_namespace__(api_version=2025)


def test_a_notebook_shows_a_table_and_a_drawing(array, usm_type):
    a = filled(array, usm_type, (3, 4), "f8")[::-1, ::2]
    html = a._repr_html_()
    for part in (
        "(3, 2)",
        "(-4, 2)",
        "float64",
        usm_type,
        a.sycl_device.filter_string,
        "<svg ",
        hex(a.usm_data._pointer),
    ):
        assert part in html
    assert "writable" in html and "not contiguous" in html
    a.flags.writable = False
    assert "read-only" in a._repr_html_()
    assert "<svg " in a[:0]._repr_html_() and "(3,)" in a[:, 0]._repr_html_()


def test_a_shape_is_not_assigned_but_reshaped(array, usm_type):
    a = filled(array, usm_type, (2, 3))
    with pytest.raises(AttributeError, match=r"^shape: .*x\.reshape\(shape\)"):
        a.shape = (3, 2)
    assert a.shape == (2, 3)


def test_reshape(array, usm_type):
    a = filled(array, usm_type, (2, 3))
    for b in (a.reshape(3, 2), a.reshape((3, 2)), a.reshape([3, -1]), a.reshape(-1, 2)):
        assert (b.shape, b._pointer) == ((3, 2), a._pointer)
    assert a.reshape(6).shape == a.reshape(-1).shape == (6,) and a[0, 0].reshape(()).shape == ()
    assert a.reshape(3, 2, order="F").tolist() == ut.reshape(a, (3, 2), order="F").tolist()
    assert a.reshape(3, 2, copy=True)._pointer != a._pointer
    with pytest.raises(ValueError, match="copy"):
        a.T.reshape(6, copy=False)
    for wrong, error in (((4,), ValueError), ((2, "3"), TypeError), ((2.0, 3), TypeError), (((2, 3), 1), TypeError)):
        with pytest.raises(error):
            a.reshape(*wrong)
    with pytest.raises(ValueError):
        a.reshape()


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_complex_numbers(array, numpy, usm_type, dtype):
    values = (numpy.arange(6).reshape(2, 3) * (1 - 2j if dtype.startswith("complex") else 1)).astype(dtype)
    a = array((2, 3), dtype, buffer=usm_type)
    a[...] = values
    for view, expected in ((a, values), (a.T, values.T), (a[:, ::-2], values[:, ::-2]), (a[0, 0], values[0, 0])):
        real, imag, conj = ut.real(view), ut.imag(view), ut.conj(view)
        assert (real.tolist(), real.dtype) == (expected.real.tolist(), expected.real.dtype)
        assert (imag.tolist(), imag.dtype) == (expected.imag.tolist(), expected.imag.dtype)
        assert (conj.tolist(), conj.dtype) == (expected.conj().tolist(), expected.dtype)
        assert {x.usm_type for x in (real, imag, conj)} == {usm_type}
        assert {x.sycl_queue for x in (real, imag, conj)} == {a.sycl_queue}
        assert conj._pointer != view._pointer
    if not dtype.startswith("complex"):
        assert ut.real(a) is a
        return
    # Views: what is written there is written in the array.
    ut.real(a)[0] = 7
    ut.imag(a)[1] = 8
    assert a[0].real.tolist() == [7] * 3 and a[1].imag.tolist() == [8] * 3


def test_where_parts_of_complex_numbers_go(array, usm_type):
    a = array((2, 3), "c8", buffer=usm_type)
    a[...] = 1 + 2j
    out = array((2, 3), "f4", buffer=usm_type)
    for part, number in ((ut.real, 1), (ut.imag, 2)):
        assert part(a, out=out) is out and out.tolist() == [[number] * 3] * 2
        assert part(a, order="F").flags.f_contiguous and part(a, order="C").strides == (3, 1)
        assert part(a, order="K").strides == (6, 2)
        with pytest.raises(ValueError, match="^order"):
            part(a, order="X")
        with pytest.raises(TypeError, match="^x: found"):
            part([1j])
    whole = array((2, 3), "c8", buffer=usm_type)
    assert ut.conj(a, out=whole) is whole and whole.tolist() == [[1 - 2j] * 3] * 2
    assert ut.conj(a, order="F").flags.f_contiguous
    # In place, over itself.
    assert ut.conj(a, out=a) is a and a.tolist() == whole.tolist()
    a.flags.writable = False
    assert not ut.real(a).flags.writable and not ut.imag(a).flags.writable and ut.conj(a).flags.writable
