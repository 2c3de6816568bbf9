"""`__cuda_array_interface__`, version 3, out and in."""

import ctypes
import gc
import weakref

import pytest

import usm
import usm.memory as um
import usm.tensor as ut
from usm._usm import _adopt

KEYS = ["data", "shape", "stream", "strides", "typestr", "version"]


class Producer:
    """An object with that dictionary and nothing else."""

    def __init__(self, interface, keep=None):
        self.__cuda_array_interface__ = interface
        self.keep = keep


@pytest.fixture
def array(cuda_queue, usm_type):
    return ut.asarray([[1, 2, 3], [4, 5, 6]], "f4", usm_type=usm_type, sycl_queue=cuda_queue)


def test_other_devices_have_none(host_queue):
    a = ut.asarray([1], sycl_queue=host_queue)
    for thing in (a, a.usm_data):
        assert not hasattr(thing, "__cuda_array_interface__")
    assert not hasattr(host_queue, "__cuda_stream__") and host_queue.native_stream is None


def test_keys_and_types(array, cuda_queue):
    found = array.__cuda_array_interface__
    assert sorted(found) == KEYS and found["version"] == 3
    assert found["shape"] == (2, 3) and found["strides"] is None and found["typestr"] == "<f4"
    assert found["data"] == (array._pointer, False) and type(found["data"]) is tuple
    assert found["stream"] == cuda_queue.native_stream
    assert array.T.__cuda_array_interface__["strides"] == (4, 12)
    reverse = array[::-1, ::2].__cuda_array_interface__
    assert reverse["strides"] == (-12, 8) and reverse["data"][0] == array._pointer + 12
    assert ut.astype(array, "i1").__cuda_array_interface__["typestr"] == "|i1"
    assert array[:0].__cuda_array_interface__["data"][0] == 0


def test_memory(cuda_queue, usm_type):
    kinds = {"host": um.MemoryUSMHost, "device": um.MemoryUSMDevice, "shared": um.MemoryUSMShared}
    found = kinds[usm_type](64, queue=cuda_queue).__cuda_array_interface__
    assert (found["shape"], found["typestr"], found["strides"]) == ((64,), "|u1", None)


@pytest.mark.parametrize(
    "view", [lambda a: a, lambda a: a.T, lambda a: a[::-1, ::2], lambda a: a[1], lambda a: a[:, :0]]
)
def test_there_and_back(array, usm_type, view):
    a = view(array)
    b = ut.asarray(Producer(a.__cuda_array_interface__, a))
    assert b.tolist() == a.tolist() and b.shape == a.shape and b.flags.writable
    if a.size:
        assert (b._pointer, b.strides, b.usm_type) == (a._pointer, a.strides, usm_type)
        b[...] = 7
        assert a.tolist() == b.tolist() and array.tolist() != [[1, 2, 3], [4, 5, 6]]


def test_the_producer_stays_and_goes_once(array):
    gone = []

    class Counted(Producer):
        def __del__(self):
            gone.append(1)

    b = ut.asarray(Counted(array.__cuda_array_interface__, array))[1]
    gc.collect()
    assert gone == [] and b.tolist() == [4, 5, 6]
    del b
    gc.collect()
    assert gone == [1]


def test_read_only_stays(array):
    interface = array.__cuda_array_interface__
    interface["data"] = (array._pointer, True)
    b = ut.asarray(Producer(interface, array))
    assert not b.flags.writable and b.T.__cuda_array_interface__["data"][1] is True


@pytest.mark.parametrize("stream", [None, 1, 2, "own"])
def test_streams(array, cuda_queue, stream):
    interface = array.__cuda_array_interface__
    interface["stream"] = cuda_queue.native_stream if stream == "own" else stream
    cuda_queue.wait()  # no other stream's work includes the write
    b = ut.asarray(Producer(interface, array))
    assert b.tolist() == array.tolist() and (b.sycl_queue == cuda_queue) is (stream == "own")


def test_version_2_has_no_stream(array, cuda_queue):
    interface = {**array.__cuda_array_interface__, "version": 2}
    interface["stream"] = 0
    cuda_queue.wait()  # version 2 names no stream
    assert ut.asarray(Producer(interface, array)).tolist() == array.tolist()


@pytest.mark.parametrize("stream", ["other", 1, None])
def test_work_of_the_stream_comes_first(cuda_queue, driver, stream):
    """Version 2 stands for the legacy default stream. The stand-in of the driver delays operations at random."""
    other = usm.SyclQueue(cuda_queue.sycl_device)
    number = other.native_stream if stream == "other" else 1
    for i in range(20):
        memory, source = um.MemoryUSMDevice(8, queue=cuda_queue), um.MemoryUSMHost(8, queue=cuda_queue)
        memoryview(source)[:] = bytes([i] * 8)
        interface = {"shape": (8,), "typestr": "|u1", "data": (memory._pointer, False), "version": 2}
        if stream is not None:
            interface.update(version=3, stream=number)
        driver.copy(memory._pointer, source._pointer, 8, number)
        assert ut.asarray(Producer(interface, memory)).tolist() == [i] * 8
        driver.wait(number)


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("version", 1, "version: found 1"),
        ("version", None, "version"),
        ("shape", (2, -1), "shape"),
        ("shape", 3, "shape"),
        ("typestr", ">f4", "typestr"),
        ("typestr", "|V4", "typestr"),
        ("strides", (12, 6), "strides: found 6 bytes along axis 1"),
        ("strides", (12,), "strides"),
        ("strides", (1 << 40, 4), "data"),
        ("data", (0, False), "data: found address 0"),
        ("data", (1 << 20, False), "data: found address 0x100000"),
        ("data", 5, "data"),
        ("mask", object(), "mask: found object"),
        ("descr", [("a", "<f4"), ("b", "<f4")], "descr: found"),
        ("stream", 0, "stream: found 0"),
        ("stream", "x", "stream"),
    ],
)
def test_refused(cuda_queue, key, value, error):
    a = ut.asarray([[1, 2, 3], [4, 5, 6]], "f4", sycl_queue=cuda_queue)
    before = usm.live_allocations()
    with pytest.raises((ValueError, TypeError, OverflowError), match=f"^{error}"):
        ut.asarray(Producer({**a.__cuda_array_interface__, key: value}, a))
    assert usm.live_allocations() == before


@pytest.mark.parametrize("key", ["shape", "typestr", "data", "version"])
def test_missing_keys(array, key):
    interface = array.__cuda_array_interface__
    del interface[key]
    with pytest.raises(ValueError, match=f"^{key}: the entry is missing"):
        ut.asarray(Producer(interface))


def test_freed_memory_and_host_memory_are_refused(cuda_queue):
    a = ut.asarray([1, 2], usm_type="device", sycl_queue=cuda_queue)
    interface, numbers = a.__cuda_array_interface__, bytearray(64)
    with pytest.raises(ValueError, match="^data: found"):
        ut.asarray(Producer({**interface, "data": (ctypes.addressof(ctypes.c_char.from_buffer(numbers)), False)}))
    del a
    gc.collect()
    usm.memory.trim_default_pool()
    with pytest.raises(ValueError, match="^data"):
        ut.asarray(Producer(interface))


def test_the_sycl_dictionary_names_the_gpu(array, usm_type):
    """There is no SYCL object, so the filter string with the driver's number stands for it."""
    interface = array.__sycl_usm_array_interface__
    assert interface["syclobj"] == f"cuda:gpu:{ut.sycl_device_to_dldevice(array.sycl_device)[1]}"
    same = type("Producer", (), {"__sycl_usm_array_interface__": interface})()
    b = ut.asarray(same)
    assert (b._pointer, b.usm_type, b.sycl_device) == (array._pointer, usm_type, array.sycl_device)
    assert b.__sycl_usm_array_interface__ == interface


class Owner:
    """What keeps the memory of a result."""

    def __init__(self, array):
        self.array = array


@pytest.mark.parametrize("view", [lambda a: a, lambda a: a.T, lambda a: a[:, :0], lambda a: a[1, 2]])
def test_results_of_a_provider(array, cuda_queue, view):
    a = view(array)
    owner = Owner(a)
    b = _adopt(owner, a._pointer if a.size else 0, a.shape, a.strides, "<f4", array)
    assert (b.tolist(), b.shape, b.sycl_queue) == (a.tolist(), a.shape, cuda_queue) and b._provided is owner
    if a.size:
        alive, memory = weakref.ref(owner), b._pointer
        del owner
        gc.collect()
        assert memory == a._pointer and alive() is not None
        del b
        gc.collect()
        assert alive() is None


def test_results_of_a_provider_are_checked(array, host_queue):
    address = array._pointer
    for where, shape, typestr, beside, error in [
        (address, (1 << 40,), "<f4", array, ValueError),
        (address, (-1,), "<f4", array, ValueError),
        (address, (2, 3), "<V4", array, ValueError),
        (address + 1, (2,), "<f4", array, ValueError),
        (64, (2,), "<f4", array, ValueError),
        (address, (2, 3), "<f4", ut.zeros(2, sycl_queue=host_queue), ValueError),
        (-1, (2, 3), "<f4", array, OverflowError),
    ]:
        with pytest.raises(error):
            _adopt(Owner(array), where, shape, None, typestr, beside)


def test_operands_and_nested_lists(array):
    producer = Producer(array.__cuda_array_interface__, array)
    assert ut.asarray([producer, producer]).shape == (2, 2, 3)
    target = ut.zeros_like(array)
    target[...] = producer
    assert target.tolist() == array.tolist()
