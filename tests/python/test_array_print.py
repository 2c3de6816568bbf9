"""Arrays as text: letter for letter NumPy's, with dpnp's functions and options."""

import inspect
import sys

import pytest

import usm.tensor as ut

from support import process
from support.values import DTYPES

OPTIONS = [
    {},
    {"precision": 3},
    {"precision": 2, "floatmode": "fixed"},
    {"floatmode": "unique"},
    {"floatmode": "maxprec_equal"},
    {"suppress": True, "precision": 4},
    {"sign": "+"},
    {"sign": " "},
    {"linewidth": 30},
    {"threshold": 4, "edgeitems": 1},
    {"threshold": 0},
    {"nanstr": "?", "infstr": "oo"},
]


@pytest.fixture(autouse=True)
def defaults():
    before = ut.get_print_options()
    yield
    assert ut.get_print_options() == before, "a test changes the options"


def values(numpy, dtype):
    flat = numpy.asarray([0, 1, -1, 2.5, 100.125, 1e-7, 12345.678, 3, 4, 5, 6, 7])
    with numpy.errstate(all="ignore"):
        found = (flat + 1j * flat[::-1] if dtype.startswith("complex") else flat).astype(
            dtype if not dtype.startswith("uint") else "i8"
        )
    found = abs(found).astype(dtype) if dtype.startswith("uint") else found
    if found.dtype.kind in "fc":
        found[1], found[2] = numpy.nan, numpy.inf
    return found


@pytest.mark.any_memory
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_as_numpy_writes_them(array, numpy, usm_type, dtype, options):
    flat = values(numpy, dtype)
    for n in (flat, flat.reshape(3, 4), flat.reshape(2, 3, 2)[:, ::-1].T, flat[:0], flat.reshape(3, 4)[:, :0], flat[3]):
        n = numpy.asarray(n)
        a = array(n.shape, dtype, buffer=usm_type)
        a[...] = n
        with ut.print_options(**options), numpy.printoptions(**options):
            # Our name is six letters longer.
            text = repr(n).replace("\n      ", "\n" + " " * 12).replace("array(", "usm_ndarray(", 1)
            assert ut.usm_ndarray_repr(a, line_width=options.get("linewidth", 75) + 6) == text
            assert repr(a) == ut.usm_ndarray_repr(a) and str(a) == ut.usm_ndarray_str(a) == f"{a}"
            assert str(a) == numpy.array2string(n)
            for separator, prefix, suffix in ((", ", "", ""), (" ", "prefix", "s"), ("; ", "", "suffix")):
                found = ut.usm_ndarray_str(a, separator=separator, prefix=prefix, suffix=suffix)
                assert found == numpy.array2string(n, separator=separator, prefix=prefix, suffix=suffix)


def test_as_dpnp_writes_them(dpt, numpy, sycl_queue, usm_type):
    for n in (
        numpy.arange(6, dtype="i4").reshape(2, 3),
        numpy.arange(2000.0),
        numpy.zeros((0, 3), "f4"),
        numpy.zeros(0),
        numpy.asarray(1e-10),
        numpy.ones((2, 2), bool),
        numpy.linspace(0, 1, 30, dtype="f4").reshape(3, 10),
        numpy.asarray([[1 + 2j]], "c8"),
    ):
        theirs = dpt.asarray(n, usm_type=usm_type, device=sycl_queue.sycl_device.filter_string)
        ours = ut.asarray(theirs)
        assert str(ours) == str(theirs) and repr(ours) == repr(theirs)
        for options in OPTIONS:
            if "suppress" in options or (n.ndim == 0 and "threshold" in options):
                continue  # dpnp never takes it back, and fails
            with ut.print_options(**options), dpt.print_options(**options):
                assert str(ours) == str(theirs)
        if not n.size:
            continue  # dpnp breaks the line before a shape in another place than NumPy
        arguments = {"line_width": 20, "precision": 2, "suppress": True}
        assert ut.usm_ndarray_repr(ours, **arguments, prefix="x") == dpt.usm_ndarray_repr(
            theirs, **arguments, prefix="x"
        )
        arguments |= {"edge_items": 1, "threshold": 3, "floatmode": "fixed", "sign": "+", "separator": ", "}
        assert ut.usm_ndarray_str(ours, **arguments) == dpt.usm_ndarray_str(theirs, **arguments)


def test_names_and_arguments_are_those_of_dpnp(dpt):
    for name in ("set_print_options", "get_print_options", "print_options", "usm_ndarray_repr", "usm_ndarray_str"):
        ours, theirs = (inspect.signature(getattr(module, name)) for module in (ut, dpt))
        assert [str(p).split(":")[0] for p in ours.parameters.values()] == [str(p) for p in theirs.parameters.values()]
    assert ut.get_print_options() == dpt.get_print_options()
    assert list(ut.get_print_options()) == list(dpt.get_print_options())


def test_options_are_set_and_given_back():
    everything = {
        "linewidth": 50,
        "edgeitems": 2,
        "threshold": 10,
        "precision": 3,
        "floatmode": "fixed",
        "suppress": True,
        "nanstr": "n",
        "infstr": "i",
        "sign": "+",
    }
    with ut.print_options(**everything) as options:
        assert options == everything == ut.get_print_options()
        ut.set_print_options()
        assert ut.get_print_options() == everything
        with ut.print_options(70, suppress=False) as inner:
            assert inner == {**everything, "linewidth": 70, "suppress": False}
        assert ut.get_print_options() == everything
        options["linewidth"] = 1
        assert ut.get_print_options() == everything
    with pytest.raises(RuntimeError), ut.print_options(precision=1):
        raise RuntimeError


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"linewidth": 1.5}, TypeError),
        ({"precision": "3"}, TypeError),
        ({"edgeitems": -1}, ValueError),
        ({"threshold": 2**80}, ValueError),
        ({"floatmode": "scientific"}, ValueError),
        ({"sign": "?"}, ValueError),
        ({"nanstr": 3}, TypeError),
        ({"infstr": b"x"}, TypeError),
    ],
    ids=str,
)
def test_wrong_options(options, error):
    (name,) = options
    with pytest.raises(error, match=name):
        ut.set_print_options(
            precision=1 if name != "precision" else "3", **{k: v for k, v in options.items() if k != "precision"}
        )
    assert ut.get_print_options()["precision"] == 8, "nothing is changed"


def test_options_of_numpy(array, numpy):
    with (
        numpy.printoptions(precision=3, threshold=numpy.inf, sign=" ", edgeitems=7),
        ut.print_options(numpy=True) as mine,
    ):
        assert mine == {name: numpy.get_printoptions()[name] for name in mine} | {"threshold": mine["threshold"]}
        assert mine["threshold"] >= sys.maxsize
    a = array((1,), "f8", buffer="shared")
    a[...] = 0.123456789
    with numpy.printoptions(precision=2):
        assert ut.usm_ndarray_str(a, numpy=True) == "[0.12]" and str(a) == "[0.12345679]"


def test_only_arrays_are_written():
    for write in (ut.usm_ndarray_repr, ut.usm_ndarray_str):
        for wrong in (3, [1], None):
            with pytest.raises(TypeError, match="^x: found"):
                write(wrong)


def test_memory_in_use_is_said(array):
    a = array((3,), "f4", buffer="shared")
    a[...] = 0
    with memoryview(a):
        assert repr(a) == "usm_ndarray([0., 0., 0.], dtype=float32)"


def test_without_numpy():
    code = """
        import sys
        sys.modules["numpy"] = None
        import usm.tensor as ut
        a = ut.zeros((2, 2), "f4")
        print(a, repr(a[0]), ut.usm_ndarray_str(a[0], precision=1))
    """
    assert process.check(code) == "[[0. 0.]\n [0. 0.]] usm_ndarray([0., 0.], dtype=float32) [0. 0.]\n"


@pytest.mark.parametrize("spec", [".2f", ">8.3g", "+.1e", "", "%"])
def test_formats_of_one_number(queue, usm_type, numpy, spec):
    for value, dtype in ((1.5, "f8"), (-2.25, "f4"), (7, "i8")):
        a = ut.asarray(value, dtype, usm_type=usm_type, sycl_queue=queue)
        expected = format(numpy.asarray(value, dtype), spec) if spec else str(a)
        assert format(a, spec) == f"{a:{spec}}" == expected
        assert f"{a[None][0]:{spec}}" == expected, "an element of an array"
    whole = ut.asarray(255, "u1", usm_type=usm_type, sycl_queue=queue)
    assert f"{whole:x} {whole:08b} {whole:d}" == "ff 11111111 255"
    assert f"{ut.asarray(1 + 2j, usm_type=usm_type, sycl_queue=queue):.1f}" == "1.0+2.0j"
    assert f"{ut.asarray(True, usm_type=usm_type, sycl_queue=queue):d}" == "1"
    with pytest.raises(ValueError):
        format(ut.asarray(1.5, usm_type=usm_type, sycl_queue=queue), "d")


def test_formats_of_arrays_with_axes(array, usm_type):
    for shape in ((1,), (2, 1), (0,)):
        a = array(shape, "f8", buffer=usm_type)
        a[...] = 1
        assert f"{a}" == str(a) == format(a)
        with pytest.raises(
            TypeError, match=rf"^format: found \"\.2f\" for an array of {len(shape)} axes, allowed is an empty"
        ):
            format(a, ".2f")
