"""Print options for the lines of a ``with`` statement."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from .._usm import get_print_options, set_print_options


@contextmanager
def print_options(*args: Any, **kwargs: Any) -> Generator[dict[str, Any]]:
    """Print options for the lines of a ``with`` statement.

    Arguments are those of :func:`set_print_options`, ``as`` gives a dict of all
    options. At the end the options are as before, whatever has been set since.

    >>> import usm.tensor as ut
    >>> with ut.print_options(precision=3) as options:
    ...     options["precision"], ut.get_print_options()["precision"]
    (3, 3)
    >>> ut.get_print_options()["precision"]
    8
    """
    before = get_print_options()
    try:
        set_print_options(*args, **kwargs)
        yield get_print_options()
    finally:
        set_print_options(**before)
