"""Pickles of memory objects: kind, device and content come back, out of band where that saves a copy."""

import pickle

import pytest

import usm
import usm.memory as um

from conftest import MEMORY_CLASSES
from support import process
from support.interface import changed

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
DATA = bytes(range(256)) * 5


@pytest.fixture
def memory(allocate, usm_type):
    made = allocate(usm_type, len(DATA))
    made.copy_from_host(DATA)
    return made


def check(back, memory):
    assert type(back) is type(memory)
    assert back.sycl_device == memory.sycl_device
    assert back._pointer != memory._pointer
    assert back.tobytes() == memory.tobytes()
    assert back.readonly == memory.readonly


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol(memory, protocol):
    back = pickle.loads(pickle.dumps(memory, protocol))
    check(back, memory)
    back.memset(0)
    assert memory.tobytes() == DATA


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_parts_and_nothing(memory, protocol):
    for part in (memory[3:50], memory[:0]):
        back = pickle.loads(pickle.dumps(part, protocol))
        assert type(back) is type(memory) and back.tobytes() == part.tobytes()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_read_only_stays(memory, protocol):
    frozen = um.as_usm_memory(changed(memory, data=(memory._pointer, True)))
    back = pickle.loads(pickle.dumps(frozen, protocol))
    check(back, frozen)
    with pytest.raises(ValueError, match="read-only"):
        back.memset(0)


def test_content_beside_the_pickle(memory, usm_type):
    buffers = []
    small = pickle.dumps(memory, 5, buffer_callback=buffers.append)
    assert len(small) < 200 and len(buffers) == 1
    with buffers[0].raw() as raw:
        assert bytes(raw) == DATA
        if usm_type != "device":
            # No copy was made: it is the memory itself.
            raw[0] = 77
            assert memory[:1].tobytes() == b"M"
    back = pickle.loads(small, buffers=buffers)
    # In this process it is the memory itself, where that is of its kind.
    assert (back._pointer == memory._pointer) == (usm_type != "device")
    assert type(back) is type(memory) and back.tobytes() == memory.tobytes()
    for buffer in buffers:
        buffer.release()


def test_memory_over_a_buffer_from_elsewhere(memory, queue, usm_type):
    buffers = []
    small = pickle.dumps(memory, 5, buffer_callback=buffers.append)
    shares = queue.sycl_device.backend == "host" and usm_type != "device"
    data = bytearray(DATA)
    back = pickle.loads(small, buffers=[data])
    check(back, memory)
    data[0] = 77
    assert back[:1].tobytes() == (b"M" if shares else b"\0")
    assert pickle.loads(small, buffers=[DATA]).readonly == shares
    with pytest.raises(ValueError, match=f"found 7 bytes, allowed are {len(DATA)}"):
        pickle.loads(small, buffers=[DATA[:7]])
    del back
    data.append(1)


def test_the_same_object_twice(memory):
    first, second = pickle.loads(pickle.dumps([memory, memory]))
    assert first is second


def test_another_process(memory, usm_type, queue, tmp_path):
    path = tmp_path / "memory.pickle"
    path.write_bytes(pickle.dumps(memory))
    code = f"""
        import pickle
        memory = pickle.loads(open({str(path)!r}, "rb").read())
        print(type(memory).__name__, memory.sycl_device.filter_string, memory.tobytes() == bytes(range(256)) * 5)
    """
    found = process.check(code).split()
    assert found == [MEMORY_CLASSES[usm_type].__name__, queue.sycl_device.filter_string, "True"]


def test_a_device_that_is_not_there():
    from usm._usm import _memory_from_pickle

    for device in ("cuda:gpu:77", "nonsense:::"):
        with pytest.raises(usm.SyclDeviceCreationError):
            _memory_from_pickle("host", device, False, b"12")
    with pytest.raises(ValueError, match="usm_type"):
        _memory_from_pickle("unified", "host:cpu:0", False, b"12")
    with pytest.raises(TypeError, match="data"):
        _memory_from_pickle("host", "host:cpu:0", False, 12)


def test_a_device_that_is_missing_is_named_with_the_way_out():
    pickled = pickle.dumps(um.MemoryUSMShared(3, queue="host:cpu:0"), protocol=0)
    with pytest.raises(
        usm.SyclDeviceCreationError, match=r"(?s)^pickle: .* cuda:gpu:7, which is not here .*memory\.tobytes\(\)"
    ):
        pickle.loads(pickled.replace(b"host:cpu:0", b"cuda:gpu:7"))
