"""A cluster of this machine with a worker for each device."""

# distributed has no types here.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false

from __future__ import annotations

from importlib import import_module

from .._usm import SyclDevice, get_devices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["LocalCluster"]

distributed: Any = import_module("distributed")
_Cluster: Any = distributed.LocalCluster
_Nanny: Any = distributed.Nanny


class _DeviceNanny(_Nanny):  # type: ignore[misc]
    """The nanny of a worker whose default device is one of `devices`: the one of its number in the cluster."""

    def __init__(self, *arguments: Any, devices: Sequence[str], env: dict[str, str] | None = None, **options: Any):
        device = devices[options["name"] % len(devices)]
        options["preload"] = [*(options.get("preload") or ()), "usm.dask._worker"]
        super().__init__(*arguments, env={**(env or {}), "USM_DEFAULT_DEVICE": device}, **options)


class LocalCluster(_Cluster):  # type: ignore[misc]
    """``distributed.LocalCluster`` with one worker process for each device, which is the default device there.

    `devices` are filter selectors or :class:`usm.SyclDevice`; a device that is named twice has two workers. By default
    they are all devices but those of CPUs, or the default device where there are no others. Arrays that come to a
    worker come to its device. `threads_per_worker` is 1 by default. The other arguments are those of
    ``distributed.LocalCluster``.

    Raises ValueError for no devices and for `processes` and `n_workers`, which follow from the devices.

    ::

        with usm.dask.LocalCluster(devices=["cuda:gpu:0", "cuda:gpu:1"]) as cluster, cluster.get_client():
            dask.array.random.random((20000, 20000)).to_backend("usm").std().compute()
    """

    def __init__(
        self, devices: Sequence[str | SyclDevice] | None = None, *, threads_per_worker: int = 1, **options: Any
    ) -> None:
        for name in ("n_workers", "processes", "worker_class"):
            if name in options:
                raise ValueError(
                    f"{name}: found {options[name]!r}, allowed is no such argument: each of `devices` has a worker "
                    "process; distributed.LocalCluster has other workers"
                )
        names = _names(devices)
        super().__init__(
            n_workers=len(names),
            threads_per_worker=threads_per_worker,
            worker_class=_DeviceNanny,
            processes=True,
            devices=names,
            **options,
        )


def _names(devices: Sequence[str | SyclDevice] | None) -> list[str]:
    if devices is None:
        # One worker process per device is of use where the workers do not share the cores of the CPU.
        devices = [device for device in get_devices() if not device.is_cpu] or [SyclDevice()]
    if isinstance(devices, (str, SyclDevice)):
        raise TypeError(f"devices: found {devices!r}, allowed is a sequence of devices, such as [{devices!r}]")
    names = [
        SyclDevice(device).filter_string if isinstance(device, str) else device.filter_string for device in devices
    ]
    if not names:
        raise ValueError("devices: found no device, allowed is one or more; None selects them")
    return names
