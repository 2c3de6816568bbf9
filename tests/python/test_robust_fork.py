"""After fork: the host backend works in the child, the SYCL runtime raises at once, and the parent goes on."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import children, figures, requirements, rounds

FORK = """
def child(work):
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            # As multiprocessing ends its children; the SYCL runtime hangs in exit().
            os._exit(code)
    def over():
        found, status = os.waitpid(pid, os.WNOHANG)
        assert status == 0, status
        return found != 0
    try:
        until(over, 30)
    except AssertionError:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        raise
    return time.monotonic() - started


def host_works():
    queue = usm.SyclQueue("host:cpu:0", property="in_order")
    for kind in ("host", "device", "shared"):
        a = ut.zeros((1000,), "i4", usm_type=kind, sycl_queue=queue)
        a[::2] = 7
        assert a.tolist() == [7, 0] * 500
        queue.memset_async(a, 1)
        queue.wait()
        assert a[:1].tolist() == [0x01010101]
"""


def test_the_host_backend_works_in_a_child():
    children.run(
        "host",
        FORK
        + """
keep = [array(1000), array(1 << 20)]
keep[0][...] = 5
for round in range(20):
    if round % 2:
        # Work of the parent that is not complete.
        pending = [QUEUE.memset_async(keep[1], 1) for _ in range(20)]
    child(host_works)
    QUEUE.wait()
assert keep[0].tolist() == [5.0] * 1000
""",
    )


def test_objects_of_the_parent_on_the_host_backend():
    children.run(
        "host",
        FORK
        + """
a, b = array(100), array(100, "f8", "shared")
a[...] = 5
QUEUE.wait()        # a child does not have what is under way

def work():
    b[...] = a
    assert b.tolist() == [5.0] * 100
    a[0] = 6           # of the child alone where it is its own copy of the page
    host_works()
    del globals()["a"], globals()["b"]
    gc.collect()

child(work)
assert b.tolist() == [0.0] * 100 and a.shape == (100,)
""",
    )


@pytest.mark.parametrize("kernel", [False, True])
def test_sycl_raises_at_once_in_a_child(kernel, sycl_queue):
    if kernel:
        requirements.module("dpnp", required=requirements.REQUIRE_PEERS)
    out = children.run(
        "sycl",
        FORK
        + f"""
a, s = array(1000), array(1000, "f8", "shared")
a[...] = 2
event = QUEUE.memset_async(array(1 << 20), 3)
if {kernel}:
    import dpnp
    theirs = dpnp.arange(1000) + 1
"""
        + """
attempts = {
    "allocate": lambda: array(10),
    "memory": lambda: um.MemoryUSMShared(64, queue=QUEUE),
    "queue": lambda: usm.SyclQueue(QUEUE.sycl_device),
    "context": lambda: usm.SyclContext(QUEUE.sycl_device),
    "wait": QUEUE.wait,
    "event": event.wait,
    "memset": lambda: QUEUE.memset(s, 1),
    "memcpy": lambda: QUEUE.memcpy_async(a, s, 8000),
    "copy": lambda: ut.asarray(s, usm_type="device"),
    "barrier": QUEUE.submit_barrier,
}
if QUEUE.native_stream is None:
    attempts["capsule"] = QUEUE._get_capsule
else:
    del attempts["context"]     # that of the GPU is there already

def work():
    slowest = 0.0
    for name, attempt in attempts.items():
        started = time.monotonic()
        try:
            attempt()
        except usm.UsmError as error:
            assert "forked" in str(error), (name, error)
        else:
            raise AssertionError(name + " did not raise")
        slowest = max(slowest, time.monotonic() - started)
    assert slowest < 2, slowest
    print(f"slowest {slowest * 1e3:.1f} ms", flush=True)
    assert usm.get_devices() and usm.backends()
    host_works()
    # Lets go what is the parent's; but dpctl's memory stays: its end takes a lock that a thread of the runtime may have
    # held at the fork.
    for name in ("attempts", "a", "s", "event", "QUEUE"):
        globals().pop(name, None)
    gc.collect()

child(work)
QUEUE.wait()
assert a[:2].tolist() == [2.0, 2.0]
QUEUE.memset(s, 0)
""",
    )
    print(out)


def test_a_child_may_be_the_first_to_use_sycl(sycl_queue):
    children.run(
        "host",
        FORK
        + """
keep = array(100)

def work():
    device = next(d for d in usm.get_devices() if str(d.backend) != "host")
    a = ut.zeros((10,), "f4", usm_type="device", sycl_queue=device)
    a[...] = 1
    assert a.tolist() == [1.0] * 10

# The prelude asked for no SYCL device, so nothing is loaded yet.
assert not any("libsycl" in line for line in open("/proc/self/maps"))
child(work)
""",
    )


def test_multiprocessing_with_fork():
    children.run(
        "host",
        """
        import multiprocessing
        a = array(1000, "i4", "shared")
        a[...] = 3

        def work(n):
            mine = array(1000, "i4")
            mine[...] = n
            return sum(mine.tolist()) + sum(a.tolist())

        with multiprocessing.get_context("fork").Pool(3) as pool:
            assert pool.map(work, range(12)) == [1000 * n + 3000 for n in range(12)]
        """,
    )


#: How many children are forked beside each activity, in all processes of a test: `cargo xtask verify` forks more.
FORKS = rounds.number_of("USM_TEST_FORKS", 10)
PROCESSES = min(rounds.processors(), max(1, FORKS // 5))
#: Every way in which a process ends.
ENDS = ("_exit", "exit", "return", "raise")

BESIDE = (
    FORK
    + """
import random

stop, pause = threading.Event(), threading.Event()
# The thread of the forks gets its turns sooner, and collections of the children are short.
sys.setswitchinterval(0.0005)
gc.freeze()


class Producer:
    def __init__(self, array):
        self.__sycl_usm_array_interface__ = array.__sycl_usm_array_interface__
        self.array = array


def busy(work):
    # Small pieces, so that the thread of the forks gets its turns.
    while not stop.is_set():
        if pause.is_set():
            time.sleep(0.0002)
            continue
        try:
            work()
        except BufferError:
            pass  # another thread is at it


def works_of_child():
    host_works()
    assert um.snapshot() is not None
    um.memory_stats()
    producer = Producer(array(10))
    assert ut.asarray(producer).tolist() == [0.0] * 10
    del producer
    gc.collect()


def end_of(pid, what):
    # Looks and not seconds: a machine that stops everything for a while stops this, too. As many take half a minute,
    # which a busy machine may need. The slowest child is told.
    for look in range(6000):
        ended = os.waitpid(pid, os.WNOHANG)
        if ended != (0, 0):
            return ended[1]
        time.sleep(0.0005 if look < 100 else 0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise SystemExit(f"{what} hung")


def fork_beside(works, forks, ends=("_exit", "exit"), works_of_child=works_of_child):
    # The seconds of the slowest child; None in a child that returns.
    slowest = 0.0
    threads = [threading.Thread(target=busy, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    try:
        for number in range(forks):
            end = ends[number % len(ends)]
            # At a random point of the pieces. While a child runs, the threads leave the processors to it.
            pause.clear()
            time.sleep(random.uniform(0.001, 0.006))
            started = time.monotonic()
            pid = os.fork()
            if pid == 0:
                faulthandler.dump_traceback_later(40, exit=True)
                try:
                    works_of_child()
                except BaseException:
                    import traceback
                    traceback.print_exc()
                    os._exit(9)
                if end == "_exit":
                    os._exit(0)
                # Through the end of the interpreter, on the thread that has forked.
                if end == "exit":
                    sys.exit(0)
                if end == "return":
                    return None
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                raise RuntimeError("as planned")
            pause.set()
            what = f"child {number} of {forks}, which ends with {end},"
            status = end_of(pid, what)
            assert os.waitstatus_to_exitcode(status) == (end == "raise"), f"{what} has status {status}"
            slowest = max(slowest, time.monotonic() - started)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return slowest
"""
)


def fork_in_processes(run, code, what):
    """Runs a program in some processes, whose `FORKS` together are those of a test. It prints its slowest child."""
    forks = [FORKS // PROCESSES + (n < FORKS % PROCESSES) for n in range(PROCESSES)]
    with ThreadPoolExecutor(PROCESSES) as pool:
        slowest = max(map(float, pool.map(lambda n: run(f"FORKS = {n}\n{code}"), forks)))
    figures.add(f"{FORKS:,} forks beside {what}, 0 hung, the slowest child took {slowest:.2f} s")


def run_on(backend):
    return lambda code: children.run(backend, code, seconds=max(100, 2 * FORKS))


ACTIVITIES = {
    "allocations": """
def work():
    keep = [array(n) for n in (1, 100, 5000)]
    ut.ones(10, sycl_queue=QUEUE)
    um.MemoryUSMShared(1 << 20, queue=QUEUE)
    with um.use_pool(DEVICE):
        array(10)
""",
    "submits": """
target = array(1000)
def work():
    QUEUE.memset_async(target, 1)
    QUEUE.submit_barrier()
    usm.SyclQueue(DEVICE).memset_async(array(1 << 16), 2)
    QUEUE.wait()
""",
    "waits": """
large = um.MemoryUSMShared(24 << 20, queue=QUEUE)
def work():
    # Of more than 16 MiB: on a thread of its own.
    QUEUE.memset_async(large, 1).wait()
    QUEUE.memset(large, 1)
""",
    "copies": """
source, target = array(1 << 20, usm_type="shared"), array((1 << 10, 1 << 10), usm_type="shared")
def work():
    copy = ut.copy(source)
    ut.astype(copy, "f4")
    target[...] = target.T
""",
    "snapshots": """
counted = array(100)
def work():
    um.snapshot()
    um.memory_stats()
    um.default_pool_stats()
    usm.live_allocations()
    um.trim_default_pool()
""",
    "producers": """
class Slow(Producer):
    @property
    def __sycl_usm_array_interface__(self):
        time.sleep(0.001)
        return self.array.__sycl_usm_array_interface__
    def __init__(self, array):
        self.array = array
mine = array(100)
def work():
    arrays = [ut.asarray(Slow(mine))] + [ut.asarray(Producer(mine)) for _ in range(20)]
    copies = [QUEUE.memset_async(a, 0) for a in arrays[:3]]
    del arrays
    QUEUE.wait()
""",
    "attributes": """
def work():
    a = array((3, 4), usm_type="shared")
    a.shape, a.strides, a.device, a.flags, a.dtype, a.usm_type, str(a), a.__sycl_usm_array_interface__
    memoryview(a).tobytes()
    a.tolist()
    ut.from_dlpack(a)
""",
}


FORK_ALL = """
slowest = fork_beside([work] * 3, FORKS, {ends}, {child})
if slowest is not None:
    print(slowest)
"""


@pytest.mark.lengthy
@pytest.mark.parametrize("activity", ACTIVITIES)
def test_children_forked_beside_threads_at_work(activity):
    code = BESIDE + ACTIVITIES[activity] + FORK_ALL.format(ends=ENDS, child="works_of_child")
    fork_in_processes(run_on("host"), code, f"{activity} on the host backend")


@pytest.mark.lengthy
@pytest.mark.parametrize("activity", ["submits", "copies", "attributes"])
def test_children_forked_beside_threads_at_work_on_a_device(activity, sycl_queue):
    """The child must not use the device, and ends without the end of the interpreter."""
    child = """
def told_of_the_fork():
    host_works()
    for attempt in (lambda: array(10), QUEUE.wait):
        try:
            attempt()
        except usm.UsmError as error:
            assert "forked" in str(error), error
        else:
            raise AssertionError("a child uses the device")
"""
    code = BESIDE + ACTIVITIES[activity] + child + FORK_ALL.format(ends=("_exit",), child="told_of_the_fork")
    fork_in_processes(run_on("sycl"), code, f"{activity} on {sycl_queue.sycl_device.filter_string}")


def test_a_child_forked_while_another_thread_waits_can_exit():
    """The wait of the other thread goes on in the parent only."""
    children.run(
        "host",
        BESIDE
        + """
large = um.MemoryUSMShared(256 << 20, queue=QUEUE)
for _ in range(5):
    pending = QUEUE.memset_async(large, 1)
    waiting = threading.Thread(target=pending.wait)
    waiting.start()
    time.sleep(0.01)
    fork_beside([], 2)
    waiting.join()
""",
        seconds=100,
    )


def test_a_child_forked_in_a_call_can_exit():
    """The producer forks while it is asked for its interface; other threads are in such calls for long."""
    children.run(
        "host",
        BESIDE
        + """
release = threading.Event()

class Asked(Producer):
    def __init__(self, array, what):
        self.array, self.what = array, what
    @property
    def __sycl_usm_array_interface__(self):
        self.what()
        return self.array.__sycl_usm_array_interface__

mine = array(10)
inside = threading.Event()
def held():
    inside.set()
    release.wait()
long = threading.Thread(target=lambda: ut.asarray(Asked(mine, held)))
long.start()
inside.wait()
started = time.monotonic()
ut.asarray(Asked(mine, lambda: fork_beside([], 8)))
fork_beside([], 8)
# The end waits five seconds for calls: not for those of the parent.
assert time.monotonic() - started < 20, time.monotonic() - started
release.set()
long.join()
""",
        seconds=100,
    )


@pytest.mark.lengthy
def test_a_child_forked_by_a_signal_handler_does_not_wait_for_the_parents_threads():
    children.run(
        "host",
        BESIDE
        + """
large = um.MemoryUSMShared(256 << 20, queue=QUEUE)
forked = []

def handler(*_):
    pid = os.fork()
    forked.append(pid)
    if pid == 0:
        faulthandler.dump_traceback_later(40, exit=True)

signal.signal(signal.SIGALRM, handler)
for _ in range(5):
    forked.clear()
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        QUEUE.memset_async(large, 1).wait()
        QUEUE.memset(large, 2)
    except usm.UsmError as error:
        assert forked == [0] and "forked" in str(error), (forked, error)
    until(lambda: forked)
    if forked == [0]:
        host_works()
        sys.exit(0)
    assert os.waitpid(forked[0], 0)[1] == 0
""",
        seconds=100,
    )


def test_a_child_is_told_once_of_an_assignment_that_was_pending_in_the_parent():
    children.run(
        "host",
        FORK
        + """
large = array(8 << 20)
QUEUE.wait()

def work():
    try:
        large[:3].tolist()
    except usm.UsmError as error:
        assert "forked" in str(error), error
    large[:10] = 3
    assert large[:10].tolist() == [3.0] * 10

for _ in range(10):
    large[...] = 1
    child(work)
    assert large[:10].tolist() == [1.0] * 10
""",
    )


def test_a_child_lets_what_was_pending_in_the_parent_go():
    """It says so where it is asked for that operation, and the memory can be used again."""
    children.run(
        "host",
        FORK
        + """
large = array(8 << 20)
QUEUE.wait()

def work():
    try:
        event.wait()
    except usm.UsmError as error:
        assert "forked" in str(error), error
    QUEUE.wait()
    large[:10] = 3
    assert large[:10].tolist() == [3.0] * 10
    QUEUE.memset_async(large, 0).wait()
    assert large[:10].tolist() == [0.0] * 10

for _ in range(10):
    event = QUEUE.memset_async(large, 1)
    child(work)
    event.wait()
""",
    )


# Each round is a process in which nothing but the import has happened.
FIRST = """
import os, sys, threading, time, faulthandler
import usm, usm.memory as um, usm.tensor as ut

def first():
    a = ut.ones((10,), usm_type="shared", device="host:cpu:0")
    a[1:3] = 7
    assert ut.asarray(a, usm_type="device").tolist() == [1.0, 7.0, 7.0] + [1.0] * 7
    a.dtype, a.flags, str(a), a.__sycl_usm_array_interface__, um.snapshot()
    usm.SyclQueue("host").sycl_device.name

def wait(pid, what):
    for look in range(10_000):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            assert status == 0, (what, status)
            return
        time.sleep(0.0005 if look < 100 else 0.005)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    raise SystemExit(what + " hung")
"""

FIRST_USES = """
slowest = 0.0
for round in range(FORKS):
    started = time.monotonic()
    outer = os.fork()
    if outer == 0:
        code = 1
        try:
            thread = threading.Thread(target=first)
            thread.start()
            time.sleep(round % 20 * 1e-4)
            inner = os.fork()
            if inner == 0:
                faulthandler.dump_traceback_later(40, exit=True)
                first()
                os._exit(0)
            wait(inner, f"the child of round {round}")
            thread.join()
            code = 0
        finally:
            os._exit(code)
    wait(outer, f"round {round}")
    slowest = max(slowest, time.monotonic() - started)
print(slowest)
"""


def run_without_prelude(code):
    done = subprocess.run(
        # From 3.12 on Python warns of each fork beside threads, which is what this is about.
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code],
        capture_output=True,
        text=True,
        timeout=max(100, 2 * FORKS),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


SLOW_IMPORTS = """
class Slow:
    @staticmethod
    def find_spec(name, path=None, target=None):
        time.sleep(0.02)

sys.meta_path.insert(0, Slow)
"""


def test_a_fork_waits_for_the_imports_of_a_first_use():
    """In a child, the lock of a module that another thread was importing stays locked for ever."""
    run_without_prelude(
        FIRST
        + SLOW_IMPORTS
        + """
def first_ones():
    first()
    try:
        ut.ones((3,), device="host:cpu:0").round()
    except ImportError:
        pass  # without NumPy

thread, children = threading.Thread(target=first_ones), []
thread.start()
while thread.is_alive():
    pid = os.fork()
    if pid == 0:
        faulthandler.dump_traceback_later(40, exit=True)
        first_ones()
        os._exit(0)
    children.append(pid)
    time.sleep(0.001)
for pid in children:
    wait(pid, f"one of {len(children)} children")
"""
    )


FORK_IN_IMPORT = """
from usm._locate import importing

holds = threading.Event()

def hold(work):
    with importing:
        holds.set()
        work()

def fork_in(work):
    # A child forked while another thread imports may import, too.
    thread = threading.Thread(target=hold, args=(work,))
    thread.start()
    holds.wait()
    pid = os.fork()
    if pid == 0:
        faulthandler.dump_traceback_later(40, exit=True)
        first()
        os._exit(0)
    wait(pid, "the child")
    thread.join()
    with importing:
        pass
"""


def test_a_fork_waits_for_no_import_for_ever():
    """The import waits for a lock that the fork has taken."""
    run_without_prelude(
        FIRST
        + FORK_IN_IMPORT
        + """
from usm import _locate
_locate._FORK_WAITS_S = 1
lock = threading.RLock()
# Registered later, it comes before those of the package.
os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)

def work():
    time.sleep(0.2)
    with lock:
        pass

fork_in(work)
"""
    )


def test_a_signal_handler_that_raises_in_the_wait_of_a_fork():
    """Python ignores the exception, and forks."""
    run_without_prelude(
        FIRST
        + FORK_IN_IMPORT
        + """
import signal

def handler(*_):
    raise KeyboardInterrupt

ignored = []
sys.unraisablehook = lambda found: ignored.append(found.exc_type)
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
fork_in(lambda: time.sleep(1))
assert ignored == [KeyboardInterrupt], ignored
"""
    )


@pytest.mark.lengthy
def test_children_forked_beside_first_uses():
    fork_in_processes(run_without_prelude, FIRST + FIRST_USES, "first uses")
