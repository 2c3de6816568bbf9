"""Runs the tests that a peer's wheel installs on this package, after the change of imports that its users make.

This project keeps no copy of these tests. The files are copied from the installation to a temporary folder, names of
packages in them are replaced, and pytest runs there in a process of its own. A list has each failing test with the
reason.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from . import process, requirements

PYTHON_TESTS = Path(__file__).parents[1]
FOLDER = "peer"
# Before the limit of the test itself ends this process, and leaves the other one alone.
TIMEOUT_S = 500 if requirements.REQUIRE_ALL_PEERS else process.LIMIT_S


@dataclass(frozen=True)
class Suite:
    """The tests of a peer, and what is known about them."""

    package: str
    """The installed package that they are."""
    renamed: dict[str, str]
    """From the names in them, as regular expressions, to ours."""
    outside: dict[str, str]
    """Files that are about something that this package does not do, each with what that is. `*` stands for any text."""
    fails: dict[str, list[str]]
    """Why tests fail, and which: ``file.py::test[parameters]``, where `*` stands for any text."""
    either: dict[str, list[str]] = field(default_factory=dict)
    """As `fails`, for tests that fail or pass."""
    only: tuple[str, ...] = ("*",)
    """Patterns of the files to run."""
    conftest: bool = False
    """Whether their conftest.py is used, too."""


def found(package: str) -> Path | None:
    """The folder of an installed package, which is not imported."""
    root, _, rest = package.partition(".")
    spec = importlib.util.find_spec(root)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent.joinpath(*rest.split("."))
    return folder if folder.is_dir() else None


def matches(pattern: str, name: str) -> bool:
    """Whether a name is what a pattern says, in which only `*` has a meaning."""
    return any_of([pattern]).fullmatch(name) is not None


def any_of(patterns: list[str]) -> re.Pattern[str]:
    """An expression for the names that one of the patterns matches."""
    each = (".*".join(map(re.escape, pattern.split("*"))) for pattern in patterns)
    return re.compile("|".join(each) if patterns else "(?!)", re.DOTALL)


def copied(suite: Suite, installed: Path, folder: Path) -> list[str]:
    """Copies a suite with other imports; gives the names of its files that are run."""
    target = folder / FOLDER
    left = ["__pycache__"] if suite.conftest else ["__pycache__", "conftest.py"]
    shutil.copytree(installed, target, ignore=shutil.ignore_patterns(*left))
    for file in target.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for name, ours in suite.renamed.items():
            text = re.sub(name, ours, text)
        file.write_text(text, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    files = sorted(str(file.relative_to(target)) for file in target.rglob("test_*.py"))
    stale = [pattern for pattern in (*suite.only, *suite.outside) if not any(matches(pattern, name) for name in files)]
    assert not stale, f"no such files: {stale}"
    asked = [name for name in files if any(matches(pattern, name) for pattern in suite.only)]
    return [name for name in asked if not any(matches(pattern, name) for pattern in suite.outside)]


def outcomes(suite: Suite, installed: Path, folder: Path) -> dict[str, tuple[str, str]]:
    """Runs a suite: for each test whether it passed, failed or was skipped, and the last line of its error."""
    files = copied(suite, installed, folder)
    report = folder / "report.json"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "support.peer_suites_child"]
        + ["--tb=native", "--continue-on-collection-errors", "--rootdir", str(folder)]
        + [f"{FOLDER}/{name}" for name in files],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PYTHON_TESTS), "USM_TEST_REPORT": str(report)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert report.exists(), f"exit {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    told: dict[str, tuple[str, str]] = json.loads(report.read_text(encoding="utf-8"))
    found = {name.removeprefix(f"{FOLDER}/"): outcome for name, outcome in told.items()}
    silent = [file for file in files if not any(name.startswith(f"{file}::") for name in found)]
    assert not silent, f"no test of these files was run: {silent}"
    return found


def surprises(suite: Suite, found: dict[str, tuple[str, str]]) -> list[str]:
    """What the lists of a suite do not say: failures that are not listed, and listed ones that do not fail."""
    listed = [pattern for patterns in suite.fails.values() for pattern in patterns]
    is_listed = any_of(listed).fullmatch
    is_either = any_of([pattern for patterns in suite.either.values() for pattern in patterns]).fullmatch
    told = []
    for name, (outcome, error) in found.items():
        if is_either(name):
            continue
        expected = is_listed(name)
        if outcome == "failed" and not expected:
            told.append(f"fails: {name}: {error}")
        if outcome == "passed" and expected:
            told.append(f"is listed and passes: {name}")
    failed = [name for name, (outcome, _) in found.items() if outcome == "failed"]
    told += [f"is listed and matches nothing: {p}" for p in listed if not any(matches(p, name) for name in failed)]
    return told
