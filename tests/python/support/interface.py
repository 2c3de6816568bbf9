"""External producers of `__sycl_usm_array_interface__`, and the counter that checks each import."""

import gc
from typing import Any

import usm

KEYS = ("data", "shape", "strides", "typestr", "offset", "syclobj", "version")


class Producer:
    """An object of no known class that publishes `interface` and keeps `owner` alive."""

    def __init__(self, interface: Any, owner: Any = None) -> None:
        self.interface = interface
        self.owner = owner

    @property
    def __sycl_usm_array_interface__(self) -> Any:
        return self.interface


def changed(obj: Any, **keys: Any) -> Producer:
    """`obj` published again with some keys of its dict replaced."""
    return Producer({**obj.__sycl_usm_array_interface__, **keys}, obj)


def without(obj: Any, *keys: str) -> Producer:
    """`obj` published again with some keys of its dict left out."""
    interface = obj.__sycl_usm_array_interface__
    return Producer({k: v for k, v in interface.items() if k not in keys}, obj)


def settled() -> dict[str, int]:
    """The live-allocation counter after everything unreachable is gone."""
    gc.collect()
    return dict(usm.live_allocations())
