"""Arrays and memory of several processes: the same bytes, without a copy.

``multiprocessing``, ``concurrent.futures``, ``joblib`` and ``torch.multiprocessing``
share arrays and memory by themselves: what a process puts into a queue, a pipe or
the arguments of a task is the same memory in the process that gets it. What has
no form for other processes is copied: arrays below 32 KiB on the host and on CPUs,
unless they come from a pool that is ``shareable``; host and shared memory of GPUs;
and device memory of SYCL GPUs without the aspect ``ext_oneapi_ipc_memory``, which
dpctl 0.23 has. So is what a process sends that has no file descriptor for it. Workers
also send copies of memory that goes with them before another process has opened
it: device memory of SYCL GPUs, and memory of other libraries on CUDA GPUs.
``set_sharing("copy")`` copies everything, which connections of ``multiprocessing``
to other machines need. A pickle that goes elsewhere, by ``pickle.dumps``, is a copy.
What others get is on the default queue of its device, whatever queue it was on.

``export`` gives a handle, whose bytes go to other processes in whatever way, and
``open`` opens them. Processes of the same user on the same machine can. The kernel
counts who has the memory: it is freed after the last process, however that ends.
"""

from __future__ import annotations

import os
import sys

from ._usm import Handle, UsmError, _bytes_for_one, _hand_over, export, open, open_cuda, pending, release_pending

__all__ = ["Handle", "export", "get_sharing", "open", "open_cuda", "pending", "release_pending", "set_sharing"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    _Sharing = Literal["share", "copy"]

_SHARING = ("share", "copy")
_sharing: _Sharing = "share"


def set_sharing(how: _Sharing) -> None:
    """Say what becomes of arrays and memory that go to other processes.

    ``"share"`` is the default: others get the same memory. With ``"copy"`` they get copies.

    >>> import usm.ipc
    >>> usm.ipc.set_sharing("share")
    """
    global _sharing
    if how not in _SHARING:
        raise ValueError(f"how: found {how!r}, allowed are {' and '.join(map(repr, _SHARING))}")
    _sharing = how


def get_sharing() -> _Sharing:
    """Return what `set_sharing` has said last.

    >>> import usm.ipc
    >>> usm.ipc.get_sharing()
    'share'
    """
    return _sharing


def _may_end() -> bool:
    """Whether others may read a message of this process after its end: a worker puts it into a queue, and ends."""
    module: Any = sys.modules.get("multiprocessing.process")
    return module is not None and module.parent_process() is not None


def _reduce(obj: Any) -> Any:
    if _sharing == "share":
        try:
            return open, (_bytes_for_one(obj, _may_end()),)
        except (ValueError, BufferError, UsmError):
            # It has no form for other processes, or somebody writes to it, or the system has no more files.
            pass
    # Picklers of processes know no memory beside the pickle.
    return obj.__reduce_ex__(4)


def _prepare_end(leave: Callable[[], None]) -> None:
    from multiprocessing.util import Finalize

    # After the threads of queues have written their pickles.
    Finalize(None, leave, exitpriority=-1000)


def _leave() -> None:
    # A worker may put arrays into a queue, and end before others have read them.
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is None:
        return
    files = _hand_over()
    if files is None:
        return
    from multiprocessing import spawn
    from multiprocessing.util import spawnv_passfds

    # Without the terminal, and without the pipes of whoever waits for the end of this process.
    quiet = "import os; os.setsid(); null = os.open(os.devnull, os.O_RDWR); [os.dup2(null, n) for n in range(3)]"
    keep = f"import sys; sys.path[:] = {sys.path!r}; from usm._usm import _keep"
    keep = f"{keep}; _keep({files[0]}, {files[1]}, {parent.pid})"
    executable = os.fsencode(spawn.get_executable())
    spawnv_passfds(executable, [executable, b"-P", b"-c", f"{quiet}; {keep}".encode()], files)


def _classes() -> tuple[type, ...]:
    from .memory import MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared
    from .tensor import usm_ndarray

    return usm_ndarray, MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared


# `usm._on_import` calls these when somebody imports the modules with these picklers.
def _register_forking(module: Any) -> None:  # pyright: ignore[reportUnusedFunction]
    for cls in _classes():
        module.ForkingPickler.register(cls, _reduce)
    from multiprocessing.util import register_after_fork

    # A new process forgets what was prepared for the end of another one.
    _prepare_end(_leave)
    register_after_fork(_leave, _prepare_end)


def _register_loky(module: Any) -> None:  # pyright: ignore[reportUnusedFunction]
    for cls in _classes():
        module.register(cls, _reduce)


def _register_pool(module: Any) -> None:  # pyright: ignore[reportUnusedFunction]
    make = module.CustomizablePickler

    def pickler(writer: Any, reducers: dict[type, Any] | None = None, *arguments: Any, **keywords: Any) -> Any:
        return make(writer, dict.fromkeys(_classes(), _reduce) | (reducers or {}), *arguments, **keywords)

    # The queues of joblib's pools make one for each message.
    module.CustomizablePickler = pickler
