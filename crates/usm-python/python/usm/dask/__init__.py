"""Dask over USM: arrays of this package are chunks of ``dask.array``, and cross between workers of ``distributed``.

Programs import nothing of this package for that: an import of ``dask`` registers it. :class:`LocalCluster` starts a
worker for each device.

| module | job |
|---|---|
| ``_chunks`` | the chunk type, and what dask looks up by it |
| ``_creation`` | the creation of arrays with the setting ``array.backend: usm`` |
| ``_cluster`` | ``LocalCluster`` |
| ``_frames`` | arrays in messages and on disk, as bytes |
| ``_handles`` | arrays between workers of one machine, as handles |
| ``_sizeof`` | the size of arrays, for dask's memory limits |
| ``_spill`` | device arrays that move to host memory, and host arrays that move to files |
| ``_worker`` | the start of a worker of ``LocalCluster`` |
"""

from __future__ import annotations

from .._locate import importing

__all__ = ["LocalCluster"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._cluster import LocalCluster


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with importing:
        from importlib import import_module

        # distributed takes a second to import.
        found = globals()[name] = getattr(import_module(f"{__name__}._cluster"), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
