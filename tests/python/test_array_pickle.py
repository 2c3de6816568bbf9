"""Pickles and copies of arrays: kind, device, order of the axes and read-only come back."""

import copy
import ctypes
import math
import multiprocessing
import pickle
from multiprocessing import shared_memory
from multiprocessing.reduction import ForkingPickler

import pytest

import usm
import usm.ipc
import usm.memory as um
import usm.tensor as ut

from support import process, requirements
from support.values import DTYPES, counting

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
VIEWS = {
    "whole": lambda a: a,
    "transposed": lambda a: a.T,
    "matrix-transposed": lambda a: a.mT,
    "reversed": lambda a: a[::-1],
    "gaps": lambda a: a[:, ::2],
    "one axis": lambda a: a[1, :, 2],
    "no axes": lambda a: a[1, 1, 1],
    "nothing": lambda a: a[:, :0],
    "unit axes": lambda a: a[:1, None],
}


def cube(array, usm_type, dtype="int32"):
    a = array((2, 3, 4), dtype, buffer=usm_type)
    a[...] = [[counting(dtype, 24)[i * 12 + j * 4 :][:4] for j in range(3)] for i in range(2)]
    return a


def address_of(data):
    return ctypes.addressof(ctypes.c_char.from_buffer(data))


def check(back, a, is_copy=True):
    assert type(back) is ut.usm_ndarray
    assert (back.shape, back.dtype, back.usm_type) == (a.shape, a.dtype, a.usm_type)
    assert back.tolist() == a.tolist()
    assert back.sycl_device == a.sycl_device and back.flags.writable == a.flags.writable
    assert not is_copy or back._pointer != a._pointer


@pytest.mark.any_memory
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("view", VIEWS)
def test_every_protocol_and_layout(array, usm_type, protocol, view):
    a = VIEWS[view](cube(array, usm_type))
    back = pickle.loads(pickle.dumps(a, protocol))
    check(back, a)
    assert back.flags.forc or view == "matrix-transposed"
    # The order of the axes in memory.
    if a.size:
        long = [k for k, n in enumerate(a.shape) if n > 1]
        order = sorted(long, key=lambda k: -abs(a.strides[k]))
        assert order == sorted(long, key=lambda k: -abs(back.strides[k]))
        low, high = back._byte_bounds
        assert high - low == back.nbytes, "without gaps"
    before = a.tolist()
    back[...] = 0
    assert a.tolist() == before


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(array, usm_type, dtype):
    a = cube(array, usm_type, dtype)
    check(pickle.loads(pickle.dumps(a)), a)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_read_only_stays(array, usm_type, protocol):
    a = cube(array, usm_type)
    a.flags.writable = False
    back = pickle.loads(pickle.dumps(a, protocol))
    check(back, a)
    with pytest.raises(ValueError, match="read-only"):
        back[...] = 0


@pytest.mark.parametrize("view", VIEWS)
def test_elements_beside_the_pickle(array, usm_type, view):
    a, buffers = VIEWS[view](cube(array, usm_type)), []
    small = pickle.dumps(a, 5, buffer_callback=buffers.append)
    assert len(small) < 250 and len(buffers) == 1
    with buffers[0].raw() as raw:
        assert raw.nbytes == a.nbytes
        if usm_type != "device" and view in ("whole", "transposed", "matrix-transposed"):
            raw[:4] = b"\7\0\0\0"
            assert a[0, 0, 0].item() == 7, "no copy was made"
    back = pickle.loads(small, buffers=buffers)
    check(back, a, is_copy=False)
    # As with NumPy, the array has the memory of the buffer: its own in this process, where that is of its kind.
    if usm_type != "device" and a.size:
        with buffers[0].raw() as raw:
            assert um.as_usm_memory(back)._pointer == address_of(raw)
    for buffer in buffers:
        buffer.release()
    assert back.shape == a.shape
    back[...] = 0


def beside(a):
    """A pickle and the bytes beside it, as if they came from elsewhere."""
    buffers = []
    small = pickle.dumps(a, 5, buffer_callback=buffers.append)
    with buffers[0].raw() as raw:
        data = bytearray(raw)
    return small, data


@pytest.mark.parametrize("view", VIEWS)
def test_arrays_over_buffers_from_elsewhere(array, queue, usm_type, view):
    """Without a copy on the host backend, where host code reaches the kind; elsewhere a copy in that kind."""
    a = VIEWS[view](cube(array, usm_type))
    small, data = beside(a)
    back = pickle.loads(small, buffers=[data])
    check(back, a)
    shares = queue.sycl_device.backend == "host" and usm_type != "device" and a.size > 0
    data[:4] = b"\5\5\5\5"[: len(data)]
    assert (b"\5\5\5\5" in um.as_usm_memory(back).tobytes()) == shares
    back[...] = 6
    assert (data[:1] == b"\6") == shares
    if shares:
        assert um.as_usm_memory(back)._pointer == address_of(data)
        with pytest.raises(BufferError):
            data.append(1)
        # Operations of the queue reach it.
        queue.memset_async(um.as_usm_memory(back), 9).wait()
        assert set(data) == {9}
    del back
    data.append(1)


@pytest.mark.parametrize("readonly", [False, True])
def test_read_only_buffers_give_read_only_arrays(array, queue, host_accessible, readonly):
    a = cube(array, host_accessible)
    a.flags.writable = not readonly
    small, data = beside(a)
    shares = queue.sycl_device.backend == "host"
    for buffer in (data, bytes(data), memoryview(data).toreadonly()):
        back = pickle.loads(small, buffers=[buffer])
        is_constant = shares and memoryview(buffer).readonly
        assert back.flags.writable == (not readonly and not is_constant)
        assert back.tolist() == a.tolist()


def test_as_numpy_does(array, numpy, host_queue):
    ours, theirs = ut.arange(10, sycl_queue=host_queue, usm_type="host"), numpy.arange(10)
    for change in (bytearray, bytes):
        found = []
        for a in (ours, theirs):
            small, data = beside(a)
            data = change(data)
            back = pickle.loads(small, buffers=[data])
            start = back._pointer if a is ours else back.ctypes.data
            shares = start == numpy.frombuffer(data, "u1").ctypes.data
            found.append((shares, bool(back.flags["W"]), back.tolist()))
        assert found[0] == found[1]


def test_buffers_without_alignment_are_copied(array, host_accessible):
    a = cube(array, host_accessible)
    small, data = beside(a)
    for shift in (1, 2, 4):
        block = bytearray(len(data) + 8)
        start = shift - address_of(block) % 4
        part = memoryview(block)[start % 8 :][: len(data)]
        part[:] = data
        check(pickle.loads(small, buffers=[part]), a)


def test_buffers_of_another_length_are_refused(array, host_accessible):
    a = cube(array, host_accessible)
    small, data = beside(a)
    for wrong in (data[:-1], data + b"1", b""):
        with pytest.raises(ValueError, match="bytes"):
            pickle.loads(small, buffers=[wrong])


def test_arrays_over_one_buffer_end_in_any_order(array, host_accessible):
    a = cube(array, host_accessible)
    small, data = beside(a)
    part_small, _ = beside(a[1])
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        backs = [pickle.loads(small, buffers=[data]) for _ in range(2)]
        backs.append(pickle.loads(part_small, buffers=[memoryview(data)[48:]]))
        for gone in order:
            for memory in [um.as_usm_memory(back) for back in backs if back is not None]:
                memory.memset(gone)
                assert set(memory.tobytes()) == {gone}
            del memory
            backs[gone] = None
    data.append(1)


def test_an_array_over_a_buffer_goes_to_other_processes_as_a_copy(host_queue):
    a = ut.arange(20000, sycl_queue=host_queue, usm_type="shared")
    small, data = beside(a)
    back = pickle.loads(small, buffers=[data])
    with pytest.raises(ValueError, match="another library owns it"):
        usm.ipc.export(back)
    assert pickle.loads(ForkingPickler.dumps(back)).tolist() == a.tolist()


def _fill(pipe, small, name):
    memory = shared_memory.SharedMemory(name)
    array = pickle.loads(small, buffers=[memory.buf])
    array[...] = 3
    del array
    pipe.send(True)
    memory.close()


def test_arrays_over_shared_memory(host_queue):
    a = ut.zeros((10, 10), "i4", sycl_queue=host_queue, usm_type="shared")
    small, data = beside(a)
    memory = shared_memory.SharedMemory(create=True, size=len(data))
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    worker = context.Process(target=_fill, args=(theirs, small, memory.name))
    worker.start()
    try:
        assert ours.poll(60) and ours.recv()
        back = pickle.loads(small, buffers=[memory.buf[: len(data)]])
        assert back.tolist() == [[3] * 10] * 10
        del back
        worker.join(60)
        assert worker.exitcode == 0
    finally:
        memory.close()
        memory.unlink()


# By the release before arrays over buffers.
OLD = {
    4: (
        b"\x80\x04\x95T\x00\x00\x00\x00\x00\x00\x00\x8c\x08usm._usm\x94\x8c\x12_array_from_"
        b"pickle\x94\x93\x94(\x8c\x06shared\x94\x8c\nhost:cpu:0\x94\x89\x8c\x05u"
        b"int8\x94K\x02\x85\x94K\x00\x85\x94C\x02ab\x94t\x94R\x94."
    ),
    5: (
        b"\x80\x05\x95[\x00\x00\x00\x00\x00\x00\x00\x8c\x08usm._usm\x94\x8c\x12_array_from_"
        b"pickle\x94\x93\x94(\x8c\x06shared\x94\x8c\nhost:cpu:0\x94\x89\x8c\x05u"
        b"int8\x94K\x02\x85\x94K\x00\x85\x94\x96\x02\x00\x00\x00\x00\x00\x00\x00ab\x94t\x94R\x94."
    ),
}


@pytest.mark.parametrize("protocol", OLD)
def test_old_pickles(protocol):
    a = pickle.loads(OLD[protocol])
    assert (a.dtype, a.usm_type, a.tolist(), a.flags.writable) == ("uint8", "shared", [97, 98], True)


def test_the_same_object_twice(array):
    a = array((2,), "f4")
    a[...] = 1
    first, second = pickle.loads(pickle.dumps([a, a]))
    assert first is second


def test_another_process(array, usm_type, queue, tmp_path):
    a = cube(array, usm_type).T
    path = tmp_path / "array.pickle"
    path.write_bytes(pickle.dumps(a))
    code = f"""
        import pickle
        a = pickle.loads(open({str(path)!r}, "rb").read())
        print(a.usm_type, a.sycl_device.filter_string, a.strides == {a.strides}, a.tolist() == {a.tolist()})
    """
    assert process.check(code).split() == [usm_type, queue.sycl_device.filter_string, "True", "True"]


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        (("shared", "cuda:gpu:77", False, "u1", (2,), (0,), b"ab"), usm.SyclDeviceCreationError, "cuda|sycl backend"),
        (("unified", "host", False, "u1", (2,), (0,), b"ab"), ValueError, "usm_type"),
        (("shared", "host", False, "V1", (2,), (0,), b"ab"), ValueError, "dtype"),
        (("shared", "host", False, "u1", (3,), (0,), b"ab"), ValueError, "bytes"),
        (("shared", "host", False, "u1", (2,), (1,), b"ab"), ValueError, "axes"),
        (("shared", "host", False, "u1", (2, 1), (0,), b"ab"), ValueError, "axes"),
        (("shared", "host", False, "u1", (2, 1), (0, 0), b"ab"), ValueError, "axes"),
        (("shared", "host", False, "u1", (2**62, 2**62), (0, 1), b"ab"), ValueError, "shape"),
        (("shared", "host", False, "u1", (2,), (0,), 12), TypeError, "data"),
        # These end in a message, and nobody reserves memory for what they say.
        (("shared", "host", False, "u1", range(2**62), (0,), b"ab"), TypeError, "^shape"),
        (("shared", "host", False, "u1", (2,), range(2**40), b"ab"), TypeError, "^axes"),
    ],
    ids=str,
)
def test_broken_pickles(arguments, error, match):
    from usm._usm import _array_from_pickle

    with pytest.raises(error, match=match):
        _array_from_pickle(*arguments)


def test_sub_devices_have_no_name_elsewhere(sycl_queue):
    part = requirements.parts_of(sycl_queue.sycl_device)[0]
    a = ut.zeros(3, "i4", sycl_queue=usm.SyclQueue(part))
    with pytest.raises(TypeError, match="root devices"):
        pickle.dumps(a)
    assert copy.copy(a).tolist() == [0, 0, 0]


@pytest.mark.any_memory
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda a: a.copy()], ids=["copy", "deepcopy", "method"])
def test_copies(array, usm_type, view, make):
    a = VIEWS[view](cube(array, usm_type))
    a.flags.writable = False
    back = make(a)
    assert back.flags.writable and back.flags.c_contiguous and back.sycl_queue == a.sycl_queue
    assert back.tolist() == a.tolist() and (back.dtype, back.usm_type) == (a.dtype, usm_type)
    assert math.prod(back.shape) == 0 or back._pointer != a._pointer


def test_a_deep_copy_knows_what_it_has_seen(array):
    a = array((2,), "f4")
    a[...] = 0
    first, second = copy.deepcopy([a, a])
    assert first is second


def test_a_device_that_is_missing_is_named_with_the_way_out():
    """A pickle names its device, and this machine need not have it."""
    pickled = pickle.dumps(ut.zeros(3, "i4", device="host:cpu:0"), protocol=0)
    elsewhere = pickled.replace(b"host:cpu:0", b"cuda:gpu:7")
    assert elsewhere != pickled
    with pytest.raises(usm.SyclDeviceCreationError) as caught:
        pickle.loads(elsewhere)
    for part in ("pickle: its memory was on cuda:gpu:7", "not here", "pickle usm.tensor.asnumpy(array)"):
        assert part in str(caught.value)
