"""``usm.progress``: a function that is told how far a long copy is."""

import contextvars
import subprocess
import sys
import textwrap
import time

import pytest

import usm
import usm._progress
import usm.tensor as ut

from support import process

HOST = "host:cpu:0"


@pytest.fixture
def told_at_once():
    """Copies are long from their start, and have steps."""
    if usm.get_num_threads() < 2:
        pytest.skip("one thread has no steps")
    usm._usm._tell_progress(usm._progress._tell, 0)
    yield
    usm._usm._tell_progress(usm._progress._tell, 1000)


def copied(function, is_enough):
    """Copy more and more bytes, until a copy takes long enough to be looked at."""
    for size in (1 << 12, 1 << 13, 1 << 14, 1 << 15):
        source = ut.ones((size, size), dtype="i1", usm_type="host", device=HOST)
        target = ut.zeros((size, size), dtype="i1", usm_type="host", device=HOST)
        with usm.progress(function):
            target[...] = source.T
        if is_enough():
            return target
    raise AssertionError("no copy was long enough")


def test_a_long_copy_tells_how_far_it_is(told_at_once):
    told = []

    def is_enough():
        found = told.copy()
        told.clear()
        # Of a short copy, nobody looks how far it is.
        assert found == sorted(set(found)) and found[-1:] in ([], [1]), found
        return len(found) > 1 and 0 < found[0] < 1

    target = copied(told.append, is_enough)
    assert bool((target[-1, -1] == 1) and (target[0, 0] == 1))
    # Nobody is told of later ones.
    ut.copy(target)
    assert not told


def test_a_short_copy_tells_nothing(told_at_once):
    usm._usm._tell_progress(usm._progress._tell, 1000)
    told = []
    source = ut.ones((1 << 13, 1 << 13), dtype="i1", usm_type="host", device=HOST)
    with usm.progress(told.append):
        started = time.monotonic()
        ut.copy(source.T, order="C")
        took = time.monotonic() - started
    assert not told or took > 1


def test_an_exception_ends_the_waiting_and_not_the_copy(told_at_once):
    told = []

    def refuse(part):
        told.append(part)
        raise KeyError("mine")

    source = ut.ones((1 << 13, 1 << 13), dtype="i1", usm_type="host", device=HOST)
    target = ut.zeros((1 << 13, 1 << 13), dtype="i1", usm_type="host", device=HOST)
    with usm.progress(refuse), pytest.raises(KeyError, match="mine"):
        target[...] = source.T
    assert len(told) == 1
    # It waits for the copy.
    assert target[-1, -1] == 1 and target[0, 0] == 1


def test_a_copy_in_the_function_tells_nothing(told_at_once):
    told = []
    source = ut.ones((1 << 12, 1 << 12), dtype="i1", usm_type="host", device=HOST)

    def copy_again(part):
        told.append(part)
        ut.copy(source.T, order="C")

    copied(copy_again, lambda: bool(told))
    assert told == sorted(set(told))


def test_a_generator_may_end_in_another_context():
    def generator():
        with usm.progress(print):
            yield

    running = generator()
    contextvars.copy_context().run(next, running)
    running.close()


def run(code):
    environment = process.MINIMAL | {"USM_SYCL_ROOT": "/nowhere", "USM_CUDA": "0"}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=environment, check=False
    )


@pytest.mark.lengthy
def test_the_interpreter_ends_beside_the_function(told_at_once):
    code = """
        import threading, time
        import usm, usm._progress, usm.tensor as ut
        usm._usm._tell_progress(usm._progress._tell, 0)
        source = ut.ones((1 << 13, 1 << 13), dtype="i1", usm_type="host", device="host:cpu:0")
        begun = threading.Event()

        def told(part):
            begun.set()
            for _ in range(500):
                time.sleep(0.001)

        def copies():
            with usm.progress(told):
                while True:
                    ut.copy(source.T, order="C")

        threading.Thread(target=copies, daemon=True).start()
        assert begun.wait(60)
    """
    done = run(code)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_the_package_imports_no_module_for_it():
    done = run("import sys, usm; print('usm._progress' in sys.modules)")
    assert done.stdout.strip() == "False", done.stderr
