"""Arrays and memory of several processes: the same bytes, whoever ends first."""

import concurrent.futures
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import threading
import time
from multiprocessing.reduction import ForkingPickler

import pytest

import usm
import usm.ipc
import usm.memory as um
import usm.tensor as ut

from support import requirements

ALL_KINDS = ["shared", "host", "device"]
KINDS = pytest.mark.parametrize("kind", ALL_KINDS)
# What a forked process can use is the host.
METHODS = ["spawn", "forkserver", "fork"]
PLACES = [(device, kind) for device in ("host", "sycl") for kind in ALL_KINDS]
PLACE = pytest.mark.parametrize(("device", "kind"), PLACES)
METHOD_AND_PLACE = pytest.mark.parametrize(
    ("method", "device", "kind"),
    [(method, *place) for place in PLACES for method in METHODS if method != "fork" or place[0] == "host"],
)


def assert_no_handle_is_pending():
    """The thread that answers others hears a little later that they have opened the memory."""
    until = time.monotonic() + 60
    while usm.ipc.pending() and time.monotonic() < until:
        time.sleep(0.001)
    assert usm.ipc.pending() == 0


def device_of(name, kind):
    device = requirements.device_of(name)
    if device.backend == "cuda" and kind != "device":
        pytest.skip("of CUDA, device memory alone has a form for other processes")
    return device


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def write_and_answer(questions, answers):
    for array in iter(questions.get, None):
        array[0] = -1
        array.sycl_queue.wait()
        answers.put((array[::-2], type(array).__name__, array.usm_type, os.getpid()))


@METHOD_AND_PLACE
def test_a_process_writes_to_the_same_memory(method, device, kind):
    context = multiprocessing.get_context(method)
    questions, answers = context.Queue(), context.Queue()
    array = ut.arange(20000, dtype="float64", usm_type=kind, device=device_of(device, kind))
    array.sycl_queue.wait()
    process = context.Process(target=write_and_answer, daemon=True, args=(questions, answers))
    process.start()
    questions.put(array)
    view, name, usm_type, pid = answers.get(timeout=60)
    questions.put(None)
    process.join(60)
    assert (process.exitcode, name, usm_type, pid) == (0, "usm_ndarray", kind, process.pid)
    assert float(array[0]) == -1
    assert view.shape == (10000,)
    assert view.strides == (-2,)
    array[19999] = 7
    array.sycl_queue.wait()
    assert float(view[0]) == 7, "the answer is the same memory"
    assert_no_handle_is_pending()


def put_and_end(answers, device, kind, number):
    answers.put(ut.full(10000 + number, number, usm_type=kind, device=device_of(device, kind)))


@METHOD_AND_PLACE
def test_a_process_may_end_before_its_answer_is_read(method, device, kind):
    device_of(device, kind)
    context = multiprocessing.get_context(method)
    answers = context.Queue()
    processes = [
        context.Process(target=put_and_end, daemon=True, args=(answers, device, kind, number)) for number in range(3)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    found = sorted((array.shape[0] - 10000, int(array[9999])) for array in (answers.get(timeout=60) for _ in range(3)))
    assert found == [(0, 0), (1, 1), (2, 2)]


def open_and_hold(handles, pipe):
    arrays = [usm.ipc.open(handle) for handle in handles]
    pipe.send(sorted({array.usm_data._pointer for array in arrays}))
    pipe.recv()
    pipe.send([int(array[-1]) for array in arrays])
    pipe.recv()
    del arrays
    pipe.send(None)
    time.sleep(600)


@PLACE
@pytest.mark.parametrize("is_killed", [False, True])
def test_freed_memory_has_no_other_use_while_a_process_has_it_open(device, kind, is_killed):
    queue = usm.SyclQueue(device_of(device, kind))
    is_cuda = queue.sycl_device.backend == "cuda"
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    arrays = [ut.full(20000, number, usm_type=kind, sycl_queue=queue) for number in range(4)]
    handles = [usm.ipc.export(view) for array in arrays for view in (array, array[::7])]
    process = context.Process(target=open_and_hold, daemon=True, args=([bytes(handle) for handle in handles], theirs))
    process.start()
    addresses = ours.recv()
    assert len(addresses) == 4, "two views of one array are one mapping"
    was = {array.usm_data._pointer for array in arrays}
    del arrays, handles
    others = [ut.full(20000, 99, usm_type=kind, sycl_queue=queue) for _ in range(8)]
    queue.wait()
    if is_cuda:
        assert not was & {other.usm_data._pointer for other in others}
    ours.send(None)
    assert ours.recv() == [number for number in range(4) for _ in range(2)]
    if is_killed:
        process.kill()
        process.join(60)
    else:
        ours.send(None)
        assert ours.recv() is None
    if is_cuda:
        # The memory is used again before the pool grows much.
        others += [ut.empty(20000, usm_type=kind, sycl_queue=queue) for _ in range(100)]
        assert was <= {other.usm_data._pointer for other in others}
    process.kill()
    process.join(60)


def forward(questions, answers):
    array = questions.get()
    answers.put(array[::2])
    questions.get()


@PLACE
def test_memory_goes_from_process_to_process(device, kind):
    context = multiprocessing.get_context("spawn")
    array = ut.arange(20000, usm_type=kind, device=device_of(device, kind))
    queues = [context.Queue() for _ in range(4)]
    processes = [context.Process(target=forward, daemon=True, args=queues[number : number + 2]) for number in range(3)]
    for process in processes:
        process.start()
    queues[0].put(array)
    del array
    last = queues[3].get(timeout=60)
    for process in processes:
        process.kill()
        process.join(60)
    assert last.tolist() == list(range(0, 20000, 8))


def make_and_wait(pipe, device, kind):
    array = ut.full(20000, 3, usm_type=kind, device=device_of(device, kind))
    handle = usm.ipc.export(array)
    pipe.send_bytes(bytes(handle))
    time.sleep(600)


@PLACE
def test_memory_outlives_a_killed_process(device, kind):
    device_of(device, kind)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=make_and_wait, daemon=True, args=(theirs, device, kind))
    process.start()
    handle = ours.recv_bytes()
    array = usm.ipc.open(handle)
    os.kill(process.pid, signal.SIGKILL)
    process.join(60)
    assert array.tolist() == [3] * 20000
    with pytest.raises(usm.UsmError, match="the process must keep the handle"):
        usm.ipc.open(handle)


@PLACE
def test_handles_of_this_process_are_its_own_memory(device, kind):
    array = ut.zeros((100, 200), usm_type=kind, device=device_of(device, kind))
    view = array[::3, ::-1]
    handle = usm.ipc.export(view)
    for given in (handle, bytes(handle), bytearray(bytes(handle)), pickle.loads(pickle.dumps(handle))):
        opened = usm.ipc.open(given)
        assert (opened.shape, opened.strides, opened.usm_type) == (view.shape, view.strides, kind)
        assert opened.usm_data._pointer == view.usm_data._pointer
    memory = usm.ipc.open(usm.ipc.export(array.usm_data))
    assert memory.nbytes == array.nbytes
    assert memory._pointer == array.usm_data._pointer
    stale = bytes(handle)
    del handle
    with pytest.raises(usm.UsmError, match="not on offer any more"):
        usm.ipc.open(stale)


def test_small_arrays_are_copies_unless_their_pool_is_shareable():
    small = ut.zeros(10, usm_type="shared", device="host")
    with pytest.raises(ValueError, match="it has no pages of its own; arrays from 32 KiB on have"):
        usm.ipc.export(small)
    for shareable in (False, True):
        with um.use_pool("host", shareable=shareable):
            array = ut.zeros(10, usm_type="shared", device="host")
            with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
                executor.submit(set_first, array).result(60)
            assert int(array[0]) == int(shareable)


def set_first(array):
    array[0] = 1


def test_sharing_can_be_switched_off():
    assert usm.ipc.get_sharing() == "share"
    with pytest.raises(ValueError, match="found 'move', allowed are 'share' and 'copy'"):
        usm.ipc.set_sharing("move")
    array = ut.zeros(20000, usm_type="shared", device="host")
    usm.ipc.set_sharing("copy")
    try:
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
            executor.submit(set_first, array).result(60)
    finally:
        usm.ipc.set_sharing("share")
    assert int(array[0]) == 0


def test_a_pickle_that_goes_elsewhere_is_a_copy():
    array = ut.zeros(20000, usm_type="shared", device="host")
    other = pickle.loads(pickle.dumps(array))
    other[0] = 1
    assert int(array[0]) == 0


@pytest.mark.parametrize(
    ("handle", "error", "text"),
    [
        (b"", ValueError, "found 0 bytes"),
        (b"x" * 40, ValueError, "found bytes that are no handle"),
        (b"x" * 80, ValueError, "found 80 bytes that describe no array"),
        (bytes(200), ValueError, "describe no array"),
        (7, TypeError, "handle: found int"),
        ("text", TypeError, "handle: found str"),
        (None, TypeError, "handle: found NoneType"),
    ],
)
def test_what_is_no_handle_is_refused(handle, error, text):
    with pytest.raises(error, match=text):
        usm.ipc.open(handle)


def test_changed_handles_are_refused():
    array = ut.zeros(20000, usm_type="shared", device="host")
    handle = usm.ipc.export(array)
    good = bytes(handle)
    for index in range(len(good)):
        for bit in (1, 128):
            changed = bytearray(good)
            changed[index] ^= bit
            try:
                opened = usm.ipc.open(changed)
            except (ValueError, usm.UsmError):
                continue
            # Another layout in the same memory.
            assert index >= 40
            assert opened.usm_data._pointer == array.usm_data._pointer
    for length in range(len(good)):
        if length != 40:
            with pytest.raises(ValueError, match="found"):
                usm.ipc.open(good[:length])


def test_what_cannot_be_exported_is_refused():
    with pytest.raises(TypeError, match="obj: found list"):
        usm.ipc.export([1, 2])


def test_read_only_arrays_are_read_only_elsewhere():
    array = ut.zeros(20000, usm_type="shared", device="host")
    array.flags.writable = False
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        with pytest.raises(ValueError, match="read-only"):
            executor.submit(set_first, array).result(60)


def test_arrays_on_other_queues_come_on_the_default_queue():
    queue = usm.SyclQueue("host:cpu:0", property=["in_order", "enable_profiling"])
    array = ut.zeros(20000, "int64", usm_type="device", sycl_queue=queue)
    queue.memset_async(array.usm_data, 1)
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        properties, view = pool.apply(queue_and_view, (array,))
    assert properties == (True, False), "the default queue has no times"
    assert int(array[0]) == 0 and int(array[1]) == 0x0101010101010101
    # So is what comes back, in the context of that queue.
    assert view.sycl_queue == usm.SyclQueue(usm.get_device_cached_queue("host:cpu:0"))
    assert array.sycl_queue == queue


def a_part(array):
    return array[1:]


@PLACE
def test_an_array_that_comes_back_is_the_same_memory(device, kind):
    device = device_of(device, kind)
    array = ut.arange(20000, dtype="int64", usm_type=kind, device=device)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        back = pool.apply(a_part, (array,))
    assert back.usm_data._pointer - array.usm_data._pointer in (0, 8)
    # Both overlap, which is known.
    array[:-1] = back
    assert array.tolist() == [*range(1, 20000), 19999]
    back[:] = array[:-1]
    assert array.tolist() == [1, *range(1, 19999), 19999]
    # Of what was freed meanwhile the bytes come back.
    first, second = ut.full(20000, 7, usm_type=kind, device=device), ut.full(20000, 8, usm_type=kind, device=device)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        waiting = pool.apply_async(a_part, (first,))
        del first
        assert int(waiting.get(60)[-1]) == 7
    assert int(second[-1]) == 8


def forward_and_end(pipe):
    """Gives on what it gets, and ends before somebody reads that."""
    array = pipe.recv()
    pipe.send_bytes(bytes(ForkingPickler.dumps(array)))
    array = None


@PLACE
@pytest.mark.parametrize("size", [100, 20000])
def test_memory_on_its_way_has_no_other_use_after_the_end_of_who_sent_it(device, kind, size):
    device = device_of(device, kind)
    context = multiprocessing.get_context("spawn")
    with um.use_pool(device, shareable=True):
        array = ut.full(size, 5, "int64", usm_type=kind, device=device)
        ours, theirs = context.Pipe()
        process = context.Process(target=forward_and_end, args=(theirs,))
        process.start()
        ours.send(array)
        data = ours.recv_bytes()
        process.join(60)
        assert process.exitcode == 0
        del array
        others = [ut.full(size, 9, "int64", usm_type=kind, device=device) for _ in range(50)]
        assert pickle.loads(data).tolist() == [5] * size
        assert all(int(other[-1]) == 9 for other in others)


def queue_and_view(array):
    array[0] = 0
    default = usm.SyclQueue(usm.get_device_cached_queue(array.sycl_device))
    queue = array.sycl_queue
    return (queue == default, queue.has_enable_profiling), array[::2]


def test_queues_and_events_go_with_arrays():
    queue = usm.SyclQueue("host:cpu:0", property="in_order")
    array = ut.zeros(20000, "int64", usm_type="device", sycl_queue=queue)
    event = queue.memset_async(array.usm_data, 1)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(add_on, (queue, event, array)) == (True, "complete")
    assert int(array[0]) == 2


def add_on(queue, event, array):
    event.wait()
    # A view of the same memory.
    same = array.to_device(queue)
    same[0] = 2
    queue.wait()
    return same.sycl_queue == queue and queue.is_in_order, event.execution_status.name


@pytest.mark.parametrize("method", METHODS)
def test_arguments_of_initializers_are_shared(method):
    array = ut.zeros(20000, usm_type="shared", device="host")
    context = multiprocessing.get_context(method)
    if method == "fork":
        # Nothing is pickled: children have copies of small memory.
        array = ut.zeros(400_000, usm_type="shared", device="host")
        usm.ipc.export(array)
    with concurrent.futures.ProcessPoolExecutor(2, context, initializer=remember, initargs=(array,)) as executor:
        list(executor.map(set_remembered, range(8)))
    assert array[:8].tolist() == [1.0] * 8
    assert_no_handle_is_pending()


remembered = []


def remember(array):
    remembered.append(array)


def set_remembered(index):
    remembered[0][index] = 1


def test_managers_keep_arrays():
    array = ut.zeros(20000, usm_type="shared", device="host")
    with multiprocessing.get_context("spawn").Manager() as manager:
        kept = manager.dict(array=array)
        kept["array"][0] = 1
        assert int(array[0]) == 1
        del array
        kept["array"][1] = 2
        found = kept["array"]
    assert found[:2].tolist() == [1, 2]


def test_arrays_of_a_worker_that_is_killed_can_be_released():
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        victim = executor.submit(os.getpid).result(60)
        tasks = [executor.submit(time.sleep, 600)]
        tasks += [executor.submit(set_first, ut.zeros(20000, usm_type="shared", device="host")) for _ in range(3)]
        until = time.monotonic() + 60
        while usm.ipc.pending() == 0 and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(victim, signal.SIGKILL)
        for task in tasks:
            with pytest.raises(concurrent.futures.process.BrokenProcessPool):
                task.result(60)
    waiting = usm.ipc.pending()
    assert waiting > 0
    assert usm.ipc.release_pending() == waiting
    assert_no_handle_is_pending()


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_joblib_shares_arrays(backend):
    joblib = requirements.module("joblib", required=requirements.REQUIRE_PEERS)
    array = ut.zeros(20000, usm_type="shared", device="host")
    tasks = [joblib.delayed(set_at)(array, index) for index in range(20)]
    answers = joblib.Parallel(2, backend=backend)(tasks)
    assert ut.asnumpy(array[:20]).tolist() == list(range(20))
    array[...] = 7
    assert {int(answer[0]) for answer in answers} == {7}, "answers are shared"
    assert_no_handle_is_pending()


def test_joblib_keeps_copies(tmp_path):
    joblib = requirements.module("joblib", required=requirements.REQUIRE_PEERS)
    array = ut.arange(20000, usm_type="shared", device="host")
    assert joblib.hash(array) == joblib.hash(array.copy()) != joblib.hash(array[::-1])
    joblib.dump({"array": array}, tmp_path / "file")
    found = joblib.load(tmp_path / "file")["array"]
    array[...] = 0
    assert found[-1] == 19999


def set_at(array, index):
    array[index] = index
    return array


def test_nothing_is_left_of_arrays_that_others_have_read():
    context = multiprocessing.get_context("spawn")
    questions, answers = context.Queue(), context.Queue()
    process = context.Process(target=write_and_answer, daemon=True, args=(questions, answers))
    process.start()

    def rounds(count):
        for _ in range(count):
            questions.put(ut.zeros(20000, usm_type="shared", device="host"))
            answers.get(timeout=60)

    rounds(5)
    before = descriptors()
    rounds(50)
    questions.put(None)
    process.join(60)
    assert process.exitcode == 0
    assert_no_handle_is_pending()
    assert descriptors() <= before + 2


def test_many_threads_export_and_open():
    arrays = [ut.full(20000, n, usm_type="shared", device="host") for n in range(4)]
    failures = []

    def run(number):
        try:
            for _ in range(50):
                array = arrays[number % 4]
                if int(usm.ipc.open(usm.ipc.export(array))[5]) != number % 4:
                    failures.append(number)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert_no_handle_is_pending()


def test_an_import_of_multiprocessing_after_usm_is_told():
    code = (
        "import sys, usm\n"
        "assert not [name for name in sys.modules if name.startswith(('multiprocessing', 'dask', 'distributed'))]\n"
        "from multiprocessing.reduction import ForkingPickler\n"
        "import multiprocessing.reduction as reduction\n"
        "assert usm.tensor.usm_ndarray in ForkingPickler._extra_reducers\n"
        "assert type(reduction.__spec__.loader).__name__ == 'SourceFileLoader'\n"
    )
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code]) == 0


def connected(handle):
    """A connection to the process of a handle, made by hand."""
    process = int.from_bytes(handle[12:16], "little")
    nonce = int.from_bytes(handle[16:24], "little")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(f"\0usm-ipc-{process}-{nonce:016x}")
    return connection


def open_and_sum(handle):
    return int(ut.sum(usm.ipc.open(handle)))


def test_who_stops_in_the_middle_keeps_nobody_waiting():
    handle = usm.ipc.export(ut.ones(20000, usm_type="shared", device="host"))
    data = bytes(handle)
    # One says nothing, one does not confirm, one names memory that is not there, one is cut off.
    silent, unconfirmed, wrong, short = (connected(data) for _ in range(4))
    unconfirmed.sendall(data[24:40])
    wrong.sendall(bytes(16))
    short.sendall(b"half")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        assert executor.submit(open_and_sum, data).result(60) == 20000
    for connection in (silent, unconfirmed, wrong, short):
        connection.close()
    assert usm.ipc.pending() == 1
