"""The C exchange API as compiled code uses it, through ctypes."""

import ctypes
import gc
from pathlib import Path

import pytest

import usm
import usm.tensor as ut

from support import capsules, children
from support.dlpack import SET_ERROR, DLTensor, ExchangeApi, External, ManagedVersioned, places
from support.interface import Producer, settled
from support.layouts import STRIDED, strided_array

place, queue, usm_type = places()


@pytest.fixture
def api():
    capsule = ut.usm_ndarray.__dlpack_c_exchange_api__
    assert capsules.name_of(capsule) == b"dlpack_exchange_api"
    return ExchangeApi.from_address(capsules.pointer_of(capsule))


def delete(pointer):
    managed = ManagedVersioned.from_address(pointer)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(managed.deleter)(pointer)


def array(queue, usm_type):
    return ut.asarray([[1, 2, 3], [4, 5, 6]], "i2", usm_type=usm_type, sycl_queue=queue)


def test_the_table(api):
    assert (api.major, api.minor, api.prev_api) == (1, 3, None)
    for name in ("allocate", "from_object", "to_object", "borrow", "current_stream"):
        assert ctypes.cast(getattr(api, name), ctypes.c_void_p).value
    assert ut.usm_ndarray.__dlpack_c_exchange_api__ is ut.asarray(1).__dlpack_c_exchange_api__


def test_from_object_and_back(api, queue, usm_type, at_start):
    a = array(queue, usm_type)
    out = ctypes.c_void_p()
    assert api.from_object(a, ctypes.byref(out)) == 0
    managed = ManagedVersioned.from_address(out.value)
    assert (managed.major, managed.flags, managed.tensor.data) == (1, 0, a._pointer)
    pointer = a._pointer
    del a
    gc.collect()
    assert usm.live_allocations()["count"] == at_start["count"] + 1
    result = ctypes.py_object()
    assert api.to_object(out, ctypes.byref(result)) == 0
    b = result.value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(b))  # the reference that C would own
    assert (b._pointer, b.tolist(), b.usm_type, b.flags.writable) == (pointer, [[1, 2, 3], [4, 5, 6]], usm_type, True)
    del b, result, managed
    assert settled() == at_start


def test_a_tensor_that_is_deleted(api, queue, usm_type, at_start):
    a = array(queue, usm_type)
    out = ctypes.c_void_p()
    api.from_object(a, ctypes.byref(out))
    del a
    delete(out.value)
    assert settled() == at_start


def test_external_tensors(api):
    external = External()
    result = ctypes.py_object()
    assert api.to_object(ctypes.addressof(external.managed), ctypes.byref(result)) == 0
    assert result.value.tolist() == [5, 6] and external.deleted == 1
    ctypes.pythonapi.Py_DecRef(result)
    external = External()
    external.tensor.code = 99
    with pytest.raises(ValueError, match="^code"):
        api.to_object(ctypes.addressof(external.managed), ctypes.byref(ctypes.py_object()))
    # A tensor that is refused was given away all the same.
    assert external.deleted == 1
    with pytest.raises(TypeError, match="null"):
        api.to_object(None, ctypes.byref(ctypes.py_object()))


@pytest.mark.parametrize("name", STRIDED)
def test_borrowed_tensors(api, allocate, usm_type, name):
    a, _ = strided_array(allocate, usm_type, name)
    tensor = DLTensor()
    assert api.borrow(a, ctypes.byref(tensor)) == 0
    assert not a.size or tensor.data + tensor.byte_offset == a._pointer
    # Without elements, memory that is no host memory still tells its kind by an address.
    assert bool(tensor.data) == (bool(a.size) or tensor.device_type != 1)
    assert tuple(tensor.shape[i] for i in range(a.ndim)) == a.shape
    assert tuple(tensor.strides[i] for i in range(a.ndim)) == a.strides
    assert (tensor.ndim, tensor.device_type) == (a.ndim, a.__dlpack_device__()[0])


def test_what_cannot_be_handed_out(api, queue, usm_type):
    a = array(queue, usm_type)
    frozen = ut.asarray(Producer({**a.__sycl_usm_array_interface__, "data": (a._pointer, True)}, a))
    with pytest.raises(BufferError, match="read-only"):
        api.borrow(frozen, ctypes.byref(DLTensor()))
    out = ctypes.c_void_p()
    assert api.from_object(frozen, ctypes.byref(out)) == 0
    assert ManagedVersioned.from_address(out.value).flags == 1
    delete(out.value)
    for function, target in ((api.borrow, DLTensor()), (api.from_object, ctypes.c_void_p())):
        for wrong in (None, 3, [1], memoryview(b"a")):
            with pytest.raises(TypeError, match="usm_ndarray"):
                function(wrong, ctypes.byref(target))


def test_memory_that_dlpack_has_no_device_for(api, sycl_queue):
    if not sycl_queue.sycl_device.partition_max_sub_devices:
        pytest.skip("the device has no parts")
    part = sycl_queue.sycl_device.create_sub_devices(partition=1)[0]
    nowhere = ut.asarray([1], usm_type="device", sycl_queue=usm.SyclQueue(part))
    for function, target in ((api.borrow, DLTensor()), (api.from_object, ctypes.c_void_p())):
        with pytest.raises(BufferError, match="__sycl_usm_array_interface__"):
            function(nowhere, ctypes.byref(target))


def test_streams_are_queues(api, queue):
    out = ctypes.c_void_p(77)
    for device in ((1, 0), (12, 0)):
        out.value = 77
        assert api.current_stream(*device, ctypes.byref(out)) == 0 and out.value is None
    if queue.native_stream:
        assert api.current_stream(2, 0, ctypes.byref(out)) == 0
        assert out.value == usm.get_device_cached_queue(queue.sycl_device).native_stream
    elif queue.sycl_device.backend != "host":
        assert api.current_stream(14, 0, ctypes.byref(out)) == 0 and out.value
        first = out.value
        assert api.current_stream(14, 0, ctypes.byref(out)) == 0 and out.value == first
        taken = usm.SyclQueue(capsules.make(first, capsules.QUEUE))
        assert taken == usm.get_device_cached_queue(queue.sycl_device)
    for device in ((2, 99), (10, 0), (12, 1), (14, 99), (14, -1)):
        with pytest.raises(ValueError, match="^device"):
            api.current_stream(*device, ctypes.byref(out))


def test_allocation(api, queue, at_start):
    errors = []
    set_error = SET_ERROR(lambda context, kind, message: errors.append((context, kind, message)))
    shape = (ctypes.c_int64 * 2)(3, 4)
    prototype = DLTensor(device_type=1, ndim=2, code=2, bits=32, lanes=1)
    prototype.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    devices = [1] if queue.sycl_device.backend == "host" else [1, 2, 3, 13] if queue.native_stream else [1, 14]
    for device in devices:
        prototype.device_type = device
        out = ctypes.c_void_p()
        assert api.allocate(ctypes.byref(prototype), ctypes.byref(out), None, set_error) == 0
        tensor = ManagedVersioned.from_address(out.value).tensor
        assert (tensor.device_type, tensor.ndim, tensor.code, tensor.bits) == (device, 2, 2, 32)
        assert tuple(tensor.shape[i] for i in range(2)) == (3, 4) and tensor.data
        if device == 1:
            ctypes.memset(tensor.data, 0, 48)
        delete(out.value)
    assert errors == []
    for spoil in ({"device_type": 10}, {"device_id": 9}, {"code": 99}, {"ndim": -1}, {"lanes": 2}):
        bad = DLTensor.from_buffer_copy(prototype)
        for name, value in spoil.items():
            setattr(bad, name, value)
        assert api.allocate(ctypes.byref(bad), ctypes.byref(out), 1234, set_error) == -1
    assert [(context, kind) for context, kind, _ in errors] == [(1234, b"BufferError")] * 5
    assert all(message for _, _, message in errors)
    assert api.allocate(None, ctypes.byref(out), None, set_error) == -1
    assert settled() == at_start


BELOW = f"""
import ctypes, sys
sys.path.append({str(Path(__file__).parent)!r})
from support.dlpack import ExchangeApi, ManagedVersioned
from support import capsules
api = ExchangeApi.from_address(capsules.pointer_of(ut.usm_ndarray.__dlpack_c_exchange_api__))

class Producer:
    def __init__(self, array):
        self.array, self.__sycl_usm_array_interface__ = array, array.__sycl_usm_array_interface__
    def __del__(self):
        gone.append(self.array.tolist()[:3])

def exported(array):
    out = ctypes.c_void_p()
    assert api.from_object(array, ctypes.byref(out)) == 0
    return out.value

def delete(pointer):
    # Without the interpreter, as every function that is called so.
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ManagedVersioned.from_address(pointer).deleter)(pointer)

class Caller:
    # Its property is read within a call of ours.
    def __init__(self, what):
        self.what = what
    @property
    def __sycl_usm_array_interface__(self):
        self.what()
        return mine.__sycl_usm_array_interface__

mine, gone = array(3), []
"""


@pytest.mark.parametrize(("backend", "strict"), [("host", "0"), ("sycl", "0"), ("sycl", "1")])
def test_deleters_run_without_the_interpreter_below_a_call_of_ours(backend, strict, monkeypatch):
    """PyO3 believes then that this thread holds the interpreter, which a library below has given up."""
    monkeypatch.setenv("USM_STRICT_DEVICE", strict)
    children.run(
        backend,
        BELOW
        + """
# What the memory keeps is a Python object, whose end runs Python code.
theirs = exported(ut.asarray(Producer(ut.asarray([1, 2, 3], sycl_queue=QUEUE))))
ut.asarray(Caller(lambda: delete(theirs)))
assert gone == [[1, 2, 3]], gone
# Memory that is not of a pool waits for what is under way on it.
um.use_default_pool(False)
large = ut.usm_ndarray(1 << 25, "f8", buffer=um.MemoryUSMDevice(1 << 28, queue=QUEUE))
theirs = exported(large)
for n in range(8):
    large[...] = n
pending = QUEUE.submit_barrier() if os.environ["USM_STRICT_DEVICE"] == "1" else None
del large
def last():
    assert pending is None or pending.execution_status != usm.event_status_type.complete
    delete(theirs)
ut.asarray(Caller(last))
""",
        seconds=100,
    )
