"""Strided arrays over USM.

Strides and offsets count elements. Slicing, transposing and new axes give views
of the same memory. NumPy is optional: only functions that return its arrays need
it. Where it is installed, dtypes are NumPy's, otherwise :class:`DType`; it is
imported when the first of them is used.
"""

from __future__ import annotations

from math import e, inf, nan, pi

from .._locate import importing
from .._usm import (
    Device,
    DType,
    ExecutionPlacementError,
    __array_namespace_info__,
    _dtype,
    all,
    allclose,
    any,
    arange,
    asarray,
    asnumpy,
    astype,
    bitwise_and,
    bitwise_invert,
    bitwise_or,
    bitwise_xor,
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    can_cast,
    concat,
    conj,
    copy,
    count_nonzero,
    dldevice_to_sycl_device,
    empty,
    empty_like,
    equal,
    expand_dims,
    extract,
    eye,
    finfo,
    flip,
    from_dlpack,
    from_numpy,
    full,
    full_like,
    get_coerced_usm_type,
    get_execution_queue,
    get_print_options,
    greater,
    greater_equal,
    iinfo,
    imag,
    isclose,
    isdtype,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    linspace,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    matrix_transpose,
    max,
    meshgrid,
    min,
    moveaxis,
    nonzero,
    not_equal,
    ones,
    ones_like,
    permute_dims,
    place,
    put,
    put_along_axis,
    real,
    repeat,
    reshape,
    result_type,
    roll,
    set_print_options,
    signbit,
    squeeze,
    stack,
    sum,
    swapaxes,
    sycl_device_to_dldevice,
    take,
    take_along_axis,
    tile,
    to_numpy,
    tril,
    triu,
    unstack,
    usm_ndarray,
    usm_ndarray_repr,
    usm_ndarray_str,
    validate_usm_type,
    where,
    zeros,
    zeros_like,
)
from ._errors import AxisError

USMArray = usm_ndarray

__array_api_version__ = "2025.12"
newaxis = None

__all__ = [
    "AxisError",
    "DLDeviceType",
    "DType",
    "Device",
    "ExecutionPlacementError",
    "USMArray",
    "__array_api_version__",
    "__array_namespace_info__",
    "all",
    "allclose",
    "any",
    "arange",
    "asarray",
    "asnumpy",
    "astype",
    "bfloat16",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_or",
    "bitwise_xor",
    "bool",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "complex128",
    "complex64",
    "concat",
    "conj",
    "copy",
    "count_nonzero",
    "dldevice_to_sycl_device",
    "dtype",
    "e",
    "empty",
    "empty_like",
    "equal",
    "expand_dims",
    "extract",
    "eye",
    "finfo",
    "flip",
    "float16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "get_coerced_usm_type",
    "get_execution_queue",
    "get_print_options",
    "greater",
    "greater_equal",
    "iinfo",
    "imag",
    "inf",
    "int16",
    "int32",
    "int64",
    "int8",
    "isclose",
    "isdtype",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "linspace",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matrix_transpose",
    "max",
    "meshgrid",
    "min",
    "moveaxis",
    "nan",
    "newaxis",
    "nonzero",
    "not_equal",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "place",
    "print_options",
    "put",
    "put_along_axis",
    "real",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "set_print_options",
    "signbit",
    "squeeze",
    "stack",
    "sum",
    "swapaxes",
    "sycl_device_to_dldevice",
    "take",
    "take_along_axis",
    "tile",
    "to_numpy",
    "tril",
    "triu",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unstack",
    "usm_ndarray",
    "usm_ndarray_repr",
    "usm_ndarray_str",
    "validate_usm_type",
    "where",
    "zeros",
    "zeros_like",
]

# These modules, and what they need, take as long to import as all of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._dlpack import DLDeviceType
    from ._print import print_options

# Made when they are first used, since NumPy is imported for them.
bfloat16: Any
bool: Any
complex64: Any
complex128: Any
dtype: Any
float16: Any
float32: Any
float64: Any
float8_e4m3fn: Any
float8_e4m3fnuz: Any
float8_e5m2: Any
float8_e5m2fnuz: Any
int8: Any
int16: Any
int32: Any
int64: Any
uint8: Any
uint16: Any
uint32: Any
uint64: Any


def __getattr__(name: str) -> Any:
    found: Any
    if name == "DLDeviceType":
        with importing:
            from . import _dlpack

        found = _dlpack.DLDeviceType
    elif name == "print_options":
        with importing:
            from . import _print

        found = _print.print_options
    elif name in __all__:
        # Every other public name exists.
        found = _dtype(name)
    else:
        with importing:
            from ._elsewhere import where_to_find

        computes = where_to_find(name)
        hint = f"; this package holds and moves arrays, and others compute: {computes}" if computes else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
