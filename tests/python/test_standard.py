"""The namespace has every name of the array API standard, with its parameters, defaults and dtypes."""

import inspect
from functools import reduce

import pytest

import usm.compute
import usm.tensor as ut

from support import standard

SIGNATURES = standard.signatures()


def find(name):
    return reduce(getattr, name.split("."), ut)


@pytest.mark.parametrize("name", SIGNATURES)
def test_functions_have_the_parameters_of_the_standard(name):
    expected, function = SIGNATURES[name].parameters, find(name)
    found = inspect.signature(function).parameters
    for i, parameter in enumerate(expected.values()):
        # Names of what goes by position only are nobody's business.
        ours = list(found.values())[i] if parameter.kind is parameter.POSITIONAL_ONLY else found[parameter.name]
        if parameter.kind is parameter.KEYWORD_ONLY:
            assert ours.kind in (ours.KEYWORD_ONLY, ours.POSITIONAL_OR_KEYWORD)
        else:
            assert ours.kind in (parameter.kind, ours.POSITIONAL_OR_KEYWORD) and list(found).index(ours.name) == i
        assert parameter.default in (ours.default, inspect.Parameter.empty), parameter.name
    expected_names = {ours.name for ours in list(found.values())[: len(expected)]} | set(expected)
    for extra in set(found) - expected_names:
        assert found[extra].default is not inspect.Parameter.empty, extra


@pytest.mark.parametrize("name", SIGNATURES)
def test_functions_have_names_and_documentation(name):
    function = find(name)
    assert function.__name__ == name.rpartition(".")[2]
    assert function.__doc__ and len(function.__doc__.splitlines()) > 1
    part, _, short = name.rpartition(".")
    module = find(part) if part else ut
    assert short in module.__all__ and short in dir(module)


@pytest.mark.parametrize("name", standard.METHODS)
def test_arrays_have_the_methods_of_the_standard(name):
    assert callable(getattr(ut.usm_ndarray, f"__{name}__"))


def test_constants_and_dtypes_are_there():
    assert (ut.e, ut.pi, ut.inf, ut.newaxis) == (2.718281828459045, 3.141592653589793, float("inf"), None)
    assert ut.nan != ut.nan and ut.__array_api_version__ == "2025.12"
    dtypes = ut.__array_namespace_info__().dtypes(device="host")
    assert all(getattr(ut, name) == dtype for name, dtype in dtypes.items()) and len(dtypes) == 13


@pytest.mark.parametrize("version", ["2021.12", "2022.12", "2023.12", "2024.12", "2025.12", None])
def test_the_namespace_serves_older_versions(version):
    assert ut.zeros(1).__array_namespace__(api_version=version) is ut


def test_there_are_no_other_names():
    with pytest.raises(AttributeError, match="'zeroes'"):
        _ = ut.zeroes  # type: ignore[attr-defined]
    assert set(dir(ut)) == set(ut.__all__)


def test_devices_keep_the_kind_of_their_array(queue, usm_type):
    device = ut.zeros(2, usm_type=usm_type, sycl_queue=queue).device
    assert device.usm_type == usm_type
    made = [
        *(ut.zeros(2, device=device), ut.ones(2, device=device), ut.empty(2, device=device), ut.eye(2, device=device)),
        *(ut.full(2, 1, device=device), ut.arange(2, device=device), ut.linspace(0, 1, 2, device=device)),
        *(ut.asarray([1, 2], device=device), ut.asarray(2, device=device), ut.asarray([[1], [2]], device=device)),
        ut.asarray(memoryview(b"12"), device=device),
    ]
    assert {array.usm_type for array in made} == {usm_type}
    assert all(array.sycl_queue == queue and array.device == device for array in made)
    assert ut.zeros(2, device=device, usm_type="shared").usm_type == "shared"
    other = ut.zeros(2, usm_type="shared", sycl_queue=queue)
    assert ut.asarray(other, device=device).usm_type == "shared", "an array stays where it is"
    assert ut.Device.create_device(queue).usm_type == "device"


def test_devices_of_host_memory_take_elements_of_others(numpy, host_queue):
    device = ut.zeros(2, usm_type="host", sycl_queue=host_queue).device
    assert ut.from_dlpack(numpy.ones(2), device=device).usm_type == "host"
    assert ut.from_numpy(numpy.ones(2), device=device).usm_type == "host"


def test_installed_providers_are_listed(numpy):
    assert "host and shared memory" in usm.compute.providers()["numpy"]
