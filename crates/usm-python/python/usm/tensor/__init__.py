"""Strided arrays over USM.

Strides and offsets count elements. Slicing, transposing and new axes give views
of the same memory. NumPy is optional: only functions that return its arrays need
it. Where it is installed, dtypes are NumPy's, otherwise :class:`DType`; it is
imported when the first of them is used.
"""

from typing import Any

from .._usm import (
    Device,
    DType,
    _dtype,
    asarray,
    asnumpy,
    empty,
    from_dlpack,
    from_numpy,
    get_print_options,
    set_print_options,
    to_numpy,
    usm_ndarray,
    usm_ndarray_repr,
    usm_ndarray_str,
    zeros,
)
from ._dlpack import DLDeviceType
from ._print import print_options

USMArray = usm_ndarray

__all__ = [
    "DLDeviceType",
    "DType",
    "Device",
    "USMArray",
    "asarray",
    "asnumpy",
    "bool",
    "complex128",
    "complex64",
    "dtype",
    "empty",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "from_numpy",
    "get_print_options",
    "int16",
    "int32",
    "int64",
    "int8",
    "print_options",
    "set_print_options",
    "to_numpy",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "usm_ndarray",
    "usm_ndarray_repr",
    "usm_ndarray_str",
    "zeros",
]

# Made when they are first used, since NumPy is imported for them.
bool: Any
complex64: Any
complex128: Any
dtype: Any
float16: Any
float32: Any
float64: Any
int8: Any
int16: Any
int32: Any
int64: Any
uint8: Any
uint16: Any
uint32: Any
uint64: Any


def __getattr__(name: str) -> Any:
    # Every other public name exists.
    if name in __all__:
        globals()[name] = found = _dtype(name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
