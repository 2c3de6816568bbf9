"""Every name of dpnp.tensor and of the array API is here, with the same parameters, or in a list of missing names."""

import inspect

import pytest

import usm.tensor as ut
from usm.compute._table import FUNCTIONS

from support import process, requirements

# Names that are no functions of ours, or whose parameters are told apart in other files: functions that other libraries
# compute have those of the standard (`test_standard.py`).
ELSEWHERE = {"usm_ndarray", "dtype", "Device", "ExecutionPlacementError", "__array_namespace_info__", *FUNCTIONS}

# Where the array API 2025.12 or a check differs from dpnp.tensor's parameters: default -> ours.
OTHER_DEFAULTS = {("take", "mode"), ("put", "mode"), ("take_along_axis", "mode"), ("put_along_axis", "mode")}
# The default follows from `device`.
OTHER_DEFAULTS |= {(name, "usm_type") for name in "arange empty eye from_numpy linspace ones zeros".split()}


def of_dpnp(dpt):
    return list(dpt.__all__)


def of_the_standard():
    requirements.module("numpy", required=requirements.REQUIRE_PEERS)
    return requirements.module("array_api_strict", required=requirements.REQUIRE_PEERS)


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
        if not callable(getattr(strict, name)) or not hasattr(ut, name) or name in ELSEWHERE:
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
    own |= {"set_array_api_strict_flags", "Device"}
    assert set(strict.__all__) - own <= set(ut.__all__)


@pytest.mark.parametrize("name", sorted(ut.__all__))
def test_every_public_name_exists(name):
    assert getattr(ut, name) is not None or name == "newaxis"
    assert name in dir(ut)


def test_other_names_are_only_missing():
    with pytest.raises(AttributeError, match="^module 'usm.tensor' has no attribute 'zeroes'$"):
        _ = ut.zeroes


def test_asking_for_a_name_loads_nothing():
    """Libraries look for names with hasattr: that must not start the SYCL runtime."""
    script = """
        import sys, usm.tensor as ut
        assert hasattr(ut, "sin") and hasattr(ut, "linalg") and not hasattr(ut, "zeroes")
        print("libsycl" in open("/proc/self/maps").read(), "numpy" in sys.modules)
    """
    assert process.check(script) == "False False\n"
