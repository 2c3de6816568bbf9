"""Arrays of this package as values of zarr arrays with zarr's own buffers, which are NumPy's."""

from __future__ import annotations

from importlib import import_module

import usm.tensor as ut

from ..tensor import usm_ndarray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

__all__ = ["on_host", "register"]


def register(cpu: ModuleType) -> None:
    """Let ``zarr.core.buffer.cpu``, which has just been imported, take arrays of this package."""
    module: Any = cpu

    def from_ndarray_like(cls: Any, ndarray_like: Any) -> Any:
        return cls(on_host(ndarray_like))

    module.NDBuffer.from_ndarray_like = classmethod(from_ndarray_like)


def on_host(array: Any) -> Any:
    """An array of NumPy: over host and shared memory, a copy of device memory; other objects as they are."""
    if not isinstance(array, usm_ndarray):
        return array
    if array.usm_type == "device":
        return ut.asnumpy(array)
    numpy: Any = import_module("numpy")
    return numpy.asarray(array)
