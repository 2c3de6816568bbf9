"""USM allocations as Python objects: one class per USM kind, and the pools they come from.

``MemoryUSMHost`` and ``MemoryUSMShared`` support the buffer protocol;
``MemoryUSMDevice`` is out of reach of host code, copy it with ``copy_to_host``.
A slice of memory is an object over a part of it. New memory comes from a pool,
which ``use_default_pool`` switches off and ``use_pool`` replaces; ``memory_stats``
and ``snapshot`` tell what is live.
"""

from ._usm import (
    LiveMemory,
    MemoryPool,
    MemorySnapshot,
    MemoryUSMDevice,
    MemoryUSMHost,
    MemoryUSMShared,
    USMAllocationError,
    as_usm_memory,
    current_pool,
    default_pool_stats,
    memory_stats,
    snapshot,
    trim_default_pool,
    use_default_pool,
    use_pool,
)

__all__ = [
    "LiveMemory",
    "MemoryPool",
    "MemorySnapshot",
    "MemoryUSMDevice",
    "MemoryUSMHost",
    "MemoryUSMShared",
    "USMAllocationError",
    "as_usm_memory",
    "current_pool",
    "default_pool_stats",
    "memory_stats",
    "snapshot",
    "trim_default_pool",
    "use_default_pool",
    "use_pool",
]
