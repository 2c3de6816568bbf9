"""Every form of `syclobj`: filter string, context, queue, both capsules, any object with `_get_capsule`."""

import gc
import textwrap

import pytest

import usm
import usm.memory as um
import usm.tensor as ut

from support import capsules, process, requirements
from support.interface import changed, settled


def imported(memory, syclobj):
    """`memory` through a dict with another `syclobj`, written to and read back."""
    a = ut.asarray(changed(memory, syclobj=syclobj))
    assert a._pointer == memory._pointer
    a[3] = 42
    assert memory.tobytes()[3] == 42
    return a


def refused(memory, syclobj):
    producer = changed(memory, syclobj=syclobj)
    before = settled()
    for importer in (ut.asarray, um.as_usm_memory):
        with pytest.raises((ValueError, TypeError)) as info:
            importer(producer)
        assert str(info.value).startswith("syclobj"), repr(info.value)
    del info
    assert settled() == before


@pytest.fixture
def memory(allocate, usm_type):
    made = allocate(usm_type, 64)
    made.memset(0)
    return made


def test_queue(memory):
    a = imported(memory, memory.sycl_queue)
    assert a.sycl_queue == memory.sycl_queue


def test_context(memory):
    a = imported(memory, memory.sycl_context)
    assert a.sycl_context == memory.sycl_context
    assert a.sycl_device == memory.sycl_device


def test_filter_string(memory):
    filter_string = memory.sycl_device.filter_string
    backend, device_type, _ = filter_string.split(":")
    for text in (filter_string, f"{backend}:{device_type}"):
        assert imported(memory, text).sycl_device == memory.sycl_device


@pytest.fixture
def sycl_memory(sycl_queue, usm_type):
    requirements.sycl_objects(sycl_queue)
    kinds = {"host": um.MemoryUSMHost, "device": um.MemoryUSMDevice, "shared": um.MemoryUSMShared}
    made = kinds[usm_type](64, queue=sycl_queue)
    made.memset(0)
    return made


@pytest.mark.parametrize("form", ["queue", "context"])
def test_capsules(sycl_memory, form):
    source = sycl_memory.sycl_queue if form == "queue" else sycl_memory.sycl_context
    capsule = source._get_capsule()
    name = capsules.QUEUE if form == "queue" else capsules.CONTEXT
    assert capsules.name_of(capsule) == name
    pointer = capsules.pointer_of(capsule)
    a = imported(sycl_memory, capsule)
    # Not consumed: the same dict works twice, and the capsule is as it was.
    b = imported(sycl_memory, capsule)
    assert (capsules.name_of(capsule), capsules.pointer_of(capsule)) == (name, pointer)
    # Copied: the capsule may go.
    del capsule
    settled()
    a[5] = 7
    assert b[5].item() == 7
    assert a.sycl_context == sycl_memory.sycl_context


@pytest.mark.parametrize("form", ["queue", "context"])
def test_objects_with_get_capsule(sycl_memory, form):
    source = sycl_memory.sycl_queue if form == "queue" else sycl_memory.sycl_context
    a = imported(sycl_memory, capsules.CapsuleSource(source))
    assert a.sycl_context == sycl_memory.sycl_context


def test_each_capsule_is_fresh(sycl_queue):
    requirements.sycl_objects(sycl_queue)
    for source in (sycl_queue, sycl_queue.sycl_context):
        first, second = source._get_capsule(), source._get_capsule()
        assert first is not second
        assert capsules.pointer_of(first) != capsules.pointer_of(second)


def test_queues_and_contexts_from_capsules(sycl_queue):
    requirements.sycl_objects(sycl_queue)
    for arg in (sycl_queue._get_capsule(), capsules.CapsuleSource(sycl_queue)):
        assert usm.SyclQueue(arg) == sycl_queue
    context = sycl_queue.sycl_context
    for arg in (context._get_capsule(), capsules.CapsuleSource(context)):
        assert usm.SyclContext(arg) == context


@pytest.mark.parametrize(
    "syclobj",
    [None, 3, 1.5, b"opencl:cpu", (), [], {}, object(), type("NoCapsule", (), {})()],
    ids=lambda value: type(value).__name__,
)
def test_other_objects_are_refused(memory, syclobj):
    refused(memory, syclobj)


@pytest.mark.parametrize("text", ["", ":", "cuda:quantum:7", "nonsense", "host:cpu:99", "host:cpu:-1", "a:b:c:d", "\0"])
def test_filter_strings_of_nothing(memory, text):
    refused(memory, text)


JUNK = {
    "address_dead": lambda: capsules.make(0xDEAD, capsules.QUEUE),
    "address_dead_context": lambda: capsules.make(0xDEAD, capsules.CONTEXT),
    "aligned_unmapped": lambda: capsules.make(0xDEAD000, capsules.QUEUE),
    "non_canonical": lambda: capsules.make(0xDEAD_0000_0000_0000, capsules.QUEUE),
    "zeroed_memory": lambda: capsules.make(capsules.zeroed_block(), capsules.QUEUE),
    "zeroed_memory_context": lambda: capsules.make(capsules.zeroed_block(), capsules.CONTEXT),
    "wrong_name": lambda: capsules.make(capsules.zeroed_block(), b"SyclEventRef"),
    "no_name": lambda: capsules.make(capsules.zeroed_block(), None),
    "consumed_name": lambda: capsules.make(capsules.zeroed_block(), b"used_SyclQueueRef"),
    "dltensor": lambda: capsules.make(capsules.zeroed_block(), b"dltensor"),
}


@pytest.mark.parametrize("junk", JUNK)
def test_junk_capsules(memory, junk):
    refused(memory, JUNK[junk]())


@pytest.mark.parametrize("junk", JUNK)
def test_objects_that_give_junk_capsules(memory, junk):
    refused(memory, capsules.CapsuleSource(JUNK[junk]))


@pytest.mark.parametrize(("source", "name"), [("context", capsules.QUEUE), ("queue", capsules.CONTEXT)])
def test_a_pointer_under_the_other_name(sycl_memory, source, name):
    genuine = getattr(sycl_memory, f"sycl_{source}")._get_capsule()
    refused(sycl_memory, capsules.make(capsules.pointer_of(genuine), name))
    assert capsules.name_of(genuine) != name


@pytest.mark.parametrize("given", [None, 3, "text", b"SyclQueueRef", Ellipsis], ids=repr)
def test_get_capsule_that_gives_no_capsule(memory, given):
    refused(memory, capsules.CapsuleSource(lambda: given))


def test_errors_of_get_capsule_are_told(memory):
    def broken():
        raise RuntimeError("no capsule today")

    producer = changed(memory, syclobj=capsules.CapsuleSource(broken))
    before = settled()
    with pytest.raises((RuntimeError, ValueError, TypeError), match="no capsule today"):
        ut.asarray(producer)
    assert settled() == before


def test_memory_of_one_backend_under_a_queue_of_the_other(host_queue, sycl_queue):
    for owner, stranger in ((host_queue, sycl_queue), (sycl_queue, host_queue)):
        memory = um.MemoryUSMShared(64, queue=owner)
        for syclobj in (stranger, stranger.sycl_context, stranger.sycl_device.filter_string):
            producer = changed(memory, syclobj=syclobj)
            before = settled()
            with pytest.raises((ValueError, TypeError), match=r"^(data|syclobj)"):
                ut.asarray(producer)
            assert settled() == before


class HostCapsuleSource:
    """As the queue of an extension that links this library, which is a class of its own."""

    def __init__(self, pointer):
        self._pointer = pointer

    def _get_host_capsule(self):
        return capsules.make(self._pointer, capsules.HOST_QUEUE)


@pytest.mark.parametrize("switch", ["0", "1"])
def test_capsules_of_the_host_backend_hold_only_live_queues(host_queue, monkeypatch, switch):
    """Whatever pointer a hand-made one has; they need no switch."""
    monkeypatch.setenv("USM_RAW_CAPSULES", switch)
    made = usm.SyclQueue(host_queue.sycl_context, host_queue.sycl_device)
    capsule = made._get_host_capsule()
    pointer = capsules.pointer_of(capsule)
    assert usm.SyclQueue(HostCapsuleSource(pointer)) == made
    del capsule, made
    gc.collect()
    for wrong in (pointer, 64, capsules.zeroed_block(), id(host_queue)):
        with pytest.raises(ValueError, match="that points to no live queue of the host backend"):
            usm.SyclQueue(HostCapsuleSource(wrong))
        with pytest.raises(ValueError, match="^sycl_queue: found a capsule"):
            ut.zeros(3, sycl_queue=HostCapsuleSource(wrong))


def test_capsules_can_be_refused(sycl_queue, dpctl):
    """All but those that classes of dpctl make."""
    requirements.sycl_objects(sycl_queue)
    code = """
        import usm, usm.tensor as ut

        class Maker:
            def __init__(self, made):
                self.made = made

            def _get_capsule(self):
                return self.made

        queue = usm.SyclQueue(PLACE)
        assert usm.SyclQueue(queue) == queue and usm.SyclQueue("host") is not None
        for capsule in (queue._get_capsule(), queue.sycl_context._get_capsule()):
            for given in (capsule, Maker(capsule)):
                try:
                    ut.zeros(3, sycl_queue=given)
                except TypeError as error:
                    print(error)
        import dpctl
        print(ut.zeros(3, sycl_queue=dpctl.SyclQueue("opencl")).tolist())
    """
    device = requirements.device_of("sycl").filter_string
    printed = process.check(f"PLACE = {device!r}\n" + textwrap.dedent(code), USM_RAW_CAPSULES="0").splitlines()
    assert len(printed) == 5 and printed[-1] == "[0.0, 0.0, 0.0]", printed
    assert all(line.startswith("sycl_queue: found a capsule that dpctl did not make") for line in printed[:-1])
