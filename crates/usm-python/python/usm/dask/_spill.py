"""The data of a worker: device memory up to a limit, then host memory, then files.

The buffer of ``distributed`` moves what was not used for the longest time from host memory to files. This one moves
device arrays to host memory in the same way, and back when a task needs them.
"""

# distributed has no types here.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib import import_module

import usm.tensor as ut

from ..tensor import usm_ndarray
from ._sizeof import sizeof_array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["DeviceBuffer", "worker_data"]

_config: Any = import_module("dask").config
_sizeof: Any = import_module("dask.sizeof").sizeof
_SpillBuffer: Any = import_module("distributed.spill").SpillBuffer


@dataclass(frozen=True)
class _Moved:
    """A device array in host memory."""

    host: usm_ndarray
    device: str

    @classmethod
    def of(cls, array: usm_ndarray) -> _Moved:
        return cls(ut.asarray(array, usm_type="host", copy=True), array.sycl_device.filter_string)

    def back(self) -> usm_ndarray:
        return ut.asarray(self.host, usm_type="device", device=self.device, copy=True)


@_sizeof.register(_Moved)  # type: ignore[untyped-decorator]
def _sizeof_moved(moved: _Moved) -> int:
    return sizeof_array(moved.host)


class DeviceBuffer(_SpillBuffer):  # type: ignore[misc]
    """``distributed.spill.SpillBuffer`` with a limit of the bytes of device arrays before its own."""

    def __init__(self, spill_directory: str, target: int, device_limit: int, max_spill: Any = False) -> None:
        super().__init__(spill_directory, target, max_spill)
        self.device_limit = device_limit
        #: The bytes of arrays in device memory, in the order of their last use.
        self.on_device: dict[Any, int] = {}

    def __setitem__(self, key: Any, value: object) -> None:
        self.on_device.pop(key, None)
        if isinstance(value, usm_ndarray) and value.usm_type == "device":
            self.on_device[key] = sizeof_array(value)
            self._move_oldest()
        super().__setitem__(key, value)

    def __getitem__(self, key: Any) -> object:
        value = super().__getitem__(key)
        if isinstance(value, _Moved):
            value = value.back()
            self[key] = value
        elif key in self.on_device:
            self.on_device[key] = self.on_device.pop(key)
        return value

    def __delitem__(self, key: Any) -> None:
        self.on_device.pop(key, None)
        super().__delitem__(key)

    def _move_oldest(self) -> None:
        """Moves arrays to the host until the rest is within the limit, but for the last one."""
        while len(self.on_device) > 1 and sum(self.on_device.values()) > self.device_limit:
            key = next(iter(self.on_device))
            del self.on_device[key]
            value = self.fast.get(key)  # None where it is in a file
            if isinstance(value, usm_ndarray):
                super().__setitem__(key, _Moved.of(value))


def worker_data(worker_local_directory: str, memory_limit: int | None, device_limit: int) -> DeviceBuffer:
    """The data of a worker with a limit of host memory, None for no limit, and one of device memory."""
    fraction = _config.get("distributed.worker.memory.target") or _config.get("distributed.worker.memory.spill")
    target = int(memory_limit * fraction) if memory_limit and fraction else sys.maxsize
    max_spill = _config.get("distributed.worker.memory.max-spill")
    if max_spill is not False:
        max_spill = import_module("dask.utils").parse_bytes(max_spill)
    return DeviceBuffer(os.path.join(worker_local_directory, "storage"), target, device_limit, max_spill)
