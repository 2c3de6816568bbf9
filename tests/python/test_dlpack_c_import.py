"""`from_dlpack` and `asarray` of types that have the C exchange API."""

import array
import ctypes
import gc

import pytest

import usm
import usm.memory as um
import usm.tensor as ut

from support import capsules
from support.dlpack import EXT_DEV, External, OfTable

CUDA, CUDA_HOST, CUDA_MANAGED = 2, 3, 13


@pytest.fixture
def table():
    return OfTable()


def on_device(memory, device_type=CUDA, device_id=0):
    """A tensor of two 32-bit integers in the memory."""
    external = External()
    external.memory = memory
    external.tensor.data = memory._pointer
    external.tensor.device_type, external.tensor.device_id = device_type, device_id
    return external


@pytest.mark.parametrize("function", [ut.from_dlpack, ut.asarray])
def test_no_method_is_called(table, function):
    external = External()
    assert function(table.tensor(external)).tolist() == [5, 6]
    assert external.deleted == 1 and table.asked == []


def test_a_copy_is_made_where_it_is_allowed(table):
    with pytest.raises(BufferError, match="copy"):
        ut.from_dlpack(table.tensor(External()), copy=False)
    with pytest.raises(ValueError, match="copy"):
        ut.asarray(table.tensor(External()), copy=False)


def test_usm_is_used_where_it_is(table, host_queue):
    a = ut.asarray([1, 2], "i4", usm_type="shared", sycl_queue=host_queue)
    external = on_device(a, 1)
    b = ut.from_dlpack(table.tensor(external), copy=False)
    assert (b._pointer, b.tolist(), b.flags.writable) == (a._pointer, [1, 2], True)
    assert external.deleted == 0
    del b
    gc.collect()
    assert external.deleted == 1


class WithMethods:
    """The methods, which say what they are asked."""

    def __init__(self, external):
        self.external = external
        self.calls = 0

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        self.calls += 1
        return self.external.capsule()


def with_methods(table, external):
    kind = type("Both", (WithMethods,), {"__dlpack_c_exchange_api__": table.kind.__dlpack_c_exchange_api__})
    return kind(external)


def test_a_table_that_suits_goes_first(table):
    tensor = with_methods(table, External())
    assert ut.from_dlpack(tensor).tolist() == [5, 6] and tensor.calls == 0


def test_complex_elements_may_be_conjugates_that_only_the_method_knows(table):
    tensor = with_methods(table, External())
    tensor.external.tensor.code, tensor.external.tensor.bits = 5, 64
    tensor.external.shape[0] = 1
    assert ut.from_dlpack(tensor).dtype == "complex64"
    assert (tensor.calls, tensor.external.deleted) == (1, 2)


def test_what_has_a_gradient_is_refused_by_its_method_alone(table):
    tensor = with_methods(table, External())
    tensor.requires_grad = True
    assert ut.from_dlpack(tensor).tolist() == [5, 6] and tensor.calls == 1
    tensor.requires_grad = False
    assert ut.from_dlpack(tensor).tolist() == [5, 6] and tensor.calls == 1


@pytest.mark.parametrize("fields", [{"major": 2}, {"major": 0}, {"from_object": None}, {"current_stream": None}])
def test_tables_that_cannot_be_used(fields):
    fields = {name: value if value is not None else ctypes.PYFUNCTYPE(None)() for name, value in fields.items()}
    table = OfTable(**{name: value for name, value in fields.items() if isinstance(value, int)})
    for name in fields:
        if name not in ("major", "minor"):
            address = ctypes.addressof(table.table) + getattr(type(table.table), name).offset
            ctypes.c_void_p.from_address(address).value = None
    tensor = with_methods(table, External())
    assert ut.from_dlpack(tensor).tolist() == [5, 6] and tensor.calls == 1


def test_an_older_table_behind_a_newer_one(table):
    newer = OfTable(major=2, prev_api=ctypes.addressof(table.table))
    tensor = with_methods(newer, External())
    assert ut.from_dlpack(tensor).tolist() == [5, 6] and tensor.calls == 0


@pytest.mark.parametrize("version", [(2, 0), (2, 1), (3, 0)])
def test_tables_that_lead_to_no_older_ones(version):
    """They may lead in a circle."""
    newer = OfTable(major=2, minor=0)
    other = OfTable(major=version[0], minor=version[1], prev_api=ctypes.addressof(newer.table))
    newer.table.prev_api = ctypes.addressof(other.table)
    found = f"found prev_api of version {version[0]}.{version[1]} in a table of version 2.0, "
    for function in (ut.from_dlpack, ut.asarray):
        with pytest.raises(ValueError, match=f"^__dlpack_c_exchange_api__: {found}"):
            function(with_methods(newer, External()))


def test_a_table_that_leads_to_itself():
    newer = OfTable(major=2)
    newer.table.prev_api = ctypes.addressof(newer.table)
    with pytest.raises(ValueError, match="^__dlpack_c_exchange_api__: "):
        ut.from_dlpack(with_methods(newer, External()))


@pytest.mark.parametrize("wrong", [None, 5, capsules.make(1 << 20, b"another")])
def test_attributes_that_are_no_tables(wrong):
    tensor = type("Odd", (WithMethods,), {"__dlpack_c_exchange_api__": wrong})(External())
    assert ut.from_dlpack(tensor).tolist() == [5, 6] and tensor.calls == 1


def test_the_method_says_why_an_object_is_not_handed_out(table):
    tensor = with_methods(table, None)
    tensor.__class__.__dlpack__ = lambda self, **_: (_ for _ in ()).throw(BufferError("sparse"))
    with pytest.raises(BufferError, match="^sparse$"):
        ut.from_dlpack(tensor)
    with pytest.raises(TypeError, match="^x: "):
        ut.from_dlpack(table.tensor(None))


def raising(error):
    """A tensor of a type whose function raises, and which its method hands out all the same."""
    table = OfTable()
    # A function that fails with the exception of a Python method: as C code of a producer does.
    is_true = ctypes.cast(ctypes.pythonapi.PyObject_IsTrue, ctypes.c_void_p).value
    ctypes.c_void_p.from_address(ctypes.addressof(table.table) + type(table.table).from_object.offset).value = is_true
    tensor = with_methods(table, External())
    tensor.__class__.__bool__ = lambda self: (_ for _ in ()).throw(error)
    return tensor


@pytest.mark.parametrize("error", [BufferError, TypeError, ValueError, RuntimeError, NotImplementedError])
def test_the_method_is_asked_after_a_refusal(error):
    tensor = raising(error("sparse"))
    assert ut.from_dlpack(tensor).tolist() == [5, 6] and tensor.calls == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, ZeroDivisionError])
@pytest.mark.parametrize("function", [ut.from_dlpack, ut.asarray])
def test_other_exceptions_of_the_function_are_raised(error, function):
    tensor = raising(error("not a refusal"))
    with pytest.raises(error, match="^not a refusal$"):
        function(tensor)
    assert tensor.calls == 0


def test_refused_tensors_are_deleted(table):
    external = External()
    external.tensor.code = 99
    with pytest.raises(ValueError, match="^code"):
        ut.from_dlpack(table.tensor(external))
    assert external.deleted == 1


def test_devices_that_are_ordered_by_other_means(table):
    external = External()
    external.tensor.device_type = EXT_DEV[0]
    with pytest.raises(TypeError, match="^x: "):
        ut.from_dlpack(table.tensor(external))
    assert external.deleted == 1 and table.asked == []


@pytest.mark.parametrize("stream", ["other", "legacy", "own"])
def test_work_of_the_stream_comes_first(table, cuda_queue, driver, stream):
    """The stand-in of the driver delays operations at random."""
    other = usm.SyclQueue(cuda_queue.sycl_device)
    default = ut.empty(1, device=cuda_queue.sycl_device).sycl_queue
    table.stream = {"other": other.native_stream, "legacy": 0, "own": default.native_stream}[stream]
    for i in range(20):
        memory, source = um.MemoryUSMDevice(8, queue=cuda_queue), um.MemoryUSMHost(8, queue=cuda_queue)
        memoryview(source).cast("i")[:] = memoryview(array.array("i", [i, -i]))
        driver.copy(memory._pointer, source._pointer, 8, table.stream or 1)
        b = ut.from_dlpack(table.tensor(on_device(memory)))
        assert (b._pointer, b.tolist(), b.usm_type) == (memory._pointer, [i, -i], "device")
        driver.wait(table.stream or 1)
    assert table.asked == [(CUDA, 0)] * 20


@pytest.mark.parametrize(("memory", "device_type"), [(um.MemoryUSMHost, CUDA_HOST), (um.MemoryUSMShared, CUDA_MANAGED)])
def test_the_number_of_pinned_and_managed_memory_is_0(table, cuda_queue, memory, device_type):
    """The driver names the device."""
    block = memory(8, queue=cuda_queue)
    block.copy_from_host(bytes(8))
    b = ut.from_dlpack(table.tensor(on_device(block, device_type)))
    assert (b._pointer, b.tolist(), b.usm_type) == (block._pointer, [0, 0], block.get_usm_type())
    assert b.sycl_device == cuda_queue.sycl_device
    assert b.__dlpack_device__() == (device_type, 0)


def test_without_elements(table, cuda_queue):
    external = on_device(um.MemoryUSMDevice(8, queue=cuda_queue))
    external.shape[0] = 0
    b = ut.from_dlpack(table.tensor(external))
    assert (b.shape, b.sycl_device, external.deleted) == ((0,), cuda_queue.sycl_device, 1)


def test_a_copy_of_device_memory(table, cuda_queue):
    a = ut.asarray([7, 8], "i4", sycl_queue=cuda_queue)
    external = on_device(a)
    b = ut.from_dlpack(table.tensor(external), copy=True)
    assert b.tolist() == [7, 8] and b._pointer != a._pointer
    del b
    gc.collect()
    assert external.deleted == 1
