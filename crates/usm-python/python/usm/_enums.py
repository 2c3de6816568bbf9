"""The words of dpctl's enumerations. Each member is also a string, equal to its name."""

from enum import StrEnum

__all__ = ["backend_type", "device_type", "event_status_type", "global_mem_cache_type"]


class device_type(StrEnum):
    """Types of devices; ``all`` and ``automatic`` are for selections.

    >>> import usm
    >>> usm.SyclDevice("host").device_type is usm.device_type.cpu
    True
    >>> usm.device_type.cpu == "cpu"
    True
    """

    all = "all"
    accelerator = "accelerator"
    automatic = "automatic"
    cpu = "cpu"
    custom = "custom"
    gpu = "gpu"


class backend_type(StrEnum):
    """Backends of devices; ``all`` is for selections, ``host`` the embedded backend of this library.

    >>> import usm
    >>> usm.SyclDevice("host").backend
    <backend_type.host: 'host'>
    """

    all = "all"
    cuda = "cuda"
    hip = "hip"
    host = "host"
    level_zero = "level_zero"
    opencl = "opencl"
    unknown = "unknown"


class event_status_type(StrEnum):
    """How far an operation is.

    >>> import usm
    >>> usm.SyclEvent().execution_status
    <event_status_type.complete: 'complete'>
    """

    unknown_status = "unknown_status"
    submitted = "submitted"
    running = "running"
    complete = "complete"


class global_mem_cache_type(StrEnum):
    """What the cache of a device's memory is for; ``indeterminate`` when the runtime does not tell.

    >>> import usm
    >>> usm.SyclDevice("host").global_mem_cache_type
    <global_mem_cache_type.indeterminate: 'indeterminate'>
    """

    indeterminate = "indeterminate"
    none = "none"
    read_only = "read_only"
    read_write = "read_write"
