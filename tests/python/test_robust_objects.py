"""Objects under threads and the garbage collector: frozen types, no Python state inside, collected cycles."""

import gc
import threading
import weakref

import pytest

import usm
import usm.memory as um
import usm.tensor as ut

from support import children
from support.interface import Producer, settled


def everything(queue):
    array = ut.usm_ndarray((2, 3), dtype="i4", buffer="shared", buffer_ctor_kwargs={"queue": queue})
    memory = um.MemoryUSMShared(16, queue=queue)
    return [queue, queue.sycl_device, queue.sycl_context, queue.submit_barrier(), array, array.flags, memory]


def test_objects_are_frozen(queue):
    for obj in everything(queue):
        assert not hasattr(obj, "__dict__"), type(obj)
        with pytest.raises(AttributeError):
            obj.something = 1
        for name in ("shape_", "ndim", "size", "nbytes", "name", "sycl_device", "writable_"):
            if hasattr(type(obj), name):
                with pytest.raises(AttributeError):
                    setattr(obj, name, 1)


class Node:
    pass


def test_cycles_through_python_objects(queue, usm_type, at_start):
    for _ in range(10):
        node = Node()
        node.array = ut.usm_ndarray((100,), dtype="u1", buffer=usm_type, buffer_ctor_kwargs={"queue": queue})
        node.views = [node.array[::2], node.array.usm_data, node.array.T]
        node.me = node
    gone = weakref.ref(node)
    del node
    assert settled() == at_start and gone() is None


def test_cycles_through_a_subclass(queue, at_start):
    class Mine(um.MemoryUSMShared):
        pass

    for _ in range(10):
        mine = Mine(64, queue=queue)
        mine.me = mine
        mine.view = mine[2:4]
    del mine
    assert settled() == at_start


class Finalised(Producer):
    """A producer that counts the finalised ones, as one that frees its memory would free it then."""

    count = 0

    def __del__(self):
        type(self).count += 1


def test_a_producer_is_not_finalised_while_guards_hold_its_memory(queue, at_start):
    """The collector counts references twice. In between, guards come and go in threads without the interpreter."""
    array = ut.usm_ndarray((64,), dtype="u1", buffer="shared", buffer_ctor_kwargs={"queue": queue})
    interface = array.__sycl_usm_array_interface__
    Finalised.count = 0
    arrays = [ut.asarray(Finalised(interface, array)) for _ in range(8)]
    stop = threading.Event()

    def view():
        while not stop.is_set():
            for imported in arrays:
                memoryview(imported).release()

    # A collection looks at few objects then, so that many collections meet a view.
    gc.freeze()
    thread = threading.Thread(target=view)
    thread.start()
    try:
        for _ in range(500):
            gc.collect()
            assert Finalised.count == 0
    finally:
        stop.set()
        thread.join(120)
        gc.unfreeze()
    arrays.clear()
    assert Finalised.count == 8
    del array
    assert settled() == at_start


def test_a_producer_lives_as_long_as_what_was_imported_from_it(queue, at_start):
    """As the base of a NumPy array, it is kept by a cycle until the program breaks the cycle."""
    array = ut.usm_ndarray((10,), dtype="u1", buffer="shared", buffer_ctor_kwargs={"queue": queue})
    producer = Producer(array.__sycl_usm_array_interface__, [array])
    producer.owner.append(ut.asarray(producer))
    gone = weakref.ref(producer)
    del array, producer
    gc.collect()
    assert gone() is not None
    gone().owner.clear()
    assert settled() == at_start and gone() is None


def in_six_threads(work):
    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)


def test_collections_in_other_threads(queue, at_start):
    """The collector runs in whichever thread allocates, also while others copy."""
    failed = []

    def work(n):
        try:
            for i in range(200):
                node = Node()
                node.me = node
                node.array = ut.usm_ndarray((50,), dtype="i4", buffer="shared", buffer_ctor_kwargs={"queue": queue})
                node.array[...] = i
                assert node.array[n:].tolist() == [i] * (50 - n)
                if i % 20 == n:
                    gc.collect()
        except BaseException as error:
            failed.append(error)

    in_six_threads(work)
    assert not failed
    assert settled() == at_start


def test_conflicts_between_threads_are_errors_not_hangs(queue, usm_type):
    """Threads that write one array: each write happens or raises BufferError, and none is torn."""
    a = ut.usm_ndarray((1 << 16,), dtype="i4", buffer=usm_type, buffer_ctor_kwargs={"queue": queue})
    a[...] = 0
    failed, written = [], []
    start = threading.Barrier(6)

    def work(n):
        start.wait()
        for _ in range(50):
            try:
                a[...] = n
                written.append(n)
            except BufferError:
                pass
            except BaseException as error:
                failed.append(error)

    in_six_threads(work)
    assert not failed and written
    assert len(set(a.tolist())) == 1


def test_objects_go_between_threads(queue):
    """Made in one thread, used in a second, freed in a third."""
    made, used = [], []
    for source, work in ((range(50), made), (made, used)):

        def move(source=source, work=work):
            for item in list(source):
                if isinstance(item, int):
                    item = ut.usm_ndarray((8,), dtype="i4", buffer="device", buffer_ctor_kwargs={"queue": queue})
                item[...] = 3
                work.append(item)

        thread = threading.Thread(target=move)
        thread.start()
        thread.join(60)
    assert used[-1].tolist() == [3] * 8
    thread = threading.Thread(target=lambda: (made.clear(), used.clear()))
    thread.start()
    thread.join(60)


@pytest.mark.parametrize("backend", ["host", "sycl"])
def test_first_use_by_many_threads_at_once(backend):
    """The runtime is looked for once, whoever asks first."""
    children.run(
        backend,
        """
        import subprocess
        code = '''
        import threading, usm, usm.tensor as ut
        start = threading.Barrier(8)
        found = []
        def work():
            start.wait()
            found.append([d.filter_string for d in usm.get_devices()])
            found.append([d.filter_string for d in usm.get_devices()])
            assert ut.zeros(3).tolist() == [0.0] * 3
        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads: t.start()
        for t in threads: t.join()
        assert len(found) == 16 and all(f == found[0] for f in found), found
        '''
        import textwrap
        subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)
        """,
    )


def test_module_attributes_do_not_change_what_functions_do(queue):
    """Functions keep no state in modules: names that a program overwrites are not looked up again."""
    saved = usm.SyclQueue
    try:
        usm.SyclQueue = None
        a = ut.usm_ndarray((3,), dtype="i4", buffer="shared", buffer_ctor_kwargs={"queue": queue})
        assert ut.asarray(Producer(a.__sycl_usm_array_interface__, a)).shape == (3,)
        assert isinstance(a.sycl_queue, saved)
    finally:
        usm.SyclQueue = saved
