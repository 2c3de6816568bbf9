"""Malformed DLPack tensors: the error names the field, and the deleter of an imported tensor runs once."""

import ctypes
import gc

import pytest

import usm
import usm.tensor as ut

from support import capsules
from support.dlpack import CPU, LEGACY, VERSIONED, CapsuleExporter, External


@pytest.mark.parametrize(
    "name", [None, b"", b"dltensor_", b"DLTENSOR", b"used_dltensor", b"used_dltensor_versioned", b"SyclQueueRef"]
)
def test_capsules_of_other_names(name):
    external = External()
    capsule = capsules.make(ctypes.addressof(external.managed), name)
    with pytest.raises(ValueError, match="__dlpack__: found a capsule named"):
        ut.from_dlpack(CapsuleExporter(lambda: capsule))
    assert capsules.name_of(capsule) == name and external.deleted == 0


def test_what_is_no_capsule():
    for wrong in (None, 3, "dltensor", object(), b"dltensor"):
        with pytest.raises(TypeError, match="__dlpack__: found"):
            ut.from_dlpack(CapsuleExporter(lambda w=wrong: w))


@pytest.mark.parametrize("form", [LEGACY, VERSIONED])
def test_a_capsule_is_taken_once(form):
    external = External(form)
    capsule = external.capsule()
    assert ut.from_dlpack(CapsuleExporter(lambda: capsule)).tolist() == [5, 6]
    assert external.deleted == 1
    for _ in range(2):
        with pytest.raises(ValueError, match="somebody has taken"):
            ut.from_dlpack(CapsuleExporter(lambda: capsule))
    assert external.deleted == 1


def test_our_own_capsule_is_taken_once(queue, host_accessible):
    a = ut.asarray([1, 2], usm_type=host_accessible, sycl_queue=queue)
    capsule = a.__dlpack__(max_version=(1, 0))
    exporter = CapsuleExporter(lambda: capsule, a.__dlpack_device__())
    first = ut.from_dlpack(exporter)
    with pytest.raises(ValueError, match="somebody has taken"):
        ut.from_dlpack(exporter)
    del first
    gc.collect()
    with pytest.raises(ValueError, match="somebody has taken"):
        ut.from_dlpack(exporter)


def test_pointers_that_no_struct_has():
    for name in (LEGACY, VERSIONED):
        for pointer in (1, 3, 7):
            with pytest.raises(ValueError, match="__dlpack__"):
                ut.from_dlpack(CapsuleExporter(lambda n=name, p=pointer: capsules.make(p, n)))


def spoil_tensor(**fields):
    def spoil(external):
        for name, value in fields.items():
            setattr(external.tensor, name, value)

    return spoil


def shape(*sizes):
    def spoil(external):
        external.shape = (ctypes.c_int64 * max(len(sizes), 1))(*sizes)
        external.strides = (ctypes.c_int64 * max(len(sizes), 1))(*[1] * len(sizes))
        external.tensor.shape = ctypes.cast(external.shape, ctypes.POINTER(ctypes.c_int64))
        external.tensor.strides = ctypes.cast(external.strides, ctypes.POINTER(ctypes.c_int64))
        external.tensor.ndim = len(sizes)

    return spoil


SPOILED = {
    "no data": (spoil_tensor(data=0), "data"),
    "misaligned data": (lambda f: setattr(f.tensor, "data", f.tensor.data + 1), "data"),
    "device type": (spoil_tensor(device_type=10), "device_type"),
    "device number": (spoil_tensor(device_id=7), "device_id"),
    "negative device number": (spoil_tensor(device_id=-1), "device_id"),
    "negative ndim": (spoil_tensor(ndim=-1), "ndim"),
    "ndim": (spoil_tensor(ndim=65), "ndim"),
    "largest ndim": (spoil_tensor(ndim=2**31 - 1), "ndim"),
    "no shape": (lambda f: setattr(f.tensor, "shape", ctypes.POINTER(ctypes.c_int64)()), "shape"),
    "negative size": (shape(-1), "shape"),
    "overflow": (shape(2**62, 2**62), "shape"),
    "two negative sizes": (shape(-2, -3), "shape"),
    "many bytes": (shape(2**62), "shape"),
    "byte_offset": (spoil_tensor(byte_offset=2**64 - 1), "byte_offset|data|offset"),
    "lanes": (spoil_tensor(lanes=4), "lanes"),
    "bits": (spoil_tensor(bits=24), "bits"),
    "bits of bfloat16": (spoil_tensor(code=4, bits=32), "bits: found 32 bits of kDLBfloat"),
    "float8_e8m0fnu": (spoil_tensor(code=14, bits=8), "code: found kDLFloat8_e8m0fnu"),
    "code": (spoil_tensor(code=99), "code"),
}


@pytest.mark.parametrize("form", [LEGACY, VERSIONED])
@pytest.mark.parametrize("case", SPOILED)
def test_spoiled_fields(case, form):
    spoil, field = SPOILED[case]
    external = External(form)
    spoil(external)
    before = usm.live_allocations()
    with pytest.raises((ValueError, BufferError), match=f"^({field})"):
        ut.from_dlpack(external.exporter())
    assert external.deleted == 1
    assert usm.live_allocations() == before
    external = External(form)
    spoil(external)
    with pytest.raises((ValueError, TypeError)):
        ut.asarray(external.exporter())
    assert external.deleted == 1


def test_other_major_versions():
    external = External()
    external.managed.major = 2
    # Of another version nothing else may be looked at.
    external.tensor.shape = ctypes.cast(8, ctypes.POINTER(ctypes.c_int64))
    with pytest.raises(ValueError, match="^version: found 2.0"):
        ut.from_dlpack(external.exporter())
    assert external.deleted == 1


def test_tensors_without_a_deleter():
    for form in (LEGACY, VERSIONED):
        external = External(form)
        external.managed.deleter = None
        assert ut.from_dlpack(external.exporter()).tolist() == [5, 6]


def test_no_strides_are_row_major_and_empty_tensors_have_no_data():
    external = External()
    external.tensor.strides = ctypes.POINTER(ctypes.c_int64)()
    assert ut.from_dlpack(external.exporter()).tolist() == [5, 6]
    external = External()
    shape(0, 3)(external)
    external.tensor.data = 0
    empty = ut.from_dlpack(external.exporter())
    assert empty.shape == (0, 3) and external.deleted == 1


def test_memory_that_is_no_usm_as_kdloneapi(sycl_queue):
    external = External()
    pair = ut.sycl_device_to_dldevice(sycl_queue.sycl_device)
    external.tensor.device_type, external.tensor.device_id = pair
    with pytest.raises(ValueError, match="^data"):
        ut.from_dlpack(CapsuleExporter(external.capsule, pair))
    assert external.deleted == 1


def test_the_tensor_counts_not_the_method(sycl_queue):
    """A producer that says another device than its tensor has."""
    external = External()
    pair = ut.sycl_device_to_dldevice(sycl_queue.sycl_device)
    assert ut.from_dlpack(CapsuleExporter(external.capsule, pair)).tolist() == [5, 6]


def test_devices_that_are_no_pairs():
    for device, error in (
        (None, TypeError),
        (1, TypeError),
        ("a", TypeError),
        ((1,), ValueError),
        ((1, 2, 3), ValueError),
    ):
        external = External()
        with pytest.raises(error, match="^__dlpack_device__"):
            ut.from_dlpack(CapsuleExporter(external.capsule, device))
        assert external.deleted == 0
    for device in (("a", 0), (1, None), (2**40, 0)):
        with pytest.raises((TypeError, ValueError), match=r"^__dlpack_device__"):
            ut.from_dlpack(CapsuleExporter(External().capsule, device))


def test_objects_without_both_methods():
    class Half:
        def __dlpack__(self):
            raise AssertionError("not called")

    for wrong in (object(), None, 3, [1], "text", Half(), External().capsule()):
        with pytest.raises(TypeError, match="^x: found"):
            ut.from_dlpack(wrong)


def test_errors_of_the_producer_come_through():
    def fail():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ut.from_dlpack(CapsuleExporter(fail))

    def refuse():
        raise BufferError("theirs")

    with pytest.raises(BufferError, match="theirs"):
        ut.from_dlpack(CapsuleExporter(refuse))


def test_a_producer_that_raises_type_error_is_asked_again():
    calls = []

    class Picky:
        def __dlpack_device__(self):
            return CPU

        def __dlpack__(self, **keywords):
            calls.append(keywords)
            raise TypeError("no keywords" if keywords else "mine")

    with pytest.raises(TypeError, match="mine"):
        ut.from_dlpack(Picky())
    assert calls == [{"max_version": (1, 3)}, {}]
