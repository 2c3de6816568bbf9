"""Producers of DLPack tensors: wrappers of our arrays, and structs made by hand with a deleter that counts."""

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from . import capsules

CPU = (1, 0)
ONE_API = (14, 0)
EXT_DEV = (12, 0)
LEGACY, VERSIONED = b"dltensor", b"dltensor_versioned"


def places(*names: str) -> tuple[Any, Any, Any]:
    """The fixtures `place`, `queue` and `usm_type` of a file: places such as "sycl-device", a backend and a USM type.

    DLPack has no device for the host backend's device memory: see test_what_cannot_be_handed_out.
    """

    @pytest.fixture(params=names or ("host-host", "host-shared", "sycl-host", "sycl-device", "sycl-shared"))
    def place(request: pytest.FixtureRequest) -> tuple[Any, str]:
        backend, usm_type = request.param.split("-")
        return request.getfixturevalue(f"{backend}_queue"), usm_type

    @pytest.fixture
    def queue(place: tuple[Any, str]) -> Any:
        return place[0]

    @pytest.fixture
    def usm_type(place: tuple[Any, str]) -> str:
        return place[1]

    return place, queue, usm_type


class Exporter:
    """An object of no known class with the two methods of another one."""

    def __init__(self, array: Any, dl_device: tuple[int, int] | None = None) -> None:
        self.array = array
        self.dl_device = dl_device
        self.asked: list[dict[str, Any]] = []

    def __dlpack_device__(self) -> Any:
        return self.dl_device or self.array.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked.append(keywords)
        if self.dl_device is not None and keywords.get("dl_device") is None:
            keywords = {**keywords, "dl_device": self.dl_device}
        return self.array.__dlpack__(**keywords)


class OldExporter(Exporter):
    """As before DLPack 1: no keywords but `stream`."""

    def __dlpack__(self, stream: Any = None) -> Any:  # type: ignore[override]
        return super().__dlpack__(stream=stream)


class CapsuleExporter:
    """Gives the capsules that a function makes."""

    def __init__(self, make: Callable[[], Any], device: Any = CPU) -> None:
        self.make = make
        self.device = device

    def __dlpack_device__(self) -> Any:
        return self.device

    def __dlpack__(self, **_: Any) -> Any:
        return self.make()


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


SET_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


class ExchangeApi(ctypes.Structure):
    """The table of functions of a type of tensors."""

    # With `PyDLL`'s kind of function, which stays attached to the interpreter and raises what is set.
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("prev_api", ctypes.c_void_p),
        (
            "allocate",
            ctypes.CFUNCTYPE(
                ctypes.c_int, ctypes.POINTER(DLTensor), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, SET_ERROR
            ),
        ),
        ("from_object", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))),
        ("to_object", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))),
        ("borrow", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))),
        (
            "current_stream",
            ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)),
        ),
    ]


class External:
    """A tensor of two 32-bit integers in plain host memory; tests spoil its fields. `deleted` counts its deleter."""

    def __init__(self, name: bytes = VERSIONED) -> None:
        self.name = name
        self.deleted = 0
        self.data = (ctypes.c_int32 * 2)(5, 6)
        self.shape = (ctypes.c_int64 * 1)(2)
        self.strides = (ctypes.c_int64 * 1)(1)
        self.managed = Managed() if name == LEGACY else ManagedVersioned(major=1, minor=0)
        # Kept, since C calls it.
        self.delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._delete)
        self.managed.deleter = ctypes.cast(self.delete, ctypes.c_void_p).value
        tensor = self.managed.tensor
        tensor.data, tensor.ndim = ctypes.addressof(self.data), 1
        tensor.device_type, tensor.code, tensor.bits, tensor.lanes = 1, 0, 32, 1
        tensor.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        tensor.strides = ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64))

    def _delete(self, _: int) -> None:
        self.deleted += 1

    @property
    def tensor(self) -> DLTensor:
        return self.managed.tensor

    def capsule(self) -> Any:
        return capsules.make(ctypes.addressof(self.managed), self.name)

    def exporter(self) -> CapsuleExporter:
        return CapsuleExporter(self.capsule)


def tensor_in(capsule: Any) -> tuple[DLTensor, int]:
    """The tensor in a capsule and its flags; a legacy one has none."""
    pointer = capsules.pointer_of(capsule)
    if capsules.name_of(capsule) == LEGACY:
        return Managed.from_address(pointer).tensor, 0
    managed = ManagedVersioned.from_address(pointer)
    return managed.tensor, managed.flags


class OfTable:
    """A type of tensors with the C exchange API. Work on its `External` tensors may be pending on `stream`."""

    def __init__(self, **fields: Any) -> None:
        self.stream = 0
        self.asked: list[tuple[int, int]] = []
        functions = {"from_object": self._from_object, "current_stream": self._current_stream}
        types = dict(ExchangeApi._fields_)
        # Kept, since C calls them.
        self.table = ExchangeApi(major=1, minor=3, **{name: types[name](call) for name, call in functions.items()})
        for name, value in fields.items():
            setattr(self.table, name, value)
        capsule = capsules.make(ctypes.addressof(self.table), b"dlpack_exchange_api")
        self.kind = type("Tensor", (), {"__dlpack__": None, "__dlpack_c_exchange_api__": capsule})

    def _from_object(self, tensor: Any, out: Any) -> int:
        if tensor.external is None:
            return -1
        out[0] = ctypes.addressof(tensor.external.managed)
        return 0

    def _current_stream(self, device_type: int, device_id: int, out: Any) -> int:
        self.asked.append((device_type, device_id))
        out[0] = self.stream
        return 0

    def tensor(self, external: Any) -> Any:
        tensor = self.kind()
        tensor.external = external
        return tensor
