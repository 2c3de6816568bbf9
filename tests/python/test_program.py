"""Programs and kernels on SYCL devices: what kernels see, what is refused, the order of work, beside dpctl."""

import ctypes
import gc
import struct
import sys

import pytest

import usm
import usm.memory as um
import usm.program as up
import usm.tensor as ut

from support import peers, process

SOURCE = """
kernel void scale(global long *x, long by) { x[get_global_id(0)] *= by; }
kernel void add(global long *to, global const long *a, global const long *b)
{ size_t i = get_global_id(0); to[i] = a[i] + b[i]; }
kernel void place(global long *x)
{
    size_t i = get_global_id(0), j = get_global_id(1), k = get_global_id(2);
    size_t at = (k * get_global_size(1) + j) * get_global_size(0) + i;
    x[at] = ((k * 100 + j) * 100 + i) * 1000 + get_local_size(2) * 100 + get_local_size(1) * 10 + get_local_size(0);
}
kernel void reverse_in_group(global long *x, local long *t)
{
    size_t i = get_local_id(0), n = get_local_size(0);
    t[n - 1 - i] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    x[get_global_id(0)] = t[i];
}
kernel void slow(global long *x, long turns)
{ long sum = 0; for (long i = 0; i < turns; i++) sum = sum * 3 + x[0] + i; x[0] = sum | 1; }
"""
NUMBERS = {
    "char": "b", "uchar": "B", "short": "h", "ushort": "H", "int": "i",
    "uint": "I", "long": "q", "ulong": "Q", "float": "f", "double": "d",
}  # fmt: skip


def source_of_numbers() -> str:
    one = "kernel void of_{0}(global {0} *x, {0} number) {{ x[get_global_id(0)] = number; }}"
    return "\n".join(one.format(name) for name in NUMBERS)


@pytest.fixture(scope="module")
def programs():
    return {}


@pytest.fixture
def kernel(sycl_queue, programs):
    """Looks kernels up by name."""
    if sycl_queue.native_stream is not None:
        pytest.skip("CUDA devices take PTX and CUDA C")
    if "program" not in programs:
        # Runtimes keep what they have built, so once.
        programs["program"] = up.create_program_from_source(sycl_queue, SOURCE + source_of_numbers())
    return programs["program"].get_sycl_kernel


def test_what_is_known_of_a_kernel(sycl_queue, kernel):
    add = kernel("add")
    assert (add.get_function_name(), add.num_args, add.get_num_args()) == ("add", 3, 3)
    assert 1 <= add.preferred_work_group_size_multiple <= add.work_group_size
    assert add.work_group_size <= sycl_queue.sycl_device.max_work_group_size
    assert repr(add) == f'<usm.program.SyclKernel "add" for {sycl_queue.sycl_device.filter_string}>'


def test_names(sycl_queue, programs, kernel):
    program = programs["program"]
    assert program.has_sycl_kernel("scale") and not program.has_sycl_kernel("scales")
    with pytest.raises(ValueError, match='no kernel named "scales"'):
        program.get_sycl_kernel("scales")
    assert sycl_queue.sycl_device.filter_string in repr(program)


def test_kernels_see_all_kinds_of_memory(sycl_queue, kernel, usm_type):
    a = ut.arange(10, dtype="i8", usm_type=usm_type, sycl_queue=sycl_queue)
    event = sycl_queue.submit(kernel("scale"), [a, 3], [10])
    assert type(event) is usm.SyclEvent and event.execution_status == "complete"
    assert a.tolist() == list(range(0, 30, 3))
    memory = um.as_usm_memory(a)
    sycl_queue.submit(kernel("scale"), (memory, 2), (10,))
    assert a.tolist() == list(range(0, 60, 6))


def test_the_pointer_is_that_of_the_first_element(sycl_queue, kernel):
    a = ut.ones(10, dtype="i8", sycl_queue=sycl_queue)
    sycl_queue.submit(kernel("scale"), [a[3:7], 5], [4])
    sycl_queue.submit(kernel("scale"), [a[8::-1], 7], [1])
    assert a.tolist() == [1, 1, 1, 5, 5, 5, 5, 1, 7, 1]


def test_arguments_may_be_the_same_memory(sycl_queue, kernel):
    a = ut.arange(9, dtype="i8", sycl_queue=sycl_queue)
    sycl_queue.submit(kernel("add"), [a, a, a], [9])
    sycl_queue.submit(kernel("add"), [a[::-1], a[:3], a[1:]], [1])
    assert a.tolist() == [0, 2, 4, 6, 8, 10, 12, 14, 2]


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_have_the_width_of_their_type(sycl_queue, kernel, numpy, name):
    if name == "double" and not sycl_queue.sycl_device.has_aspect_fp64:
        pytest.skip("the device has no double")
    letter = NUMBERS[name]
    of_ctypes = {
        "b": ctypes.c_int8, "B": ctypes.c_uint8, "h": ctypes.c_int16, "H": ctypes.c_uint16, "i": ctypes.c_int32,
        "I": ctypes.c_uint32, "q": ctypes.c_int64, "Q": ctypes.c_uint64, "f": ctypes.c_float, "d": ctypes.c_double,
    }[letter]  # fmt: skip
    value = -7.5 if letter in "fd" else 2 ** (8 * struct.calcsize(letter) - 1) - 3 if letter.isupper() else -3
    numbers = [of_ctypes(value), numpy.dtype(letter).type(value), numpy.array(value, letter)]
    if letter in "qd":
        numbers.append(value)
    for number in numbers:
        memory = um.MemoryUSMShared(4 * struct.calcsize(letter), queue=sycl_queue)
        memory.memset(0)
        sycl_queue.submit(kernel(f"of_{name}"), [memory, number], [3])
        assert memoryview(memory.tobytes()).cast(letter).tolist() == [value] * 3 + [0]


def test_ranges_are_those_of_sycl(sycl_queue, kernel):
    for sizes, group in (([6], None), ([6], [3]), ([2, 4], [1, 2]), ([2, 3, 4], None), ([2, 3, 4], [2, 3, 2])):
        x = ut.zeros(24, dtype="i8", sycl_queue=sycl_queue)
        sycl_queue.submit(kernel("place"), [x], sizes, group)
        # The last size is the one of dimension 0 in OpenCL C.
        found = ut.reshape(x[: ut.ones(sizes).size], tuple(sizes)).tolist()
        width = sizes[-1]
        flat = found if len(sizes) == 1 else found[0] if len(sizes) == 2 else found[0][0]
        assert [number // 1000 % 100 for number in flat] == list(range(width))
        if group is not None:
            inner = [*reversed(group), 1, 1][:3]
            assert {number % 1000 for number in flat} == {inner[2] * 100 + inner[1] * 10 + inner[0]}


@pytest.mark.parametrize(
    "local", [usm.LocalAccessor("i8", [2, 3]), usm.WorkGroupMemory(48), usm.WorkGroupMemory("i8", 6)]
)
def test_local_memory(sycl_queue, kernel, local):
    assert local.nbytes == 48 and "48 bytes" in repr(local)
    x = ut.arange(12, dtype="i8", sycl_queue=sycl_queue)
    sycl_queue.submit(kernel("reverse_in_group"), [x, local], [12], [6])
    assert x.tolist() == [5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 7, 6]


def test_refused_local_memory(sycl_queue, kernel):
    assert usm.WorkGroupMemory.is_available()
    for shape, error in (
        ([], ValueError),
        ([1] * 4, ValueError),
        (3, TypeError),
        ([-1], ValueError),
        ([1.0], TypeError),
    ):
        with pytest.raises(error, match="shape"):
            usm.LocalAccessor("f4", shape)
    with pytest.raises(TypeError, match="dtype"):
        usm.LocalAccessor("nonsense", [1])
    with pytest.raises(TypeError, match="3 arguments"):
        usm.WorkGroupMemory("f4", 1, 2)
    x = ut.zeros(4, dtype="i8", sycl_queue=sycl_queue)
    for local in (usm.WorkGroupMemory(0), usm.WorkGroupMemory(1 << 50)):
        with pytest.raises(usm.SyclKernelSubmitError, match="local memory"):
            sycl_queue.submit(kernel("reverse_in_group"), [x, local], [4])


def test_buffers_are_refused_unread(sycl_queue, kernel):
    kernel("scale")
    # Memory that nobody may read, and reading ends the process.
    process.check(f"""
        import mmap
        import usm, usm.program, usm.tensor as ut
        queue = usm.SyclQueue("{sycl_queue.sycl_device.filter_string}")
        source = "kernel void scale(global long *x, long by) {{ x[get_global_id(0)] *= by; }}"
        scale = usm.program.create_program_from_source(queue, source).get_sycl_kernel("scale")
        x = ut.ones(4, dtype="i8", sycl_queue=queue)
        try:
            queue.submit(scale, [x, mmap.mmap(-1, 1 << 20, prot=0)], [4])
        except TypeError as error:
            assert "args[1]: found mmap" in str(error), error
        else:
            assert False, "taken"
    """)


def test_refused_arguments(sycl_queue, host_queue, kernel, numpy):
    x, scale = ut.ones(4, dtype="i8", sycl_queue=sycl_queue), kernel("scale")
    for args in ([x], [x, 1, 2], []):
        with pytest.raises(usm.SyclKernelSubmitError, match=f"has 2 arguments, but {len(args)} were given"):
            sycl_queue.submit(scale, args, [4])
    wrong = ["a", b"abcdefgh", None, 1j, numpy.complex64(1), numpy.zeros(3), numpy.longdouble(1), ctypes.c_void_p(1)]
    for number in [*wrong, (ctypes.c_int * 2)(), object(), [1]]:
        with pytest.raises(TypeError, match=r"args\[1\]: found .*asarray"):
            sycl_queue.submit(scale, [x, number], [4])
    with pytest.raises(ValueError, match=r"args\[1\]: found 9223372036854775808"):
        sycl_queue.submit(scale, [x, 1 << 63], [4])
    for number in (numpy.int32(1), True, ctypes.c_short(2)):
        with pytest.raises(usm.SyclKernelSubmitError, match="another size.*found memory, "):
            sycl_queue.submit(scale, [x, number], [4])
    with pytest.raises(TypeError, match="args: found usm_ndarray, allowed is a tuple or list"):
        sycl_queue.submit(scale, x, [4])
    with pytest.raises(TypeError, match="kernel: found str, allowed is a SyclKernel"):
        sycl_queue.submit("scale", [x, 1], [4])
    elsewhere = ut.ones(4, dtype="i8", sycl_queue=host_queue)
    with pytest.raises(usm.SyclKernelSubmitError, match="argument 0 is memory of another context"):
        sycl_queue.submit(scale, [elsewhere, 1], [4])
    with pytest.raises(usm.SyclKernelSubmitError, match="of the context"):
        host_queue.submit(scale, [elsewhere, 1], [4])
    assert x.tolist() == [1] * 4
    sycl_queue.submit(scale, [x, 2], [4])
    assert x.tolist() == [2] * 4, "refused kernels leave nothing borrowed"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="earlier versions have no exporters in Python")
def test_ctrl_c_in_the_buffer_of_an_argument_is_not_lost(sycl_queue, kernel):
    class Exporter:
        def __buffer__(self, flags):
            raise KeyboardInterrupt

    array = ut.ones(2, dtype="i8", sycl_queue=sycl_queue)
    with pytest.raises(KeyboardInterrupt):
        sycl_queue.submit(kernel("scale"), [array, Exporter()], [2])


def test_refused_ranges(sycl_queue, kernel):
    x, scale = ut.ones(12, dtype="i8", sycl_queue=sycl_queue), kernel("scale")
    for sizes, group in (([], None), ([1] * 4, None), ([12], [5]), ([12], [12, 1]), ([12], [0]), ([12], [])):
        with pytest.raises(usm.SyclKernelInvalidRangeError):
            sycl_queue.submit(scale, [x, 2], sizes, group)
    for sizes, error in ((12, TypeError), ([1.5], TypeError), ([-1], ValueError), (["a"], TypeError)):
        with pytest.raises(error, match="gS"):
            sycl_queue.submit(scale, [x, 2], sizes)
    assert x.tolist() == [1] * 12
    # As in SYCL, nothing to do.
    sycl_queue.submit(scale, [x, 2], [0])
    assert x.tolist() == [1] * 12


def test_work_in_flight_owns_its_arguments(sycl_queue, kernel):
    x = ut.ones(4, dtype="i8", sycl_queue=sycl_queue)
    slow = sycl_queue.submit_async(kernel("slow"), [x, 100_000_000], [1])
    x[0] = 5  # comes after the kernel
    assert x.tolist() == [5, 1, 1, 1] and slow.execution_status == "complete"
    slow = sycl_queue.submit_async(kernel("slow"), [x, 100_000_000], [1])
    del x
    gc.collect()
    slow.wait()
    assert slow.execution_status == "complete"


@pytest.mark.parametrize("keywords", [{}, {"property": "in_order"}], ids=["out_of_order", "in_order"])
def test_kernels_on_the_same_memory_run_in_their_order(sycl_queue, kernel, keywords):
    queue = usm.SyclQueue(sycl_queue.sycl_device, **keywords)
    x, y = ut.ones(1, dtype="i8", sycl_queue=queue), ut.ones(1, dtype="i8", sycl_queue=queue)
    events = [queue.submit_async(kernel("slow"), [x, 3_000_000], [1])]
    events.append(queue.submit_async(kernel("add"), [y, x, x], [1]))
    for _ in range(20):
        events.append(queue.submit_async(kernel("add"), [y, y, x], [1]))
    queue.wait()
    assert all(event.execution_status == "complete" for event in events)
    (number,) = x.tolist()
    wrapped = (22 * number + 2**63) % 2**64 - 2**63
    assert y.tolist() == [wrapped]


def test_kernels_start_after_events(sycl_queue, kernel):
    queue = usm.SyclQueue(sycl_queue.sycl_device)
    x = um.MemoryUSMShared(8, queue=queue)
    copy = queue.memcpy_async(x, struct.pack("q", 5), 8)
    kernels = [queue.submit_async(kernel("scale"), [x, 3], [1], dEvents=[copy])]
    kernels.append(queue.submit_async(kernel("scale"), [x, 7], [1], None, kernels))
    back = bytearray(8)
    queue.memcpy_async(back, x, 8, kernels).wait()
    assert struct.unpack("q", back) == (105,)
    for events in ([1], [None], 3):
        with pytest.raises(TypeError, match="dEvents"):
            queue.submit(kernel("scale"), [x, 3], [1], None, events)


def test_a_barrier_comes_after_kernels(sycl_queue, kernel):
    queue = usm.SyclQueue(sycl_queue.sycl_device)
    x = ut.ones(1, dtype="i8", sycl_queue=queue)
    kernel_event = queue.submit_async(kernel("slow"), [x, 3_000_000], [1])
    queue.submit_barrier().wait()
    assert kernel_event.execution_status == "complete"


def test_read_only_memory_is_shared_by_readers(sycl_queue, kernel):
    queue = usm.SyclQueue(sycl_queue.sycl_device)
    x, out = ut.ones(4, dtype="i8", sycl_queue=queue), ut.zeros(1, dtype="i8", sycl_queue=queue)
    x.flags.writable = False
    slow = queue.submit_async(kernel("slow"), [ut.ones(1, dtype="i8", sycl_queue=queue), 3_000_000], [1])
    event = queue.submit_async(kernel("add"), [out, x, x], [1], None, [slow])
    assert x.tolist() == [1] * 4, "read while the kernel is under way"
    event.wait()
    assert out.tolist() == [2]


def test_kernels_come_after_copies_of_their_memory(sycl_queue, kernel):
    memory = um.MemoryUSMShared(8, queue=sycl_queue)
    memory.memset(0)
    queue = usm.SyclQueue(sycl_queue.sycl_device)
    copy = queue.memcpy_async(bytearray(8), memory, 8)
    sycl_queue.submit(kernel("scale"), [memory, 1], [1])
    assert copy.execution_status == "complete", "the kernel came after the copy"


def test_refused_programs(sycl_queue, host_queue, kernel):
    for make, code in (
        (up.create_program_from_source, "no kernel"),
        (up.create_program_from_spirv, b"no module"),
        (up.create_program_from_ptx, "no text"),
    ):
        for queue in (sycl_queue, host_queue):
            with pytest.raises(up.SyclProgramCompilationError):
                make(queue, code)
        with pytest.raises(TypeError, match="q: found str, allowed is a SyclQueue"):
            make("cpu", code)
    with pytest.raises(up.SyclProgramCompilationError, match="byte at 4 is 0"):
        up.create_program_from_source(sycl_queue, "void\0")


def test_options_reach_the_compiler(sycl_queue, kernel):
    source = "kernel void f(global long *x) { x[0] = NUMBER; }"
    program = up.create_program_from_source(sycl_queue, source, copts="-D NUMBER=41")
    x = ut.zeros(1, dtype="i8", sycl_queue=sycl_queue)
    sycl_queue.submit(program.get_sycl_kernel("f"), [x], [1])
    assert x.tolist() == [41]


def test_the_names_of_dpctl(dpctl):
    names = {"addressof_ref", "__pyx_vtable__", "__setstate__"}
    program = peers.dpctl_programs()
    # From 0.23 on with another name.
    their_program = getattr(program, "SyclKernelBundle", None) or program.SyclProgram
    for ours, theirs in ((up.SyclProgram, their_program), (up.SyclKernel, program.SyclKernel)):
        assert set(dir(theirs)) - set(dir(ours)) <= names
    if program.__name__ == "dpctl.program":
        assert set(program.__all__) <= set(up.__all__)


def test_a_kernel_does_what_it_does_in_dpctl(dpctl, sycl_queue, kernel, numpy):
    theirs = peers.dpctl_programs()
    queue = dpctl.SyclQueue(sycl_queue.sycl_device.filter_string)
    program = theirs.create_program_from_source(queue, SOURCE)
    for sizes, group in (([6], None), ([2, 4], [1, 2]), ([2, 3, 4], [2, 3, 2])):
        memory = dpctl.memory.MemoryUSMShared(24 * 8, queue=queue)
        memory.copy_from_host(bytes(24 * 8))
        queue.submit(program.get_sycl_kernel("place"), [memory], sizes, group)
        x = ut.zeros(24, dtype="i8", sycl_queue=sycl_queue)
        sycl_queue.submit(kernel("place"), [x], sizes, group)
        known = numpy.prod(sizes)
        assert numpy.frombuffer(memory, "i8")[:known].tolist() == x.tolist()[:known] or group is None
        sycl_queue.submit(kernel("scale"), [memory, ctypes.c_longlong(0)], [24])
        assert not numpy.frombuffer(memory, "i8").any(), "a kernel of ours on memory of dpctl"


def test_dpctl_kernels_run_on_our_queues(dpctl, sycl_queue, kernel, numpy):
    theirs = peers.dpctl_programs()
    queue = usm.SyclQueue(sycl_queue.sycl_device)
    assert isinstance(queue, dpctl.SyclQueue)
    program = theirs.create_program_from_source(queue, SOURCE)
    memory = dpctl.memory.MemoryUSMShared(8, queue=queue)
    memory.copy_from_host(struct.pack("q", 21))
    event = queue.submit(program.get_sycl_kernel("scale"), [memory, ctypes.c_longlong(2)], [1])
    assert isinstance(event, dpctl.SyclEvent) and numpy.frombuffer(memory, "i8").tolist() == [42]
    queue.submit_async(program.get_sycl_kernel("scale"), [memory, ctypes.c_longlong(2)], [1]).wait()
    assert numpy.frombuffer(memory, "i8").tolist() == [84]
    ours = up.create_program_from_source(queue, SOURCE)
    queue.submit(ours.get_sycl_kernel("scale"), [memory, 2], [1])
    assert numpy.frombuffer(memory, "i8").tolist() == [168]
