"""The order of imports does not matter: arrays from before and after an import of dpctl and dpnp compute together.

Each order is a child process. It imports one library after the other, and makes arrays of every library that is there
after each import. At the end it computes with each of them.
"""

import importlib.util
import itertools
import os
import subprocess
import sys

import pytest

from support import requirements
from support.campaign import IS_VERIFYING

SECONDS = 60

PROGRAM = """
import faulthandler, importlib, sys
faulthandler.enable()
faulthandler.dump_traceback_later(%d)  # a hang tells where

ORDER = sys.argv[1].split()
VALUES = [[5.0 if row == column else row %% 7 / 7 for column in range(6)] for row in range(60)]
there, ours, theirs, queues = {}, {}, {}, {}


def make(after):
    if "usm" in there:
        ut = importlib.import_module("usm.tensor")
        for kind in ("device", "shared", "host"):
            ours[f"{kind} after {after}"] = ut.asarray(VALUES, "f4", usm_type=kind)
        # On memory that only a device reaches this may be under way when the next library is imported.
        ours[f"copied after {after}"] = ut.copy(ut.asarray(VALUES, "f4", usm_type="device"))
        queues[f"usm after {after}"] = ours[f"device after {after}"].sycl_queue
    if "dpnp" in there:
        theirs[f"after {after}"] = there["dpnp"].asarray(VALUES, dtype="f4")
    elif "dpctl" in there:
        dpctl = there["dpctl"]
        queues[f"dpctl after {after}"] = dpctl.get_device_cached_queue(dpctl.select_default_device())


for name in ORDER:
    there[name] = importlib.import_module(name)
    make(name)

import dpctl, dpnp, numpy, usm, usm.tensor as ut

make("all")
expected = numpy.asarray(VALUES, "f4")
square = expected.T @ expected
ones = dpnp.ones(expected.shape, dtype="f4")
default = ones.sycl_queue


def check(found, wanted, what):
    numpy.testing.assert_allclose(dpnp.asnumpy(found), wanted, rtol=1e-3, atol=1e-3, err_msg=what)


for name, a in ours.items():
    # By the dictionary, as DLPack, and on the queue.
    for way, b in {
        "dictionary": dpnp.asarray(a),
        "DLPack": dpnp.from_dlpack(a),
        "queue": dpnp.asarray(VALUES, dtype="f4", sycl_queue=a.sycl_queue),
    }.items():
        what = f"{name} by {way}"
        assert b.sycl_queue == default == a.sycl_queue, what
        assert hash(b.sycl_queue) == hash(default) == hash(a.sycl_queue), what
        check(b + ones, expected + 1, what)
        product = dpnp.asarray(a.T) @ b
        check(dpnp.linalg.inv(product) @ product, numpy.eye(6), what)
        check(dpnp.asarray(a.T) @ b, square, what)
    product = dpnp.asarray(a.T) @ dpnp.asarray(a)
    values, vectors = dpnp.linalg.eigh(product)
    check(vectors * values @ vectors.T, square, name)
    product = dpnp.asarray(a.T) @ dpnp.asarray(a)
    q, r = dpnp.linalg.qr(product)
    check(q @ r, square, name)
    # In one call of this package with arrays of each time, and with one of dpnp.
    for other in (*ours.values(), ut.asarray(theirs["after all"])):
        assert ut.concat([a, other]).shape == (120, 6), name
    # What dpnp writes is there when ours read next, and the other way round.
    b = dpnp.tensor.asarray(a)
    assert b._pointer == a._pointer, name
    b += 1
    numpy.testing.assert_allclose(a.tolist(), expected + 1, rtol=1e-6, err_msg=name)
    a[...] = ut.asarray(expected)
    check(b, expected, name)
for name, b in theirs.items():
    assert b.sycl_queue == default == ut.asarray(b).sycl_queue, name
    check(dpnp.linalg.inv(b.T @ b), numpy.linalg.inv(square), name)
for name, queue in queues.items():
    # Objects from before, too, stand for the one default queue.
    assert queue == default and default == usm.SyclQueue(queue), name
    assert hash(queue) == hash(default), name
    queue.wait()
    assert queue.sycl_device == default.sycl_device and queue.sycl_context == default.sycl_context, name
if "torch" in there:
    t = there["torch"].from_dlpack(ut.asarray(VALUES, "f4", usm_type="host").__dlpack__(dl_device=(1, 0)))
    assert t.tolist() == expected.tolist()
    assert ut.asarray(t).tolist() == expected.tolist()
print("fine")
"""


HAS_TORCH = importlib.util.find_spec("torch") is not None
LIBRARIES = ("usm", "dpctl", "dpnp", "numpy", *(["torch"] if HAS_TORCH else []))
# dpnp imports dpctl and NumPy itself.
FEW = ["usm dpctl dpnp numpy", "usm dpnp", "numpy dpctl usm dpnp", "dpnp usm"]
if HAS_TORCH:
    FEW += ["usm torch dpnp", "torch dpnp usm"]
ALL = [" ".join(order) for order in itertools.permutations(LIBRARIES)]
# USM_STRICT_DEVICE=1 submits what host code does otherwise.
CASES = list(itertools.product(ALL, "01")) if IS_VERIFYING else [(order, "0") for order in FEW] + [(FEW[0], "1")]


def run(program: str, *arguments: str, **environment: str) -> str:
    """What the program prints. It must end well and in time."""
    requirements.device_of("sycl")
    for name in ("dpctl", "dpnp", "numpy"):
        # Without an import, which would decide on the order of this process.
        if importlib.util.find_spec(name) is None:
            requirements.missing(name, "no module of that name", required=requirements.REQUIRE_PEERS)
    try:
        done = subprocess.run(
            [sys.executable, "-c", program % (SECONDS - 10), *arguments],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        pytest.fail(f"not over after {SECONDS} s\n{error.stdout}\n{error.stderr}")
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.indifferent
@pytest.mark.parametrize(("order", "strict"), CASES)
def test_each_order_of_imports(order: str, strict: str) -> None:
    assert run(PROGRAM, order, USM_STRICT_DEVICE=strict) == "fine\n"


THREADS = """
import faulthandler, threading
faulthandler.dump_traceback_later(%d)
import usm, usm.tensor as ut

a = ut.zeros((2, 1 << 14), "i8", usm_type="device")
first, stop, wrong, turns = a.sycl_queue, threading.Event(), [], [0, 0]


def work(index):
    row = a[index]
    try:
        while not stop.is_set() or turns[index] < 100:
            turns[index] += 1
            row[...] = turns[index]
            copy = ut.copy(row)
            assert copy[-1].item() == row[0].item() == turns[index], "an operation came too early"
    except BaseException as error:
        wrong.append(error)


threads = [threading.Thread(target=work, args=[index]) for index in range(2)]
for thread in threads:
    thread.start()
import dpnp.tensor as dpt

default = dpt.ones(1).sycl_queue
for _ in range(100):
    # No thread sees the queue from before any more.
    assert a.sycl_queue is default == dpt.asarray(a).sycl_queue and first == default
stop.set()
for thread in threads:
    thread.join()
assert not wrong, wrong
b = dpt.asarray(a)
b += 1
assert [row[-1].item() for row in a] == [turn + 1 for turn in turns]
print("fine")
"""


@pytest.mark.indifferent
@pytest.mark.parametrize("strict", ["0", "1"])
def test_threads_that_work_while_dpctl_comes(strict: str) -> None:
    assert run(THREADS, USM_STRICT_DEVICE=strict) == "fine\n"


FAULT_OF_DPNP = """
import sys
import dpctl, dpnp.tensor as dpt
import dpnp.tensor._tensor_impl as copies
from dpnp.backend.extensions.lapack import _lapack_impl as lapack

queue = dpctl.SyclQueue(dpctl.select_default_device(), property=sys.argv[1])
source, a, b = (dpt.eye(6, dtype="f4", order="F", sycl_queue=queue) for _ in range(3))
queue.wait()
sys.setswitchinterval(100)  # no other thread gets the interpreter by chance
# All events stay, since dpctl waits for those that go.
first = queue._submit_keep_args_alive([1], [])
second, copied = copies._copy_usm_ndarray_into_usm_ndarray(src=source, dst=b, sycl_queue=queue)
third, solved = lapack._gesv(queue, a, b, depends=[copied])
solved.wait()
print("fine")
"""


@pytest.mark.skipif(not IS_VERIFYING, reason="a fault of dpnp, which USM_HYPOTHESIS=verify looks for")
@pytest.mark.indifferent
@pytest.mark.parametrize("order", ["default", "in_order"])
def test_the_fault_of_dpnp_on_queues_in_order(order: str) -> None:
    """The guide says why dpnp hangs there, without this package. A dpnp that does not needs that text no more."""
    requirements.device_of("sycl")
    requirements.module("dpnp", required=requirements.REQUIRE_PEERS)
    try:
        done = subprocess.run(
            [sys.executable, "-c", FAULT_OF_DPNP, order], capture_output=True, text=True, timeout=20, check=False
        )
    except subprocess.TimeoutExpired:
        assert order == "in_order"
        return
    assert (order, done.stdout) == ("default", "fine\n"), done.stderr
