"""Devices, contexts, queues, and backends as readable values."""

import pytest

import usm

from support import requirements


def test_backends_are_values(queue):
    found = {b["name"]: b for b in usm.backends()}
    assert set(found) == {"host", "sycl", "cuda"}
    for backend in found.values():
        assert set(backend) == {"name", "available", "library", "reason", "tried", "notes", "devices"}
        assert type(backend["available"]) is bool
        assert all(type(backend[key]) is list for key in ("tried", "notes", "devices"))
        if not backend["available"]:
            assert backend["reason"] and backend["devices"] == []
    assert found["host"]["available"]
    mine = found["host" if queue.sycl_device.backend == "host" else "cuda" if queue.native_stream else "sycl"]
    assert mine["available"] and mine["reason"] is None and mine["devices"]


def test_the_sycl_library_is_named(sycl_queue):
    requirements.sycl_objects(sycl_queue)
    (sycl,) = [b for b in usm.backends() if b["name"] == "sycl"]
    assert "libDPCTLSyclInterface" in sycl["library"]


def test_a_missing_backend_says_what_was_tried():
    (sycl,) = [b for b in usm.backends() if b["name"] == "sycl"]
    if sycl["available"]:
        assert not requirements.NO_SYCL or sycl["library"]
        return
    assert sycl["tried"] and all(isinstance(attempt, str) for attempt in sycl["tried"])
    assert "libDPCTLSyclInterface" in sycl["reason"] + " ".join(sycl["tried"])


def test_device_attributes(queue):
    device = queue.sycl_device
    assert device in usm.get_devices()
    for text in ("name", "vendor", "driver_version", "filter_string"):
        assert type(getattr(device, text)) is str and getattr(device, text), text
    assert type(device.backend) is usm.backend_type and type(device.device_type) is usm.device_type
    assert device.filter_string.startswith(f"{device.backend}:{device.device_type}:")
    for number in ("max_mem_alloc_size", "global_mem_size", "max_compute_units"):
        assert getattr(device, number) > 0, number
    for kind in ("host", "device", "shared"):
        assert getattr(device, f"has_aspect_usm_{kind}_allocations") is True
    assert type(device.has_aspect_fp16) is bool and type(device.has_aspect_fp64) is bool
    assert [device.is_cpu, device.is_gpu, device.is_accelerator].count(True) == 1
    assert device.is_cpu == (device.device_type == "cpu")
    assert device.filter_string in repr(device)


def test_the_host_device(host_queue):
    device = host_queue.sycl_device
    assert (device.filter_string, device.backend, device.is_cpu) == ("host:cpu:0", "host", True)
    assert device.has_aspect_fp64


def test_lists_and_counts(queue):
    devices = usm.get_devices()
    assert len(devices) == usm.get_num_devices() == len(set(devices))
    assert usm.select_default_device() in devices
    assert usm.has_cpu_devices() == any(d.is_cpu for d in devices)
    assert usm.has_gpu_devices() == any(d.is_gpu for d in devices)


def test_devices_by_filter_string(queue):
    device = queue.sycl_device
    for text in (device.filter_string, f"{device.backend}:{device.device_type}", device.backend):
        assert usm.SyclDevice(text) == device
    assert usm.SyclDevice() == usm.select_default_device()
    assert hash(usm.SyclDevice(device.filter_string)) == hash(device)
    assert device != 3 and device != device.filter_string


@pytest.mark.parametrize(
    "text", ["", "nonsense", "host:gpu", "host:cpu:1", "host:cpu:x", "cuda:accelerator:99", "a:b:c:d"]
)
def test_devices_that_do_not_exist(text):
    with pytest.raises(usm.SyclDeviceCreationError):
        usm.SyclDevice(text)


@pytest.mark.parametrize("arg", [3, 1.5, b"host", Ellipsis, []], ids=repr)
def test_arguments_of_wrong_type(arg):
    for cls in (usm.SyclDevice, usm.SyclContext, usm.SyclQueue):
        with pytest.raises(TypeError):
            cls(arg)


def test_contexts(queue):
    device = queue.sycl_device
    for arg in (device, device.filter_string):
        context = usm.SyclContext(arg)
        assert context.sycl_device == device
        assert device in context.get_devices()
    context = queue.sycl_context
    assert context == queue.sycl_context and hash(context) == hash(queue.sycl_context)
    assert context != 3
    assert usm.SyclContext().sycl_device == usm.select_default_device()
    with pytest.raises((usm.SyclContextCreationError, usm.SyclDeviceCreationError)):
        usm.SyclContext("nonsense")


def test_queues(queue):
    device = queue.sycl_device
    for arg in (device, device.filter_string, queue.sycl_context):
        assert usm.SyclQueue(arg).sycl_device == device
    assert usm.SyclQueue(queue.sycl_context).sycl_context == queue.sycl_context
    assert usm.SyclQueue(queue) == queue
    assert usm.SyclQueue().sycl_device == usm.select_default_device()
    assert hash(usm.SyclQueue(queue)) == hash(queue)
    assert queue != 3
    queue.wait()
    with pytest.raises((usm.SyclQueueCreationError, usm.SyclDeviceCreationError)):
        usm.SyclQueue("nonsense")


def test_in_order_queues(queue):
    device = queue.sycl_device
    assert usm.SyclQueue(device, property="in_order").is_in_order is True
    assert type(usm.SyclQueue(device).is_in_order) is bool
    for bits, words in ((0, "default"), (1, "enable_profiling"), (2, ["in_order", 0]), (3, ("in_order", 1))):
        for queue in (usm.SyclQueue(device, property=bits), usm.SyclQueue(device, property=words)):
            # Streams of CUDA are always in order.
            in_order = bool(bits & 2) or queue.native_stream is not None
            assert (queue.has_enable_profiling, queue.is_in_order) == (bool(bits & 1), in_order)
    for wrong in ("sideways", 4, -1, 4.5, ["in_order", ()], b"in_order"):
        with pytest.raises(ValueError, match="property"):
            usm.SyclQueue(device, property=wrong)


def test_exceptions():
    for error in (usm.SyclDeviceCreationError, usm.SyclContextCreationError, usm.SyclQueueCreationError):
        assert issubclass(error, Exception)
    assert issubclass(usm.USMAllocationError, MemoryError)
    with pytest.raises(usm.SyclDeviceCreationError, match="nonsense"):
        usm.SyclDevice("nonsense")
