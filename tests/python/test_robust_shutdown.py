"""The end of the interpreter, in any order: no hang, no crash, no message."""

import pytest

from support import children

BACKENDS = pytest.mark.parametrize("backend", ["host", "sycl"])

LIVE_OBJECTS = {
    "module globals": "keep = [array(10), array(10)[::2], um.MemoryUSMShared(64, queue=QUEUE)]",
    "a cycle with __del__": """
        class Node:
            def __del__(self):
                self.seen = self.a.shape, self.a.usm_type
        node = Node(); node.a, node.me = array(10), node
    """,
    "__del__ that still works": """
        class Last:
            def __init__(self): self.a = array(10, "f4", "shared")
            def __del__(self):
                self.a[0] = 1.5
                assert self.a[:1].tolist() == [1.5]
        last = Last()
    """,
    "a module of its own": """
        import types
        module = types.ModuleType("late"); module.a = array(100); sys.modules["late"] = module
        del module
    """,
    "an attribute of builtins": "import builtins; builtins.late = array(100)",
    "atexit": """
        import atexit
        a = array(100, "i4")
        def last():
            a[...] = 7
            assert a[-1:].tolist() == [7]
            assert array(3).tolist() == [0, 0, 0]
        atexit.register(last)
    """,
    "weak references": """
        import weakref
        a = array(10)
        told = []
        r = weakref.ref(a, lambda _: told.append(1)); weakref.finalize(a, told.append, 2)
    """,
    "a pool and its blocks": """
        pool = um.use_pool(DEVICE)
        a = array(100); b = um.MemoryUSMDevice(64, queue=QUEUE)
    """,
    "buffers": """
        a = array(10, "f4", "shared")
        view = memoryview(a); part = view[2:4]
    """,
    "imports of imports": """
        class Again:
            def __init__(self, a): self.a = a
            @property
            def __sycl_usm_array_interface__(self): return self.a.__sycl_usm_array_interface__
        a = array(10)
        for _ in range(5): a = ut.asarray(Again(a))
    """,
    "work under way": """
        a, b = array(1 << 22), array(1 << 22)
        for _ in range(10): event = QUEUE.memcpy_async(a.usm_data, b.usm_data, 8 << 22)
    """,
    "assignments under way": """
        a, b = array(1 << 22), array(1 << 22)
        for _ in range(10): a[...] = b
    """,
    "work under way that nobody has": """
        for _ in range(10): QUEUE.memset_async(array(1 << 20), 3)
    """,
    "work on Python's memory": """
        source = bytearray(1 << 24)
        for _ in range(10): QUEUE.memcpy_async(array(1 << 21), source, 1 << 24)
    """,
}


@BACKENDS
@pytest.mark.parametrize("name", LIVE_OBJECTS)
def test_alive_at_the_end(backend, name):
    children.run(backend, children.textwrap.dedent(LIVE_OBJECTS[name]))


@BACKENDS
def test_modules_are_gone_before_objects(backend):
    children.run(
        backend,
        """
        keep = [array(10), QUEUE, DEVICE, um.MemoryUSMHost(8, queue=QUEUE)]
        for name in [name for name in sys.modules if name.partition(".")[0] == "usm"]:
            del sys.modules[name]
        del usm, um, ut
        gc.collect()
        assert keep[0].tolist() == [0.0] * 10
        """,
    )


@pytest.mark.parametrize(
    ("backend", "daemon"), [(backend, daemon) for backend in ("host", "sycl") for daemon in (True, False)]
)
@pytest.mark.parametrize("round", range(3))
def test_threads_at_the_end(backend, daemon, round):
    """Daemon threads are stopped wherever they are: with memory, in a copy, in a wait."""
    children.run(
        backend,
        f"""
        shared = array(1 << 20)
        stop = threading.Event()
        started = threading.Barrier(5)

        def work(n):
            mine = array(1 << 18)
            started.wait()
            while not stop.is_set():
                mine[...] = n
                try:
                    shared[n::4] = mine
                except BufferError:
                    pass
                QUEUE.memset(mine, 1)
                mine = array(1 << 18)

        threads = [threading.Thread(target=work, args=(n,), daemon={daemon}) for n in range(4)]
        for thread in threads:
            thread.start()
        started.wait()
        time.sleep(0.2)
        if not {daemon}:
            stop.set()
        """,
    )


@BACKENDS
@pytest.mark.parametrize(
    "work", ["ut.asnumpy(a)", "a.dtype", "um.as_usm_memory(slow)", "ut.empty(slow)", "ut.from_dlpack(slow)"]
)
def test_a_daemon_thread_in_python_code_that_we_call(backend, work):
    """The first use imports NumPy, and external objects have methods: the interpreter must not end under them."""
    children.run(
        backend,
        f"""
        a = array(4)
        class Slow:
            def __index__(self):
                time.sleep(0.3)
                return 1
            def __dlpack_device__(self):
                time.sleep(0.3)
                return (1, 0)
            __dlpack__ = None
            @property
            def __sycl_usm_array_interface__(self):
                time.sleep(0.3)
                raise AttributeError
        slow = Slow()
        def run():
            try:
                {work}
            except (ImportError, TypeError, ValueError):
                pass
        threading.Thread(target=run, daemon=True).start()
        time.sleep(0.05)
        """,
    )


@BACKENDS
def test_a_daemon_thread_frees_last(backend):
    children.run(
        backend,
        """
        def hold(a):
            while True:
                time.sleep(0.001)
                a = a[::-1]
        threading.Thread(target=hold, args=(array(100),), daemon=True).start()
        time.sleep(0.05)
        """,
    )


@BACKENDS
def test_sys_exit_in_a_thread_pool(backend):
    children.run(
        backend,
        """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(4)
        futures = [pool.submit(lambda n=n: array(1 << 16)[n:].shape) for n in range(100)]
        sys.exit(0)
        """,
    )


@BACKENDS
def test_the_end_under_a_wait_that_was_broken_off(backend):
    """Ctrl-C in a wait, and the program ends with the work still under way."""
    children.run(
        backend,
        """
        busy = um.MemoryUSMDevice(1 << 28, queue=QUEUE)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        for n in range(60):
            event = QUEUE.memset_async(busy, n)
        a = array(8)
        known = a.__sycl_usm_array_interface__
        for work in (QUEUE.wait, event.wait, a.tolist):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.02)
                work()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                pass
        """,
    )
