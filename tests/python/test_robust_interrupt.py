"""Ctrl-C: whatever waits or works long returns with KeyboardInterrupt, and memory is owned until the work has ended.

The requirement is 100 ms; the tests allow 2 s, since they may run on a busy machine, and print what they measured
(``-rP``).
"""

import pytest

from support import children, requirements

BACKENDS = pytest.mark.parametrize("backend", ["host", "sycl"])

INTERRUPTED = """
def interrupted(work, after=0.1):
    # Runs `work`, which takes long, and presses Ctrl-C; seconds until it was back.
    pressed = []
    begun = threading.Event()
    def press():
        begun.wait()
        time.sleep(after)
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=press)
    thread.start()      # takes long on a busy machine
    is_over = False
    try:
        begun.set()
        work()
        is_over = True
        # Ctrl-C comes here then, and not anywhere later.
        thread.join()
        time.sleep(0.1)
    except KeyboardInterrupt:
        back = time.monotonic()
    thread.join()
    if is_over:
        raise AssertionError("it was over before Ctrl-C, or not interrupted")
    assert back - pressed[0] < 2, back - pressed[0]
    return back - pressed[0]
"""

# About a second of work in the queue, on memory that nobody reads.
PENDING = """
import ctypes
busy = um.MemoryUSMDevice(1 << 28, queue=QUEUE)
def keep_busy():
    return [QUEUE.memset_async(busy, n) for n in range(ROUNDS)][-1]
ROUNDS = 8
keep_busy()     # the first time takes longer, since there are no pages yet
QUEUE.wait()
started = time.monotonic()
keep_busy()
QUEUE.wait()
ROUNDS = max(8, int(8 / (time.monotonic() - started)))   # about a second
"""

WAITS = {
    "queue.wait": "QUEUE.wait()",
    "event.wait": "event.wait()",
    "event.wait_for": "usm.SyclEvent.wait_for([event])",
    "queue.memcpy": "QUEUE.memcpy(own, bytes(64), 64)",
    "queue.copy": "QUEUE.copy(own, bytes(64))",
    "queue.memset": "QUEUE.memset(own, 1)",
    "copy_to_host": "own.copy_to_host(bytearray(64))",
    "copy_from_host": "own.copy_from_host(bytes(64))",
    "copy_from_device": "own.copy_from_device(other)",
    "memset": "own.memset(3)",
    "tobytes": "own.tobytes()",
    "assignment of a number": "a.__setitem__(..., 1)",
    "assignment of an array": "a.__setitem__(..., b)",
    "tolist": "a.tolist()",
    "item": "float(a[0])",
    "index array": "a[indices]",
    "asarray": "ut.asarray(a, usm_type='host')",
    "asnumpy": "ut.asnumpy(a) if numpy else a.tolist()",
    "copy": "a.copy()",
    "astype": "ut.astype(a, 'i4')",
    "dlpack": "shared.__dlpack__(max_version=(1, 0), dl_device=(1, 0))",
    "comparison": "a == b",
    "function": "ut.concat([a, b])",
    "memoryview": "memoryview(shared)",
}


# What host code does with memory that nobody else knows needs no queue.
BY_HOST_CODE = ["dlpack", "memoryview"]


@BACKENDS
@pytest.mark.parametrize(
    "known", [pytest.param(True, id="known"), pytest.param(False, id="unknown", marks=pytest.mark.indifferent)]
)
def test_waiting_for_pending_work(backend, known, monkeypatch):
    """Memory that is known to others waits for the queue; any other device memory waits for its turn in it."""
    if not known:
        monkeypatch.setenv("USM_STRICT_DEVICE", "1")
    waits = {name: code for name, code in WAITS.items() if known or name not in BY_HOST_CODE}
    functions = "".join(f"    {name!r}: lambda: {code},\n" for name, code in waits.items())
    print(
        children.run(
            backend,
            INTERRUPTED
            + PENDING
            + f"""
def renew():
    # What was interrupted keeps its memory until the work has ended.
    global a, b, indices, shared, own, other
    a, b, indices = array(8), array(8), array(2, "i8")
    shared = array(8, "f8", "shared")
    own, other = um.MemoryUSMDevice(64, queue=QUEUE), um.MemoryUSMDevice(64, queue=QUEUE)
    if {known}:
        [x.__sycl_usm_array_interface__ for x in (a, b, indices, shared, own, other)]
complete = usm.event_status_type.complete
ROUNDS = max(4, ROUNDS // 3)    # for each of them
try:
    import numpy
except ModuleNotFoundError:
    numpy = None
works = {{
{functions}}}
for name, work in works.items():
    while True:
        renew()
        event = keep_busy()
        took = interrupted(work, 0.02)
        if event.execution_status != complete:
            break
        # The work was over before Ctrl-C, which shows nothing.
    print(f"{{BACKEND}} {{name}}: back {{took * 1e3:.0f}} ms after Ctrl-C")
QUEUE.wait()
for work in works.values():
    work()      # and now they can
""",
            seconds=120,
        )
    )


@BACKENDS
@pytest.mark.parametrize("kind", ["shared", "device"])
def test_memory_is_owned_until_the_work_ends(backend, kind):
    """Long copies: nothing of Python's holds the operands any more, and they live until the copy is over."""
    print(
        children.run(
            backend,
            INTERRUPTED
            + """
size = 1 << 26
a, b = array(size, "f4", KIND), array(2 * size, "f4", KIND)
at_start = live()

def work():
    while True:     # a busy machine may be faster or slower than Ctrl-C
        a[...] = b[::-2]

took = interrupted(work, 0.05)
del a, b
waited = live()
until(lambda: live() == at_start - 2)
owned = waited - at_start + 2
print(f"{BACKEND} {KIND}: back {took * 1e3:.0f} ms after Ctrl-C, {owned} of 2 operands were owned by the work")
""".replace("KIND", repr(kind)),
            seconds=120,
        )
    )


@BACKENDS
def test_a_wait_for_the_queue_waits_for_what_was_broken_off(backend):
    children.run(
        backend,
        INTERRUPTED
        + """
large = ut.zeros(1 << 26, "f4", usm_type="shared", sycl_queue=QUEUE)
for attempt in range(20):
    try:
        interrupted(lambda: ut.astype(large, "f8"), 0.01)
        break
    except AssertionError:
        continue    # it was over before
QUEUE.wait()
large[...] = 2.0
assert float(large[-1]) == 2.0
""",
        seconds=120,
    )


@BACKENDS
def test_buffers_are_owned_until_the_work_ends(backend):
    children.run(
        backend,
        INTERRUPTED
        + """
memory = um.MemoryUSMDevice(1 << 28, queue=QUEUE)
target = bytearray(1 << 28)
source = bytes(1 << 28)

def work():
    while True:
        memory.copy_from_host(source)
        memory.copy_to_host(target)

interrupted(work, 0.3)
def free():
    try:
        target.extend(b"x")     # refused while somebody has the buffer
        memory.memset(0)
    except BufferError:
        return False
    return True
until(free)
""",
        seconds=120,
    )


def test_kernels_of_others_are_waited_for(dpt):
    """Work of dpnp on imported memory: Ctrl-C ends our wait for it."""
    print(
        children.run(
            "sycl",
            INTERRUPTED
            + """
import dpnp.tensor as dpt
x = dpt.ones((2000, 2000), dtype="f8")
theirs = dpt.zeros((2000, 2000), dtype="f8")
ours = ut.asarray(theirs)
dpt.matmul(x[:8, :8], x[:8, :8])        # the kernel is built now
dpt.matmul(x, x, out=theirs)            # one kernel of seconds, since dpnp lets few be pending
took = interrupted(lambda: float(ours[-1, -1]), 0.05)
print(f"back {took * 1e3:.0f} ms after Ctrl-C")
assert float(ours[-1, -1]) == 2000
""",
            seconds=120,
        )
    )


@BACKENDS
def test_handlers_run_while_it_waits(backend):
    """A handler that does not raise runs, and the wait goes on."""
    children.run(
        backend,
        PENDING
        + """
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(event.execution_status == usm.event_status_type.complete))
event = keep_busy()
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
QUEUE.wait()
signal.setitimer(signal.ITIMER_REAL, 0)
assert False in seen, seen
assert event.execution_status == usm.event_status_type.complete
""",
    )


@BACKENDS
def test_other_threads_run_meanwhile(backend):
    """Whatever works or waits long has given up the interpreter."""
    requirements.device_of(backend)
    children.run(
        backend,
        PENDING
        + """
counted = [0]
stop = threading.Event()
def count():
    while not stop.is_set():
        counted[0] += 1
        time.sleep(0.001)
threading.Thread(target=count, daemon=True).start()

a, b = array(1 << 25, "f4"), array(1 << 26, "f4")
host = bytearray(1 << 27)
memory = um.MemoryUSMShared(1 << 27, queue=QUEUE)
def wait():
    keep_busy()
    QUEUE.wait()
ROUNDS = max(1, ROUNDS // 6)
for work in (
    wait,
    lambda: a.__setitem__(Ellipsis, b[::-2]),
    lambda: a.__setitem__(slice(None, None, 3), 1.0),
    lambda: ut.asarray(b[::-2], usm_type="shared"),
    lambda: ut.asarray(memoryview(host).cast("f")),
    lambda: memory.copy_to_host(host),
    lambda: memory.copy_from_host(host),
    memory.memset,
    lambda: QUEUE.memcpy(memory, host, 1 << 27),
):
    ran, took = 0, 0.0
    while took < 0.1:
        started, before = time.monotonic(), counted[0]
        work()
        took += time.monotonic() - started
        ran += counted[0] - before
    # A thread that is kept out counts once per switch interval at best, between the calls.
    assert ran >= 0.1 * took / 0.001, (work, ran, took)
stop.set()
""",
        seconds=120,
    )


@BACKENDS
@pytest.mark.indifferent
def test_conversions(backend):
    """What is done by host code, element by element or at one go."""
    print(
        children.run(
            backend,
            INTERRUPTED
            + """
import pickle
numbers = list(range(2_000_000))
large = ut.zeros(1 << 25, "f8", usm_type="shared", sycl_queue=QUEUE)
pickled = pickle.dumps(large, protocol=5)
few = ut.asarray([0.1] * 150_000, sycl_queue=QUEUE)
works = {
    "asarray of a range": lambda: ut.asarray(range(2_000_000), sycl_queue=QUEUE),
    "asarray of a list": lambda: ut.asarray(numbers, sycl_queue=QUEUE),
    "asarray of lists": lambda: ut.asarray([[n, n] for n in numbers[:500_000]], sycl_queue=QUEUE),
    "tolist": lambda: large[: 1 << 21].tolist(),
    "tobytes": lambda: large.usm_data.tobytes(),
    "pickle.loads": lambda: pickle.loads(pickled),
    "text": lambda: ut.usm_ndarray_str(few, threshold=1 << 30),
}
for name, work in works.items():
    took = None
    for attempt in range(5):
        try:
            took = interrupted(work, 0.03)
            break
        except AssertionError:
            continue    # it was over before Ctrl-C
        except KeyboardInterrupt:
            continue    # just after it was over
    print(f"{BACKEND} {name}: back {-1 if took is None else took * 1e3:.0f} ms after Ctrl-C")
    assert took is None or took < 0.5, (name, took)
    # The others may be over too soon on a fast machine.
    assert took is not None or not name.startswith("asarray"), f"{name} could not be interrupted"
until(lambda: live() <= 3)
""",
            seconds=120,
        )
    )
