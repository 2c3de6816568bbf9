"""``usm.progress``: a function that is told how far a long copy is."""

import os
import signal
import subprocess
import sys
import time

import pytest

import usm
import usm.tensor as ut


@pytest.fixture
def two_threads():
    before = usm.get_num_threads()
    if before < 2:
        pytest.skip("one thread has no steps")
    usm.set_num_threads(2)
    yield
    usm.set_num_threads(before)


told: list[float] = []


def copied(function):
    """Copy more and more bytes, until a copy outlasts the first look at signals. A handler makes it last a second."""
    slept = []

    def sleep(number, frame):
        time.sleep(1.1)
        slept.append(number)

    before = signal.signal(signal.SIGALRM, sleep)
    try:
        for size in (1 << 12, 1 << 13, 1 << 14, 1 << 15):
            source = ut.ones((size, size), dtype="i1", usm_type="host", device="host:cpu:0")
            target = ut.zeros((size, size), dtype="i1", usm_type="host", device="host:cpu:0")
            slept.clear()
            with usm.progress(function):
                signal.setitimer(signal.ITIMER_REAL, 0.01)
                target[...] = source.T
            while not slept:
                time.sleep(0.01)
            if told:
                return target
    finally:
        signal.signal(signal.SIGALRM, before)
    raise AssertionError("no copy was long enough")


def test_a_long_copy_tells_how_far_it_is(two_threads):
    told.clear()
    target = copied(told.append)
    assert told == sorted(set(told)) and told[-1] == 1, told
    assert all(0 < part <= 1 for part in told)
    assert bool((target[-1, -1] == 1) and (target[0, 0] == 1))
    # Nobody is told of later ones.
    count = len(told)
    ut.copy(target)
    assert len(told) == count


def test_a_short_copy_tells_nothing():
    with usm.progress(told.append):
        told.clear()
        ut.copy(ut.ones(100, device="host:cpu:0"))
    assert not told


def test_an_exception_of_the_function_comes_out(two_threads):
    told.clear()

    def refuse(part):
        told.append(part)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        copied(refuse)
    assert len(told) == 1


def test_the_package_imports_no_module_for_it():
    code = "import sys, usm; print('usm._progress' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)
    assert done.stdout.strip() == "False"
