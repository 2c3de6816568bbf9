"""After fork: the host backend works in the child, the SYCL runtime raises at once, and the parent goes on."""

import pytest

from support import children, requirements

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
        # Work of the parent that has not ended.
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
    "capsule": QUEUE._get_capsule,
    "barrier": QUEUE.submit_barrier,
}

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
    for name in ("attempts", "a", "s", "event", "theirs", "QUEUE"):
        globals().pop(name, None)   # lets go what is the parent's
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
