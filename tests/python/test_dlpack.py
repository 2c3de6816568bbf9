"""DLPack both ways: every layout and dtype, devices, copies, versions, read-only, and the call of the deleter."""

import enum
import gc

import pytest

import usm
import usm.tensor as ut

from support import capsules, process, requirements
from support.dlpack import (
    CPU,
    EXT_DEV,
    LEGACY,
    ONE_API,
    VERSIONED,
    CapsuleExporter,
    Exporter,
    External,
    OldExporter,
    places,
    tensor_in,
)
from support.interface import Producer, settled
from support.layouts import SHAPES, STRIDED, strided_array
from support.values import DTYPES, counting, nested, pack

READ_ONLY, IS_COPIED = 1, 2


place, queue, usm_type = places("host-host", "host-shared", "host-device", "sycl-host", "sycl-device", "sycl-shared")


@pytest.fixture
def small(queue, usm_type):
    return ut.asarray([[1, 2, 3], [4, 5, 6]], "i4", usm_type=usm_type, sycl_queue=queue)


def frozen(a):
    return ut.asarray(Producer({**a.__sycl_usm_array_interface__, "data": (a._pointer, True)}, a))


@pytest.mark.parametrize("name", STRIDED)
def test_every_layout_there_and_back(allocate, usm_type, name):
    a, expected = strided_array(allocate, usm_type, name)
    tensor, flags = tensor_in(capsule := a.__dlpack__(max_version=(1, 0)))
    assert tensor.ndim == a.ndim and flags == 0
    assert tuple(tensor.shape[i] for i in range(a.ndim)) == a.shape
    if a.size:
        assert tensor.data + tensor.byte_offset == a._pointer
        assert tuple(tensor.strides[i] for i in range(a.ndim)) == a.strides
    del capsule, tensor
    for exporter in (Exporter(a), a):
        b = ut.from_dlpack(exporter)
        assert (b.shape, b.dtype, b.tolist(), b.flags.writable) == (a.shape, a.dtype, expected, True)
        if a.size:
            assert (b._pointer, b.strides, b.usm_type) == (a._pointer, a.strides, usm_type)
            b[...] = -1
            assert a.tolist() == b.tolist() != expected
            a[...] = ut.asarray(expected, "i4")
    if usm_type != "device":
        c = ut.from_dlpack(Exporter(a, CPU), copy=False if a.size else None)
        assert c.tolist() == expected and (not a.size or c._pointer == a._pointer)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_dtype_and_rank(queue, usm_type, dtype, shape):
    a = ut.usm_ndarray(shape, dtype, buffer=usm_type, buffer_ctor_kwargs={"queue": queue})
    if a.size:
        a.usm_data.copy_from_host(pack(dtype, counting(dtype, a.size)))
    code = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}[DTYPES[dtype][0][0]]
    for form, version in ((LEGACY, None), (VERSIONED, (1, 0))):
        capsule = a.__dlpack__(max_version=version)
        assert capsules.name_of(capsule) == form
        tensor, _ = tensor_in(capsule)
        assert (tensor.code, tensor.bits, tensor.lanes) == (code, 8 * a.itemsize, 1)
        b = ut.from_dlpack(CapsuleExporter(lambda c=capsule: c, a.__dlpack_device__()))
        assert (b.shape, b.dtype) == (shape, dtype)
        assert b.tolist() == nested(counting(dtype, a.size), shape)
        assert capsules.name_of(capsule) == b"used_" + form


def test_the_device_is_one_of_the_enumeration(small):
    device = small.__dlpack_device__()
    expected = ONE_API
    if small.sycl_device.backend == "host":
        expected = EXT_DEV if small.usm_type == "device" else CPU
    elif small.sycl_queue.native_stream:
        expected = ({"device": 2, "host": 3, "shared": 13}[small.usm_type], 0)
    assert device == expected and isinstance(device[0], enum.Enum) and type(device[1]) is int
    assert device[0] is ut.DLDeviceType(expected[0])


def test_device_types_are_named_as_in_dpnp(dpt):
    for member in dpt.DLDeviceType:
        assert ut.DLDeviceType[member.name] == member.value


@pytest.mark.parametrize(
    ("max_version", "name"),
    [
        (None, LEGACY),
        ((0, 8), LEGACY),
        ((0, 99), LEGACY),
        ((1, 0), VERSIONED),
        ((1, 3), VERSIONED),
        ((2, 0), VERSIONED),
    ],
    ids=str,
)
def test_versions(small, max_version, name):
    assert capsules.name_of(small.__dlpack__(max_version=max_version)) == name


def test_old_producers_are_asked_without_keywords(small):
    exporter = OldExporter(small)
    b = ut.from_dlpack(exporter)
    assert b._pointer == small._pointer and b.tolist() == small.tolist()
    # They cannot say that memory is read-only, so it counts as that; copies do not.
    assert not b.flags.writable
    assert ut.from_dlpack(exporter, copy=True).flags.writable
    # Nor do they know of other devices: what host code cannot touch where it is, is copied.
    on_host = ut.from_dlpack(exporter, device=CPU)
    assert on_host.tolist() == small.tolist() and on_host.usm_type in ("host", "shared")
    assert (on_host._pointer == small._pointer) == (small.usm_type != "device")
    assert ut.from_dlpack(exporter, device=CPU, copy=True)._pointer != small._pointer
    if small.usm_type == "device":
        with pytest.raises(BufferError, match="copy"):
            ut.from_dlpack(exporter, device=CPU, copy=False)


def test_consumers_ask_for_version_and_queue(small):
    exporter = Exporter(small)
    ut.from_dlpack(exporter, copy=False)
    (asked,) = exporter.asked
    assert asked["max_version"] == (1, 3) and asked["copy"] is False
    if small.sycl_device.backend == "host" or small.__dlpack_device__()[0] == ut.DLDeviceType.kDLCUDAHost:
        assert "stream" not in asked
    elif small.sycl_queue.native_stream:
        assert asked["stream"] == usm.get_device_cached_queue(small.sycl_device).native_stream
    else:
        assert usm.SyclQueue(asked["stream"]).sycl_device == small.sycl_device


def test_read_only_goes_along(small):
    a = frozen(small)
    _, flags = tensor_in(a.__dlpack__(max_version=(1, 0)))
    assert flags == READ_ONLY
    for b in (ut.from_dlpack(Exporter(a)), ut.from_dlpack(a)):
        assert b._pointer == a._pointer and not b.flags.writable
        with pytest.raises(ValueError, match="read-only"):
            b[0] = 1
    # The old struct has no word for it.
    with pytest.raises(BufferError, match="read-only"):
        a.__dlpack__()
    capsule = a.__dlpack__(copy=True)
    assert ut.from_dlpack(CapsuleExporter(lambda: capsule, a.__dlpack_device__())).tolist() == a.tolist()
    for source in (a, Exporter(a)):
        assert ut.from_dlpack(source, copy=True).flags.writable


def test_copies_are_made_as_asked(small):
    tensor, flags = tensor_in(capsule := small.__dlpack__(max_version=(1, 0), copy=True))
    assert tensor.data != small._pointer and flags == IS_COPIED
    for copy in (None, False):
        tensor, flags = tensor_in(capsule := small.__dlpack__(max_version=(1, 0), copy=copy))
        assert tensor.data == small._pointer and flags == 0
    del capsule
    for source in (small, Exporter(small)):
        assert ut.from_dlpack(source, copy=False)._pointer == small._pointer
        copied = ut.from_dlpack(source, copy=True)
        assert copied._pointer != small._pointer and copied.tolist() == small.tolist()


def test_to_the_host(small):
    capsule = small.__dlpack__(max_version=(1, 0), dl_device=CPU)
    tensor, flags = tensor_in(capsule)
    assert (tensor.device_type, tensor.device_id) == CPU
    assert (tensor.data == small._pointer) == (small.usm_type != "device")
    assert flags == (IS_COPIED if small.usm_type == "device" else 0)
    if small.usm_type == "device":
        with pytest.raises(BufferError, match="copy"):
            small.__dlpack__(dl_device=CPU, copy=False)
    else:
        small.__dlpack__(dl_device=(ut.DLDeviceType.kDLCPU, 0), copy=False)
    for source in (small, Exporter(small)):
        b = ut.from_dlpack(source, device=CPU)
        assert b.usm_type in ("host", "shared") and b.tolist() == small.tolist()
        assert (b._pointer == small._pointer) == (small.usm_type != "device")


def test_devices_that_are_not_there(small):
    for device in ((2, 99), (1, 1), (14, 99), (14, -1), (77, 0)):
        with pytest.raises(BufferError, match=r"^dl_device"):
            small.__dlpack__(dl_device=device)
        with pytest.raises((BufferError, ValueError), match=r"^device"):
            ut.from_dlpack(small, device=device)
    for wrong, error in (
        ("cpu", TypeError),
        (1, TypeError),
        ((1,), ValueError),
        ((1, "a"), TypeError),
        ((1, 2, 3), ValueError),
    ):
        with pytest.raises(error, match=r"^dl_device"):
            small.__dlpack__(dl_device=wrong)


def test_wrong_arguments(small):
    for version in (1, "1.0", [1, 0], (1,), (1, 0, 0), ("1", 0), (1.0, 0)):
        with pytest.raises(TypeError, match=r"^max_version"):
            small.__dlpack__(max_version=version)
    is_cuda = small.sycl_queue.native_stream is not None
    for stream in (object(), small.sycl_context, True):
        with pytest.raises(TypeError, match=r"^stream"):
            small.__dlpack__(stream=stream)
    for stream in (0, -2) if is_cuda else (0, 1, 2, -2, 2**40):
        with pytest.raises(ValueError, match=rf"^stream: found {stream}, allowed for"):
            small.__dlpack__(stream=stream)
    with pytest.raises(TypeError):
        small.__dlpack__(copy="yes")
    with pytest.raises(TypeError):
        small.__dlpack__(None)


def test_streams_are_queues(small, queue):
    for stream in (queue, small.sycl_queue, usm.SyclQueue(queue.sycl_device), None):
        small.__dlpack__(stream=stream)


@pytest.mark.parametrize("keywords", [{}, {"max_version": (1, 0)}, {"max_version": (1, 0), "copy": True}])
def test_minus_one_asks_for_no_order(small, keywords):
    """mpi4py gives it for every device but the CPU."""
    for minus_one in (-1, type("Integer", (), {"__index__": lambda self: -1})()):
        given, without = small.__dlpack__(stream=minus_one, **keywords), small.__dlpack__(**keywords)
        assert capsules.name_of(given) == capsules.name_of(without)
    if small.__dlpack_device__()[0] != EXT_DEV:
        exporter = CapsuleExporter(lambda: small.__dlpack__(stream=-1, max_version=(1, 0)), small.__dlpack_device__())
        assert ut.from_dlpack(exporter).tolist() == small.tolist()


def test_device_memory_of_the_host_backend_is_of_an_added_device(host_queue):
    """kDLExtDev is what a program adds to DLPack: here it is memory that only this package can reach."""
    a = ut.asarray([1, 2], usm_type="device", sycl_queue=host_queue)
    assert a.__dlpack_device__() == EXT_DEV and ut.dldevice_to_sycl_device(EXT_DEV) == a.sycl_device
    tensor, flags = tensor_in(capsule := a.__dlpack__(max_version=(1, 0)))
    assert flags == 0 and tensor.data == a._pointer and (tensor.device_type, tensor.device_id) == EXT_DEV
    tensor, flags = tensor_in(capsule := a.__dlpack__(max_version=(1, 0), dl_device=CPU))
    assert flags == IS_COPIED and tensor.data != a._pointer
    del capsule, tensor
    for source in (a, Exporter(a)):
        assert ut.from_dlpack(source, copy=False)._pointer == a._pointer
        assert ut.from_dlpack(source, device=EXT_DEV, copy=False)._pointer == a._pointer
        assert ut.from_dlpack(source, device="host", copy=False)._pointer == a._pointer


def test_default_arrays_are_exported():
    a = ut.arange(3)
    assert ut.from_dlpack(Exporter(a))._pointer == a._pointer
    shared = ut.arange(3, usm_type="shared")
    assert ut.from_dlpack(Exporter(shared, CPU))._pointer == shared._pointer


def test_what_others_have_added_is_not_ours(host_accessible, host_queue, sycl_queue):
    """Another library may use kDLExtDev for its own devices: its memory is no USM, and comes by the host."""

    class Added(Exporter):
        def __dlpack_device__(self):
            return EXT_DEV

        def __dlpack__(self, **keywords):
            if keywords.get("dl_device") is None:
                tensor, _ = tensor_in(capsule := external.__dlpack__(max_version=(1, 0)))
                tensor.device_type = EXT_DEV[0]
                return capsule
            return super().__dlpack__(**keywords)

    external = External(VERSIONED).exporter()
    a = Added(ut.asarray([5, 6], "i4", usm_type=host_accessible, sycl_queue=host_queue))
    with pytest.raises(ValueError, match="is not USM"):
        ut.from_dlpack(a)
    assert ut.from_dlpack(a, device=sycl_queue).tolist() == [5, 6]
    assert ut.from_dlpack(a, device=CPU).tolist() == [5, 6]


@pytest.mark.parametrize("device", [(12, 1), (12, -1), (13, 99), (10, 0)])
def test_devices_that_nobody_has(host_queue, device):
    a = ut.asarray([1, 2], usm_type="shared", sycl_queue=host_queue)
    with pytest.raises(BufferError, match="^dl_device: device_(id|type): found"):
        a.__dlpack__(dl_device=device)


def test_sub_devices_are_refused(sycl_queue):
    sub = requirements.parts_of(sycl_queue.sycl_device)[0]
    a = ut.asarray([1], usm_type="device", sycl_queue=usm.SyclQueue(sub))
    with pytest.raises(BufferError, match="root device|default context"):
        a.__dlpack__()


def test_to_another_queue(small, host_queue):
    moved = ut.from_dlpack(small, device="host")
    assert moved.sycl_device == host_queue.sycl_device and moved.tolist() == small.tolist()
    other = usm.SyclQueue(small.sycl_device)
    for source in (small, Exporter(small)):
        b = ut.from_dlpack(source, device=other)
        assert b.tolist() == small.tolist()
    b = ut.from_dlpack(Exporter(small), device=other)
    assert b.sycl_queue == other and b._pointer == small._pointer
    if small.sycl_device.backend != "host":
        with pytest.raises(BufferError, match="copy"):
            ut.from_dlpack(Exporter(small), device="host", copy=False)
        with pytest.raises(BufferError, match="copy"):
            ut.from_dlpack(small, device="host", copy=False)


def test_external_host_memory_is_copied(queue):
    for form in (LEGACY, VERSIONED):
        external = External(form)
        b = ut.from_dlpack(external.exporter(), device=queue)
        assert (b.tolist(), b.usm_type, b.sycl_queue, b.dtype) == ([5, 6], "device", queue, "int32")
        assert external.deleted == 1 and b.flags.writable
        external = External(form)
        assert ut.from_dlpack(external.exporter(), device=CPU).usm_type == "host"
        with pytest.raises(BufferError, match="no USM"):
            ut.from_dlpack(external.exporter(), copy=False)
        assert external.deleted == 2


def test_memory_of_other_devices_comes_by_the_host(queue):
    """Who has memory that is not ours to use is asked for host memory, if there is a place for a copy."""
    a = ut.asarray([1, 2], usm_type="shared", sycl_queue=queue)

    class Cuda(Exporter):
        def __dlpack_device__(self):
            return (2, 0)

    assert ut.from_dlpack(Cuda(a), device=queue).tolist() == [1, 2]
    exporter = Cuda(a)
    ut.from_dlpack(exporter, device=CPU)
    assert exporter.asked[0]["dl_device"] == CPU


def test_whoever_is_last_ends_it(queue, host_accessible, at_start):
    for consumed in (False, True):
        a = ut.asarray([1, 2], usm_type=host_accessible, sycl_queue=queue)
        device, capsule = a.__dlpack_device__(), a.__dlpack__()
        del a
        gc.collect()
        assert usm.live_allocations()["count"] == at_start["count"] + 1
        if consumed:
            b = ut.from_dlpack(CapsuleExporter(lambda c=capsule: c, device))
            del capsule
            assert b.tolist() == [1, 2] and usm.live_allocations()["count"] == at_start["count"] + 1
            del b
        else:
            del capsule
        assert settled() == at_start


def test_capsules_that_live_until_the_interpreter_ends():
    script = """
        import usm.tensor as ut
        kept = []
        for usm_type in ("host", "shared", "device"):
            a = ut.asarray([1, 2], usm_type=usm_type)
            for device in (None, (1, 0)):
                try:
                    kept += [a.__dlpack__(dl_device=device), a.__dlpack__(max_version=(1, 0), dl_device=device)]
                except BufferError:
                    pass
            view = ut.from_dlpack(a)
        print(len(kept) >= 10)
    """
    assert process.check(script) == "True\n"


def test_an_exception_survives_the_end_of_a_capsule(queue, host_accessible):
    def fail():
        capsule = a.__dlpack__()
        raise RuntimeError(capsules.name_of(capsule))

    a = ut.asarray([1], usm_type=host_accessible, sycl_queue=queue)
    with pytest.raises(RuntimeError, match="dltensor"):
        fail()


def test_the_type_has_what_consumers_look_for(small):
    for name in ("__dlpack__", "__dlpack_device__", "__dlpack_c_exchange_api__"):
        assert hasattr(type(small), name)
