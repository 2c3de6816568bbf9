"""Python in a fresh process with a minimal environment."""

import os
import pathlib
import subprocess
import sys
import textwrap
from collections.abc import Sequence

# PATH, where the tested package and driver of CUDA are, unless they are found without, and the libraries of an
# emulated processor and of a sanitizer.
_KEPT = ("ASAN_OPTIONS", "LD_PRELOAD", "PATH", "PYTHONPATH", "QEMU_LD_PREFIX", "USM_CUDA_DRIVER")
#: Seconds for a program that a test runs: fewer than the test itself has (pytest.ini), whose end leaves programs alone.
LIMIT_S = 100
MINIMAL = {name: os.environ[name] for name in _KEPT if name in os.environ}


def run_program(
    text: str, folder: pathlib.Path, launcher: Sequence[str] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """As `run`, from a file in `folder`, which processes of the program read again. A launcher may start it."""
    program = folder / "program.py"
    program.write_text(text)
    return subprocess.run(
        [*launcher, sys.executable, str(program)],
        env={**MINIMAL, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def run(code: str, *flags: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs `code` with `MINIMAL` and the given variables as its whole environment."""
    return subprocess.run(
        [sys.executable, *flags, "-c", textwrap.dedent(code)],
        env={**MINIMAL, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def check(code: str, *flags: str, **environment: str) -> str:
    """The standard output of `code`, which must succeed."""
    done = run(code, *flags, **environment)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
