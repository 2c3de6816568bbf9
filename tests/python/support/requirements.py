"""Requirements of the tests, from environment variables, with a skip or a failure for each missing one.

``USM_REQUIRE_SYCL=1``: a missing SYCL device, dpctl or NumPy is a failure.
``USM_REQUIRE_PEERS=1``: a missing peer (dpnp, scikit-learn-intelex, JAX, …) is a failure too.
``USM_REQUIRE_ALL_PEERS=1``: so is a missing PyTorch.
``USM_REQUIRE_DASK=1``: the long tests about Dask run, and a missing network namespace is a failure.
``USM_TEST_NO_SYCL=1``: use the host backend only.
``USM_REQUIRE_NVRTC=1``: missing NVRTC, the compiler for CUDA C, is a failure.
``USM_REQUIRE_CUDA=1``: the device beside the host is a CUDA device, and its absence is a failure.
``USM_REQUIRE_TWO_GPUS=1``: a missing second GPU is a failure too.
``USM_TEST_STAND_INS``: the folder of the stand-ins for CUDA and dpctl 0.23, where a missing one is a failure.
"""

import functools
import importlib
import importlib.util
import os
from types import ModuleType

import pytest

import usm

NO_SYCL = os.environ.get("USM_TEST_NO_SYCL") == "1"
REQUIRE_PEERS = os.environ.get("USM_REQUIRE_PEERS") == "1"
REQUIRE_ALL_PEERS = os.environ.get("USM_REQUIRE_ALL_PEERS") == "1"
REQUIRE_DASK = os.environ.get("USM_REQUIRE_DASK") == "1"
REQUIRE_SYCL = os.environ.get("USM_REQUIRE_SYCL") == "1"
REQUIRE_NVRTC = os.environ.get("USM_REQUIRE_NVRTC") == "1"
REQUIRE_CUDA = os.environ.get("USM_REQUIRE_CUDA") == "1"
REQUIRE_TWO_GPUS = os.environ.get("USM_REQUIRE_TWO_GPUS") == "1"

NEEDS_NUMPY = REQUIRE_SYCL or REQUIRE_PEERS
HAS_NUMPY = importlib.util.find_spec("numpy") is not None

if NO_SYCL and REQUIRE_SYCL:
    raise RuntimeError("USM_TEST_NO_SYCL=1 and USM_REQUIRE_SYCL=1 contradict each other")


def missing(what: str, why: str, *, required: bool) -> None:
    """Fails the test when `what` is required here, skips it when not."""
    if required:
        pytest.fail(f"{what} is required here and missing: {why}", pytrace=False)
    pytest.skip(f"{what} is missing: {why}")


def is_on_host_backend(item: pytest.Item) -> bool:
    """Whether the parameters of a test name the host backend."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return "host" in (parameters.get("queue"), parameters.get("backend"))


@functools.cache  # asked for by nearly every test
def device_of(backend: str) -> usm.SyclDevice:
    """The first device of `backend` ("host" or "sycl")."""
    if backend == "host":
        return usm.SyclDevice("host:cpu:0")
    if NO_SYCL:
        pytest.skip("USM_TEST_NO_SYCL=1")
    for device in usm.get_devices():
        if device.backend == "cuda" if REQUIRE_CUDA else device.backend not in ("host", "cuda"):
            return device
    reasons = [b["reason"] for b in usm.backends() if b["name"] != "host"]
    missing("a SYCL device", "; ".join(map(str, reasons)), required=REQUIRE_SYCL or REQUIRE_CUDA)
    raise AssertionError("unreachable")


def sycl_objects(queue: usm.SyclQueue) -> None:
    """Skips a test of SYCL objects on a queue that is none."""
    if queue.backend.name == "cuda" and queue.native_stream is not None:
        pytest.skip("queues of the CUDA backend are streams, no objects of SYCL")


def is_stand_in(device: usm.SyclDevice) -> bool:
    """Whether the device is one of the stand-in of the CUDA driver."""
    return device.name == "CUDA loopback"


def fast_kernels(backend: str) -> None:
    """Skips a test of kernels on tens of millions of elements where kernels are interpreted."""
    if is_stand_in(device_of(backend)):
        pytest.skip("the stand-in of the CUDA driver interprets kernels, which takes minutes for so many elements")


def parts_of(device: usm.SyclDevice) -> list[usm.SyclDevice]:
    """Sub-devices of one compute unit each; no device but a processor of several units has to have such."""
    try:
        return device.create_sub_devices(partition=1)
    except usm.SyclSubDeviceCreationError as error:
        if device.is_cpu and device.max_compute_units > 1 and device.partition_max_sub_devices > 1:
            raise
        pytest.skip(f"{device} has no parts: {error}")


def module(name: str, *, required: bool) -> ModuleType:
    """An optional module; only its absence is a reason to skip, an error inside it is not."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.split(".")[0]:
            raise
        missing(name, str(error), required=required)
        raise AssertionError("unreachable") from error


def needed(name: str, *, required: bool = REQUIRE_SYCL or REQUIRE_PEERS) -> ModuleType:
    """A module without which a whole file of tests cannot be read."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.split(".")[0] or required:
            raise
        pytest.skip(f"{name} is missing: {error}", allow_module_level=True)
