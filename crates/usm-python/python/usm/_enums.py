"""The words of dpctl's enumerations. Each member is also a string, equal to its name and to the member of dpctl."""

from enum import Enum, StrEnum

__all__ = ["backend_type", "device_type", "event_status_type", "global_mem_cache_type"]


class _Word(StrEnum):
    def __eq__(self, other: object) -> bool:
        if isinstance(other, Enum) and not isinstance(other, str):
            theirs = type(other)
            return theirs.__module__.startswith("dpctl.") and (theirs.__name__, other.name) == (
                type(self).__name__,
                self,
            )
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class device_type(_Word):
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


class backend_type(_Word):
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


class event_status_type(_Word):
    """How far an operation is.

    >>> import usm
    >>> usm.SyclEvent().execution_status
    <event_status_type.complete: 'complete'>
    """

    unknown_status = "unknown_status"
    submitted = "submitted"
    running = "running"
    complete = "complete"


class global_mem_cache_type(_Word):
    """What the cache of a device's memory is for; ``indeterminate`` when the runtime does not tell.

    >>> import usm
    >>> usm.SyclDevice("host").global_mem_cache_type
    <global_mem_cache_type.indeterminate: 'indeterminate'>
    """

    indeterminate = "indeterminate"
    none = "none"
    read_only = "read_only"
    read_write = "read_write"
