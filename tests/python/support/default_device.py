"""Tests on the host device as the default one, which a process chooses once."""

import functools
import os
import pathlib
import subprocess
import sys

import pytest

import usm
import usm.tensor as ut

from . import process

HOST = "host:cpu:0"
#: Before a test changes the variable.
_STARTED_WITH_HOST = os.environ.get("USM_DEFAULT_DEVICE") == HOST


def is_host() -> bool:
    return bool(ut.empty(0).sycl_device == usm.SyclDevice(HOST))


def need_host(file: str, names: str = "") -> None:
    """Runs the tests of a file whose names fit in another process where this one has another default device."""
    if is_host():
        return
    assert not _STARTED_WITH_HOST, "USM_DEFAULT_DEVICE does not choose the default device"
    done = _alone(file, names)
    assert done.returncode == 0, done.stdout + done.stderr
    pytest.skip("it has passed in a process with the host device as the default one")


@functools.cache
def _alone(file: str, names: str) -> subprocess.CompletedProcess[str]:
    arguments = ["-q", "-p", "no:cacheprovider", *(["-k", names] if names else []), file]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=pathlib.Path(file).parent,
        env=os.environ | {"USM_DEFAULT_DEVICE": HOST},
        capture_output=True,
        text=True,
        timeout=process.LIMIT_S,
        check=False,
    )
