"""Fixtures for the libraries we exchange memory with, and the check that required ones are installed."""

import importlib
import os
from types import ModuleType

import pytest

from . import requirements

# scikit-learn dispatches only where SciPy does, which looks at its first import.
os.environ["SCIPY_ARRAY_API"] = "1"


def dpctl_programs() -> ModuleType:
    """The module of dpctl that builds kernels: ``dpctl.compiler`` from 0.23 on, ``dpctl.program`` before."""
    try:
        return importlib.import_module("dpctl.compiler")
    except ModuleNotFoundError:
        return requirements.module("dpctl.program", required=requirements.REQUIRE_SYCL)


@pytest.fixture
def sklearnex() -> ModuleType:
    found = requirements.module("sklearnex", required=requirements.REQUIRE_PEERS)
    requirements.module("dpctl", required=requirements.REQUIRE_PEERS)
    return found


@pytest.fixture
def strict() -> ModuleType:
    return requirements.module("array_api_strict", required=requirements.REQUIRE_PEERS)


@pytest.fixture
def tvm_ffi() -> ModuleType:
    return requirements.module("tvm_ffi", required=requirements.REQUIRE_PEERS)


def keep_to_the_first_gpu(jax: ModuleType) -> None:
    """Call it before JAX looks for its GPUs. JAX makes the last one that it sees current, for CuPy and PyTorch, too."""
    jax.config.update("jax_cuda_visible_devices", "0")


@pytest.fixture
def jax() -> ModuleType:
    found = requirements.module("jax", required=requirements.REQUIRE_PEERS)
    keep_to_the_first_gpu(found)
    # Elsewhere its arrays are in memory of a GPU, which is no USM.
    found.config.update("jax_default_device", found.devices("cpu")[0])
    return found


@pytest.fixture
def torch() -> ModuleType:
    return requirements.module("torch", required=requirements.REQUIRE_ALL_PEERS)
