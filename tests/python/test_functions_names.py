"""Every name of dpnp.tensor and of the array API is here, with the same parameters, or in a list of missing names."""

import inspect

import pytest

import usm.tensor as ut

from support import process, requirements

# Names of dpnp.tensor outside of the container.
OUTSIDE = {
    "elementwise mathematics": """
        abs acos acosh add angle asin asinh atan atan2 atanh bitwise_left_shift bitwise_right_shift cbrt ceil
        clip copysign cos cosh divide exp exp2 expm1 floor floor_divide hypot log log10 log1p log2
        logaddexp maximum minimum multiply negative nextafter positive pow proj reciprocal remainder round
        rsqrt sign sin sinh sqrt square subtract tan tanh trunc""",
    "reductions and statistics": """
        argmax argmin cumulative_logsumexp cumulative_prod cumulative_sum diff logsumexp mean prod reduce_hypot
        std var""",
    "linear algebra": "matmul tensordot vecdot",
    "sorting, searching and sets": """
        argsort isin searchsorted sort top_k unique_all unique_counts unique_inverse unique_values""",
}
outside = {name for names in OUTSIDE.values() for name in names.split()}

# Names that are no functions of ours, or whose parameters are told apart in other files.
ELSEWHERE = {"usm_ndarray", "dtype", "Device", "ExecutionPlacementError", "__array_namespace_info__"}

# Where the array API 2025.12 or a check differs from dpnp.tensor's parameters: default -> ours.
OTHER_DEFAULTS = {("take", "mode"), ("put", "mode"), ("take_along_axis", "mode"), ("put_along_axis", "mode")}


def of_dpnp(dpt):
    return [name for name in dpt.__all__ if name not in outside]


def of_the_standard():
    requirements.module("numpy", required=requirements.REQUIRE_PEERS)
    return requirements.module("array_api_strict", required=requirements.REQUIRE_PEERS)


def test_the_lists_outside_are_exact(dpt):
    assert outside <= set(dpt.__all__)
    assert not outside & set(ut.__all__)


def test_every_other_name_of_dpnp_is_here(dpt):
    assert [name for name in of_dpnp(dpt) if not hasattr(ut, name)] == []
    assert [name for name in of_dpnp(dpt) if name not in ut.__all__] == []


def test_parameters_are_those_of_dpnp(dpt):
    for name in of_dpnp(dpt):
        if not callable(getattr(ut, name, None)) or name in ELSEWHERE:
            continue
        try:
            theirs = inspect.signature(getattr(dpt, name)).parameters.values()
        except ValueError:  # compiled, tells none
            continue
        ours = inspect.signature(getattr(ut, name)).parameters
        names = list(ours)
        for place, parameter in enumerate(theirs):
            only_place = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL)
            mine = ours[names[place]] if only_place else ours.get(parameter.name)
            assert mine is not None, (name, parameter)
            if parameter.kind == parameter.POSITIONAL_OR_KEYWORD:
                assert mine.kind == mine.POSITIONAL_OR_KEYWORD and names[place] == parameter.name, (name, parameter)
            if (name, parameter.name) not in OTHER_DEFAULTS:
                assert mine.default == parameter.default, (name, parameter)


def test_parameters_are_those_of_the_standard():
    strict = of_the_standard()
    for name in strict.__all__:
        if name in outside or not callable(getattr(strict, name)) or not hasattr(ut, name) or name in ELSEWHERE:
            continue
        if isinstance(getattr(strict, name), type):
            continue
        ours = inspect.signature(getattr(ut, name)).parameters
        names = list(ours)
        for place, parameter in enumerate(inspect.signature(getattr(strict, name)).parameters.values()):
            only_place = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL)
            mine = ours[names[place]] if only_place else ours.get(parameter.name)
            assert mine is not None, (name, parameter)
            if parameter.kind == parameter.POSITIONAL_OR_KEYWORD:
                assert mine.kind == mine.POSITIONAL_OR_KEYWORD and names[place] == parameter.name, (name, parameter)


def test_the_namespace_of_the_standard_is_complete():
    strict = of_the_standard()
    own = {"ArrayAPIStrictFlags", "__version__", "get_array_api_strict_flags", "reset_array_api_strict_flags"}
    own |= {"set_array_api_strict_flags", "fft", "linalg", "Device"}
    assert set(strict.__all__) - own - outside <= set(ut.__all__)


@pytest.mark.parametrize("name", sorted(ut.__all__))
def test_every_public_name_exists(name):
    assert getattr(ut, name) is not None or name == "newaxis"
    assert name in dir(ut)


def test_names_of_computations_say_who_has_them(dpt, numpy):
    """What is outside of the container is an AttributeError, as every missing name, that tells where to go."""
    for name in sorted(outside):
        assert not hasattr(ut, name)
        with pytest.raises(AttributeError) as caught:
            getattr(ut, name)
        text = str(caught.value)
        assert text.startswith(f"module 'usm.tensor' has no attribute {name!r}; ")
        assert f"dpnp.tensor.{name}(dpnp.tensor.asarray(a))" in text and hasattr(dpt, name)
        assert (f"numpy.{name}(numpy.asarray(a))" in text) == hasattr(numpy, name), name


def test_modules_of_computations_say_who_has_them(numpy):
    for name in ("linalg", "fft", "random", "einsum"):
        assert hasattr(numpy, name) and not hasattr(ut, name)
        with pytest.raises(AttributeError, match=f"numpy.{name} with"):
            getattr(ut, name)


def test_other_names_are_only_missing():
    with pytest.raises(AttributeError, match="^module 'usm.tensor' has no attribute 'zeroes'$"):
        _ = ut.zeroes


def test_asking_for_a_name_loads_nothing():
    """Libraries look for names with hasattr: that must not start the SYCL runtime."""
    script = """
        import sys, usm.tensor as ut
        assert not hasattr(ut, "sin") and not hasattr(ut, "linalg")
        print("libsycl" in open("/proc/self/maps").read(), "numpy" in sys.modules)
    """
    assert process.check(script) == "False False\n"
