"""Programs in child processes, on a queue of each backend, with a time limit: for code that might hang or crash."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from . import requirements

PRELUDE = """
import faulthandler, gc, os, signal, sys, threading, time
faulthandler.enable()
# A shell ignores SIGINT in what it starts in the background, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
import usm, usm.memory as um, usm.tensor as ut

BACKEND = {backend!r}
DEVICE = usm.SyclDevice({device!r})
QUEUE = usm.SyclQueue(DEVICE, property="in_order")


def array(shape, dtype="f8", usm_type="device"):
    return ut.zeros(shape, dtype, usm_type=usm_type, sycl_queue=QUEUE)


def live():
    gc.collect()
    return usm.live_allocations()["count"]


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.005)
"""


def run(backend: str, code: str, seconds: float = 60) -> str:
    """What `code` prints on that backend. It must end well and in time, and print nothing to stderr."""
    device = requirements.device_of(backend).filter_string  # skips or fails here where there is none
    program = PRELUDE.format(backend=backend, device=device) + textwrap.dedent(code)
    command = [sys.executable, "-X", "dev", "-W", "ignore", "-c", program]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as child:
        try:
            printed, errors = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            # A program that hangs prints where.
            child.send_signal(signal.SIGABRT)
            try:
                printed, errors = child.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                # With its own children, which keep the pipes open.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                printed, errors = child.communicate()
            pytest.fail(f"not over after {seconds} s\n{printed}\n{errors}")
    assert child.returncode == 0, f"exit {child.returncode}\n{printed}\n{errors}"
    assert errors == "", errors
    return printed
