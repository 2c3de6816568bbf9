"""Functions about devices that follow from the lists of platforms and devices."""

from __future__ import annotations

from ._usm import get_devices, get_platforms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._usm import SyclDevice, _Backends, _DeviceType

__all__ = [
    "get_composite_devices",
    "get_num_devices",
    "has_accelerator_devices",
    "has_cpu_devices",
    "has_gpu_devices",
]


def get_num_devices(backend: _Backends = "all", device_type: _DeviceType = "all") -> int:
    """get_num_devices(backend="all", device_type="all")

    Number of root devices of a backend and type; see get_devices.

    >>> import usm
    >>> usm.get_num_devices() == len(usm.get_devices())
    True
    """
    return len(get_devices(backend, device_type))


def get_composite_devices() -> list[SyclDevice]:
    """get_composite_devices()

    All composite devices: those that the SYCL runtime combines from several devices.

    >>> import usm
    >>> all(device.has_aspect_is_composite for device in usm.get_composite_devices())
    True
    """
    return [device for platform in get_platforms() for device in platform.get_composite_devices()]


def has_cpu_devices() -> bool:
    """has_cpu_devices()

    True when there is a CPU device, the host device included.

    >>> import usm
    >>> usm.has_cpu_devices()
    True
    """
    return get_num_devices(device_type="cpu") > 0


def has_gpu_devices() -> bool:
    """has_gpu_devices()

    True when there is a GPU device.

    >>> import usm
    >>> usm.has_gpu_devices() == (usm.get_num_devices(device_type="gpu") > 0)
    True
    """
    return get_num_devices(device_type="gpu") > 0


def has_accelerator_devices() -> bool:
    """has_accelerator_devices()

    True when there is an accelerator.

    >>> import usm
    >>> usm.has_accelerator_devices() == (usm.get_num_devices(device_type="accelerator") > 0)
    True
    """
    return get_num_devices(device_type="accelerator") > 0
