"""The plugin of the process in which a peer's tests run: stand-ins for missing modules, and the report."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from types import ModuleType
from typing import Any, NoReturn

import pytest

import usm.compute
import usm.tensor

# dpnp would import dpctl, and then queues are of its class; the other run has that.
if "dpctl" not in sys.modules:
    usm.compute.use_provider("numpy")

# Modules that their tests import at the top, private ones mostly: the other tests of a file are run all the same.
ABSENT_MODULES = [
    "usm._sycl_queue_manager",
    "usm.program",
    "usm.utils",
    "usm.tensor._copy_utils",
    "usm.tensor._elementwise_common",
    "usm.tensor._numpy_helper",
    "usm.tensor._search_functions",
    "usm.tensor._tensor_impl",
    "usm.tensor._type_utils",
    "usm.tensor._usmarray",
]
REPORT = os.environ["USM_TEST_REPORT"]
_outcomes: dict[str, tuple[str, str]] = {}


class AbsentError(Exception):
    """A name that is not there was used."""


class _AbsentType(type):
    def __call__(cls, *arguments: object, **keywords: object) -> NoReturn:
        raise AbsentError(cls.__name__)

    def __getattr__(cls, name: str) -> Any:
        return _absent(f"{cls.__name__}.{name}")


def _absent(name: str) -> Any:
    # What is private there may be public here.
    if hasattr(usm.tensor, name):
        return getattr(usm.tensor, name)
    if name.rpartition(".")[2].startswith("__"):
        raise AttributeError(name)
    # An exception, so that it can be expected; nothing raises it.
    return _AbsentType(name, (Exception,), {})


def _stand_in(name: str) -> ModuleType:
    module = ModuleType(name)
    module.__dict__["__getattr__"] = _absent
    return module


for _name in ABSENT_MODULES:
    sys.modules[_name] = _stand_in(_name)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "broken_complex: of dpctl's conftest.py")


@pytest.fixture
def suppress_invalid_numpy_warnings() -> Iterator[None]:
    """Of both peers' conftest.py."""
    try:
        from numpy import errstate
    except ModuleNotFoundError:
        scope: Any = nullcontext()
    else:
        scope = errstate(invalid="ignore")
    with scope:
        yield


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    before = _outcomes.get(report.nodeid)
    if before is None or report.outcome != "passed":
        lines = report.longreprtext.strip().splitlines() if report.failed else []
        _outcomes[report.nodeid] = (report.outcome, lines[-1] if lines else "")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _outcomes[f"{report.nodeid}::collection"] = ("failed", report.longreprtext.strip().splitlines()[-1])


def pytest_sessionfinish() -> None:
    with open(REPORT, "w", encoding="utf-8") as file:
        json.dump(_outcomes, file)
