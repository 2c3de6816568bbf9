"""Types of `usm.tensor`. The functions that providers compute are those of `usm/compute/_table.py`."""

import builtins
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from .._usm import (
    Device as Device,
)
from .._usm import (
    DType as DType,
)
from .._usm import (
    ExecutionPlacementError as ExecutionPlacementError,
)
from .._usm import (
    __array_namespace_info__ as __array_namespace_info__,
)
from .._usm import (
    _Dtype,
)
from .._usm import (
    all as all,
)
from .._usm import (
    allclose as allclose,
)
from .._usm import (
    any as any,
)
from .._usm import (
    arange as arange,
)
from .._usm import (
    asarray as asarray,
)
from .._usm import (
    asnumpy as asnumpy,
)
from .._usm import (
    astype as astype,
)
from .._usm import (
    bitwise_and as bitwise_and,
)
from .._usm import (
    bitwise_invert as bitwise_invert,
)
from .._usm import (
    bitwise_or as bitwise_or,
)
from .._usm import (
    bitwise_xor as bitwise_xor,
)
from .._usm import (
    broadcast_arrays as broadcast_arrays,
)
from .._usm import (
    broadcast_shapes as broadcast_shapes,
)
from .._usm import (
    broadcast_to as broadcast_to,
)
from .._usm import (
    can_cast as can_cast,
)
from .._usm import (
    concat as concat,
)
from .._usm import (
    conj as conj,
)
from .._usm import (
    copy as copy,
)
from .._usm import (
    count_nonzero as count_nonzero,
)
from .._usm import (
    dldevice_to_sycl_device as dldevice_to_sycl_device,
)
from .._usm import (
    empty as empty,
)
from .._usm import (
    empty_like as empty_like,
)
from .._usm import (
    equal as equal,
)
from .._usm import (
    expand_dims as expand_dims,
)
from .._usm import (
    extract as extract,
)
from .._usm import (
    eye as eye,
)
from .._usm import (
    finfo as finfo,
)
from .._usm import (
    flip as flip,
)
from .._usm import (
    from_dlpack as from_dlpack,
)
from .._usm import (
    from_numpy as from_numpy,
)
from .._usm import (
    full as full,
)
from .._usm import (
    full_like as full_like,
)
from .._usm import (
    get_coerced_usm_type as get_coerced_usm_type,
)
from .._usm import (
    get_execution_queue as get_execution_queue,
)
from .._usm import (
    get_print_options as get_print_options,
)
from .._usm import (
    greater as greater,
)
from .._usm import (
    greater_equal as greater_equal,
)
from .._usm import (
    iinfo as iinfo,
)
from .._usm import (
    imag as imag,
)
from .._usm import (
    isclose as isclose,
)
from .._usm import (
    isdtype as isdtype,
)
from .._usm import (
    isfinite as isfinite,
)
from .._usm import (
    isinf as isinf,
)
from .._usm import (
    isnan as isnan,
)
from .._usm import (
    less as less,
)
from .._usm import (
    less_equal as less_equal,
)
from .._usm import (
    linspace as linspace,
)
from .._usm import (
    logical_and as logical_and,
)
from .._usm import (
    logical_not as logical_not,
)
from .._usm import (
    logical_or as logical_or,
)
from .._usm import (
    logical_xor as logical_xor,
)
from .._usm import (
    matrix_transpose as matrix_transpose,
)
from .._usm import (
    max as max,
)
from .._usm import (
    meshgrid as meshgrid,
)
from .._usm import (
    min as min,
)
from .._usm import (
    moveaxis as moveaxis,
)
from .._usm import (
    nonzero as nonzero,
)
from .._usm import (
    not_equal as not_equal,
)
from .._usm import (
    ones as ones,
)
from .._usm import (
    ones_like as ones_like,
)
from .._usm import (
    permute_dims as permute_dims,
)
from .._usm import (
    place as place,
)
from .._usm import (
    put as put,
)
from .._usm import (
    put_along_axis as put_along_axis,
)
from .._usm import (
    real as real,
)
from .._usm import (
    repeat as repeat,
)
from .._usm import (
    reshape as reshape,
)
from .._usm import (
    result_type as result_type,
)
from .._usm import (
    roll as roll,
)
from .._usm import (
    set_print_options as set_print_options,
)
from .._usm import (
    signbit as signbit,
)
from .._usm import (
    squeeze as squeeze,
)
from .._usm import (
    stack as stack,
)
from .._usm import (
    sum as sum,
)
from .._usm import (
    swapaxes as swapaxes,
)
from .._usm import (
    sycl_device_to_dldevice as sycl_device_to_dldevice,
)
from .._usm import (
    take as take,
)
from .._usm import (
    take_along_axis as take_along_axis,
)
from .._usm import (
    tile as tile,
)
from .._usm import (
    to_numpy as to_numpy,
)
from .._usm import (
    tril as tril,
)
from .._usm import (
    triu as triu,
)
from .._usm import (
    unstack as unstack,
)
from .._usm import (
    usm_ndarray as usm_ndarray,
)
from .._usm import (
    usm_ndarray_repr as usm_ndarray_repr,
)
from .._usm import (
    usm_ndarray_str as usm_ndarray_str,
)
from .._usm import (
    validate_usm_type as validate_usm_type,
)
from .._usm import (
    where as where,
)
from .._usm import (
    zeros as zeros,
)
from .._usm import (
    zeros_like as zeros_like,
)
from ..compute import use_provider as use_provider
from . import fft as fft
from . import linalg as linalg
from ._dlpack import DLDeviceType as DLDeviceType
from ._errors import AxisError as AxisError
from ._print import print_options as print_options

_Operand: TypeAlias = usm_ndarray | complex
_DtypeLike: TypeAlias = Any
_CopyOrder: TypeAlias = Literal["C", "F", "A", "K"]

class _UniqueAll(NamedTuple):
    values: usm_ndarray
    indices: usm_ndarray
    inverse_indices: usm_ndarray
    counts: usm_ndarray

class _UniqueCounts(NamedTuple):
    values: usm_ndarray
    counts: usm_ndarray

class _UniqueInverse(NamedTuple):
    values: usm_ndarray
    inverse_indices: usm_ndarray

USMArray = usm_ndarray
__array_api_version__: str
newaxis: None
e: float
inf: float
nan: float
pi: float
# Dtypes of NumPy where NumPy is installed.
dtype: type[Any]
bfloat16: _Dtype
bool: _Dtype
complex64: _Dtype
complex128: _Dtype
float16: _Dtype
float32: _Dtype
float64: _Dtype
float8_e4m3fn: _Dtype
float8_e4m3fnuz: _Dtype
float8_e5m2: _Dtype
float8_e5m2fnuz: _Dtype
int8: _Dtype
int16: _Dtype
int32: _Dtype
int64: _Dtype
uint8: _Dtype
uint16: _Dtype
uint32: _Dtype
uint64: _Dtype

def abs(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def acos(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def acosh(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def asin(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def asinh(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def atan(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def atanh(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def ceil(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def cos(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def cosh(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def exp(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def expm1(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def floor(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def log(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def log10(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def log1p(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def log2(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def negative(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def positive(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def reciprocal(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def round(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def sign(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def sin(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def sinh(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def sqrt(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def square(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def tan(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def tanh(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def trunc(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def angle(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def cbrt(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def exp2(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def proj(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def rsqrt(x: usm_ndarray, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def add(x1: _Operand, x2: _Operand, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def atan2(x1: _Operand, x2: _Operand, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def bitwise_left_shift(
    x1: _Operand, x2: _Operand, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K"
) -> usm_ndarray: ...
def bitwise_right_shift(
    x1: _Operand, x2: _Operand, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K"
) -> usm_ndarray: ...
def copysign(
    x1: _Operand, x2: _Operand, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K"
) -> usm_ndarray: ...
def divide(
    x1: _Operand, x2: _Operand, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K"
) -> usm_ndarray: ...
def floor_divide(
    x1: _Operand, x2: _Operand, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K"
) -> usm_ndarray: ...
def hypot(x1: _Operand, x2: _Operand, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def logaddexp(
    x1: _Operand, x2: _Operand, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K"
) -> usm_ndarray: ...
def maximum(
    x1: _Operand, x2: _Operand, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K"
) -> usm_ndarray: ...
def minimum(
    x1: _Operand, x2: _Operand, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K"
) -> usm_ndarray: ...
def multiply(
    x1: _Operand, x2: _Operand, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K"
) -> usm_ndarray: ...
def nextafter(
    x1: _Operand, x2: _Operand, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K"
) -> usm_ndarray: ...
def pow(x1: _Operand, x2: _Operand, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K") -> usm_ndarray: ...
def remainder(
    x1: _Operand, x2: _Operand, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K"
) -> usm_ndarray: ...
def subtract(
    x1: _Operand, x2: _Operand, /, *, out: usm_ndarray | None = None, order: _CopyOrder = "K"
) -> usm_ndarray: ...
def prod(
    x: usm_ndarray,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    dtype: _DtypeLike | None = None,
    keepdims: builtins.bool = False,
    out: usm_ndarray | None = None,
) -> usm_ndarray: ...
def mean(
    x: usm_ndarray,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: builtins.bool = False,
    out: usm_ndarray | None = None,
) -> usm_ndarray: ...
def var(
    x: usm_ndarray,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    correction: float = 0.0,
    keepdims: builtins.bool = False,
    out: usm_ndarray | None = None,
) -> usm_ndarray: ...
def std(
    x: usm_ndarray,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    correction: float = 0.0,
    keepdims: builtins.bool = False,
    out: usm_ndarray | None = None,
) -> usm_ndarray: ...
def logsumexp(
    x: usm_ndarray,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    dtype: _DtypeLike | None = None,
    keepdims: builtins.bool = False,
    out: usm_ndarray | None = None,
) -> usm_ndarray: ...
def reduce_hypot(
    x: usm_ndarray,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    dtype: _DtypeLike | None = None,
    keepdims: builtins.bool = False,
    out: usm_ndarray | None = None,
) -> usm_ndarray: ...
def argmax(
    x: usm_ndarray, /, *, axis: int | None = None, keepdims: builtins.bool = False, out: usm_ndarray | None = None
) -> usm_ndarray: ...
def argmin(
    x: usm_ndarray, /, *, axis: int | None = None, keepdims: builtins.bool = False, out: usm_ndarray | None = None
) -> usm_ndarray: ...
def cumulative_sum(
    x: usm_ndarray,
    /,
    *,
    axis: int | None = None,
    dtype: _DtypeLike | None = None,
    include_initial: builtins.bool = False,
    out: usm_ndarray | None = None,
) -> usm_ndarray: ...
def cumulative_prod(
    x: usm_ndarray,
    /,
    *,
    axis: int | None = None,
    dtype: _DtypeLike | None = None,
    include_initial: builtins.bool = False,
    out: usm_ndarray | None = None,
) -> usm_ndarray: ...
def cumulative_logsumexp(
    x: usm_ndarray,
    /,
    *,
    axis: int | None = None,
    dtype: _DtypeLike | None = None,
    include_initial: builtins.bool = False,
    out: usm_ndarray | None = None,
) -> usm_ndarray: ...
def clip(
    x: usm_ndarray, /, min: _Operand | None = None, max: _Operand | None = None, *, out: usm_ndarray | None = None
) -> usm_ndarray: ...
def matmul(x1: usm_ndarray, x2: usm_ndarray, /, *, out: usm_ndarray | None = None) -> usm_ndarray: ...
def tensordot(x1: _Operand, x2: _Operand, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> usm_ndarray: ...
def vecdot(x1: usm_ndarray, x2: usm_ndarray, /, *, axis: int = -1) -> usm_ndarray: ...
def diff(
    x: usm_ndarray, /, *, axis: int = -1, n: int = 1, prepend: _Operand | None = None, append: _Operand | None = None
) -> usm_ndarray: ...
def sort(
    x: usm_ndarray, /, *, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True
) -> usm_ndarray: ...
def argsort(
    x: usm_ndarray, /, *, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True
) -> usm_ndarray: ...
def top_k(
    x: usm_ndarray, k: int, /, *, axis: int | None = None, mode: Literal["largest", "smallest"] = "largest"
) -> tuple[usm_ndarray, usm_ndarray]: ...
def searchsorted(
    x1: usm_ndarray, x2: _Operand, /, *, side: Literal["left", "right"] = "left", sorter: usm_ndarray | None = None
) -> usm_ndarray: ...
def isin(x1: _Operand, x2: _Operand, /, *, invert: builtins.bool = False) -> usm_ndarray: ...
def unique_all(x: usm_ndarray, /) -> _UniqueAll: ...
def unique_counts(x: usm_ndarray, /) -> _UniqueCounts: ...
def unique_inverse(x: usm_ndarray, /) -> _UniqueInverse: ...
def unique_values(x: usm_ndarray, /) -> usm_ndarray: ...

__all__ = [
    "AxisError",
    "DLDeviceType",
    "DType",
    "Device",
    "ExecutionPlacementError",
    "USMArray",
    "__array_api_version__",
    "__array_namespace_info__",
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "allclose",
    "angle",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asarray",
    "asin",
    "asinh",
    "asnumpy",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bfloat16",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bool",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "cbrt",
    "ceil",
    "clip",
    "complex128",
    "complex64",
    "concat",
    "conj",
    "copy",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cumulative_logsumexp",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "divide",
    "dldevice_to_sycl_device",
    "dtype",
    "e",
    "empty",
    "empty_like",
    "equal",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "extract",
    "eye",
    "fft",
    "finfo",
    "flip",
    "float16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "floor",
    "floor_divide",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "get_coerced_usm_type",
    "get_execution_queue",
    "get_print_options",
    "greater",
    "greater_equal",
    "hypot",
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
    "isin",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "linalg",
    "linspace",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsumexp",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "nan",
    "negative",
    "newaxis",
    "nextafter",
    "nonzero",
    "not_equal",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "place",
    "positive",
    "pow",
    "print_options",
    "prod",
    "proj",
    "put",
    "put_along_axis",
    "real",
    "reciprocal",
    "reduce_hypot",
    "remainder",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "round",
    "rsqrt",
    "searchsorted",
    "set_print_options",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sort",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "swapaxes",
    "sycl_device_to_dldevice",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "to_numpy",
    "top_k",
    "tril",
    "triu",
    "trunc",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "use_provider",
    "usm_ndarray",
    "usm_ndarray_repr",
    "usm_ndarray_str",
    "validate_usm_type",
    "var",
    "vecdot",
    "where",
    "zeros",
    "zeros_like",
]
