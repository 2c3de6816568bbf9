"""The size of arrays, for dask's memory limits. Dask loads this module when it is imported."""

from __future__ import annotations

from ..tensor import usm_ndarray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["register"]


def register(sizeof: Any) -> None:
    """Register with ``dask.sizeof``."""
    sizeof.register(usm_ndarray)(sizeof_array)


def sizeof_array(array: usm_ndarray) -> int:
    """The bytes of the elements; a broadcast element counts once."""
    low, high = array._byte_bounds
    return min(array.nbytes, high - low)
