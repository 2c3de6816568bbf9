"""Arrays as chunks of ``dask.array``, and what dask looks up by the type of a chunk."""

# Dask has no types here.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from importlib import import_module

import usm.tensor as ut

from ..tensor import usm_ndarray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

__all__ = ["register"]


def register(dask_array: ModuleType) -> None:
    """Register with ``dask.array``, which has just been imported."""
    chunk_types: Any = import_module("dask.array.chunk_types")
    chunk_types.register_chunk_type(usm_ndarray)
    backends: Any = import_module("dask.array.backends")
    found = {
        "concatenate": _concatenate,
        "divide": _divide,
        "empty": _empty,
        "nannumel": backends._nannumel,
        "numel": backends._numel_arraylike,
        "percentile": backends.percentile,
        "take": _take,
        "tensordot": _tensordot,
    }
    for name, function in found.items():
        getattr(backends, f"{name}_lookup").register(usm_ndarray, function)
    backends.to_numpy_dispatch.register(usm_ndarray, _to_numpy)


def _concatenate(arrays: Any, axis: int = 0) -> usm_ndarray:
    """One array alone is the result: dask joins blocks axis by axis, and writes to none of them."""
    if len(arrays) == 1 and isinstance(arrays[0], usm_ndarray):
        return arrays[0]
    joined: usm_ndarray = ut.concat(arrays, axis=axis)
    return joined


def _divide(a: Any, b: Any, dtype: Any = None) -> Any:
    """Quotients in a dtype, as the means of dask need them."""
    quotient = ut.divide(_ours(a, b), _ours(b, a))
    return quotient if dtype is None else ut.astype(quotient, dtype, copy=False)


def _empty(shape: Any, dtype: Any = None, order: Any = "C", like: Any = None) -> usm_ndarray:
    return ut.empty(shape, dtype=dtype, order=order)


def _take(array: Any, indices: Any, axis: int = 0) -> usm_ndarray:
    found: usm_ndarray = ut.take(array, _ours(indices, array), axis=axis)
    return found


def _tensordot(a: Any, b: Any, axes: Any = 2) -> usm_ndarray:
    return ut.tensordot(_ours(a, b), _ours(b, a), axes=axes)


def _to_numpy(array: Any, **_: Any) -> Any:
    return ut.asnumpy(array)


def _ours(item: Any, beside: Any) -> Any:
    """An operand beside an array of ours: arrays of NumPy are copied to its memory."""
    if isinstance(item, usm_ndarray) or not hasattr(item, "__array__"):
        return item
    return ut.asarray(item, usm_type=beside.usm_type, sycl_queue=beside.sycl_queue)
