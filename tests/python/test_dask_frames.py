"""Arrays in messages of distributed: what their frames are, and what comes back."""

import time

import pytest

import usm
import usm.tensor as ut

from support import requirements

protocol = requirements.needed("distributed.protocol", required=requirements.REQUIRE_SYCL)
frames_module = requirements.needed("usm.dask._frames", required=True)
handles = requirements.needed("usm.dask._handles", required=True)
np = requirements.needed("numpy")

VIEWS = {
    "whole": lambda a: a,
    "transposed": lambda a: a.T,
    "part": lambda a: a[1:3],
    "steps": lambda a: a[::2, ::-3],
    "columns": lambda a: a[:, 2:4].T,
    "one element": lambda a: a[1, 1],
    "no element": lambda a: a[:0],
    "broadcast": lambda a: ut.broadcast_to(a[0], (3, 6)),
    "broadcast columns": lambda a: ut.broadcast_to(a[:, ::2][:, :1], (4, 5)),
    "read-only": lambda a: _readonly(a[:]),
}
#: Views whose elements lie without gaps.
DENSE = {"whole", "transposed", "part", "one element", "read-only"}


def _readonly(a):
    a.flags.writable = False
    return a


@pytest.mark.parametrize("view", VIEWS)
def test_what_comes_back(queue, usm_type, view):
    a = ut.asarray(np.arange(24.0).reshape(4, 6), usm_type=usm_type, sycl_queue=queue)
    sent = VIEWS[view](a)
    header, frames = protocol.serialize(sent)
    if usm_type != "device" and view in DENSE:
        assert np.frombuffer(frames[0], "u1").ctypes.data == sent._byte_bounds[0], "the memory itself"
    elements = ut.asnumpy(sent)
    distinct = np.unique(elements).size
    assert sum(frame.nbytes for frame in frames) == 8 * distinct, "each element once"
    # Others may use the array while the frame is under way.
    assert float(ut.sum(ut.copy(sent))) == elements.sum()
    received = [bytearray(frame) for frame in frames]
    back = protocol.deserialize(header, received)
    assert type(back) is ut.usm_ndarray
    assert (back.shape, back.dtype, back.usm_type) == (sent.shape, sent.dtype, usm_type)
    assert back.sycl_device == sent.sycl_device
    assert back.flags.writable == sent.flags.writable
    np.testing.assert_array_equal(ut.asnumpy(back), elements)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "bfloat16", "complex128"])
def test_dtypes(usm_type, dtype):
    a = ut.asarray([[1, 0], [0, 1]], dtype=dtype, usm_type=usm_type, device="host")
    back = protocol.deserialize(*protocol.serialize(a))
    assert back.dtype == a.dtype and bool(ut.all(back == a))


def test_bytes_on_disk(host_queue, usm_type):
    a = ut.arange(1000, dtype="int64", usm_type=usm_type, sycl_queue=host_queue)
    back = protocol.deserialize_bytes(protocol.serialize_bytes({"a": [a, 3]}))
    assert back["a"][0].tolist() == a.tolist() and back["a"][0].usm_type == usm_type


def test_a_device_that_is_not_here(usm_type, monkeypatch):
    """distributed waits for ever for an array that it cannot read."""
    monkeypatch.setenv("USM_DEFAULT_DEVICE", "host:cpu:0")
    header, frames = protocol.serialize(ut.ones(3, usm_type=usm_type, device="host"))
    header["sub-header"]["device"] = "level_zero:gpu:77"
    back = protocol.deserialize(header, frames)
    assert (back.sycl_device, back.usm_type, back.tolist()) == (usm.SyclDevice("host:cpu:0"), usm_type, [1, 1, 1])


@pytest.mark.parametrize("kind", ["device", "shared"])
def test_no_memory_left_on_the_device(kind, monkeypatch):
    header, frames = protocol.serialize(ut.ones(3, usm_type=kind, device="host"))
    made = frames_module._array_from_pickle

    def refuse(usm_type, *rest):
        if usm_type == kind:
            raise usm.USMAllocationError("the test refuses it")
        return made(usm_type, *rest)

    monkeypatch.setattr(frames_module, "_array_from_pickle", refuse)
    back = protocol.deserialize(header, frames)
    assert (back.usm_type, back.sycl_device, back.tolist()) == ("host", usm.SyclDevice("host:cpu:0"), [1, 1, 1])
    header["sub-header"]["kind"] = kind = "host"
    with pytest.raises(usm.USMAllocationError, match="the test refuses it"):
        protocol.deserialize(header, frames)


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handles, "_is_worker", lambda: True)
    monkeypatch.setattr(handles, "_has_failed", False)
    monkeypatch.setattr(handles, "_offered", {})
    # The pools of a worker would stay for the tests that follow.
    monkeypatch.setattr(handles, "_pools", [])


def context():
    return {"sender": {}, "recipient": {handles._KEY: handles._machine()}}


@pytest.mark.usefixtures("worker")
def test_handles_between_workers(usm_type):
    a = ut.arange(20000, dtype="float64", usm_type=usm_type, device="host")
    header, frames = protocol.serialize(a[::2], context=context())
    assert frames == [] and usm.ipc.pending() == 1
    back = protocol.deserialize(header, frames)
    assert usm.ipc.pending() == 0
    # In this process it is the same memory, too.
    assert back._pointer == a._pointer and back.strides == (2,) and not back.flags.writable
    assert a.flags.writable


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(
    "given",
    [None, {}, {"recipient": {}}, {"recipient": {"usm": "another machine"}}, {"recipient": {"usm": ""}}],
)
def test_others_get_elements(given):
    a = ut.arange(20000, dtype="float64", usm_type="shared", device="host")
    assert len(protocol.serialize(a, context=given)[1]) == 1
    assert usm.ipc.pending() == 0


@pytest.mark.usefixtures("worker")
def test_small_arrays_and_copies_are_elements(monkeypatch):
    assert len(protocol.serialize(ut.ones(3, usm_type="host", device="host"), context=context())[1]) == 1
    monkeypatch.setattr(usm.ipc, "_sharing", "copy")
    a = ut.arange(20000, dtype="float64", usm_type="shared", device="host")
    assert len(protocol.serialize(a, context=context())[1]) == 1
    monkeypatch.setattr(usm.ipc, "_sharing", "share")
    monkeypatch.setattr(handles, "_is_worker", lambda: False)
    assert len(protocol.serialize(a, context=context())[1]) == 1, "a client may write to its arrays"


@pytest.mark.usefixtures("worker")
def test_memory_of_lost_messages_is_released(monkeypatch):
    monkeypatch.setattr(handles, "_LIMIT", 0.2)
    a = ut.arange(20000, dtype="float64", usm_type="shared", device="host")
    lost = [protocol.serialize(a, context=context())[0] for _ in range(3)]
    assert usm.ipc.pending() == 3
    deadline = time.monotonic() + 30
    while usm.ipc.pending() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert usm.ipc.pending() == 0
    # distributed takes this error for a broken connection, and asks again.
    with pytest.raises(EOFError, match="the handle of an array cannot be opened here"):
        protocol.deserialize(lost[0], [])
    assert handles._has_failed


def test_handshakes(monkeypatch):
    """Who sends messages on without reading them does not say that it opens handles."""
    tcp = requirements.needed("distributed.comm.tcp", required=True)

    class Connection(tcp.TCP):
        def __init__(self, deserialize):
            self.deserialize = deserialize

        def __del__(self):
            pass

        same_host = True

    def told(deserialize=True):
        return "usm" in Connection(deserialize).handshake_info()

    assert not told(), "this process is no worker"
    monkeypatch.setattr(handles, "_is_worker", lambda: True)
    monkeypatch.setattr(handles, "_has_failed", False)
    assert told() and not told(deserialize=False)
    monkeypatch.setattr(handles, "_has_failed", True)
    assert not told()
