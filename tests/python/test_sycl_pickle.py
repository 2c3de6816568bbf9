"""Pickles and copies of devices, contexts, queues, events and platforms."""

import copy
import multiprocessing
import os
import pickle
import sys

import pytest

import usm
import usm.memory as um
import usm.tensor as ut

from support import process

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
PROPERTIES = [None, "in_order", "enable_profiling", ["in_order", "enable_profiling"]]


def again(thing, protocol=pickle.DEFAULT_PROTOCOL):
    return pickle.loads(pickle.dumps(thing, protocol))


def default_queue(device):
    """As an object of this package: once the program has imported dpctl, the function gives dpctl's own one."""
    return usm.SyclQueue(usm.get_device_cached_queue(device))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_devices_contexts_and_platforms(queue, protocol):
    device = queue.sycl_device
    for thing in (device, usm.SyclContext(device), usm.SyclPlatform(device), default_queue(device)):
        found = again(thing, protocol)
        assert found == thing and type(found) is type(thing)
        assert hash(found) == hash(thing)


@pytest.mark.parametrize("properties", PROPERTIES, ids=str)
def test_queues_by_device_and_properties(queue, properties):
    made = usm.SyclQueue(queue.sycl_device, property=properties)
    found = again(made)
    assert found != made, "a new queue"
    assert found.sycl_device == made.sycl_device and found.sycl_context == made.sycl_context
    assert found.is_in_order == made.is_in_order and found.has_enable_profiling == made.has_enable_profiling
    a = ut.asarray([1, 2], sycl_queue=found)
    assert a.tolist() == [1, 2] and a.sycl_queue == found


def test_the_default_queue_is_that_of_the_other_process(queue):
    default = default_queue(queue.sycl_device)
    assert again(default) == default
    assert again(ut.zeros(2, device=queue.sycl_device).device) == ut.zeros(2, device=queue.sycl_device).device


def parts_of(device):
    try:
        return device.create_sub_devices(partition=1)
    except usm.SyclSubDeviceCreationError:
        return []


def test_parts_are_found_by_their_position(queue):
    parts = parts_of(queue.sycl_device)
    for part in parts[:2]:
        found = again(part)
        assert found.parent_device == part.parent_device == queue.sycl_device
        assert found.max_compute_units == part.max_compute_units == 1
        queue_of_part = usm.SyclQueue(part, property="in_order")
        found = again(queue_of_part)
        assert found.is_in_order and found.sycl_device.parent_device == queue.sycl_device
        assert ut.asarray([1, 2], sycl_queue=found).tolist() == [1, 2]


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_are_the_same_object(queue, duplicate):
    event = queue.submit_barrier()
    device = queue.sycl_device
    for thing in (
        queue,
        device,
        queue.sycl_context,
        usm.SyclPlatform(device),
        event,
        ut.zeros(2, sycl_queue=queue).device,
    ):
        assert duplicate(thing) is thing
    nested = duplicate({"queue": queue, "array": ut.asarray([1], sycl_queue=queue)})
    assert nested["queue"] is queue and nested["array"].sycl_queue == queue


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_pickle_of_an_event_waits_for_it(queue, protocol):
    memory = um.MemoryUSMDevice(1 << 20, queue=queue)
    for event in (queue.submit_barrier(), queue.memset_async(memory, 7), usm.SyclEvent()):
        data = pickle.dumps(event, protocol)
        assert event.execution_status == usm.event_status_type.complete
        found = pickle.loads(data)
        assert type(found) is usm.SyclEvent
        assert found.execution_status == usm.event_status_type.complete
        found.wait()
    assert memory.tobytes() == bytes([7]) * (1 << 20)


def test_a_device_with_another_name_is_another_device(queue):
    from usm._usm import _device_from_pickle

    name = queue.sycl_device.filter_string
    assert _device_from_pickle(name, None, [], queue.sycl_device.name) == queue.sycl_device
    with pytest.raises(usm.SyclDeviceCreationError, match=f'(?s)found .* as {name}, allowed is "Other GPU"'):
        _device_from_pickle(name, None, [], "Other GPU")


def test_a_device_that_is_missing_there_is_a_clear_error(queue):
    from usm._usm import _device_from_pickle

    has_sycl = any(backend["name"] == "sycl" and backend["available"] for backend in usm.backends())
    for arguments, part in (
        (("host:cpu:7", None, []), "no device matches"),
        (("cuda:gpu:0", "0000:ff:00.0", []), "PCI address 0000:ff:00.0"),
        (("nonsense", None, []), "is not a filter selector"),
        # Without a SYCL runtime the error lists the places where it was searched for. The first line of it is enough.
        (
            ("level_zero:gpu:7", None, []),
            "no device matches" if has_sycl else "no SYCL runtime that can be loaded was found; ",
        ),
    ):
        with pytest.raises(usm.SyclDeviceCreationError, match="^pickle: its device is not here: ") as caught:
            _device_from_pickle(*arguments)
        assert part in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(usm.SyclSubDeviceCreationError):
        _device_from_pickle(queue.sycl_device.filter_string, None, [(1 << 30, 0)])
    wrong_parts = ([1], [("x", 0)], range(2**40))
    for wrong in ((None, None, []), ("host", 3, []), *(("host", None, parts) for parts in wrong_parts)):
        with pytest.raises((TypeError, ValueError)):
            _device_from_pickle(*wrong)


def test_pickles_go_to_processes_without_that_device(sycl_queue):
    code = """
        import pickle, usm
        try:
            pickle.loads(bytes.fromhex(DATA))
        except usm.UsmError as error:
            assert "its device is not here" in str(error), error
        else:
            raise AssertionError
        """
    for thing in (sycl_queue, sycl_queue.sycl_device, sycl_queue.sycl_context):
        data = pickle.dumps(thing).hex()
        process.check(
            code.replace("DATA", repr(data)), USM_SYCL_ROOT="/nowhere", USM_CUDA="0", ONEAPI_DEVICE_SELECTOR="cuda:gpu"
        )


def _work(things):
    queue, device, context = things
    array = ut.asarray([1, 2, 3], sycl_queue=queue)
    same = device == queue.sycl_device and context == queue.sycl_context and queue.is_in_order
    return same, array.tolist(), queue


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_multiprocessing(queue, method):
    made = usm.SyclQueue(queue.sycl_device, property="in_order")
    paths = os.pathsep.join([os.path.dirname(__file__), *filter(None, [os.environ.get("PYTHONPATH")])])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", paths)
        with multiprocessing.get_context(method).Pool(1) as pool:
            same, values, there_and_back = pool.apply(_work, ((made, made.sycl_device, made.sycl_context),))
    assert same and values == [1, 2, 3]
    assert there_and_back.sycl_device == made.sycl_device and there_and_back.is_in_order
    if method == "forkserver":
        from multiprocessing import forkserver

        forkserver._forkserver._stop()  # its next use is with the usual path again


def test_beside_dpctl(dpctl):
    """Once the program has imported dpctl, objects are of a joint class; pickles from before stay good."""
    made = usm.SyclQueue(property="in_order")
    assert isinstance(made, dpctl.SyclQueue)
    for thing in (made, made.sycl_device, made.sycl_context):
        found = again(thing)
        assert type(found) is type(thing) and copy.copy(thing) is thing
    assert again(made.sycl_device) == made.sycl_device and again(made).is_in_order
    assert sys.modules["dpctl"] is dpctl
