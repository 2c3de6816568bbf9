"""Two GPUs in one program: memory of each, arrays of both, copies between them, exchange, and refusals by name."""

import ctypes
import gc
import os

import pytest

import usm
import usm.memory as um
import usm.tensor as ut

from support import requirements, rounds, storm
from support.cuda import Driver

DTYPES = ["u1", "i2", "f4", "f8", "c16"]


@pytest.fixture(scope="module")
def gpus():
    found = [device for device in usm.get_devices() if device.backend == "cuda"]
    if len(found) < 2:
        requirements.missing("a second GPU", f"found {found}", required=requirements.REQUIRE_TWO_GPUS)
    return found[:2]


@pytest.fixture
def queues(gpus):
    return [usm.SyclQueue(device, property="in_order") for device in gpus]


def turns(queues):
    """Both directions."""
    return [queues, queues[::-1]]


def test_arrays_of_both_in_one_program(gpus, queues, usm_type):
    arrays = [ut.arange(1000, dtype="f4", usm_type=usm_type, sycl_queue=queue) for queue in queues]
    for round in range(50):
        for number, a in enumerate(arrays):
            a[::2] = round * 10 + number
    for number, (a, device) in enumerate(zip(arrays, gpus, strict=True)):
        assert a.sycl_device == device and a[::2].tolist() == [490 + number] * 500
        assert a[1::2].tolist() == list(range(1, 1000, 2))
        assert float(ut.sum(a[1:4:2])) == 4 and ut.nonzero(a[:4] == 1)[0].tolist() == [1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_between_two_gpus(queues, dtype):
    for first, second in turns(queues):
        a = ut.asarray([number % 100 for number in range(7 * 11 * 13)], dtype=dtype, sycl_queue=first)
        a = ut.reshape(a, (7, 11, 13))
        expected = a.tolist()
        for moved in (a.to_device(second), ut.asarray(a, sycl_queue=second)):
            assert moved.sycl_device == second.sycl_device and moved.tolist() == expected
        b = ut.zeros((13, 11, 7), dtype=dtype, sycl_queue=second)
        b.T[...] = a  # another order of the axes on each side
        assert b.T.tolist() == expected
        b[...] = 0
        b.T[::2, ::-1, 1:] = a[::2, ::-1, 1:]
        assert b.T[::2, ::-1, 1:].tolist() == a[::2, ::-1, 1:].tolist() and ut.sum(b.T[1::2]).tolist() == 0


@pytest.mark.parametrize("nbytes", [1, 4096, (9 << 20) + 3])
def test_memory_between_two_gpus(queues, nbytes):
    for first, second in turns(queues):
        memory = [um.MemoryUSMDevice(nbytes, queue=queue) for queue in (first, second)]
        for value in range(1, 4):
            first.memset(memory[0], value)
            memory[1].copy_from_device(memory[0])
            assert set(memory[1].tobytes()) == {value}
            # Written again while the copy is under way: the write comes after it.
            copied = second.memcpy_async(memory[1], memory[0], nbytes)
            first.memset_async(memory[0], 100 + value, dEvents=[copied])
            copied.wait()
            assert set(memory[1].tobytes()) == {value}
            first.wait()


def test_a_wait_for_either_queue_waits_for_the_copy(queues):
    nbytes = 16 << 20
    for first, second in turns(queues):
        source, target = (um.MemoryUSMDevice(nbytes, queue=queue) for queue in (first, second))
        for submitted in (first, second):
            for waited in (first, second):
                copied = submitted.memcpy_async(target, source, nbytes)
                waited.wait()
                assert copied.execution_status == usm.event_status_type.complete
                copied.wait()


def test_many_copies_in_both_directions(queues):
    arrays = [ut.zeros((512, 256), dtype="i4", sycl_queue=queue) for queue in queues]
    for round in range(100):
        source = round % 2
        arrays[source][round % 512] = round
        arrays[1 - source][...] = arrays[source]
    first, second = (a.tolist() for a in arrays)
    assert first == second and [first[row][0] for row in range(100)] == list(range(100))


def test_a_context_over_both(gpus):
    context = usm.SyclContext(gpus)
    queues = [usm.SyclQueue(context, device, property="in_order") for device in gpus]
    for first, second in turns(queues):
        a = ut.arange(1 << 18, dtype="f8", sycl_queue=first)
        b = ut.zeros(1 << 18, dtype="f8", sycl_queue=second)
        b[...] = a
        b[::3] = a[::-3]
        assert float(b[1]) == 1 and float(b[3]) == (1 << 18) - 4


def test_peer_access(gpus):
    for first, second in turns(gpus):
        if not first.can_access_peer(second):
            continue
        # Another test of the process, or another library, may have enabled it.
        was_enabled = not first.enable_peer_access(second)
        assert first.enable_peer_access(second) is False
        for _ in range(2):
            assert first.disable_peer_access(second) is True
            assert first.disable_peer_access(second) is False
            assert first.enable_peer_access(second) is True
        if not was_enabled:
            first.disable_peer_access(second)


def test_operands_of_two_gpus_are_refused_by_name(queues):
    a, b = (ut.ones(5, sycl_queue=queue) for queue in queues)
    for refused in (lambda: a == b, lambda: ut.concat([a, b]), lambda: ut.where(a == a, a, b)):
        with pytest.raises(ut.ExecutionPlacementError, match="cuda:gpu:1.*cuda:gpu:0"):
            refused()


@pytest.mark.parametrize("number", [0, 1])
def test_exchange_says_which_gpu(gpus, queues, number):
    a = ut.arange(10, dtype="i8", sycl_queue=queues[number])[::2]
    assert a.__dlpack_device__() == (ut.DLDeviceType.kDLCUDA, number)
    assert ut.from_dlpack(a).sycl_device == gpus[number]
    moved = ut.from_dlpack(a, device=gpus[1 - number], copy=True)
    assert moved.sycl_device == gpus[1 - number] and moved.tolist() == [0, 2, 4, 6, 8]
    with pytest.raises(BufferError, match="another queue"):
        ut.from_dlpack(a, device=gpus[1 - number], copy=False)

    class Other:
        __cuda_array_interface__ = a.__cuda_array_interface__
        owner = a

    imported = ut.asarray(Other())
    assert imported.sycl_device == gpus[number] and imported.tolist() == [0, 2, 4, 6, 8]
    imported[0] = 7
    assert a.tolist() == [7, 2, 4, 6, 8]
    assert a.__sycl_usm_array_interface__["syclobj"] == f"cuda:gpu:{number}"


@pytest.mark.parametrize("number", [0, 1])
def test_pytorch_and_cupy_on_each(gpus, queues, number):
    torch = requirements.module("torch", required=requirements.REQUIRE_ALL_PEERS)
    if torch.cuda.device_count() < 2:
        requirements.missing("a second GPU of PyTorch", "it sees fewer", required=requirements.REQUIRE_ALL_PEERS)
    theirs = torch.arange(12.0, device=f"cuda:{number}").reshape(3, 4)
    ours = ut.from_dlpack(theirs)
    assert ours.sycl_device == gpus[number] and ours._pointer == theirs.data_ptr()
    ours[1] = 9
    ours.sycl_queue.wait()
    assert theirs[1].tolist() == [9] * 4
    a = ut.arange(12, dtype="f4", sycl_queue=queues[number])
    back = torch.from_dlpack(a)
    assert back.device == torch.device("cuda", number) and back.data_ptr() == a._pointer
    with torch.cuda.device(number):  # PyTorch exports to the current device alone
        elsewhere = ut.asarray(theirs, sycl_queue=queues[1 - number], copy=True)
    assert elsewhere.sycl_device == gpus[1 - number] and elsewhere.tolist() == theirs.tolist()
    cupy = requirements.module("cupy", required=requirements.REQUIRE_ALL_PEERS)
    with cupy.cuda.Device(number):
        b = cupy.asarray(a)
        assert b.device.id == number and b.data.ptr == a._pointer
        assert ut.asarray(cupy.arange(5)).sycl_device == gpus[number]


def test_all_memory_goes_back(queues):
    gc.collect()
    before = usm.live_allocations()["count"]
    arrays = [ut.zeros(1000, sycl_queue=queue) for queue in queues]
    arrays[0][...] = arrays[1]
    del arrays
    gc.collect()
    assert usm.live_allocations()["count"] == before


def used_bytes(devices):
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    used = []
    for device_id in range(len(devices)):
        driver = Driver(device_id)
        driver.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        driver.close()
        used.append(total.value - free.value)
    return used


def test_a_storm_of_two_processes_leaves_nothing(gpus):
    """``USM_TEST_STORM=20000`` makes it long, which needs ``-o faulthandler_timeout=0``, and the GPUs for itself."""
    before = used_bytes(gpus)
    storm.check(rounds.SEED, storm.arrays_of_run(150), 2, [device.filter_string for device in gpus])
    if "USM_TEST_STORM" in os.environ:
        after = used_bytes(gpus)
        print(f"bytes in use before and after: {before}, {after}")
        assert all(now <= then for now, then in zip(after, before, strict=True))
