"""What all providers have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._usm import can_cast, usm_ndarray
from ._table import Function

__all__ = ["Computed", "Provider", "assigned", "check_dtype", "check_shape", "results", "written"]

#: Computes a function: the operands as ``_usm._place`` gives them, keywords or None, and `out`.
Computed = Callable[[tuple[Any, ...], "dict[str, Any] | None", Any], Any]


#: Functions of NumPy that write to their first argument.
_WRITING = frozenset({"at", "copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})


class _Functions(dict[Function, Computed]):
    """The functions of a provider, made at their first use."""

    def __init__(self, make: Callable[[Function], Computed]) -> None:
        self._make = make

    def __missing__(self, row: Function) -> Computed:
        made = self[row] = self._make(row)
        return made


class Provider:
    """A library that computes on some memory."""

    #: The name of its package.
    name: str
    #: The narrow dtypes that it computes with itself.
    narrow: frozenset[str] = frozenset()

    def __init__(self, memory: str) -> None:
        self.memory = memory
        self.functions = _Functions(self.make)

    def make(self, row: Function) -> Computed:
        """The function of a row of the table."""
        raise NotImplementedError

    def frequencies(self, name: str, n: int, d: float, dtype: Any, place: usm_ndarray) -> usm_ndarray:
        """``fftfreq`` or ``rfftfreq`` in memory as that of `place`."""
        raise NotImplementedError

    def ufunc(self, ufunc: Any, method: str, operands: tuple[Any, ...], keywords: dict[str, Any], out: Any) -> Any:
        """A function of NumPy that is a ``ufunc``, or NotImplemented."""
        raise NotImplementedError

    def numpy_function(
        self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], arrays: tuple[Any, ...]
    ) -> Any:
        """A function of NumPy on arguments with these arrays in them, or NotImplemented."""
        raise NotImplementedError


def _has_parts(value: Any) -> bool:
    return isinstance(value, (tuple, list))


def results(value: Any, ours: Callable[[Any], Any]) -> Any:
    """A result with each array in it converted. Named tuples keep their type."""
    if not _has_parts(value):
        return ours(value)
    kind = value.__class__
    items = [results(part, ours) for part in value]
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def check_shape(out: usm_ndarray, shape: tuple[int, ...]) -> None:
    """Refuses an `out` to which the result would be broadcast."""
    if out.shape != shape:
        raise ValueError(f"out: found shape {out.shape}, allowed is {shape}, that of the result")


def check_dtype(out: usm_ndarray, dtype: Any) -> None:
    """Refuses an `out` of a lower kind of dtype than the result; None leaves this to the provider."""
    if dtype is not None and not can_cast(dtype, out.dtype, casting="same_kind"):
        raise TypeError(f"out: found elements of {out.dtype}, allowed are those that hold {dtype}")


def assigned(out: usm_ndarray, value: Any) -> usm_ndarray:
    """`out` with the elements of a result, of its shape and of no higher kind of dtype."""
    check_shape(out, value.shape)
    check_dtype(out, value.dtype)
    out[...] = value
    return out


def written(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What a function of NumPy writes to beside an `out`: its first argument, by whatever name, or None."""
    if function.__name__ not in _WRITING:
        return None
    return (
        arguments[0] if arguments else next((keywords[name] for name in ("a", "arr", "dst") if name in keywords), None)
    )
