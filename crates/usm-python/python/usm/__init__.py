"""SYCL unified shared memory (USM) for Python.

Allocate host, device and shared USM, look at it as strided arrays, and hand it
to any other SYCL-aware library without a copy through the
``__sycl_usm_array_interface__`` attribute. Names follow dpctl, so code moves by
changing the import::

    import usm
    import usm.tensor as ut

    a = ut.usm_ndarray((2, 3), dtype="float32", buffer="shared")
    a[...] = 1.5

A machine with no SYCL runtime uses the embedded ``host`` backend, whose device
memory is really out of reach of host code. ``python -m usm doctor`` names the devices
and says why one is missing.

Importing this package loads neither NumPy nor the SYCL runtime; the runtime is
looked for when the first device is asked for. The import does one thing to the
process: it appends an installed Intel OpenCL CPU driver to the environment
variable ``OCL_ICD_FILENAMES`` (see :mod:`usm._locate`; ``USM_SYCL_AUTOCONFIG=0``
turns it off).
"""

import sys

# Not `sys.abiflags`, which Windows lacks.
_is_free_threaded = "free-threading" in sys.version
if sys.implementation.name != "cpython" or _is_free_threaded:
    raise ImportError(
        f"usm needs CPython 3.11 or newer with its interpreter lock; found {sys.implementation.name} "
        f"{'.'.join(map(str, sys.version_info[:3]))}{' (free-threaded)' if _is_free_threaded else ''}, "
        "which does not load its extension module"
    )

from . import _locate

# Before anything else, and never later: the SYCL runtime caches its device list
# at the first query, and other threads may read the environment from now on.
_locate.announce_cpu_driver()

from . import _on_import, ipc, memory, program, tensor
from ._usm import (
    LocalAccessor,
    SyclContext,
    SyclContextCreationError,
    SyclDevice,
    SyclDeviceCreationError,
    SyclEvent,
    SyclKernelInvalidRangeError,
    SyclKernelSubmitError,
    SyclPlatform,
    SyclQueue,
    SyclQueueCreationError,
    SyclSubDeviceCreationError,
    USMAllocationError,
    UsmError,
    WorkGroupMemory,
    backends,
    doctor,
    from_cuda_stream,
    get_device_cached_queue,
    get_devices,
    get_num_threads,
    get_platforms,
    live_allocations,
    lsplatform,
    select_accelerator_device,
    select_cpu_device,
    select_default_device,
    select_device_with_aspects,
    select_gpu_device,
    set_num_threads,
)

__all__ = [
    "LocalAccessor",
    "SyclContext",
    "SyclContextCreationError",
    "SyclDevice",
    "SyclDeviceCreationError",
    "SyclEvent",
    "SyclKernelInvalidRangeError",
    "SyclKernelSubmitError",
    "SyclPlatform",
    "SyclQueue",
    "SyclQueueCreationError",
    "SyclSubDeviceCreationError",
    "SyclTimer",
    "USMAllocationError",
    "UsmError",
    "WorkGroupMemory",
    "backend_type",
    "backends",
    "device_type",
    "doctor",
    "event_status_type",
    "from_cuda_stream",
    "get_composite_devices",
    "get_device_cached_queue",
    "get_devices",
    "get_num_devices",
    "get_num_threads",
    "get_platforms",
    "global_mem_cache_type",
    "has_accelerator_devices",
    "has_cpu_devices",
    "has_gpu_devices",
    "ipc",
    "live_allocations",
    "lsplatform",
    "memory",
    "program",
    "progress",
    "select_accelerator_device",
    "select_cpu_device",
    "select_default_device",
    "select_device_with_aspects",
    "select_gpu_device",
    "set_num_threads",
    "tensor",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._enums import backend_type, device_type, event_status_type, global_mem_cache_type
    from ._progress import progress
    from ._selection import (
        get_composite_devices,
        get_num_devices,
        has_accelerator_devices,
        has_cpu_devices,
        has_gpu_devices,
    )
    from ._timer import SyclTimer

__version__: str

_on_import.watch()

# Names that most programs do not use, or that need modules which take longer to import than all of this package, by the
# module of this package that has them.
_LATER = {
    "SyclTimer": "_timer",
    "backend_type": "_enums",
    "device_type": "_enums",
    "event_status_type": "_enums",
    "get_composite_devices": "_selection",
    "get_num_devices": "_selection",
    "global_mem_cache_type": "_enums",
    "has_accelerator_devices": "_selection",
    "has_cpu_devices": "_selection",
    "has_gpu_devices": "_selection",
    "progress": "_progress",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        # Reading package metadata costs more than the rest of the import together.
        with _locate.importing:
            from importlib.metadata import version

            found: object = version("usm")
    elif name in _LATER:
        with _locate.importing:
            found = getattr(__import__(f"{__name__}.{_LATER[name]}", fromlist=[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
