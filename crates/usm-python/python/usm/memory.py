"""USM allocations as Python objects: one class per USM kind.

``MemoryUSMHost`` and ``MemoryUSMShared`` support the buffer protocol;
``MemoryUSMDevice`` is out of reach of host code, copy it with ``copy_to_host``.
"""

from ._usm import (
    MemoryUSMDevice,
    MemoryUSMHost,
    MemoryUSMShared,
    USMAllocationError,
    as_usm_memory,
)

__all__ = [
    "MemoryUSMDevice",
    "MemoryUSMHost",
    "MemoryUSMShared",
    "USMAllocationError",
    "as_usm_memory",
]
