"""Operations of a queue, blocking and as events, between every two kinds of memory, beside dpctl."""

import pytest

import usm
import usm.memory as um

KINDS = {"host": um.MemoryUSMHost, "device": um.MemoryUSMDevice, "shared": um.MemoryUSMShared}
CONTENT = bytes(range(100))


@pytest.fixture(params=[False, True], ids=["blocking", "async"])
def call(request):
    """Calls an operation of a queue by name, in one of its two forms, and waits."""

    def run(queue, name, *arguments, **keywords):
        if request.param:
            event = getattr(queue, f"{name}_async")(*arguments, **keywords)
            assert type(event) is usm.SyclEvent
            return event.wait()
        return getattr(queue, name)(*arguments, **keywords)

    return run


def test_names_of_dpctl(dpctl):
    absent = {
        "__pyx_vtable__",
        "__setstate__",
        "addressof_ref",
        "_submit_keep_args_alive",
    }
    assert set(dir(dpctl.SyclQueue)) - set(dir(usm.SyclQueue)) == absent


@pytest.mark.parametrize("how", ["wait", "submit_barrier"])
def test_wait_for_memory_of_another_context(queue, how):
    device = queue.sycl_device
    other = usm.SyclQueue(usm.SyclContext(device), device)
    memory = um.MemoryUSMDevice(1 << 26, queue=other)
    for value in range(4):
        event = queue.memset_async(memory, value)
        waited = getattr(queue, how)()
        if waited is not None:
            waited.wait()
        assert event.execution_status == usm.event_status_type.complete


def test_memcpy_between_buffers(queue, call):
    for keywords in ({}, {"property": "in_order"}):
        queue = usm.SyclQueue(queue.sycl_device, **keywords)
        source, target = bytearray(CONTENT[:100]), bytearray(100)
        call(queue, "memcpy", target, source, 60)
        assert target == CONTENT[:60] + bytes(40)
        call(queue, "memcpy", memoryview(source)[1:], memoryview(source)[:99], 99)
        assert source == CONTENT[:1] + CONTENT[:99]
        memory = um.MemoryUSMShared(100, queue=queue)
        before = queue.memcpy_async(memory, CONTENT, 100)
        event = queue.memcpy_async(target, source, 100, [before])
        assert before.execution_status == event.execution_status == "complete" and target == source
        for count, error in ((101, ValueError), (-1, ValueError)):
            with pytest.raises(error):
                call(queue, "memcpy", target, source, count)
        with pytest.raises(BufferError):
            call(queue, "memcpy", bytes(8), source, 8)


@pytest.mark.parametrize("count", [0, 1, 99, 100])
def test_memcpy(queue, usm_type, call, count):
    a, b = KINDS[usm_type](100, queue=queue), um.MemoryUSMDevice(128, queue=queue)
    a.memset(0)
    b.memset(0)
    call(queue, "memcpy", a, CONTENT, count)
    call(queue, "memcpy", dest=b, src=a, count=count)
    out = bytearray(128)
    call(queue, "memcpy", out, b, count)
    assert out == CONTENT[:count] + bytes(128 - count)


def test_memcpy_between_queues_contexts_and_backends(host_queue, sycl_queue, call):
    other = usm.SyclQueue(usm.SyclContext([sycl_queue.sycl_device]), sycl_queue.sycl_device)
    places = [host_queue, sycl_queue, other]
    for source in places:
        for target in places:
            a, b = um.MemoryUSMDevice(100, queue=source), um.MemoryUSMDevice(100, queue=target)
            a.copy_from_host(CONTENT)
            call(target, "copy", b, a)
            assert b.tobytes() == CONTENT


def test_copy(queue, usm_type, call):
    a, out = KINDS[usm_type](100, queue=queue), bytearray(100)
    call(queue, "copy", a, CONTENT)
    call(queue, "copy", out, a)
    assert out == CONTENT
    with pytest.raises(ValueError, match="^src: found 99 bytes, allowed are 100"):
        call(queue, "copy", a, CONTENT[1:])


def test_memset_and_fill(queue, usm_type, call):
    a = KINDS[usm_type](100, queue=queue)
    call(queue, "memset", a)
    call(queue, "memset", a, 7, 10)
    call(queue, "fill", a, b"abc", 2)
    assert a.tobytes() == b"abcabc" + b"\7" * 4 + bytes(90)
    call(queue, "memset", a, value=255)
    assert a.tobytes() == b"\xff" * 100
    call(queue, "fill", dest=a, pattern=b"abcd")
    assert a.tobytes() == b"abcd" * 25
    with pytest.raises(ValueError, match="evenly"):
        call(queue, "fill", a, b"abc")
    for pattern in (b"", b"x" * 17):
        with pytest.raises(ValueError, match="pattern"):
            call(queue, "fill", a, pattern)
    for count in (101, 2**63):
        with pytest.raises(ValueError, match="^dest: found 100 bytes"):
            call(queue, "memset", a, 1, count)
    with pytest.raises(OverflowError):
        call(queue, "memset", a, 256)
    assert a.tobytes() == b"abcd" * 25


def test_arrays_are_operands(array, queue, call):
    a = array((5, 2), "f4", buffer="shared")
    call(queue, "fill", a, b"\0\0\x80\x3f")
    assert a.tolist() == [[1.0, 1.0]] * 5
    out = bytearray(16)
    call(queue, "memcpy", out, a[1:3], 16)
    assert bytes(out) == b"\0\0\x80\x3f" * 4
    with pytest.raises(ValueError, match="^(dest|src): found"):
        call(queue, "memcpy", out, a[:, 0], 16)


@pytest.mark.parametrize("count", [0, 1, 64, 1000])
def test_hints(queue, usm_type, call, count):
    a = KINDS[usm_type](100, queue=queue)
    a.copy_from_host(CONTENT)
    call(queue, "prefetch", a, count)
    call(queue, "mem_advise", a, count, 0)
    assert a.tobytes() == CONTENT
    for name, rest in (("prefetch", ()), ("mem_advise", (0, 0))):
        with pytest.raises(TypeError, match="^mem: found bytearray"):
            call(queue, name, bytearray(3), *rest)
        with pytest.raises(OverflowError):
            call(queue, name, a, -1, *rest[1:])


def test_refused(queue, usm_type, call):
    a = KINDS[usm_type](8, queue=queue)
    a.memset(5)
    for count in (9, 2**62):
        for operands in ((a, bytes(16)), (bytearray(16), a)):
            with pytest.raises(ValueError, match="found 8 bytes"):
                call(queue, "memcpy", *operands, count)
    with pytest.raises(ValueError, match="found 3 bytes"):
        call(queue, "memcpy", a, b"abc", 4)
    with pytest.raises(ValueError, match="count"):
        call(queue, "memcpy", a, b"abc", -1)
    for count in ("x", None, 1.5, True):
        with pytest.raises(TypeError, match="^count"):
            call(queue, "memcpy", a, b"abc", count)
    for operands in ((a, 3), (None, a), (bytearray(8), None), (3, bytes(8))):
        with pytest.raises(TypeError, match=r"^(dest|src): .*_Memory"):
            call(queue, "memcpy", *operands, 8)
    with pytest.raises(BufferError, match="^dest"):
        call(queue, "memcpy", bytes(8), a, 8)
    for name in ("memset", "fill"):
        with pytest.raises(TypeError, match="^dest: found bytearray"):
            call(queue, name, bytearray(8), *([b"x"] if name == "fill" else []))
    assert a.tobytes() == b"\5" * 8


def test_a_buffer_over_the_other_side(queue, host_accessible):
    a = KINDS[host_accessible](8, queue=queue)
    with memoryview(a) as view:
        for operands in ((a, view), (view, a)):
            with pytest.raises(ValueError, match="over the memory on the other side"):
                queue.memcpy_async(*operands, 8)


def test_memory_of_dpctl(dpctl, sycl_queue, call):
    theirs = dpctl.SyclQueue(sycl_queue._get_capsule())
    for name in ("Host", "Device", "Shared"):
        memory = getattr(dpctl.memory, f"MemoryUSM{name}")(100, queue=theirs)
        call(sycl_queue, "copy", memory, CONTENT)
        assert bytes(memory.copy_to_host()) == CONTENT
        call(sycl_queue, "memset", memory, 3, 50)
        assert bytes(memory.copy_to_host()) == b"\3" * 50 + CONTENT[50:]
        call(sycl_queue, "prefetch", memory)
    # And theirs takes ours, as far as it takes anybody's.
    ours = um.MemoryUSMShared(100, queue=sycl_queue)
    theirs.memcpy(dpctl.memory.as_usm_memory(ours), CONTENT, 100)
    assert ours.tobytes() == CONTENT


def test_read_only_memory(queue, call):
    a = um.MemoryUSMShared(8, queue=queue)
    a.memset(1)

    class ReadOnly:
        __sycl_usm_array_interface__ = {**a.__sycl_usm_array_interface__, "data": (a._pointer, True)}

    out = bytearray(8)
    call(queue, "memcpy", out, ReadOnly(), 8)
    assert out == b"\1" * 8
    for name, rest in (("memcpy", (bytes(8), 8)), ("memset", (0,)), ("fill", (b"x",))):
        with pytest.raises(ValueError, match="read-only"):
            call(queue, name, ReadOnly(), *rest)


def test_operations_in_flight_order_each_other(queue, usm_type):
    memory = getattr(usm.memory, f"MemoryUSM{usm_type.capitalize()}")(1 << 20, queue=queue)
    loose = usm.SyclQueue(queue.sycl_context, queue.sycl_device)
    events = [loose.memcpy_async(memory, bytes([value]) * (1 << 20), 1 << 20) for value in range(1, 6)]
    assert memory.tobytes() == b"\5" * (1 << 20)
    usm.SyclEvent.wait_for(events)
