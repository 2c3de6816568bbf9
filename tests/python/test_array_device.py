"""`Device`, the array API's type for the place of an array, and moves between devices."""

import pytest

import usm
import usm.tensor as ut

from support.interface import settled


def numbers(array, usm_type):
    a = array((2, 3), "i4", buffer=usm_type)
    a[...] = [[1, 2, 3], [4, 5, 6]]
    return a


def test_a_device_stands_for_a_queue(array, queue, usm_type):
    a = numbers(array, usm_type)
    device = a.device
    assert type(device) is ut.Device
    assert device.sycl_queue == queue and device.sycl_device == queue.sycl_device
    assert device.sycl_context == queue.sycl_context
    assert device == a[0].device and hash(device) == hash(a.T.device) == hash(queue)
    assert device == queue
    other = ut.Device.create_device(usm.SyclQueue(queue.sycl_device))
    assert device != other and device != queue.sycl_device and device != "cpu" and device is not None
    assert repr(device) == str(device) == f"Device({queue.sycl_device.filter_string})"
    device.wait()
    assert {device: 1}[a.device] == 1
    with pytest.raises(TypeError):
        ut.Device()


def test_create_device(queue):
    cached = usm.get_device_cached_queue(queue.sycl_device)
    text = queue.sycl_device.filter_string
    for argument in (queue.sycl_device, text, cached, ut.Device.create_device(text)):
        assert ut.Device.create_device(argument).sycl_queue == cached
    assert ut.Device.create_device(queue).sycl_queue == queue
    assert (
        ut.Device.create_device(device=queue._get_capsule() if queue.backend.name not in ("host", "cuda") else queue)
        == queue
    )
    assert ut.Device.create_device() == ut.Device.create_device(None)
    for wrong in (3, object(), "nonsense:::"):
        with pytest.raises((TypeError, ValueError, usm.SyclDeviceCreationError)):
            ut.Device.create_device(wrong)


def test_device_information(queue, capsys):
    ut.Device.create_device(queue).print_device_info()
    queue.sycl_device.print_device_info()
    first, second = capsys.readouterr().out.split("    Name")[1:]
    assert first == second


def test_devices_are_taken_where_queues_are(array, queue):
    device = ut.Device.create_device(queue)
    assert ut.zeros(3, device=device).sycl_queue == queue
    assert usm.SyclQueue(device) == queue
    assert usm.memory.MemoryUSMShared(3, queue=device).sycl_queue == queue


def test_to_the_same_place(array, queue, usm_type):
    a = numbers(array, usm_type)
    for target in (queue, a.device):
        assert a.to_device(target) is a
        assert a.to_device(target, stream=queue) is a


def test_to_another_queue_of_the_context(array, queue, usm_type):
    a = numbers(array, usm_type)[:, ::-1]
    other = usm.SyclQueue(queue.sycl_context, queue.sycl_device)
    before = settled()
    there = a.to_device(other, stream=queue)
    assert settled() == before, "no copy"
    assert there.sycl_queue == other and there._pointer == a._pointer and there.strides == a.strides
    there[0] = 9
    assert a.tolist() == [[9, 9, 9], [6, 5, 4]]
    a.flags.writable = False
    assert not a.to_device(other).flags.writable


@pytest.mark.parametrize("usm_type", ["host", "device", "shared"])
def test_between_backends(array, queue, sycl_queue, host_queue, usm_type):
    a = numbers(array, usm_type).T
    for target in (sycl_queue, host_queue, "host:cpu:0", usm.SyclDevice("host")):
        there = a.to_device(target, stream=usm.SyclQueue(queue.sycl_device))
        assert there.tolist() == a.tolist() and there.usm_type == usm_type
        assert there.flags.writable
        back = there.to_device(queue)
        assert back.sycl_queue == queue and back.tolist() == a.tolist()


def test_arguments(array):
    a = array((2,), "f4")
    for stream in (3, "cpu", object()):
        with pytest.raises(TypeError, match="^stream"):
            a.to_device(a.device, stream=stream)
    with pytest.raises(TypeError):
        a.to_device(target_device=a.device)
    with pytest.raises(TypeError, match="^target_device"):
        a.to_device(3.5)
    with pytest.raises(usm.SyclDeviceCreationError):
        a.to_device("cuda:gpu:99")


def test_devices_of_dpnp(dpt, sycl_queue):
    theirs = dpt.zeros(3, device=sycl_queue.sycl_device.filter_string)
    ours = ut.Device.create_device(theirs.device)
    assert ours.sycl_device == sycl_queue.sycl_device
    a = ut.zeros((2, 2), device=theirs.device)
    assert a.sycl_queue == ours.sycl_queue
    assert str(theirs.device) == str(ours)
    assert ut.zeros(2, device="host").to_device(theirs.device).tolist() == [0, 0]
