"""pytest hooks: a test fails if memory that it allocated or borrowed outlives it."""

import gc
import sys
import time
from collections.abc import Generator

import pytest

from .interface import settled

AT_START = pytest.StashKey[dict[str, int]]()
_FAILED = pytest.StashKey[bool]()
# Other libraries let go of memory on threads of their own: JAX does.
_PATIENCE_S = 10


def pytest_collection_finish() -> None:
    """Lets the many collections of this run pass over what exists before it."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    item.stash[AT_START] = settled()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    result = yield
    # A fixture would look too early: the values of the other fixtures are still in here.
    item.funcargs.clear()
    if item.stash.get(_FAILED, False):
        # The traceback of a failed test keeps its variables; one failure is enough.
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            vars(sys).pop(name, None)
    else:
        deadline = time.monotonic() + _PATIENCE_S
        while settled() != item.stash[AT_START] and time.monotonic() < deadline:
            time.sleep(0.01)
        assert settled() == item.stash[AT_START], "the test leaks"
        # What survives now, above all pytest's reports, would make every later collection longer.
        gc.freeze()
    return result


@pytest.fixture
def at_start(request: pytest.FixtureRequest) -> dict[str, int]:
    """The live-allocation counter when the test began."""
    return request.node.stash[AT_START]
