"""What a worker of :class:`usm.dask.LocalCluster` runs when it starts."""

from __future__ import annotations

from .._usm import _unpickle_on, select_default_device
from . import _handles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["dask_setup"]


def dask_setup(worker: Any) -> None:
    """Let arrays from everywhere come to the device of this worker, its default device."""
    device = select_default_device().filter_string
    _unpickle_on(device)
    _handles.place(device)
