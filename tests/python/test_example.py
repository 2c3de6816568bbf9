"""The example that `cargo xtask demo` runs: it checks its own claims, so it only has to succeed."""

import os
import pathlib
import subprocess
import sys

import pytest

from support import process

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "zero_copy.py"


def run(*flags, **environment):
    return subprocess.run(
        [sys.executable, *flags, str(EXAMPLE)],
        env={**process.MINIMAL, **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_it_succeeds():
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "host:cpu:0" in done.stdout


def test_with_sycl(dpctl):
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "dpctl" in done.stdout and "cargo xtask demo --sycl" not in done.stdout


@pytest.fixture
def bare(tmp_path):
    """A path of modules on which NumPy and the SYCL peers are hidden from a Python process."""
    for name in ("numpy", "dpctl", "dpnp"):
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError('hidden', name={name!r})\n")
    return os.pathsep.join([str(tmp_path), process.MINIMAL.get("PYTHONPATH", "")])


def test_without_numpy_and_peers(bare):
    done = run(PYTHONPATH=bare)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cargo xtask demo --sycl" in done.stdout


def test_optimised_python_still_checks(bare):
    """The claims are no `assert` statements, which -O removes."""
    done = run("-O", PYTHONPATH=bare)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "assert " not in EXAMPLE.read_text()
