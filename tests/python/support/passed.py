"""pytest options: what passed on the host backend in one run does not run again in the next one.

A run without SYCL and NumPy writes the names of the tests that passed, and the run with them leaves out those of
the host backend. Tests that need NumPy or another library are skipped in the first run, and so run in the second.
A test that another library changes has to run on the queues of SYCL, too, or to have no parameter of the backend.
"""

from pathlib import Path

import pytest

from .requirements import is_on_host_backend


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("usm")
    group.addoption("--write-passed", type=Path, metavar="FILE", help="write the names of the tests that pass")
    group.addoption("--leave-out", type=Path, metavar="FILE", help="leave out those of them on the host backend")


def pytest_configure(config: pytest.Config) -> None:
    # With xdist, the process that hands the tests out gets all reports. Only its workers have this attribute.
    if config.getoption("--write-passed") is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Writer(config.getoption("--write-passed")))


class _Writer:
    def __init__(self, file: Path) -> None:
        self.file = file
        self.passed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.passed.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.file.write_text("\n".join(self.passed))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    file = config.getoption("--leave-out")
    if file is None:
        return
    passed = set(file.read_text().split("\n"))
    left_out = {item for item in items if item.nodeid in passed and is_on_host_backend(item)}
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]
