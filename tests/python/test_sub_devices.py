"""Sub-devices: every form of partition, their properties, and queues and memory on them."""

import pytest

import usm
import usm.memory as um

from support import requirements


@pytest.fixture
def device(queue):
    requirements.parts_of(queue.sycl_device)
    return queue.sycl_device


def test_parts(device):
    units = device.max_compute_units
    parts = device.create_sub_devices(partition=1)
    assert len(parts) == units and all(part.max_compute_units == 1 for part in parts)
    for part in parts:
        assert part.parent_device == device == part.get_unpartitioned_parent_device()
        assert part.get_device_id() == device.get_device_id()
        assert part != device and part == part and hash(part) == hash(part)
        assert part.sycl_platform == device.sycl_platform
        assert "sub-device" in repr(part)
    (whole,) = device.create_sub_devices(partition=[units])
    assert whole.max_compute_units == units
    assert [p.max_compute_units for p in device.create_sub_devices(partition=(1, 1))] == [1, 1]


def test_counts_may_be_whole_floats(device):
    half = device.max_compute_units / 2
    if half.is_integer():
        assert [p.max_compute_units for p in device.create_sub_devices(partition=(half, half))] == [half, half]
        assert len(device.create_sub_devices(partition=half)) == 2


def test_parts_have_no_filter_string(device):
    part = device.create_sub_devices(partition=1)[0]
    with pytest.raises(ValueError, match="root device"):
        _ = part.filter_string
    for arguments in ((), (False,), (True, False)):
        with pytest.raises(ValueError, match="root device"):
            part.get_filter_string(*arguments)


@pytest.mark.parametrize(
    ("partition", "error"),
    [
        (0, usm.SyclSubDeviceCreationError),
        (100_000, usm.SyclSubDeviceCreationError),
        ([1, 0], usm.SyclSubDeviceCreationError),
        ("L1_cache", usm.SyclSubDeviceCreationError),
        ("not_applicable", usm.SyclSubDeviceCreationError),
        (1.5, usm.SyclSubDeviceCreationError),
        ([1, 0.5], usm.SyclSubDeviceCreationError),
        (float("nan"), usm.SyclSubDeviceCreationError),
        ("sideways", ValueError),
        ([], ValueError),
        (-1, (ValueError, OverflowError)),
        ([-1], (ValueError, OverflowError)),
        (Ellipsis, TypeError),
    ],
    ids=repr,
)
def test_refused(device, partition, error):
    with pytest.raises(error):
        device.create_sub_devices(partition=partition)


@pytest.mark.parametrize("partition", [0, 100_000, [1, 0], "L1_cache", "sideways", [], Ellipsis], ids=repr)
def test_refused_as_by_dpctl(dpctl, sycl_queue, partition):
    ours, theirs = sycl_queue.sycl_device, dpctl.SyclDevice(sycl_queue.sycl_device.filter_string)
    requirements.parts_of(ours)
    with pytest.raises(Exception) as expected:
        theirs.create_sub_devices(partition=partition)
    with pytest.raises(Exception) as found:
        ours.create_sub_devices(partition=partition)
    assert type(found.value).__name__ == type(expected.value).__name__


def test_the_argument_is_a_keyword_and_required(device):
    for arguments in ((), (1,)):
        with pytest.raises(TypeError):
            device.create_sub_devices(*arguments)


def test_a_context_over_parts(device):
    parts = device.create_sub_devices(partition=1)
    context = usm.SyclContext(parts)
    assert context.device_count == len(parts) and context.get_devices() == parts
    for part in parts:
        queue = usm.SyclQueue(context, part)
        assert queue.sycl_device == part and queue.sycl_context == context
        memory = um.MemoryUSMShared(16, queue=queue)
        memory.memset(7)
        assert memory.tobytes() == b"\7" * 16
        assert usm.SyclQueue(part).sycl_device == part
    with pytest.raises(usm.SyclQueueCreationError):
        usm.SyclQueue(context, device)


def test_contexts_of_devices_that_do_not_belong_together(host_queue, sycl_queue):
    with pytest.raises(usm.SyclContextCreationError):
        usm.SyclContext([host_queue.sycl_device, sycl_queue.sycl_device])
    with pytest.raises(TypeError):
        usm.SyclContext([host_queue.sycl_device, 3])
    with pytest.raises(TypeError, match="at least one"):
        usm.SyclContext([])
