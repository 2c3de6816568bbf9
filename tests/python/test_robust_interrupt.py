"""Ctrl-C: a long wait or job returns with KeyboardInterrupt, and memory is owned until the work is complete.

Each test prints how long it took (``-rP``); the goal is 100 ms. No test assumes the speed of a device or machine: work
that completes before Ctrl-C is made longer, and pending work after a wait proves the interrupt.
"""

import subprocess
import sys

import pytest

from support import children, requirements

BACKENDS = pytest.mark.parametrize("backend", ["host", "sycl"])

INTERRUPTED = """
def press_ctrl_c(work, after):
    # Presses Ctrl-C during `work`; seconds until it was back, or None when it was over before. A timer of the kernel
    # presses: another thread would have to wait for the interpreter, which `work` may keep.
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    is_over = False
    try:
        pressed = time.monotonic() + after
        signal.setitimer(signal.ITIMER_REAL, after)
        work()
        is_over = True
        # Ctrl-C comes here then, and not anywhere later.
        time.sleep(60)
    except KeyboardInterrupt:
        back = time.monotonic()
    return None if is_over else back - pressed

def interrupted(work, after=0.1, longer=None, before=lambda: None, shows=lambda took: True):
    # Seconds from Ctrl-C until `work` was back, of the first try that shows that Ctrl-C ended it.
    tries = []
    while len(tries) < 20:
        before()
        tries.append(press_ctrl_c(work, after))
        if tries[-1] is None:
            assert longer is not None, "it was over before Ctrl-C, or not interrupted"
            longer()
        elif tries[-1] < 30 and shows(tries[-1]):
            return tries[-1]
    raise AssertionError(f"Ctrl-C did not end it: {tries}")
"""

# Work in the queue, on memory that nobody reads: about a second of it at first.
PENDING = """
# A GPU writes faster than Python submits.
is_large = QUEUE.native_stream is not None and QUEUE.sycl_device.global_mem_size >= 1 << 36
busy = um.MemoryUSMDevice(1 << 33 if is_large else 1 << 28, queue=QUEUE)
def keep_busy():
    return [QUEUE.memset_async(busy, n & 255) for n in range(ROUNDS)][-1]
def busier():
    global ROUNDS
    ROUNDS *= 2
ROUNDS = 8
keep_busy()     # the first time takes longer, since there are no pages yet
QUEUE.wait()
started = time.monotonic()
keep_busy()
QUEUE.wait()
ROUNDS = max(8, int(8 / (time.monotonic() - started)))
"""

WAITS = {
    "queue.wait": "QUEUE.wait()",
    "event.wait": "event.wait()",
    "event.wait_for": "usm.SyclEvent.wait_for([event])",
    "queue.memcpy": "QUEUE.memcpy(own, bytes(64), 64)",
    "queue.copy": "QUEUE.copy(own, bytes(64))",
    "queue.memset": "QUEUE.memset(own, 1)",
    "queue.fill": "QUEUE.fill(own, b'1')",
    "queue.prefetch": "QUEUE.prefetch(own)",
    "a barrier": "QUEUE.submit_barrier().wait()",
    "device.wait": "a.device.wait()",
    "copy_to_host": "own.copy_to_host(bytearray(64))",
    "copy_from_host": "own.copy_from_host(bytes(64))",
    "copy_from_device": "own.copy_from_device(other)",
    "memset": "own.memset(3)",
    "tobytes": "own.tobytes()",
    "assignment of a number": "a.__setitem__(..., 1)",
    "assignment of an array": "a.__setitem__(..., b)",
    "tolist": "a.tolist()",
    "item": "float(a[0])",
    "truth": "bool(a[0])",
    "text": "repr(a)",
    "nonzero": "ut.nonzero(a)",
    "pickle": "pickle.dumps(a)",
    "a copy of memory": "copy.deepcopy(own)",
    "from_dlpack": "ut.from_dlpack(a, device=(1, 0))",
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


# What a queue does with memory that only devices reach is submitted, and nobody waits.
SUBMITTED = ["assignment of a number", "assignment of an array", "copy", "astype", "function"]
# The same where there are kernels, which the host backend has not.
BY_KERNELS = ["comparison"]

# What host code does with memory that nobody else knows needs no queue.
BY_HOST_CODE = ["dlpack", "memoryview"]


@pytest.mark.lengthy
@BACKENDS
@pytest.mark.parametrize(
    "known", [pytest.param(True, id="known"), pytest.param(False, id="unknown", marks=pytest.mark.indifferent)]
)
def test_waiting_for_pending_work(backend, known, monkeypatch, came_back):
    """Memory that is known to others waits for the queue, and reads of other device memory wait for their turn."""
    if not known:
        monkeypatch.setenv("USM_STRICT_DEVICE", "1")
    waits = {name: code for name, code in WAITS.items() if known or name not in BY_HOST_CODE}
    functions = "".join(f"    {name!r}: lambda: {code},\n" for name, code in waits.items())
    came_back(
        children.run(
            backend,
            INTERRUPTED
            + PENDING
            + f"""
def renew():
    # What was interrupted keeps its memory until the work is complete.
    global a, b, indices, shared, own, other
    a, b, indices = array(8), array(8), array(2, "i8")
    shared = array(8, "f8", "shared")
    own, other = um.MemoryUSMDevice(64, queue=QUEUE), um.MemoryUSMDevice(64, queue=QUEUE)
    if {known}:
        [x.__sycl_usm_array_interface__ for x in (a, b, indices, shared, own, other)]
complete = usm.event_status_type.complete
ROUNDS = max(4, ROUNDS // 6)    # for each of them
try:
    import numpy
except ModuleNotFoundError:
    numpy = None
import copy, pickle
works = {{
{functions}}}
def prepare():
    global event
    renew()
    event = keep_busy()
def is_pending(took):
    if event.execution_status == complete:
        busier()    # the work was over, which shows nothing
        return False
    return True
is_far = BACKEND != "sycl" or os.environ.get("USM_STRICT_DEVICE") == "1" or QUEUE.native_stream is not None
submitted = {SUBMITTED} + ([] if BACKEND == "host" else {BY_KERNELS})
waiting = {{name: work for name, work in works.items() if not (is_far and name in submitted)}}
for name, work in waiting.items():
    took = interrupted(work, 0.02, busier, prepare, is_pending)
    print(f"{{BACKEND}} {{name}}: back {{took * 1e3:.0f}} ms after Ctrl-C")
QUEUE.wait()
if is_far:
    for _ in range(20):
        prepare()
        a[...] = 1
        b[...] = a
        c = a.copy()
        if is_pending(None):
            break
    else:
        raise AssertionError("an assignment waits")
    assert c.tolist() == b.tolist() == [1.0] * 8
for work in works.values():
    work()      # and now they can
""",
            seconds=100,
        )
    )


@BACKENDS
def test_the_operation_goes_on(backend):
    children.run(
        backend,
        INTERRUPTED
        + PENDING
        + """
a = um.MemoryUSMDevice(1 << 20, queue=QUEUE)
def prepare():
    global event
    a.memset(1)
    keep_busy()
    event = QUEUE.memset_async(a, 3)
def is_pending(took):
    if event.execution_status == "complete":
        busier()
        return False
    return True
interrupted(lambda: event.wait(), 0.02, busier, prepare, is_pending)
event.wait()
assert a.tobytes() == bytes([3]) * (1 << 20)
""",
        seconds=100,
    )


# How a program may have Ctrl-C before it asks for anything, and what a wait does then.
DISPOSITIONS = {
    "ignored": "signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "a handler that returns": "signal.signal(signal.SIGINT, lambda *_: seen.append(1))",
    "a handler in C": "faulthandler.register(signal.SIGINT, file=devnull)",
}


@pytest.mark.lengthy
@BACKENDS
@pytest.mark.parametrize("disposition", DISPOSITIONS)
def test_ctrl_c_with_another_handler(backend, disposition):
    """The wait goes on, and the handler that the program chose is there before and after."""
    children.run(
        backend,
        f"""
seen = []
devnull = open(os.devnull, "w")
{DISPOSITIONS[disposition]}
chosen = signal.getsignal(signal.SIGINT)
def in_the_kernel():
    lines = dict(line.split(":\t") for line in open("/proc/self/status").read().splitlines())
    return [int(lines[name], 16) >> (signal.SIGINT - 1) & 1 for name in ("SigIgn", "SigCgt")]
before = in_the_kernel()
"""
        + PENDING
        + f"""
event = keep_busy()
for _ in range(3):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.02)
QUEUE.wait()
a, b = array(1 << 23, "f4"), array(1 << 22, "f4")
os.kill(os.getpid(), signal.SIGINT)
b[...] = a[::-2]
assert event.execution_status == "complete"
assert signal.getsignal(signal.SIGINT) == chosen and in_the_kernel() == before
assert bool(seen) == {disposition == "a handler that returns"}
""",
    )


@pytest.mark.lengthy
def test_these_tests_hold_in_the_background_of_a_shell():
    """A shell without job control ignores SIGINT in what it starts with ``&``; so does ``nohup`` in some."""
    shell = "trap '' INT; exec \"$@\""
    pytest_here = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "operation_goes_on and host"]
    done = subprocess.run(
        ["sh", "-c", shell, "sh", *pytest_here, __file__],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.lengthy
@BACKENDS
@pytest.mark.parametrize("kind", ["shared", "device"])
def test_memory_is_owned_until_the_work_ends(backend, kind, came_back):
    """Long copies: nothing of Python's holds the operands any more, and they live until the copy is over."""
    if kind == "device":
        requirements.fast_kernels(backend)
    came_back(
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
        QUEUE.wait()

took = interrupted(work, 0.05)
del a, b
waited = live()
until(lambda: live() == at_start - 2)
owned = waited - at_start + 2
print(f"{BACKEND} {KIND}: back {took * 1e3:.0f} ms after Ctrl-C, {owned} of 2 operands were owned by the work")
""".replace("KIND", repr(kind)),
            seconds=100,
        )
    )


@BACKENDS
def test_a_wait_for_the_queue_waits_for_what_was_broken_off(backend):
    children.run(
        backend,
        INTERRUPTED
        + """
large = ut.zeros(1 << 26, "f4", usm_type="shared", sycl_queue=QUEUE)
def work():
    while True:     # until Ctrl-C, however fast the device is
        ut.astype(large, "f8")
interrupted(work, 0.05)
QUEUE.wait()
large[...] = 2.0
assert float(large[-1]) == 2.0
""",
        seconds=100,
    )


@pytest.mark.lengthy
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
        seconds=100,
    )


def test_kernels_of_others_are_waited_for(dpt, came_back):
    """Work of dpnp on imported memory: Ctrl-C ends our wait for it."""
    out = children.run(
        "sycl",
        INTERRUPTED
        + """
import dpnp.tensor as dpt
dpt.matmul(dpt.ones((8, 8), dtype="f8"), dpt.ones((8, 8), dtype="f8"))      # the kernel is built now
size = 1200     # about a second on two cores
def multiply():     # one kernel, since dpnp lets few be pending
    global x, theirs, ours
    x, theirs = dpt.ones((size, size), dtype="f8"), dpt.zeros((size, size), dtype="f8")
    ours = ut.asarray(theirs)
    try:
        dpt.matmul(x, x, out=theirs)
    except RuntimeError as error:   # PoCL has no resources for it
        print(f"SKIP: dpnp.tensor.matmul fails: {error}")
        sys.exit(0)
def longer():
    global size
    size *= 2
    assert size <= 32000, "this device is too fast for the test"
took = interrupted(lambda: float(ours[-1, -1]), 0.05, longer, multiply)
print(f"back {took * 1e3:.0f} ms after Ctrl-C")
assert float(ours[-1, -1]) == size
""",
        seconds=100,
    )
    came_back(out)
    if out.startswith("SKIP: "):
        pytest.skip(out.removeprefix("SKIP: ").strip())


@pytest.mark.lengthy
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


@pytest.mark.lengthy
@BACKENDS
@pytest.mark.parametrize("work", ["a.tolist()", "a[...] = filled", "int(a[3])", "ut.copy(a)", "a == b", "a[3::7] = 1"])
@pytest.mark.parametrize("size", [1000, 20 << 20])
def test_handlers_use_the_memory_that_their_operation_waits_for(backend, work, size):
    """As in NumPy, whose handlers run between operations. A large size has another thread work for the handler."""
    children.run(
        backend,
        PENDING
        + f"""
whole = ut.zeros({size}, dtype="u1", usm_type="device", sycl_queue=QUEUE)
a, b = whole[:1000], ut.ones(1000, dtype="u1", usm_type="device", sycl_queue=QUEUE)
filled = memoryview(bytes(1000))
seen = []
def handler(*_):
    seen.append(event.execution_status == usm.event_status_type.complete)
    whole[...] = memoryview(bytes({size}))
    whole[:10].tolist()
    signal.setitimer(signal.ITIMER_REAL, 0)
signal.signal(signal.SIGALRM, handler)
for tries in range(1, 9):
    event = keep_busy()
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    {work}
    while len(seen) < tries:
        time.sleep(0.01)
    if not seen[-1]:
        break
    busier()
else:
    raise AssertionError("the work of the queue was over before each signal")
""",
    )


@pytest.mark.lengthy
@BACKENDS
def test_other_threads_run_meanwhile(backend):
    """Whatever works or waits long has given up the interpreter."""
    requirements.fast_kernels(backend)
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
    for attempt in range(20):   # other processes may keep the thread out now and then
        ran, took = 0, 0.0
        while took < 0.1:
            started, before = time.monotonic(), counted[0]
            work()
            QUEUE.wait()    # for what it has only submitted
            took += time.monotonic() - started
            ran += counted[0] - before
        # A thread that is kept out counts once per switch interval at best, between the calls.
        if ran >= 0.1 * took / 0.001:
            break
    else:
        raise AssertionError((work, ran, took))
stop.set()
""",
        seconds=100,
    )


@pytest.mark.lengthy
@pytest.mark.parametrize("backend", ["sycl"])
@pytest.mark.indifferent
def test_conversions(backend, monkeypatch, came_back):
    """What is done by host code, element by element or at one go."""
    # The debug allocator writes to all bytes of a new and of an old object, with Ctrl-C waiting.
    monkeypatch.setenv("PYTHONMALLOC", "malloc")
    came_back(
        children.run(
            backend,
            INTERRUPTED
            + """
import pickle
here = {"sycl_queue": QUEUE}
def pickled(n):
    # The content beside the pickle: what is in it becomes bytes first, which is Python's work.
    array, beside = ut.zeros(n, "u1", usm_type="shared", **here), []
    return pickle.dumps(array, protocol=5, buffer_callback=beside.append), beside
# What to work on, and the work.
works = {
    "asarray of a range": (range, lambda x: ut.asarray(x, **here)),
    "asarray of a list": (lambda n: list(range(n)), lambda x: ut.asarray(x, **here)),
    "asarray of lists": (lambda n: [[i, i] for i in range(n)], lambda x: ut.asarray(x, **here)),
    "tolist": (lambda n: ut.zeros(n, usm_type="shared", **here), lambda x: x.tolist()),
    "text": (lambda n: ut.asarray([0.1] * n, **here), lambda x: ut.usm_ndarray_str(x, threshold=1 << 40)),
    "tobytes": (lambda n: um.MemoryUSMShared(16 * n, queue=QUEUE), lambda x: x.tobytes()),
    "pickle.loads": (lambda n: pickled(16 * n), lambda x: pickle.loads(x[0], buffers=x[1])),
}
LIMIT = 1 << 25
for name, (prepare, work) in works.items():
    n, took, x = 1 << 15, 0.0, None
    def longer(times=2):
        global n, took, x
        n *= times
        x = prepare(n)
        started = time.monotonic()
        work(x)
        took = time.monotonic() - started
    # Long enough to be interrupted in the midst, or as long as memory allows.
    longer()
    while took < 0.2 and n < LIMIT:
        longer(min(int(0.25 / took) + 1, -(-LIMIT // n)))
    if took < 0.2:
        assert not name.startswith("asarray"), f"{name} took {took} s"
        print(f"{BACKEND} {name}: over after {took * 1e3:.0f} ms, which is too fast for Ctrl-C")
    else:
        back = interrupted(lambda: work(x), 0.03, longer, shows=lambda back: back < took / 2)
        print(f"{BACKEND} {name}: back {back * 1e3:.0f} ms after Ctrl-C, of {took * 1e3:.0f} ms")
    del x
until(lambda: live() <= 0)
""",
            seconds=100,
        )
    )


def test_a_wait_for_a_process_that_is_stopped(came_back):
    """Its kernel takes the connection, and nobody answers."""
    came_back(
        children.run(
            "host",
            INTERRUPTED
            + """
import subprocess, usm.ipc
other = subprocess.Popen(
    [sys.executable, "-c", "import sys, usm.ipc, usm.tensor as ut;"
     "handle = usm.ipc.export(ut.ones(20_000, usm_type='shared', device='host'));"
     "print(bytes(handle).hex(), flush=True); sys.stdin.read()"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
)
handle = bytes.fromhex(other.stdout.readline())
other.send_signal(signal.SIGSTOP)
os.waitpid(other.pid, os.WUNTRACED)     # until all its threads have stopped
took = interrupted(lambda: usm.ipc.open(handle))
print(f"{BACKEND} ipc.open: back {took * 1e3:.0f} ms after Ctrl-C")
other.send_signal(signal.SIGCONT)
assert usm.ipc.open(handle)[-1:].tolist() == [1.0]
other.communicate()
""",
        )
    )


@pytest.mark.lengthy
def test_builds(came_back):
    """Ctrl-C comes while a program is built, and the end of the process while the build goes on."""
    device = requirements.device_of("sycl")
    if device.backend != "opencl":
        pytest.skip(f"{device} takes no OpenCL C")
    came_back(
        children.run(
            "sycl",
            INTERRUPTED
            + """
import usm.program
kernels, builds, whole = 8, 0, 0.0
def work():
    global builds
    builds += 1     # the driver remembers sources
    line = f"kernel void f{{0}}(global float *x) {{{{ x[{{0}}] = pow(x[{builds}], sin(x[{{0}}])); }}}}"
    source = "\\n".join(line.format(i) for i in range(kernels))
    return usm.program.create_program_from_source(QUEUE, source)
def longer():
    global kernels, whole
    kernels *= 2
    started = time.monotonic()
    assert work().has_sycl_kernel(f"f{kernels - 1}")
    whole = time.monotonic() - started
while whole < 0.4:
    longer()
took = interrupted(work, 0.05, longer, shows=lambda took: took < whole / 2)
print(f"{BACKEND} build: back {took * 1e3:.0f} ms after Ctrl-C, of {whole * 1e3:.0f} ms")
""",
            seconds=100,
        )
    )
