"""Tasks that tests give to workers of distributed, which import this module."""

import gc
import os
from typing import Any

import usm
import usm.dask._handles
import usm.ipc
import usm.memory
import usm.tensor as ut


def made(count: int, usm_type: str = "shared", number: float | None = None) -> ut.usm_ndarray:
    """An array on the default device of the worker."""
    if number is not None:
        return ut.full(count, number, dtype="float64", usm_type=usm_type)
    return ut.arange(count, dtype="float64", usm_type=usm_type)


def every_second(array: ut.usm_ndarray) -> ut.usm_ndarray:
    return array[::-2]


def seen(array: ut.usm_ndarray) -> dict[str, Any]:
    """What a worker sees of an array that it gets."""
    return {
        "pid": os.getpid(),
        "device": array.sycl_device.filter_string,
        "usm_type": array.usm_type,
        "strides": array.strides,
        "sum": float(ut.sum(array)),
        "writable": array.flags.writable,
        "borrowed": usm.live_allocations()["borrowed"],
    }


def numbers(arrays: list[ut.usm_ndarray]) -> list[Any]:
    """The first element and the kind of each array."""
    return [(float(array[0]), array.usm_type) for array in arrays]


def default_device() -> str:
    return usm.select_default_device().filter_string


def pending() -> int:
    return usm.ipc.pending()


def bytes_in_use() -> int:
    """The bytes of arrays of this process that are no garbage."""
    gc.collect()
    return sum(kind["leased_bytes"] + kind["borrowed_bytes"] for kind in usm.memory.memory_stats().values())


def live() -> int:
    return usm.live_allocations()["count"]


def refuse_handles(seconds: float) -> None:
    """Handles cannot be opened in this worker, and are released after some seconds."""

    def open(handle: bytes) -> Any:
        raise usm.UsmError("the test refuses it")

    usm.dask._handles.open = open
    usm.dask._handles._LIMIT = seconds


def limit_handles(seconds: float) -> None:
    usm.dask._handles._LIMIT = seconds


def places(dask_worker: Any) -> dict[str, int]:
    """How many results of a worker are where."""
    data = dask_worker.data
    in_memory = list(data.fast.values())
    return {
        "device": sum(isinstance(value, ut.usm_ndarray) for value in in_memory),
        "host": sum(not isinstance(value, ut.usm_ndarray) for value in in_memory),
        "disk": len(data.disk),
        "device_bytes": sum(data.on_device.values()),
    }
