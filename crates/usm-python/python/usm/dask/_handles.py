"""Arrays between workers of one machine: a handle in place of the elements.

A worker says in the handshake of a connection that it opens handles, by the name of its machine. Workers of the same
name send it handles. What the handle keeps is released when the other worker opens it, and after a minute at the
latest: a message may be lost, and a worker may end. A worker that fails to open a handle closes the connection, says no
more that it opens handles, and gets the elements when it asks again.

The scheduler and clients get elements. The scheduler sends messages on without reading them, and a client may write to
its arrays.
"""

# distributed has no types here.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import os
import sys
import threading
from time import monotonic, sleep

import usm.tensor as ut

from .._usm import UsmError, _bytes_for_one, _withdraw, current_pool, get_devices, use_pool
from ..ipc import get_sharing, open

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from ..memory import MemoryPool
    from ..tensor import usm_ndarray

__all__ = ["for_peer", "opened", "place", "register"]

#: The key of the handshake.
_KEY = "usm"
#: Shorter arrays are sent as elements: a handle costs the other worker a question to this one.
_FEWEST_BYTES = 32768
#: Seconds that a handle keeps memory which nobody opens.
_LIMIT = 60.0

_offered: dict[bytes, float] = {}
_lock = threading.Lock()
_has_failed = False
_place: str | None = None
#: Pools of memory that others can open, from the first handle on.
_pools: list[MemoryPool] | None = None


def register(tcp: ModuleType) -> None:
    """Say in the handshakes of ``distributed.comm.tcp``, which has just been imported, that this process opens
    handles."""
    connection: Any = tcp
    connection = connection.TCP
    theirs: Callable[[Any], dict[str, Any]] = connection.handshake_info

    def handshake_info(self: Any) -> dict[str, Any]:
        info = theirs(self)
        # Other ends send on what they get, unread.
        if self.deserialize and _is_worker() and not _has_failed:
            info[_KEY] = _machine()
        return info

    connection.handshake_info = handshake_info


def _is_worker() -> bool:
    """Whether a worker of distributed runs in this process."""
    module: Any = sys.modules.get("distributed.worker")
    return module is not None and len(getattr(module.Worker, "_instances", ())) > 0


def _machine() -> str:
    """What the processes have in common that open each other's handles: the running system, the network namespace with
    the sockets, and the user."""
    try:
        with _read("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        return f"{boot} {os.readlink('/proc/self/ns/net')} {os.geteuid()}"
    except OSError:
        return ""


def _read(path: str) -> Any:
    # `open` is that of handles here.
    return os.fdopen(os.open(path, os.O_RDONLY))


def place(device: str) -> None:
    """Handles of other devices are copied to this one, by its filter selector."""
    global _place
    _place = device


def for_peer(array: usm_ndarray, context: Any) -> bytes | None:
    """The bytes of a handle for the other end of a connection; None where it gets the elements."""
    if not context or get_sharing() != "share" or array.nbytes < _FEWEST_BYTES:
        return None
    name = context.get("recipient", {}).get(_KEY)
    if not name or not _is_worker() or name != _machine():
        return None
    _share_new_memory()
    # The other worker gets no right to write to the memory.
    readonly = array[...]
    readonly.flags.writable = False
    try:
        handle = _bytes_for_one(readonly, False)
    except (BufferError, UsmError, ValueError):
        # It has no form for other processes, somebody writes to it, or this process has no free file descriptors.
        return None
    with _lock:
        _offered[handle] = monotonic() + _LIMIT
        if len(_offered) > 1:
            return handle
        try:
            threading.Thread(target=_withdraw_late, name="usm-handles", daemon=True).start()
        except RuntimeError:
            # The system has no more threads, and nobody would withdraw it.
            del _offered[handle]
            _withdraw(handle)
            return None
    return handle


def _share_new_memory() -> None:
    """Let new memory of the host and of CPUs be memory that others can open, so that handles of results copy nothing.
    Pools that the program chose stay."""
    global _pools
    if _pools is not None:
        return
    with _lock:
        if _pools is None:
            cpus = [device for device in get_devices() if device.is_cpu and current_pool(device) is None]
            _pools = [use_pool(device, shareable=True, max_retained_bytes=_retained()) for device in cpus]


def _retained() -> int | None:
    """Bytes of freed memory that a pool keeps for the next results: an eighth of the memory of the worker."""
    module: Any = sys.modules.get("distributed.worker")
    managers = [worker.memory_manager for worker in module.Worker._instances]
    limits = [manager.memory_limit for manager in managers if manager.memory_limit]
    return min(limits) // 8 if limits else None


def _withdraw_late() -> None:
    """Releases what nobody has opened in time, until nothing is left."""
    while True:
        with _lock:
            if not _offered:
                return
            handle, until = next(iter(_offered.items()))
            is_late = until <= monotonic()
            if is_late:
                del _offered[handle]
        # Without the lock: the memory may have an owner in Python, whose destructor runs any code.
        if is_late:
            _withdraw(handle)
        else:
            sleep(max(0.0, until - monotonic()))


def opened(handle: bytes) -> usm_ndarray:
    """The array of a handle, read-only because a write would be seen in the other worker; or a copy on the device of
    this one."""
    global _has_failed
    try:
        array: usm_ndarray = open(handle)
        if _place is not None and array.sycl_device.filter_string != _place:
            return ut.asarray(array, device=_place)
    except (MemoryError, UsmError, ValueError) as error:
        _has_failed = True
        # For distributed this is a broken connection: it closes it, and asks again.
        raise EOFError(f"usm: the handle of an array cannot be opened here: {error}") from error
    array.flags.writable = False
    return array
