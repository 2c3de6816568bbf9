"""Progress of long copies."""

import contextlib
import contextvars
from collections.abc import Callable, Generator

from ._usm import _tell_progress

__all__ = ["progress"]

_Function = Callable[[float], object]
_function: contextvars.ContextVar[_Function | None] = contextvars.ContextVar("usm.progress", default=None)


@contextlib.contextmanager
def progress(function: _Function) -> Generator[None, None, None]:
    """Tell a function how far a copy is that takes more than a second, as a context manager.

    ``function(part)`` gets the part that is done, from 0 to 1. Each call has a greater part than the call before. The
    thread that waits for the copy calls the function, at most about twenty times a second. Copies in the function
    itself tell nothing. An exception from the function ends the waiting, as Ctrl-C does: the copy goes on, and its
    result is lost.

    Host code works in steps where it copies or casts on several threads, and where it copies pieces to and from device
    memory. Work of one operation of a device has no steps, nor has work of one thread. An operation of several copies,
    such as ``concat``, tells the part of the copy that is furthest.

    The function is for copies of the same context: ``asyncio.to_thread`` takes the context along, new threads and
    ``run_in_executor`` do not.

    >>> import usm
    >>> with usm.progress(lambda part: print(f"{part:.0%}")):
    ...     pass  # a copy
    """
    token = _function.set(function)
    try:
        yield
    finally:
        # A generator may go on in another context, which has no such function.
        with contextlib.suppress(ValueError):
            _function.reset(token)


def _tell(part: float) -> None:
    function = _function.get()
    if function is not None:
        token = _function.set(None)
        try:
            function(part)
        finally:
            _function.reset(token)


_tell_progress(_tell, 1000)
