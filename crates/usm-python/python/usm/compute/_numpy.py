"""NumPy as the provider for memory that host code reaches.

Elementwise functions, reductions, cumulative functions and matrix products are computed into USM, with the ``out=`` of
NumPy. Results of the other functions, those of kind ``"copied"`` in the table, are copied into USM once.
"""

# The libraries have no types here.
# pyright: reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from .._locate import importing
from .._usm import _new, _numpy_view, _Ufunc, asarray, asnumpy, usm_ndarray
from ._provider import Computed, Provider, assigned, check_dtype, check_shape, results, written
from ._table import Function

__all__ = ["NumpyProvider", "np"]

#: Without types, so that type checkers need no NumPy.
np: Any = import_module("numpy")
if not hasattr(np, "cumulative_sum"):
    raise ImportError(
        f'NumPy {np.__version__} is too old to compute; pip install -U "numpy>=2.1" installs one that can'
    )

#: Functions of NumPy with other names than in the table.
_NAMES = {"round": np.rint, "logsumexp": np.logaddexp.reduce, "reduce_hypot": np.hypot.reduce}
#: Accumulations of real numbers, in floating point.
_OF_REAL = frozenset({"logsumexp", "reduce_hypot", "cumulative_logsumexp"})
_sum, _divide = np.add.reduce, np.true_divide
_SCALARS = {bool: np.dtype(bool), int: int, float: float, complex: complex}


def _copied(array: usm_ndarray) -> Any:
    """A copy, to which functions of NumPy can write where they can write to the array."""
    copy = asnumpy(array)
    copy.flags.writeable = array.flags.writable
    return copy


class NumpyProvider(Provider):
    """Computes where the operands are, or on copies of protected memory."""

    name = "numpy"

    def __init__(self, memory: str) -> None:
        super().__init__(memory)
        self.is_copy = memory == "protected"
        self.ufuncs: dict[Any, Computed] = {}
        self.view: Callable[[usm_ndarray], Any] = _copied if self.is_copy else _numpy_view

    # How results get into USM.

    def filled(
        self, operands: tuple[Any, ...], out: Any, shape: tuple[int, ...], dtype: Any, fill: Callable[[Any], Any]
    ) -> Any:
        """A result of that shape, which `fill` writes: in `out`, or in new memory of that dtype."""
        if out is not None:
            check_shape(out, shape)
            check_dtype(out, dtype)
        if not self.is_copy:
            ours = _new(operands, shape, dtype) if out is None else out
            fill(_numpy_view(ours, True))
            return ours
        theirs = np.empty(shape, dtype) if out is None else self.view(out)
        fill(theirs)
        if out is None:
            return self.given(operands, theirs)
        out[...] = theirs
        return out

    def given(self, operands: tuple[Any, ...], value: Any) -> Any:
        """A result of NumPy as ours: arrays and scalars are copied."""
        if isinstance(value, (np.ndarray, np.generic)):
            ours = _new(operands, value.shape, value.dtype)
            ours[...] = np.asarray(value)
            return ours
        return value

    def views(self, operands: tuple[Any, ...]) -> list[Any]:
        view = self.view
        return [view(operand) if type(operand) is usm_ndarray else operand for operand in operands]

    # The kinds of functions.

    def make(self, row: Function) -> Computed:
        special = _SPECIAL.get((row.part, row.name))
        if special is not None:
            return self._copied(special)
        # NumPy imports some of its parts at their first use.
        with importing:
            home = getattr(np, row.part) if row.part and row.kind == "copied" else np
        theirs = _NAMES.get(row.name) or getattr(home, row.name, None)
        if row.name == "reciprocal":
            return self._reciprocal()
        if row.kind in ("unary", "binary") and isinstance(theirs, np.ufunc):
            return self._elementwise(theirs, keeps_exact=row.name in ("round", "ceil", "floor", "trunc"))
        if row.kind in _KINDS:
            return _KINDS[row.kind](self, row.name, theirs)
        return self._copied(theirs)

    def _elementwise(self, ufunc: Any, keeps_exact: bool = False) -> Computed:
        types: dict[Any, Any] = {}

        def general(operands: tuple[Any, ...], keywords: Any, out: Any) -> Any:
            views = self.views(operands)
            shapes = {view.shape for view in views if isinstance(view, np.ndarray)}
            shape = shapes.pop() if len(shapes) == 1 else np.broadcast(*views).shape
            dtype = None
            if out is None:
                key = tuple([view.dtype if isinstance(view, np.ndarray) else type(view) for view in views])
                dtype = types.get(key)
                if dtype is None:
                    dtype = types[key] = _result_dtype(ufunc, key)
            return self.filled(operands, out, shape, dtype, lambda target: ufunc(*views, out=target))

        compute: Computed = general if self.is_copy else _Ufunc(ufunc, general, _result_dtype)
        if not keeps_exact:
            return compute

        def of_integers(operands: tuple[Any, ...], keywords: Any, out: Any) -> Any:
            """Integers are integers already."""
            if operands[0].dtype.kind not in "biu":
                return compute(operands, keywords, out)
            return operands[0].copy() if out is None else assigned(out, operands[0])

        return of_integers

    def _reciprocal(self) -> Computed:
        """NumPy's own is 0 for most integers."""
        inexact, exact = self._elementwise(np.reciprocal), self._elementwise(np.divide)

        def compute(operands: tuple[Any, ...], keywords: Any, out: Any) -> Any:
            is_exact = operands[0].dtype.kind in "biu"
            return exact((1, *operands), None, out) if is_exact else inexact(operands, None, out)

        return compute

    def _reduction(self, name: str, theirs: Any) -> Computed:
        if name == "mean":
            theirs = _mean
        is_of_real = name in _OF_REAL

        def fill(target: Any, x: Any, keywords: Any, dtype: Any) -> None:
            if is_of_real and dtype.kind != "f":
                target[...] = theirs(x, **keywords | {"dtype": np.dtype(float)})
            elif "correction" in keywords and keywords["correction"] * target.size >= x.size:
                target[...] = np.nan  # by the standard; NumPy divides by zero
            else:
                theirs(x, **keywords, out=target)

        def compute(operands: tuple[Any, ...], keywords: Any, out: Any) -> Any:
            x = self.view(operands[0])
            if "dtype" in keywords:
                keywords["dtype"] = dtype = _accumulated(x.dtype, keywords["dtype"], name)
            else:
                dtype = _mean_dtype(x.dtype, name)
            shape = _reduced(x.shape, keywords["axis"], keywords["keepdims"])
            return self.filled(operands, out, shape, dtype, lambda target: fill(target, x, keywords, dtype))

        return compute

    def _search(self, name: str, theirs: Any) -> Computed:
        def compute(operands: tuple[Any, ...], keywords: Any, out: Any) -> Any:
            x = self.view(operands[0])
            shape = _reduced(x.shape, keywords["axis"], keywords["keepdims"])
            return self.filled(
                operands, out, shape, np.dtype(np.intp), lambda target: theirs(x, **keywords, out=target)
            )

        return compute

    def _cumulative(self, name: str, theirs: Any) -> Computed:
        def compute(operands: tuple[Any, ...], keywords: Any, out: Any) -> Any:
            x, axis, first = self.view(operands[0]), keywords["axis"], keywords["include_initial"]
            if axis is None:
                if x.ndim > 1:
                    raise ValueError(f"{name}: found {x.ndim} axes, and which one to go along is not given; pass axis=")
                axis, x = 0, np.atleast_1d(x)
            axis = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
            dtype = _accumulated(x.dtype, keywords["dtype"], name)
            shape = tuple(size + (first and place == axis) for place, size in enumerate(x.shape))

            def fill(target: Any) -> None:
                if name != "cumulative_logsumexp":
                    theirs(x, axis=axis, dtype=dtype, out=target, include_initial=first)
                    return
                sums = np.moveaxis(target, axis, 0)
                if first:
                    sums[0], sums = -np.inf, sums[1:]
                np.logaddexp.accumulate(np.moveaxis(x, axis, 0), dtype=dtype, out=sums)

            return self.filled(operands, out, shape, dtype, fill)

        return compute

    def _clip(self, name: str, theirs: Any) -> Computed:
        def compute(operands: tuple[Any, ...], keywords: Any, out: Any) -> Any:
            x, low, high = self.views(operands)
            low, high = _bound(low, x.dtype), _bound(high, x.dtype)
            shape = np.broadcast(*(operand for operand in (x, low, high) if operand is not None)).shape

            def fill(target: Any) -> None:
                if low is None and high is None:
                    np.copyto(target, x, casting="same_kind")
                else:
                    np.clip(x, low, high, out=target)

            return self.filled(operands, out, shape, x.dtype, fill)

        return compute

    def _matmul(self, name: str, theirs: Any) -> Computed:
        def general(operands: tuple[Any, ...], keywords: Any, out: Any) -> Any:
            x1, x2 = [np.asarray(view) for view in self.views(operands)]
            shape, dtype = _matmul_shape(x1, x2), _result_dtype(np.matmul, (x1.dtype, x2.dtype))
            return self.filled(operands, out, shape, dtype, lambda target: np.matmul(x1, x2, out=target))

        return general if self.is_copy else _Ufunc(np.matmul, general, _result_dtype, is_product=True)

    def _vecdot(self, name: str, theirs: Any) -> Computed:
        def compute(operands: tuple[Any, ...], keywords: Any, out: Any) -> Any:
            x1, x2 = (np.moveaxis(np.asarray(view), keywords["axis"], -1) for view in self.views(operands))
            shape = np.broadcast_shapes(x1.shape[:-1], x2.shape[:-1])
            dtype = _result_dtype(np.vecdot, [x1.dtype, x2.dtype])
            return self.filled(operands, out, shape, dtype, lambda target: np.vecdot(x1, x2, out=target))

        return compute

    def _sort(self, name: str, theirs: Any) -> Computed:
        def compute(operands: tuple[Any, ...], keywords: Any, out: Any) -> Any:
            x, axis, is_down = self.view(operands[0]), keywords["axis"], keywords["descending"]

            def fill(target: Any) -> None:
                target[...] = np.flip(x, axis) if is_down else x
                target.sort(axis=axis, stable=keywords["stable"])
                if is_down:
                    target[...] = np.flip(target, axis).copy()

            return self.filled(operands, out, x.shape, x.dtype, fill)

        return compute

    def _copied(self, theirs: Any) -> Computed:
        def compute(operands: tuple[Any, ...], keywords: Any, out: Any) -> Any:
            value = theirs(*self.views(operands), **(keywords or {}))
            value = results(value, lambda value: self.given(operands, value))
            return value if out is None else assigned(out, value)

        return compute

    def frequencies(self, name: str, n: int, d: float, dtype: Any, place: usm_ndarray) -> usm_ndarray:
        value = getattr(np.fft, name)(n, d)
        return asarray(value, dtype=dtype, usm_type=place.usm_type, sycl_queue=place.sycl_queue)

    # Functions of NumPy that users call.

    def ufunc(self, ufunc: Any, method: str, operands: tuple[Any, ...], keywords: dict[str, Any], out: Any) -> Any:
        if method == "__call__" and ufunc.nout == 1 and ufunc.signature is None and not keywords:
            computed = self.ufuncs.get(ufunc)
            if computed is None:
                computed = self.ufuncs[ufunc] = self._elementwise(ufunc)
            if out is None or type(out[0]) is usm_ndarray:
                return computed(operands, None, out[0] if out else None)
        arrays = tuple(operand for operand in (*operands, *(out or ())) if type(operand) is usm_ndarray)
        if out is not None:
            keywords = keywords | {"out": out}
        return self.numpy_function(getattr(ufunc, method), operands, keywords, arrays)

    def numpy_function(
        self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], arrays: tuple[Any, ...]
    ) -> Any:
        views: dict[int, tuple[usm_ndarray, Any]] = {}
        out = keywords.get("out")
        targets = (*(out if type(out) is tuple else (out,)), written(function, arguments, keywords))

        def view(value: Any) -> Any:
            if type(value) is usm_ndarray:
                if id(value) not in views:
                    is_written = not self.is_copy and any(value is target for target in targets)
                    views[id(value)] = (value, _numpy_view(value, True) if is_written else self.view(value))
                return views[id(value)][1]
            if type(value) in (list, tuple):
                return type(value)(view(item) for item in value)
            return value

        def same(value: Any) -> Any:
            """Our array for the view of one that was given, as `out` is; NumPy's own `out` as it is."""
            given = next((ours for ours, theirs in views.values() if theirs is value), None)
            if given is not None:
                return given
            out = named.get("out")
            is_out = any(value is target for target in (out if type(out) is tuple else (out,)))
            return value if is_out else self.given(arrays, value)

        converted, named = view(arguments), {name: view(value) for name, value in keywords.items()}
        # A copy of protected memory goes back where the function has changed it.
        before = [(ours, theirs, theirs.copy()) for ours, theirs in views.values()] if self.is_copy else []
        value = function(*converted, **named)
        for ours, theirs, earlier in before:
            if theirs.tobytes() != earlier.tobytes():
                ours[...] = theirs
        return results(value, same)


def _result_dtype(ufunc: Any, key: Any) -> Any:
    """The dtype of the result for operands of dtypes, or of Python's numbers, which are weak."""
    return ufunc.resolve_dtypes((*(_SCALARS.get(dtype, dtype) for dtype in key), None))[-1]


def _accumulated(found: Any, asked: Any, name: str) -> Any:
    """The dtype of sums and products: small integers become those of 64 bits."""
    if name in _OF_REAL and found.kind == "c":
        raise ValueError(f"{name}: found elements of {found}, allowed are real numbers and booleans")
    if asked is not None:
        return np.dtype(asked)
    if name in _OF_REAL:
        return found if found.kind == "f" else np.dtype(float)
    if found.kind in "bi":
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if found.kind == "u" else found


def _mean(x: Any, *, axis: Any, keepdims: bool, out: Any) -> None:
    """What NumPy's own function does after checks that take longer than the mean of a small array."""
    kind = x.dtype.char
    if not x.size:
        np.ndarray.mean(x, axis=axis, keepdims=keepdims, out=out)
        return
    if kind == "e":
        total = _sum(x, axis=axis, dtype=np.float32, keepdims=keepdims)
    else:
        total = _sum(x, axis=axis, dtype=None if kind in "fdFD" else float, keepdims=keepdims, out=out)
    # A number of NumPy: beside one of Python the division would be in the precision of the sum.
    _divide(total, np.intp(x.size // out.size), out=out, casting="unsafe")


def _mean_dtype(found: Any, name: str) -> Any:
    if found.kind == "c" and name != "mean":
        return np.dtype(f"f{found.itemsize // 2}")
    return found if found.kind in "fc" else np.dtype(float)


def _reduced(shape: tuple[int, ...], axis: Any, keepdims: bool) -> tuple[int, ...]:
    if axis is None:
        return (1,) * len(shape) if keepdims else ()
    axes = np.lib.array_utils.normalize_axis_tuple(axis, len(shape))
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def _bound(bound: Any, dtype: Any) -> Any:
    """A bound in the dtype of the array."""
    if bound is None:
        return None
    if dtype.kind != "c" and np.iscomplexobj(bound):
        raise TypeError(f"clip: found a complex bound, allowed are real bounds for elements of {dtype}")
    if isinstance(bound, np.ndarray):
        if bound.dtype.kind == "f" and dtype.kind in "iu":
            raise TypeError(f"clip: found bounds of {bound.dtype}, allowed are integers for elements of {dtype}")
        return bound.astype(dtype)
    if dtype.kind in "iu":
        if isinstance(bound, float) and not bound.is_integer() and np.isfinite(bound):
            raise TypeError(f"clip: found the bound {bound}, allowed are whole numbers for elements of {dtype}")
        limits = np.iinfo(dtype)
        # NaN has no order: NumPy's comparison says what becomes of it.
        bound = int(max(int(limits.min), min(bound, int(limits.max)))) if bound == bound else bound
    return np.asarray(bound, dtype)


def _matmul_shape(x1: Any, x2: Any) -> tuple[int, ...]:
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError("matmul: found an array without axes, allowed are arrays of one axis and more")
    is_stack = x1.ndim > 2 or x2.ndim > 2
    outer: tuple[int, ...] = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2]) if is_stack else ()
    rows = x1.shape[-2:-1] if x1.ndim > 1 else ()
    columns = x2.shape[-1:] if x2.ndim > 1 else ()
    return (*outer, *rows, *columns)


def _complex(value: Any) -> Any:
    return value.astype(np.result_type(value.dtype, np.complex64), copy=False)


def _eig(x: Any) -> Any:
    found = np.linalg.eig(x)
    return type(found)(*(_complex(part) for part in found))


def _argsort(x: Any, axis: int, descending: bool, stable: bool) -> Any:
    if not descending:
        return np.argsort(x, axis=axis, stable=stable)
    order = np.flip(np.argsort(np.flip(x, axis), axis=axis, stable=stable), axis)
    return x.shape[axis] - 1 - order if x.ndim else order


class TopK(NamedTuple):
    """The result of ``top_k``."""

    values: Any
    indices: Any


def _top_k(x: Any, k: int, axis: Any, mode: str) -> Any:
    if mode not in ("largest", "smallest"):
        raise ValueError(f'mode: found {mode!r}, allowed are "largest" and "smallest"')
    if axis is None:
        axis, x = -1, x.ravel()
    if not 0 <= k <= x.shape[axis]:
        raise ValueError(f"k: found {k}, allowed are numbers from 0 to {x.shape[axis]}")
    order = np.take(_argsort(x, axis, mode == "largest", True), np.arange(k), axis=axis)
    return TopK(np.take_along_axis(x, order, axis), order)


def _tensordot(x1: Any, x2: Any, axes: Any) -> Any:
    if isinstance(axes, int) and axes < 0:
        raise ValueError(f"axes: found {axes}, allowed are numbers from 0 and sequences")
    return np.tensordot(x1, x2, axes)


def _searchsorted(x1: Any, x2: Any, sorter: Any, side: str) -> Any:
    return np.searchsorted(x1, x2, side=side, sorter=sorter)


def _diff(x: Any, prepend: Any, append: Any, axis: int, n: int) -> Any:
    given = {name: value for name, value in (("prepend", prepend), ("append", append)) if value is not None}
    return np.diff(x, n=n, axis=axis, **given)


def _unique(name: str) -> Callable[[Any], Any]:
    """NumPy's own functions of these names need not sort."""
    theirs = getattr(np, name)

    def unique(x: Any) -> Any:
        values, first, inverse, counts = np.unique(
            x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
        )
        if name == "unique_values":
            return values
        inverse = inverse.reshape(x.shape)
        parts = {"unique_all": (values, first, inverse, counts), "unique_counts": (values, counts)}
        return type(theirs(x))(*parts.get(name, (values, inverse)))

    return unique


def _proj(x: Any) -> Any:
    if x.dtype.kind != "c":
        return np.where(np.isinf(x), np.inf, x).astype(x.dtype)
    return np.where(np.isinf(x), np.inf + 1j * np.copysign(0.0, x.imag), x).astype(x.dtype)


_SPECIAL: dict[tuple[str, str], Callable[..., Any]] = {
    ("", "argsort"): _argsort,
    ("", "top_k"): _top_k,
    ("", "searchsorted"): _searchsorted,
    ("", "tensordot"): _tensordot,
    ("linalg", "tensordot"): _tensordot,
    ("", "diff"): _diff,
    ("", "angle"): np.angle,
    ("", "proj"): _proj,
    ("", "rsqrt"): lambda x: np.reciprocal(np.sqrt(x)),
    **{("", name): _unique(name) for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values")},
    ("linalg", "eig"): _eig,
    ("linalg", "eigvals"): lambda x: _complex(np.linalg.eigvals(x)),
    ("linalg", "matrix_rank"): lambda x, rtol: np.linalg.matrix_rank(x, rtol=rtol),
    ("linalg", "pinv"): lambda x, rtol: np.linalg.pinv(x, rtol=rtol),
}
_KINDS: dict[str, Callable[[NumpyProvider, str, Any], Computed]] = {
    "reduction": NumpyProvider._reduction,
    "search": NumpyProvider._search,
    "cumulative": NumpyProvider._cumulative,
    "clip": NumpyProvider._clip,
    "matmul": NumpyProvider._matmul,
    "vecdot": NumpyProvider._vecdot,
    "sort": NumpyProvider._sort,
}
