"""Methods of arrays beside those of the native class: the ones that every user of NumPy types.

Each calls a function of :mod:`usm.tensor`. The class gets them when :mod:`usm.tensor` is imported.
"""

from __future__ import annotations

from .. import _usm
from .._locate import importing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._usm import usm_ndarray

__all__ = ["METHODS"]

#: What gives functions that libraries compute, from its first use on.
_function: Callable[[str, str], Callable[..., usm_ndarray]] | None = None


def _computed(name: str) -> Callable[..., usm_ndarray]:
    global _function
    if _function is None:
        with importing:
            from ..compute._functions import function
        _function = function
    return _function("", name)


def astype(
    self: usm_ndarray, dtype: Any, order: Any = "K", casting: Any = "unsafe", copy: bool = True, device: Any = None
) -> usm_ndarray:
    """The elements cast to another dtype, as :func:`usm.tensor.astype`."""
    return _usm.astype(self, dtype, order=order, casting=casting, copy=copy, device=device)


def ravel(self: usm_ndarray, order: Any = "C") -> usm_ndarray:
    """The elements along one axis: a view where there is one, else a copy."""
    return self.reshape(-1, order=order)


def flatten(self: usm_ndarray, order: Any = "C") -> usm_ndarray:
    """A copy of the elements along one axis."""
    return self.reshape(-1, order=order, copy=True)


def fill(self: usm_ndarray, value: complex) -> None:
    """Set all elements to a number."""
    self[...] = value


def tobytes(self: usm_ndarray, order: Any = "C") -> bytes:
    """The bytes of the elements in row-major order, or in column-major order with ``"F"``."""
    if order not in ("C", "F"):
        raise ValueError(f"order: found {order!r}, allowed are 'C' and 'F'")
    return bytes(_usm.asarray(self if order == "C" else self.T, usm_type="host", order="C"))


def transpose(self: usm_ndarray, *axes: Any) -> usm_ndarray:
    """The axes in another order, by default reversed: integers, or one tuple of them. A view."""
    if not axes or axes == (None,):
        return self.T
    order: Any = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    return _usm.permute_dims(self, order)


def swapaxes(self: usm_ndarray, axis1: int, axis2: int) -> usm_ndarray:
    """Two axes exchanged. A view."""
    return _usm.swapaxes(self, axis1, axis2)


def squeeze(self: usm_ndarray, axis: Any = None) -> usm_ndarray:
    """Without axes of size 1: all of them, or the named ones. A view."""
    return _usm.squeeze(self, axis)


def take(self: usm_ndarray, indices: Any, axis: int | None = None, out: Any = None, mode: Any = "raise") -> usm_ndarray:
    """Elements by their indices along an axis, as :func:`usm.tensor.take`."""
    if axis is None and self.ndim != 1:
        self, axis = self.reshape(-1), 0
    found: usm_ndarray = _usm.take(self, indices, axis=axis, out=out, mode=mode)
    return found


def nonzero(self: usm_ndarray) -> tuple[usm_ndarray, ...]:
    """The indices of the elements that are not zero, an array for each axis."""
    return _usm.nonzero(self)


def repeat(self: usm_ndarray, repeats: Any, axis: int | None = None) -> usm_ndarray:
    """Each element several times along an axis, as :func:`usm.tensor.repeat`."""
    return _usm.repeat(self if axis is not None else self.reshape(-1), repeats, axis=axis)


def sort(self: usm_ndarray, axis: int = -1, *, descending: bool = False, stable: bool = True) -> None:
    """Sort the elements along an axis, in place."""
    self[...] = _computed("sort")(self, axis=axis, descending=descending, stable=stable)


def argsort(self: usm_ndarray, axis: int = -1, *, descending: bool = False, stable: bool = True) -> usm_ndarray:
    """The indices that sort the elements along an axis."""
    return _computed("argsort")(self, axis=axis, descending=descending, stable=stable)


def dot(self: usm_ndarray, other: Any) -> usm_ndarray:
    """The matrix product, or the product with a number."""
    if not hasattr(other, "ndim") or other.ndim == 0 or self.ndim == 0:
        return _computed("multiply")(self, other)
    if other.ndim < 3:
        return _computed("matmul")(self, other)
    return _computed("tensordot")(self, other, axes=((-1,), (-2,)))


def clip(self: usm_ndarray, min: Any = None, max: Any = None, *, out: Any = None) -> usm_ndarray:
    """The elements limited to a range."""
    return _computed("clip")(self, min, max, out=out)


def round(self: usm_ndarray, decimals: int = 0, *, out: Any = None) -> usm_ndarray:
    """The nearest integers; halfway cases go to the even one."""
    if decimals != 0:
        raise ValueError(
            f"decimals: found {decimals!r}, allowed is 0; (x * 10**n).round() / 10**n rounds to n decimals"
        )
    return _computed("round")(self, out=out)


def conj(self: usm_ndarray) -> usm_ndarray:
    """The conjugates of complex numbers; other numbers as they are."""
    found: usm_ndarray = _usm.conj(self)
    return found


def sum(self: usm_ndarray, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> usm_ndarray:
    """The sums along axes, as :func:`usm.tensor.sum`."""
    found: usm_ndarray = _usm.sum(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims)
    return found


def prod(
    self: usm_ndarray, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
) -> usm_ndarray:
    """The products along axes, as :func:`usm.tensor.prod`."""
    return _computed("prod")(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims)


def cumsum(self: usm_ndarray, axis: int | None = None, dtype: Any = None, out: Any = None) -> usm_ndarray:
    """The sums of all elements up to each one along an axis, or of all in row-major order."""
    x, axis = (self.reshape(-1), 0) if axis is None else (self, axis)
    return _computed("cumulative_sum")(x, axis=axis, dtype=dtype, out=out)


def cumprod(self: usm_ndarray, axis: int | None = None, dtype: Any = None, out: Any = None) -> usm_ndarray:
    """The products of all elements up to each one along an axis, or of all in row-major order."""
    x, axis = (self.reshape(-1), 0) if axis is None else (self, axis)
    return _computed("cumulative_prod")(x, axis=axis, dtype=dtype, out=out)


def _mean_like(name: str, what: str) -> Callable[..., usm_ndarray]:
    """``mean``, and ``var`` and ``std`` with their correction."""

    def mean(
        self: usm_ndarray, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> usm_ndarray:
        x = self if dtype is None else _usm.astype(self, dtype)
        return _computed(name)(x, axis=axis, out=out, keepdims=keepdims)

    def spread(
        self: usm_ndarray,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        correction: float | None = None,
    ) -> usm_ndarray:
        x = self if dtype is None else _usm.astype(self, dtype)
        correction = ddof if correction is None else correction
        return _computed(name)(x, axis=axis, correction=correction, out=out, keepdims=keepdims)

    method = mean if name == "mean" else spread
    method.__name__, method.__qualname__, method.__doc__ = name, name, what
    return method


def _native(name: str, what: str) -> Callable[..., usm_ndarray]:
    """Reductions of this package."""
    function: Callable[..., usm_ndarray] = getattr(_usm, name)

    def extreme(self: usm_ndarray, axis: Any = None, out: Any = None, keepdims: bool = False) -> usm_ndarray:
        return function(self, axis=axis, out=out, keepdims=keepdims)

    def truth(self: usm_ndarray, axis: Any = None, out: Any = None, keepdims: bool = False) -> usm_ndarray:
        result = function(self, axis=axis, keepdims=keepdims)
        if out is None:
            return result
        if out.shape != result.shape:
            raise ValueError(f"out: found shape {out.shape}, allowed is {result.shape}, that of the result")
        out[...] = result
        found: usm_ndarray = out
        return found

    method = truth if name in ("all", "any") else extreme
    method.__name__, method.__qualname__, method.__doc__ = name, name, what
    return method


def _search(name: str, what: str) -> Callable[..., usm_ndarray]:
    def search(self: usm_ndarray, axis: int | None = None, out: Any = None, keepdims: bool = False) -> usm_ndarray:
        return _computed(name)(self, axis=axis, out=out, keepdims=keepdims)

    search.__name__, search.__qualname__, search.__doc__ = name, name, what
    return search


METHODS = (
    astype,
    ravel,
    flatten,
    fill,
    tobytes,
    transpose,
    swapaxes,
    squeeze,
    take,
    nonzero,
    repeat,
    sort,
    argsort,
    dot,
    clip,
    round,
    conj,
    sum,
    prod,
    cumsum,
    cumprod,
    _mean_like("mean", "The arithmetic means along axes."),
    _mean_like("var", "The variances along axes; the divisor is the number of elements less `ddof`."),
    _mean_like("std", "The standard deviations along axes; the divisor is the number of elements less `ddof`."),
    _native("min", "The least elements along axes."),
    _native("max", "The greatest elements along axes."),
    _native("all", "Whether all elements along axes are true."),
    _native("any", "Whether any element along axes is true."),
    _search("argmin", "The indices of the least elements along an axis, or in all elements."),
    _search("argmax", "The indices of the greatest elements along an axis, or in all elements."),
)

#: With ``a = ut.asarray([[1.0, 2], [3, 4]], usm_type="host")``.
_EXAMPLES = {
    "astype": ('a.astype("int32").tolist()', "[[1, 2], [3, 4]]"),
    "ravel": ("a.T.ravel().tolist()", "[1.0, 3.0, 2.0, 4.0]"),
    "flatten": ("a.flatten().tolist()", "[1.0, 2.0, 3.0, 4.0]"),
    "fill": ("a.fill(7), a.tolist()", "(None, [[7.0, 7.0], [7.0, 7.0]])"),
    "tobytes": ("len(a.tobytes())", "32"),
    "transpose": ("a.transpose().tolist()", "[[1.0, 3.0], [2.0, 4.0]]"),
    "swapaxes": ("a.swapaxes(0, 1).tolist()", "[[1.0, 3.0], [2.0, 4.0]]"),
    "squeeze": ("a[:1].squeeze().tolist()", "[1.0, 2.0]"),
    "take": ("a.take([1, 0], axis=1).tolist()", "[[2.0, 1.0], [4.0, 3.0]]"),
    "nonzero": ("[i.tolist() for i in (a > 2).nonzero()]", "[[1, 1], [0, 1]]"),
    "repeat": ("a[0].repeat(2).tolist()", "[1.0, 1.0, 2.0, 2.0]"),
    "sort": ("a.sort(descending=True), a.tolist()", "(None, [[2.0, 1.0], [4.0, 3.0]])"),
    "argsort": ("a.argsort(descending=True).tolist()", "[[1, 0], [1, 0]]"),
    "dot": ("a.dot(a).tolist()", "[[7.0, 10.0], [15.0, 22.0]]"),
    "clip": ("a.clip(2, 3).tolist()", "[[2.0, 2.0], [3.0, 3.0]]"),
    "round": ("a.round().tolist()", "[[1.0, 2.0], [3.0, 4.0]]"),
    "conj": ("a.conj().tolist()", "[[1.0, 2.0], [3.0, 4.0]]"),
    "sum": ("a.sum().item(), a.sum(axis=0).tolist()", "(10.0, [4.0, 6.0])"),
    "prod": ("a.prod(axis=1).tolist()", "[2.0, 12.0]"),
    "cumsum": ("a.cumsum().tolist()", "[1.0, 3.0, 6.0, 10.0]"),
    "cumprod": ("a.cumprod(axis=1).tolist()", "[[1.0, 2.0], [3.0, 12.0]]"),
    "mean": ("a.mean(axis=1).tolist()", "[1.5, 3.5]"),
    "var": ("a.var().item(), a.var(axis=0, ddof=1).tolist()", "(1.25, [2.0, 2.0])"),
    "std": ("a.std(axis=1).tolist()", "[0.5, 0.5]"),
    "min": ("a.min().item()", "1.0"),
    "max": ("a.max(axis=0).tolist()", "[3.0, 4.0]"),
    "all": ("(a > 1).all().item()", "False"),
    "any": ("(a > 3).any(axis=1).tolist()", "[False, True]"),
    "argmin": ("a.argmin().item()", "0"),
    "argmax": ("a.argmax(axis=1).tolist()", "[1, 1]"),
}
_MADE = '>>> import usm.tensor as ut\n>>> a = ut.asarray([[1.0, 2], [3, 4]], usm_type="host")\n'
for _method in METHODS:
    _call, _result = _EXAMPLES[_method.__name__]
    _method.__doc__ = f"{_method.__doc__}\n\n{_MADE}>>> {_call}\n{_result}\n"
