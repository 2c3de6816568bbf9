"""dpnp as the provider for memory of SYCL devices.

An operand becomes an array of dpnp over the same memory, which is kept with it. A result keeps the memory of dpnp, and
the array of dpnp is kept with it, too, so that a chain of operations makes no array twice.
"""

# The libraries have no types here.
# pyright: reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import _thread
import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .._locate import importing
from .._usm import _adopt, _dpnp_array, _publish, asarray, astype, usm_ndarray
from ._library import LibraryProvider, Plain, first

__all__ = ["DpnpProvider"]

#: Without types, so that type checkers need none of them.
dpnp: Any = import_module("dpnp")
dpt: Any = import_module("dpnp.tensor")


class DpnpProvider(LibraryProvider):
    """Computes with ``dpnp.tensor``, and with ``dpnp.linalg`` and ``dpnp.fft``."""

    name = "dpnp"
    module = dpnp

    def __init__(self, memory: str) -> None:
        super().__init__(memory)
        self._prepared: dict[Plain, Plain] = {}

    def view(self, array: usm_ndarray) -> Any:
        kept = _publish(array)
        if isinstance(kept, dpt.usm_ndarray):
            return kept
        theirs = array._provided = _dpnp_array(array)
        return theirs

    def ours(self, value: Any, operands: tuple[Any, ...]) -> Any:
        if isinstance(value, dpnp.ndarray):
            value = value.get_array()
        if not isinstance(value, dpt.usm_ndarray):
            return value
        beside = first(operands)
        kept = beside._provided
        if isinstance(kept, dpt.usm_ndarray) and kept.sycl_queue == value.sycl_queue:
            # Its dictionary would wait for the queue.
            strides = None if value.flags.c_contiguous else value.strides
            return _adopt(value, value._pointer, value.shape, strides, value.dtype.str, beside)
        array = asarray(value)
        array._provided = value
        return array

    def wrapped(self, value: Any) -> Any:
        """As an argument of functions of ``dpnp`` itself."""
        return dpnp.asarray(value, copy=False) if isinstance(value, dpt.usm_ndarray) else value

    def find(self, part: str, name: str) -> Callable[..., Any] | None:
        if not part:
            found: Callable[..., Any] | None = getattr(dpt, name, None)
            return found if found is not None else self._of_dpnp(getattr(dpnp, name, None))
        return self._of_dpnp(getattr(getattr(dpnp, part), name, None))

    def _of_dpnp(self, theirs: Callable[..., Any] | None) -> Callable[..., Any] | None:
        if theirs is None:
            return None

        def of_dpnp(*operands: Any, **keywords: Any) -> Any:
            # Solvers keep the interpreter while oneMKL waits for earlier work, which needs it on an in-order queue.
            next(operand for operand in operands if isinstance(operand, dpt.usm_ndarray)).sycl_queue.wait()
            return theirs(*map(self.wrapped, operands), **keywords)

        return of_dpnp

    def order(self, operands: tuple[Any, ...]) -> Any:
        return _Alone(operands)

    def prepared(self, theirs: Plain) -> Plain:
        return self._prepared.setdefault(theirs, _FirstAlone(theirs))

    def adapt(self, part: str, name: str) -> Plain | None:
        return _ADAPTED.get((part, name))

    def frequencies(self, name: str, n: int, d: float, dtype: Any, place: usm_ndarray) -> usm_ndarray:
        with self.order((place,)):
            theirs = self.prepared(getattr(dpnp.fft, name))
            value = theirs(n, d, sycl_queue=place.sycl_queue, usm_type=place.usm_type)
            ours: usm_ndarray = self.ours(value, (place,))
        return ours if dtype is None else astype(ours, dtype)


class _Alone:
    """A call of dpnp: one at a time, and in a program with several threads complete before the next.

    dpnp releases its operands in tasks of the SYCL runtime that need the interpreter, and submits operations with the
    interpreter held. Where a third thread submits an operation after such a task, the runtime waits for the task with
    its own lock held. Then dpnp waits for the lock, and the task for the interpreter: for ever.
    """

    __slots__ = ("operands",)

    def __init__(self, operands: tuple[Any, ...]) -> None:
        self.operands = operands

    def __enter__(self) -> None:
        _alone.acquire()

    def __exit__(self, *error: object) -> None:
        try:
            if _thread._count() > 0:  # threads beside the main one
                first(self.operands).sycl_queue.wait()
        finally:
            _alone.release()


_alone = _thread.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_alone.acquire, after_in_parent=_alone.release, after_in_child=_alone.release)


class _FirstAlone:
    """A function whose first call no other thread joins.

    An extension module of dpnp makes a static object in its first call, and gives the interpreter up meanwhile. Another
    thread that calls the module then waits for the object with the interpreter held: for ever.
    """

    __slots__ = ("is_known", "theirs")

    def __init__(self, theirs: Plain) -> None:
        self.theirs, self.is_known = theirs, False

    def __call__(self, *operands: Any, **keywords: Any) -> Any:
        if self.is_known:
            return self.theirs(*operands, **keywords)
        with importing:
            value = self.theirs(*operands, **keywords)
        self.is_known = True
        return value


def _complex(x: Any) -> Any:
    return dpnp.astype(x, dpnp.result_type(x.dtype, dpnp.complex64), copy=False)


def _waited(x: Any) -> Any:
    """An argument of a solver."""
    x.sycl_queue.wait()
    return dpnp.asarray(x, copy=False)


def _eig(x: Any) -> Any:
    found = dpnp.linalg.eig(_waited(x))
    return type(found)(*(_complex(part) for part in found))


def _searchsorted(x1: Any, x2: Any, sorter: Any, *, side: str) -> Any:
    if not isinstance(x2, dpt.usm_ndarray):
        x2 = dpt.asarray(x2, dtype=x1.dtype, sycl_queue=x1.sycl_queue, usm_type=x1.usm_type)
    return dpt.searchsorted(x1, x2, side=side, sorter=sorter)


def _diff(x: Any, prepend: Any, append: Any, *, axis: int, n: int) -> Any:
    return dpt.diff(x, axis=axis, n=n, prepend=prepend, append=append)


_ADAPTED: dict[tuple[str, str], Plain] = {
    ("", "searchsorted"): _searchsorted,
    ("", "diff"): _diff,
    ("linalg", "diagonal"): lambda x, *, offset: dpnp.linalg.diagonal(_waited(x), offset=offset).copy(),
    ("linalg", "matrix_rank"): lambda x, rtol: dpnp.linalg.matrix_rank(_waited(x), rtol=rtol),
    ("linalg", "pinv"): lambda x, rtol: dpnp.linalg.pinv(_waited(x), rtol=rtol),
    ("linalg", "eig"): _eig,
    ("linalg", "eigvals"): lambda x: _complex(dpnp.linalg.eigvals(_waited(x))),
}
