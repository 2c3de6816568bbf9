"""A cluster of this machine with a worker for each device."""

# distributed has no types here.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false

from __future__ import annotations

from importlib import import_module

from .._usm import SyclDevice, get_devices
from ._spill import worker_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["LocalCluster"]

_config: Any = import_module("dask").config
_distributed: Any = import_module("distributed")
_memory: Any = import_module("distributed.worker_memory")
_Cluster: Any = _distributed.LocalCluster
_Nanny: Any = _distributed.Nanny

#: A rechunk makes up to so many times as many pieces as there are chunks, before and after it, in one round.
_RECHUNK_THRESHOLD = 32
#: The part of the memory of a device that its worker fills with results.
_DEVICE_FRACTION = 0.8


class _DeviceNanny(_Nanny):  # type: ignore[misc]
    """The nanny of a worker whose default device is the one of its number in the cluster."""

    def __init__(
        self, *arguments: Any, devices: Sequence[tuple[str, int | None]], env: Any = None, **options: Any
    ) -> None:
        device, device_limit = devices[int(options["name"]) % len(devices)]
        if device_limit is not None and "data" not in options:
            memory_limit = _memory.parse_memory_limit(
                options.get("memory_limit", "auto"), options.get("nthreads") or 1, logger=_memory.worker_logger
            )
            options["data"] = worker_data, {"memory_limit": memory_limit, "device_limit": device_limit}
        options["preload"] = [*(options.get("preload") or ()), "usm.dask._worker"]
        super().__init__(*arguments, env={**(env or {}), "USM_DEFAULT_DEVICE": device}, **options)


class LocalCluster(_Cluster):  # type: ignore[misc]
    """``distributed.LocalCluster`` with one worker process for each device, which is the default device there.

    `devices` are filter selectors or :class:`usm.SyclDevice`; a device that is named twice has two workers. By default
    they are all devices but those of CPUs, or the default device where there are no others. Arrays that come to a
    worker come to its device.

    `device_memory_limit` is the number of bytes of results in device memory of a worker, or a text such as "4GiB"; more
    of them move to host memory. By default it is 80 % of the memory of a device, and no limit for CPUs, whose device
    memory is that of the host. `threads_per_worker` is 1 by default. The other arguments are those of
    ``distributed.LocalCluster``.

    Raises ValueError for an empty `devices`, and for arguments that follow from the devices.

    ::

        with usm.dask.LocalCluster(devices=["cuda:gpu:0", "cuda:gpu:1"]) as cluster, cluster.get_client():
            x = dask.array.random.random((20000, 20000)).to_backend("usm")
            x.std().compute()
    """

    def __init__(
        self,
        devices: Sequence[str | SyclDevice] | None = None,
        *,
        device_memory_limit: int | str | None = None,
        threads_per_worker: int = 1,
        **options: Any,
    ) -> None:
        for name in ("n_workers", "processes", "worker_class"):
            if name in options:
                raise ValueError(
                    f"{name}: found {options[name]!r}, allowed is no such argument, since each of `devices` has a "
                    "worker process; distributed.LocalCluster takes it"
                )
        chosen = _chosen(devices)
        # The other method, which dask takes for many chunks, reads them as host memory. Pieces are views, which cost a
        # handle and no copy: more of them are cheaper than a second round with copies of all elements.
        _config.update_defaults({"array": {"rechunk": {"method": "tasks", "threshold": _RECHUNK_THRESHOLD}}})
        super().__init__(
            n_workers=len(chosen),
            threads_per_worker=threads_per_worker,
            worker_class=_DeviceNanny,
            processes=True,
            devices=[(device.filter_string, _limit(device, device_memory_limit)) for device in chosen],
            **options,
        )


def _chosen(devices: Sequence[str | SyclDevice] | None) -> list[SyclDevice]:
    if isinstance(devices, (str, SyclDevice)):
        raise TypeError(f"devices: found {devices!r}, allowed is a sequence of devices: [{devices!r}]")
    if devices is None:
        # Workers on CPUs share the cores.
        return [device for device in get_devices() if not device.is_cpu] or [SyclDevice()]
    chosen = [SyclDevice(device) if isinstance(device, str) else device for device in devices]
    if not chosen:
        raise ValueError("devices: found an empty sequence, allowed are one or more devices, and None for all")
    return chosen


def _limit(device: SyclDevice, asked: int | str | None) -> int | None:
    if asked is not None:
        limit: int = import_module("dask.utils").parse_bytes(asked)
        return limit
    return None if device.is_cpu else int(device.global_mem_size * _DEVICE_FRACTION)
