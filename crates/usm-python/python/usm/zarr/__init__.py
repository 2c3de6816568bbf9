"""Buffers of zarr 3 over USM.

Arrays of this package are written to zarr arrays as they are. With these buffers, what is read are arrays of this
package, too, in device memory of the default device::

    zarr.config.set({"buffer": "usm.zarr.Buffer", "ndbuffer": "usm.zarr.NDBuffer"})

Compression stays on the host. Each chunk is copied once between its bytes there and USM.
"""

from __future__ import annotations

from .._locate import importing

__all__ = ["Buffer", "NDBuffer"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._buffers import Buffer, NDBuffer


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with importing:
        from importlib import import_module

        found = globals()[name] = getattr(import_module(f"{__name__}._buffers"), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
