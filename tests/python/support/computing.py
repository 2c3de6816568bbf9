"""Arrays on which a provider of arithmetic is installed, with ``USM_TEST_PROVIDER=torch`` this one, where it serves."""

import importlib.util
import os
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import usm
import usm.compute
import usm.tensor as ut
from usm._usm import _place

from support import requirements

PROVIDER = os.environ.get("USM_TEST_PROVIDER")
#: How it refuses operands, beside NumPy's errors.
ERRORS = (RuntimeError,) if PROVIDER == "torch" else ()
#: Functions that it lacks.
MISSING = {"torch": {"bitwise_left_shift", "bitwise_right_shift", "cbrt", "unique_all"}}.get(PROVIDER or "", set())

if PROVIDER is None and requirements.REQUIRE_CUDA and importlib.util.find_spec("cupy") is not None:
    # The tests expect it, and the one that is imported first computes: in a random order that may be PyTorch.
    importlib.import_module("cupy")

Make = Callable[..., tuple[ut.usm_ndarray, Any]]


@pytest.fixture
def made(queue: usm.SyclQueue, usm_type: str, numpy: ModuleType) -> Iterator[Make]:
    """`made(values, dtype)`: an array of that kind on `queue`, and one of NumPy with the same elements."""
    array = ut.zeros(1, usm_type=usm_type, sycl_queue=queue)
    memory, _ = _place((array,), None)
    try:
        usm.compute._choice.provider_for(memory)
    except usm.compute.Missing as error:
        requirements.missing("a provider", str(error), required=requirements.REQUIRE_PEERS)

    def make(values: Any, dtype: Any = None) -> tuple[ut.usm_ndarray, Any]:
        model = numpy.asarray(values, dtype)
        return ut.asarray(model, usm_type=usm_type, sycl_queue=queue), model

    with ut.use_provider(PROVIDER):
        yield make
