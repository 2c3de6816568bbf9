"""Providers with a namespace of the array API standard: operands become their arrays, and their results ours."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .._usm import astype, broadcast_shapes, usm_ndarray
from ._provider import Computed, Provider, assigned, check_shape, results, written
from ._table import Function

__all__ = ["LibraryProvider", "Plain", "first"]

#: A function on arrays of the library: all operands of the table's row by position, its other parameters by keyword.
Plain = Callable[..., Any]


def first(operands: tuple[Any, ...]) -> usm_ndarray:
    """The array whose queue is that of the computation."""
    for operand in operands:
        if type(operand) is usm_ndarray:
            return operand
    raise TypeError("found no usm_ndarray")


def _is_apart(out: usm_ndarray, operand: Any) -> bool:
    """Whether an operand lies exactly where `out` does, or nowhere near."""
    if type(operand) is not usm_ndarray or operand is out:
        return True
    if operand._pointer == out._pointer and operand.shape == out.shape and operand.strides == out.strides:
        return True
    return not _meet(out, operand)


def _meet(a: usm_ndarray, b: usm_ndarray) -> bool:
    """Whether both have memory between their first and last bytes."""
    (begin, end), (first, last) = a._byte_bounds, b._byte_bounds
    return begin < last and first < end


class LibraryProvider(Provider):
    """What dpnp, CuPy and PyTorch have in common."""

    #: The package, for functions of NumPy of the same name.
    module: Any
    #: How the library refuses an `out` of another dtype, beside by a TypeError.
    refusals: tuple[type[Exception], ...] = ()

    def view(self, array: usm_ndarray) -> Any:
        """An array of the library over the memory of ours."""
        raise NotImplementedError

    def writes(self, out: usm_ndarray, operands: tuple[Any, ...]) -> bool:
        """Whether the library writes a result to a view of `out` as to its own arrays."""
        return True

    def ours(self, value: Any, operands: tuple[Any, ...]) -> Any:
        """An array of ours over the memory of the library's; other objects as they are."""
        raise NotImplementedError

    def ours_or_view(self, value: Any, operands: tuple[Any, ...]) -> Any:
        """As `ours`, of a function that may give a view of an operand: one of a read-only operand is read-only."""
        array = self.ours(value, operands)
        if type(array) is usm_ndarray:
            for operand in operands:
                if type(operand) is usm_ndarray and not operand.flags.writable and _meet(array, operand):
                    array.flags.writable = False
        return array

    def find(self, part: str, name: str) -> Plain | None:
        """The library's function."""
        raise NotImplementedError

    def adapt(self, part: str, name: str) -> Plain | None:
        """A function in place of the library's, where that differs from the standard."""
        return None

    def wrapped(self, value: Any) -> Any:
        """A view as an argument of functions of `module`."""
        return value

    def prepared(self, theirs: Plain) -> Plain:
        """A function of the library as it may be called from any thread."""
        return theirs

    def order(self, operands: tuple[Any, ...]) -> AbstractContextManager[Any]:
        """The library works in the order of the operands' queue meanwhile."""
        return nullcontext()

    def make(self, row: Function) -> Computed:
        theirs = self.adapt(row.part, row.name)
        if theirs is None:
            theirs = self.find(row.part, row.name)
        if theirs is None:
            raise NotImplementedError(
                f"{row.name}: {self.name}, which computes on this memory, has no such function; "
                f'usm.tensor.asarray(x, usm_type="host") copies the array to memory where NumPy computes'
            )
        return self._computed(self.prepared(theirs), row.kind in ("unary", "binary"))

    def _computed(self, theirs: Plain, has_out: bool) -> Computed:
        takes_out = has_out
        ours = self.ours if has_out else self.ours_or_view

        def compute(operands: tuple[Any, ...], keywords: dict[str, Any] | None, out: Any) -> Any:
            nonlocal takes_out
            if out is not None and has_out:
                shapes = [operand.shape for operand in operands if type(operand) is usm_ndarray]
                check_shape(out, broadcast_shapes(*shapes))
            with self.order(operands):
                views = [self.view(operand) if type(operand) is usm_ndarray else operand for operand in operands]
                if (
                    out is not None
                    and takes_out
                    and self.writes(out, operands)
                    and all(_is_apart(out, operand) for operand in operands)
                ):
                    try:
                        theirs(*views, out=self.view(out))
                        return out
                    except TypeError as error:
                        if "'out'" not in str(error):
                            raise
                        takes_out = False  # the library has no such argument
                    except self.refusals:
                        pass  # a better text comes below, and any other error again
                value = theirs(*views, **keywords) if keywords else theirs(*views)
                value = results(value, lambda value: ours(value, operands))
            if out is None:
                return value
            return assigned(out, value)

        return compute

    # Functions of NumPy that users call.

    def ufunc(self, ufunc: Any, method: str, operands: tuple[Any, ...], keywords: dict[str, Any], out: Any) -> Any:
        if method == "__call__" and set(keywords) == {"dtype"}:
            # In NumPy it is that of the computation.
            dtype, keywords = keywords["dtype"], {}
            operands = tuple(
                astype(operand, dtype, casting="same_kind", copy=False) if type(operand) is usm_ndarray else operand
                for operand in operands
            )
        theirs = getattr(self.module, ufunc.__name__, None)
        if theirs is None or method != "__call__" or keywords or (out and len(out) > 1):
            return NotImplemented
        with self.order(operands):
            views = [
                self.wrapped(self.view(operand)) if type(operand) is usm_ndarray else operand for operand in operands
            ]
            value = results(self.prepared(theirs)(*views), lambda value: self.ours(value, operands))
        return assigned(out[0], value) if out else value

    def of_numpy(self, function: Any) -> Callable[..., Any] | None:
        """The library's counterpart of a function of NumPy."""
        home = function.__module__.removeprefix("numpy").removeprefix(".")
        module = getattr(self.module, home, None) if home in ("linalg", "fft") else self.module
        found: Callable[..., Any] | None = getattr(module, function.__name__, None)
        return found

    def numpy_function(
        self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], arrays: tuple[Any, ...]
    ) -> Any:
        theirs = self.of_numpy(function)
        if theirs is None:
            return NotImplemented

        target = written(function, arguments, keywords)
        if type(target) is usm_ndarray and not target.flags.writable:
            raise ValueError(f"{function.__name__}: found a read-only array, allowed are writable ones")

        def view(value: Any) -> Any:
            if type(value) is usm_ndarray:
                return self.wrapped(self.view(value))
            if type(value) in (list, tuple):
                return type(value)(view(item) for item in value)
            return value

        out = keywords.pop("out", None)
        with self.order(arrays):
            value = self.prepared(theirs)(*view(arguments), **{name: view(value) for name, value in keywords.items()})
            value = results(value, lambda value: self.ours_or_view(value, arrays))
        return value if out is None else assigned(out, value)
