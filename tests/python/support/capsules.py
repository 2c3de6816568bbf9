"""PyCapsules made and inspected through ctypes, like the ones of other libraries and of broken ones."""

import ctypes
from typing import Any

_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_api.PyCapsule_GetName.restype = ctypes.c_char_p
_api.PyCapsule_GetName.argtypes = [ctypes.py_object]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]

QUEUE = b"SyclQueueRef"
CONTEXT = b"SyclContextRef"
HOST_QUEUE = b"usm.HostQueueRef"

# PyCapsule_New keeps the pointer of the name, so each name must live for ever.
_names: dict[bytes, ctypes.c_char_p] = {}


def make(pointer: int, name: bytes | None) -> Any:
    """A capsule without a destructor."""
    kept = None if name is None else _names.setdefault(name, ctypes.c_char_p(name))
    return _api.PyCapsule_New(pointer, kept, None)


def name_of(capsule: Any) -> bytes | None:
    return _api.PyCapsule_GetName(capsule)


def pointer_of(capsule: Any) -> int:
    return _api.PyCapsule_GetPointer(capsule, name_of(capsule))


class CapsuleSource:
    """An object of no known class with nothing but `_get_capsule`."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def _get_capsule(self) -> Any:
        return self._source() if callable(self._source) else self._source._get_capsule()


_ZEROES = ctypes.create_string_buffer(4096)


def zeroed_block() -> int:
    """The address of 4096 readable zero bytes that stay."""
    return ctypes.addressof(_ZEROES)
