"""Fixtures: every test runs on each backend and USM kind that applies."""

import os
import random
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import usm
import usm.memory
import usm.tensor

from support import requirements
from support.cuda import Driver

# Hooks: every test is checked for leaks, and none runs twice; fixtures of other libraries.
pytest_plugins = ["support.computing", "support.interrupts", "support.leaks", "support.passed", "support.peers"]

MEMORY_CLASSES = {
    "host": usm.memory.MemoryUSMHost,
    "device": usm.memory.MemoryUSMDevice,
    "shared": usm.memory.MemoryUSMShared,
}
_queues: dict[str, usm.SyclQueue] = {}
#: The memory of tests with the mark `any_memory`.
ONE_KIND_OF_EACH_BACKEND = {("host", "host"), ("sycl", "device"), ("strict", "device")}


def _is_wanted(item: pytest.Item) -> bool:
    """Whether a test is worth running. The strict queue decides nothing about host and shared memory."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    needed = getattr(item, "fixturenames", ())
    if requirements.NO_SYCL and ("sycl" in parameters.values() or "sycl_queue" in needed):
        return False
    if "numpy" in needed and not requirements.HAS_NUMPY and not requirements.NEEDS_NUMPY:
        return False
    if item.get_closest_marker("any_memory") is not None:
        memory = (parameters["queue"], parameters["usm_type"])
        if memory not in ONE_KIND_OF_EACH_BACKEND:
            return False
    if parameters.get("queue") != "strict":
        return True
    # Elsewhere all device memory is like that.
    is_other = requirements.NO_SYCL or requirements.REQUIRE_CUDA or os.environ.get("USM_STRICT_DEVICE") == "1"
    kinds = {parameters.get("usm_type", "device"), parameters.get("host_accessible", "device")}
    return not is_other and kinds == {"device"} and item.get_closest_marker("indifferent") is None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is in vain on the strict queue, and shuffles the rest where that is asked for.

    Marks what USM_STRICT_DEVICE does not change: tests of the host backend alone, and of host and shared memory
    where the same test comes with device memory, too."""
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        on_host_backend = requirements.is_on_host_backend(item)
        of_another_kind = parameters.get("usm_type", "device") != "device"
        on_host_backend |= item.get_closest_marker("lengthy") is not None and "sycl" not in parameters.values()
        if of_another_kind or (on_host_backend and "sycl_queue" not in getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.indifferent)
    wanted = {item: _is_wanted(item) for item in items}
    config.hook.pytest_deselected(items=[item for item in items if not wanted[item]])
    items[:] = [item for item in items if wanted[item]]
    if seed := os.environ.get("USM_TEST_SHUFFLE"):
        # All processes of a run need the same order.
        random.Random(int(seed)).shuffle(items)


def _queue(backend: str) -> usm.SyclQueue:
    # One queue per backend for the whole run: they are not what most tests are about.
    is_strict = backend == "strict"
    device = requirements.device_of("sycl" if is_strict else backend)
    if backend not in _queues:
        _queues[backend] = usm.SyclQueue(usm._usm._strict_device(device) if is_strict else device)
    return _queues[backend]


@pytest.fixture(params=["host", "sycl", "strict"])
def queue(request: pytest.FixtureRequest) -> usm.SyclQueue:
    """A queue on each backend, and one of the SYCL device whose device memory is left to queues, as on a GPU."""
    return _queue(request.param)


@pytest.fixture
def host_queue() -> usm.SyclQueue:
    return _queue("host")


@pytest.fixture
def sycl_queue() -> usm.SyclQueue:
    return _queue("sycl")


@pytest.fixture
def cuda_queue(sycl_queue: usm.SyclQueue) -> usm.SyclQueue:
    if sycl_queue.native_stream is None:
        requirements.missing("a CUDA device", "USM_REQUIRE_CUDA=1 selects it", required=requirements.REQUIRE_CUDA)
    return sycl_queue


@pytest.fixture
def driver(cuda_queue: usm.SyclQueue) -> Iterator[Driver]:
    """The CUDA driver, as other libraries use it."""
    driver = Driver(usm.tensor.sycl_device_to_dldevice(cuda_queue.sycl_device)[1])
    yield driver
    driver.close()


@pytest.fixture(params=["host", "device", "shared"])
def usm_type(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["host", "shared"])
def host_accessible(request: pytest.FixtureRequest) -> str:
    """The USM kinds host code may touch."""
    return request.param


@pytest.fixture
def allocate(queue: usm.SyclQueue) -> Callable[..., Any]:
    """`allocate(usm_type, nbytes, **keywords)`: memory of that kind on `queue`."""

    def make(usm_type: str, nbytes: int, **keywords: Any) -> Any:
        return MEMORY_CLASSES[usm_type](nbytes, queue=queue, **keywords)

    return make


@pytest.fixture
def array(queue: usm.SyclQueue) -> Callable[..., usm.tensor.usm_ndarray]:
    """`array(shape, dtype, buffer=…, …)`: the constructor with its memory on `queue`."""

    def make(*arguments: Any, **keywords: Any) -> usm.tensor.usm_ndarray:
        return usm.tensor.usm_ndarray(*arguments, buffer_ctor_kwargs={"queue": queue}, **keywords)

    return make


@pytest.fixture
def numpy() -> ModuleType:
    return requirements.module("numpy", required=requirements.NEEDS_NUMPY)


@pytest.fixture
def dpctl(sycl_queue: usm.SyclQueue) -> ModuleType:
    """Real dpctl with its memory module, on a machine where both see a SYCL device."""
    found = requirements.module("dpctl", required=requirements.REQUIRE_SYCL)
    requirements.module("dpctl.memory", required=requirements.REQUIRE_SYCL)
    return found


@pytest.fixture
def dpt(dpctl: ModuleType) -> ModuleType:
    """Real dpnp.tensor."""
    return requirements.module("dpnp.tensor", required=requirements.REQUIRE_PEERS)
