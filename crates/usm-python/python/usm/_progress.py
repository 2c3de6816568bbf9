"""Progress of long copies."""

import contextlib
import contextvars
from collections.abc import Callable, Generator

__all__ = ["progress"]

_Function = Callable[[float], object]
_function: contextvars.ContextVar[_Function | None] = contextvars.ContextVar("usm.progress", default=None)


@contextlib.contextmanager
def progress(function: _Function) -> Generator[None, None, None]:
    """Tell a function how far a copy is that takes more than a second, as a context manager.

    ``function(part)`` gets the part of the copy that is done, from 0 to 1. Each call has a greater part than the one
    before, and the last one has 1. It is called in the thread that waits for the copy, about twenty times a second at
    most. An exception of it ends the waiting, not the copy, as Ctrl-C does.

    Copies and casts by host code have steps, and so have copies of strided arrays to and from device memory. An
    operation that a device does alone has none, and one thread does its work in one step: the function is not called.

    >>> import usm
    >>> with usm.progress(lambda part: print(f"{part:.0%}")):
    ...     pass  # a copy
    """
    token = _function.set(function)
    try:
        yield
    finally:
        _function.reset(token)


def tell(part: float) -> None:
    """Called by the extension module."""
    function = _function.get()
    if function is not None:
        function(part)
