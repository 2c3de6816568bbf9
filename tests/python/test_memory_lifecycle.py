"""Memory objects among threads, garbage cycles, forks and the end of the interpreter."""

import gc
import os
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

import usm.memory as um
import usm.tensor as ut

from conftest import MEMORY_CLASSES
from support import process
from support.interface import changed, settled


def test_threads_on_one_memory_object(allocate, usm_type):
    memory = allocate(usm_type, 8 * 64)
    memory.memset(0)

    def work(n):
        own = memory[n * 64 : (n + 1) * 64]
        for i in range(100):
            own.memset(i)
            assert own.tobytes() == bytes([i]) * 64
            assert pickle.loads(pickle.dumps(own[:8])).tobytes() == bytes([i]) * 8

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert memory.tobytes() == bytes([99]) * 512


@pytest.mark.parametrize("importer", [um.as_usm_memory, ut.asarray])
def test_a_producer_that_keeps_what_was_imported_from_it(allocate, usm_type, importer, at_start):
    producer = changed(allocate(usm_type, 64))
    """Such a cycle is kept, as one through the base of a NumPy array is, until the program breaks it."""
    producer = changed(allocate(usm_type, 64))
    producer.imported = importer(producer)
    gone = weakref.ref(producer)
    del producer
    gc.collect()
    assert gone().imported.nbytes == 64
    del gone().imported
    assert settled() == at_start
    assert gone() is None


def test_cycles_of_subclasses(queue, usm_type, at_start):
    class Named(MEMORY_CLASSES[usm_type]):
        pass

    memory = Named(16, queue=queue)
    memory.me = [memory]
    memory.part = memory[2:]
    gone = weakref.ref(memory)
    del memory, Named
    assert settled() == at_start
    assert gone() is None


END = {
    "global": "keep = make()",
    "module": "import sys; sys.keep = make()",
    "builtins": "import builtins; builtins.keep = make()",
    "package": "usm.memory.keep = make(); usm.keep = make()[1:]",
    "cycle": "class C: pass\nc = C(); c.c = c; c.keep = make()",
    "class": "class C: keep = make()",
    "finaliser": "class C:\n    def __del__(self): self.keep[1:].tobytes(); self.keep.memset(1)\n"
    "c = C(); c.keep = make()",
    "atexit": "import atexit; atexit.register(lambda keep=make(): (keep.memset(2), keep.tobytes(), make()))",
    "thread local": "import threading; t = threading.local(); t.keep = make()",
    "daemon": "import threading, time\n"
    "def work():\n    while True: make()[1:].tobytes()\n"
    "threading.Thread(target=work, daemon=True).start(); time.sleep(0.05)",
    "view": "keep = memoryview(um.MemoryUSMShared(64, queue=queue))",
    "snapshot": "keep = (make(), um.snapshot())",
    "pool": "keep = (um.use_pool(queue), make())",
    "pool alone": "um.use_pool(queue); keep = make()",
    "pool closed": "pool = um.use_pool(queue); keep = make(); pool.close()",
    "weak": "import weakref; keep = make(); weakref.finalize(keep, print, end='')",
}


@pytest.mark.any_memory
@pytest.mark.parametrize("end", END.values(), ids=END)
def test_the_interpreter_ends(queue, usm_type, end):
    code = f"""
import usm, usm.memory as um
queue = usm.SyclQueue({queue.sycl_device.filter_string!r})
def make():
    memory = um.{MEMORY_CLASSES[usm_type].__name__}(64, queue=queue)
    memory.memset(7)
    return memory
{end}
print("end", flush=True)
"""
    assert process.check(code) == "end\n"


# Work that takes far longer than its submission, and behind it a host task that needs the interpreter
# to end: it lets go of Python objects, as extensions built with dpctl do.
BUSY = """
import dpnp.tensor as dpt
import usm, usm.memory as um, usm.tensor as ut
queue = usm.SyclQueue({device!r})
def keep_busy(like):
    array = dpt.ones(4_000_000, dtype="f8", sycl_queue=like.sycl_queue)
    for _ in range(20):
        dpt.tan(array, out=array)
    like.sycl_queue._submit_keep_args_alive((array,), [])
# The first use compiles.
dpt.tan(dpt.ones(1, dtype="f8")).sycl_queue.wait()
"""
PENDING = {
    # The pool is gone: the memory goes back to the runtime, which must not happen before the work is complete.
    "memory of a closed pool": """
pool = um.use_pool(queue)
ours = ut.zeros(1000, "i8", usm_type={usm_type!r}, sycl_queue=queue)
theirs = dpt.asarray(ours)
pool.close()
keep_busy(theirs)
del theirs, ours
""",
    "a pool with deferred frees": """
pool = um.use_pool(queue)
ours = ut.zeros(1000, "i8", usm_type={usm_type!r}, sycl_queue=queue)
theirs = dpt.asarray(ours)
keep_busy(theirs)
del theirs, ours
pool.close()
""",
    "trimming": """
with um.use_pool(queue) as pool:
    ours = ut.zeros(1000, "i8", usm_type={usm_type!r}, sycl_queue=queue)
    theirs = dpt.asarray(ours)
    keep_busy(theirs)
    del theirs, ours
    pool.trim()
""",
    "no memory left": """
with um.use_pool(queue, limit_bytes=1 << 20) as pool:
    ours = ut.zeros(1 << 16, "i8", usm_type={usm_type!r}, sycl_queue=queue)
    theirs = dpt.asarray(ours)
    keep_busy(theirs)
    del theirs, ours
    again = usm.SyclQueue({device!r})
    ut.zeros(1 << 16, "i8", usm_type={usm_type!r}, sycl_queue=again)
""",
    "memory without a pool": """
ours = ut.zeros(1000, "i8", usm_type={usm_type!r}, sycl_queue=queue)
theirs = dpt.asarray(ours)
keep_busy(theirs)
del theirs, ours
""",
    "the end of the interpreter": """
pool = um.use_pool(queue)
ours = ut.zeros(1000, "i8", usm_type={usm_type!r}, sycl_queue=queue)
theirs = dpt.asarray(ours)
pool.close()
keep_busy(theirs)
""",
}


def test_memory_goes_while_work_is_pending_that_needs_the_interpreter(dpt, sycl_queue, usm_type):
    """One after the other in one process, and what ends it at last."""
    jobs = "".join(f"{job}print({name!r}, flush=True)\n" for name, job in PENDING.items())
    code = (BUSY + jobs).format(device=sycl_queue.sycl_device.filter_string, usm_type=usm_type)
    assert process.check(code).splitlines() == list(PENDING)


FORK = """
import os, signal, usm, usm.memory as um
queue = usm.SyclQueue({device!r})
memory = um.{name}(64, queue=queue)
memory.memset(5)
part = memory[8:16]
child = os.fork()
if child == 0:
    signal.alarm(20)
    code = 1
    try:
{child}
        code = 0
    except BaseException:
        import traceback
        traceback.print_exc()
    finally:
        os._exit(code)
_, status = os.waitpid(child, 0)
assert memory.tobytes() == bytes([5]) * 64, memory.tobytes()
del memory, part
print(os.waitstatus_to_exitcode(status), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_goes_on_with_host_memory(usm_type):
    child = """
        other = um.{name}(64, queue=queue)
        other.copy_from_host(bytes(range(64)))
        assert other[8:16].tobytes() == bytes(range(8, 16))
        memory, part = None, None
        with um.use_pool(queue):
            um.{name}(64, queue=queue).memset(1)
        um.snapshot().to_svg()
"""
    name = MEMORY_CLASSES[usm_type].__name__
    code = FORK.format(device="host:cpu:0", name=name, child=child.format(name=name))
    assert process.check(code) == "0\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_does_not_hang_on_sycl_memory(sycl_queue, usm_type):
    """Each use gives the right result or an error of ours, soon; the parent's memory stays as it is (see FORK)."""
    name = MEMORY_CLASSES[usm_type].__name__
    child = f"""
        def fresh():
            other = um.{name}(64, queue=queue)
            other.copy_from_host(bytes(range(64)))
            return other.tobytes()
        for use, result in ((fresh, bytes(range(64))), (part.tobytes, bytes([5]) * 8)):
            try:
                assert use() == result
            except usm.UsmError as error:
                assert "fork" in str(error), error
"""
    code = FORK.format(device=sycl_queue.sycl_device.filter_string, name=name, child=child)
    assert process.check(code) == "0\n"
