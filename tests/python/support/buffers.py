"""Views of the buffer protocol through ctypes: those of objects, and objects with views made by hand."""

import ctypes
from typing import Any


class PyBuffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_void_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


_api = ctypes.PyDLL(None)
_api.PyObject_GetBuffer.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
_api.PyBuffer_Release.argtypes = [ctypes.c_void_p]
_api.PyType_FromSpec.restype, _api.PyType_FromSpec.argtypes = ctypes.py_object, [ctypes.c_void_p]
_api.Py_IncRef.argtypes = [ctypes.py_object]


class _Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("function", ctypes.c_void_p)]


class _Spec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    ]


class Exporter:
    """An object whose buffer is what `view` says, by a type that is made by hand."""

    GET, RELEASE, MAY_HAVE_SUBCLASSES = 1, 2, 1 << 10

    def __init__(self) -> None:
        self.view = PyBuffer()
        self.taken = 0
        get = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(PyBuffer), ctypes.c_int)(self._get)
        release = ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.POINTER(PyBuffer))(self._release)
        addresses = [ctypes.cast(function, ctypes.c_void_p).value for function in (get, release)]
        slots = (_Slot * 3)((self.GET, addresses[0]), (self.RELEASE, addresses[1]), (0, None))
        spec = _Spec(b"support.Exported", 0, 0, self.MAY_HAVE_SUBCLASSES, slots)
        self.object = _api.PyType_FromSpec(ctypes.addressof(spec))()
        # Kept, since C calls them.
        self.kept = get, release, slots, spec

    def _get(self, obj: Any, view: Any, flags: int) -> int:
        ctypes.memmove(view, ctypes.byref(self.view), ctypes.sizeof(PyBuffer))
        view[0].obj = id(obj)
        _api.Py_IncRef(obj)
        self.taken += 1
        return 0

    def _release(self, obj: Any, view: Any) -> None:
        self.taken -= 1


def bounds(obj: Any) -> tuple[int, int]:
    """The addresses of the lowest byte and behind the highest byte of the items of a buffer."""
    view = PyBuffer()
    full_and_read_only = 0x011C
    _api.PyObject_GetBuffer(obj, ctypes.byref(view), full_and_read_only)
    try:
        axes = range(view.ndim)
        sizes = (ctypes.c_ssize_t * view.ndim).from_address(view.shape) if view.ndim else []
        steps = (ctypes.c_ssize_t * view.ndim).from_address(view.strides) if view.ndim else []
        ends = [(sizes[axis] - 1) * steps[axis] for axis in axes]
        low = (view.buf or 0) + sum(end for end in ends if end < 0)
        return low, (view.buf or 0) + sum(end for end in ends if end > 0) + view.itemsize
    finally:
        _api.PyBuffer_Release(ctypes.byref(view))
