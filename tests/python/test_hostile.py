"""Inputs that once ended the process, panicked or went wrong: each must be a clean exception or the right answer."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

import usm
import usm.ipc
import usm.memory as um
import usm.tensor as ut

from support.interface import Producer


class Index:
    def __init__(self, answer):
        self.answer = answer

    def __index__(self):
        return self.answer() if callable(self.answer) else self.answer


@pytest.fixture
def shared(array):
    return array((4,), "f8", buffer="shared")


def test_numpy_scalars_of_extended_precision(numpy, shared):
    shared[...] = numpy.longdouble(1.5)
    assert shared.tolist() == [1.5] * 4
    with pytest.raises(TypeError):
        shared[...] = numpy.clongdouble(1.5)
    c = ut.zeros((), "c16", usm_type="shared")
    c[...] = numpy.clongdouble(1.5 - 2j)
    assert c.item() == 1.5 - 2j


def test_scalars_that_give_themselves(shared):
    class Endless:
        ndim = 0

        def item(self):
            return self

    Endless.__module__ = "numpy"
    with pytest.raises(TypeError):
        shared[...] = Endless()


@pytest.mark.parametrize("size", [2**60, 2**62])
def test_more_elements_than_memory(array, usm_type, size):
    a = array((size,), "i1", strides=(0,), buffer=usm_type)
    for convert in (a.tolist, a.copy):
        with pytest.raises(MemoryError):
            convert()


@pytest.mark.parametrize("length", [2**45, 2**60])
def test_lists_that_lie_about_their_length(length):
    class Liar(list):
        def __len__(self):
            return length

    assert usm.SyclQueue("host:cpu:0", property=Liar(["in_order"])).is_in_order


def test_dicts_that_change_while_they_are_read():
    options = {"queue": "host:cpu:0"}

    def change():
        options.update(copy=True, more=1)
        return 64

    options = {"alignment": Index(change), "queue": "host:cpu:0"}
    assert ut.usm_ndarray(4, "f4", buffer="shared", buffer_ctor_kwargs=options)._pointer % 64 == 0


def test_integers_with_strange_names():
    class Named(int):
        def __str__(self):
            return "a" + "é" * 300

    with pytest.raises(ValueError, match=r"^shape: found aé+…, which is out of range"):
        ut.empty(Named(2**70), device="host:cpu:0")
    with pytest.raises(TypeError, match=r"^nbytes: found Index, allowed is an integer"):
        um.MemoryUSMHost(Index("text"), queue="host:cpu:0")


def test_objects_in_messages_whose_text_fails(capfd):
    class Failing(float):
        def __str__(self):
            raise OSError("mine")

    class Interrupted(str):
        def __str__(self):
            raise KeyboardInterrupt

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(ValueError, match=r"^property: found Failing, allowed are"):
        usm.SyclQueue("host:cpu:0", property=Failing())
    with pytest.raises(KeyboardInterrupt):
        usm.SyclQueue("host:cpu:0", property=Interrupted("x"))
    with pytest.raises(KeyboardInterrupt):
        usm.SyclQueue("host:cpu:0", property=Index(interrupt))
    assert capfd.readouterr().err == ""


def test_what_nobody_may_catch_is_not_lost(capfd):
    class Untold(TypeError):
        def __str__(self):
            raise KeyboardInterrupt

    class Refusing:
        @property
        def __sycl_usm_array_interface__(self):
            raise Untold

    class Flags(int):
        def __eq__(self, other):
            raise KeyboardInterrupt

        __hash__ = int.__hash__

    class Exporter:
        def __buffer__(self, flags):
            raise KeyboardInterrupt

    class SilentExporter(Exporter):
        @property
        def dtype(self):
            raise ValueError

    with pytest.raises(KeyboardInterrupt):
        ut.usm_ndarray(3, buffer=Refusing())
    with pytest.raises(KeyboardInterrupt):
        bool(ut.empty(1, device="host:cpu:0").flags == Flags(7))
    # Earlier versions have no exporters in Python.
    if sys.version_info >= (3, 12):
        with pytest.raises(KeyboardInterrupt):
            usm.ipc.open(Exporter())
        for exporter in (Exporter(), SilentExporter()):
            with pytest.raises(KeyboardInterrupt):
                ut.asarray([True, exporter], device="host:cpu:0")
    assert capfd.readouterr().err == ""


def test_errors_of_external_code_pass_through():
    def refuse():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        um.MemoryUSMHost(Index(refuse), queue="host:cpu:0")


def test_a_view_without_a_shape_has_one_axis(array, host_accessible):
    a = array((3, 4), "i4", buffer=host_accessible)
    api = ctypes.pythonapi
    api.PyObject_GetBuffer.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
    api.PyBuffer_IsContiguous.argtypes = [ctypes.c_void_p, ctypes.c_char]
    api.PyBuffer_Release.argtypes = [ctypes.c_void_p]
    view = ctypes.create_string_buffer(200)
    api.PyObject_GetBuffer(a, view, 0)
    assert [api.PyBuffer_IsContiguous(view, order) for order in (b"C", b"F", b"A")] == [1, 1, 1]
    api.PyBuffer_Release(view)


def test_a_forbidden_import_of_dpctl_memory(allocate, host_accessible, monkeypatch):
    memory = allocate(host_accessible, 8)
    claim = Producer({**memory.__sycl_usm_array_interface__, "data": (memory._pointer, True)}, memory)
    monkeypatch.setitem(sys.modules, "dpctl.memory", None)
    assert not ut.asarray(claim).flags.writable


def test_a_dict_that_a_subclass_of_dpctl_memory_makes_itself(dpctl):
    class ReadOnly(dpctl.memory.MemoryUSMShared):
        @property
        def __sycl_usm_array_interface__(self):
            return super().__sycl_usm_array_interface__

    theirs = ReadOnly(8)
    assert um.as_usm_memory(theirs).readonly
    assert not um.as_usm_memory(dpctl.memory.MemoryUSMShared(8)).readonly


def test_a_filter_string_that_is_no_text(allocate, host_accessible):
    memory = allocate(host_accessible, 8)
    claim = Producer({**memory.__sycl_usm_array_interface__, "syclobj": "\ud800"}, memory)
    with pytest.raises(ValueError, match=r"^syclobj: "):
        ut.asarray(claim)


def test_assignment_drops_leading_axes_of_one(array, usm_type):
    a = array((2, 3), "i4", buffer=usm_type)
    a[...] = 0
    row = array((1, 1, 1, 3), "i4", buffer=usm_type)
    row[...] = 7
    a[1] = row
    assert a.tolist() == [[0, 0, 0], [7, 7, 7]]
    a[:, ::2] = row[..., :1]
    assert a.tolist() == [[7, 0, 7], [7, 7, 7]]
    with pytest.raises(ValueError):
        a[1] = array((2, 1, 3), "i4", buffer=usm_type)


def test_numbers_of_one_element(array, usm_type):
    a = array((), "c8", buffer=usm_type)
    a[...] = 1 - 2j
    assert complex(a) == 1 - 2j
    i = array((1, 1), "u2", buffer=usm_type)
    i[...] = 3
    assert ["a", "b", "c", "d"][i[0, 0]] == "d"
    with pytest.raises(TypeError):
        ["a"][i]
    with pytest.raises(TypeError):
        ["a"][a]


def test_copies_between_a_memory_and_views_of_itself(allocate, host_accessible):
    memory = allocate(host_accessible, 8)
    content = bytes(range(8))
    memory.copy_from_host(content)
    with memoryview(memory) as view:
        memory.copy_from_host(view[2:])
        assert memory.tobytes() == content[2:] + content[6:]
        memory.copy_to_host(view)
        memory.sycl_queue.memcpy(view[4:], memory, 4)
    assert memory.tobytes() == content[2:6] * 2


def test_the_interpreter_ends_with_everything_alive():
    program = """
import usm, usm.memory, usm.tensor as ut
a = ut.zeros((3, 4), "f4", usm_type="shared")
keep = [a, memoryview(a), a.usm_data, a.T[::-1], a.sycl_queue, ut.asarray(memoryview(b"abc"))]
if a.sycl_device.backend != "host" and a.sycl_queue.native_stream is None:
    keep += [a.sycl_queue._get_capsule(), a.sycl_context._get_capsule()]
class Cycle: pass
c = Cycle(); c.__sycl_usm_array_interface__ = a.__sycl_usm_array_interface__; c.a = ut.asarray(c)
"""
    done = subprocess.run([sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("kind", ["SyclQueueRef", "SyclContextRef"])
def test_junk_capsules_of_a_runtime_without_a_device(dpctl, kind):
    """Nothing of our own to compare a pointer with is no reason to follow it."""
    program = f"""
import usm, usm.memory
from support import capsules
memory = usm.memory.MemoryUSMShared(64, queue="host:cpu:0")
assert len(usm.get_devices()) == 1, usm.get_devices()
class Junk:
    pointer = capsules.zeroed_block()
    @property
    def __sycl_usm_array_interface__(self):
        return {{**memory.__sycl_usm_array_interface__, "syclobj": capsules.make(self.pointer, b"{kind}")}}
for Junk.pointer in (Junk.pointer, 0xDEAD, memory._pointer):
    try:
        usm.memory.as_usm_memory(Junk())
    except ValueError as error:
        assert str(error).startswith("syclobj: "), error
    else:
        raise SystemExit("accepted")
"""
    environment = {**os.environ, "ONEAPI_DEVICE_SELECTOR": "level_zero:*", "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
