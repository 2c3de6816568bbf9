"""Pickles and copies of arrays: kind, device, order of the axes and read-only come back."""

import copy
import math
import pickle

import pytest

import usm
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


def check(back, a):
    assert type(back) is ut.usm_ndarray
    assert (back.shape, back.dtype, back.usm_type) == (a.shape, a.dtype, a.usm_type)
    assert back.tolist() == a.tolist()
    assert back.sycl_device == a.sycl_device and back.flags.writable == a.flags.writable
    assert back._pointer != a._pointer


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
    check(pickle.loads(small, buffers=buffers), a)
    for buffer in buffers:
        buffer.release()


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
