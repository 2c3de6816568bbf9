"""NumPy's protocols: its functions with an array of ours among their operands (NEP 13 and NEP 18)."""

# The libraries have no types here.
# pyright: reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import usm.tensor as ut

from .._usm import _place, usm_ndarray
from ._choice import provider_for
from ._functions import function
from ._numpy import np
from ._provider import assigned
from ._table import FUNCTIONS

__all__ = ["array_function", "array_ufunc"]

#: Functions of ours for ufuncs of other names.
_NAMES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "conj",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "true_divide": "divide",
}
#: Ufuncs that this package computes itself, at least for booleans.
_NATIVE = frozenset(
    """
    bitwise_and bitwise_or bitwise_xor bitwise_invert conj equal greater greater_equal isfinite isinf isnan less
    less_equal logical_and logical_not logical_or logical_xor not_equal signbit
    """.split()
)
_HINT = (
    "usm.tensor.asnumpy(x) copies an array to NumPy, and numpy.asarray(x) is an array of NumPy over host and shared "
    "memory"
)


def array_ufunc(
    array: usm_ndarray, ufunc: Any, method: str, inputs: tuple[Any, ...], keywords: dict[str, Any] | None
) -> Any:
    """``usm_ndarray.__array_ufunc__``."""
    keywords = dict(keywords or {})
    out = keywords.pop("out", None)
    if out is not None and len(out) > 1 and all(target is None for target in out):
        out = None
    if any(_is_external(operand) for operand in inputs):
        return NotImplemented
    name = _NAMES.get(ufunc.__name__, ufunc.__name__)
    plain = method == "__call__" and not keywords and getattr(np, ufunc.__name__, None) is ufunc
    if plain and (out is None or (len(out) == 1 and type(out[0]) is usm_ndarray)):
        target = None if out is None else out[0]
        if name in _NATIVE:
            value = getattr(ut, name)(*_place(inputs, target)[1])
            return value if target is None else assigned(target, value)
        if name in FUNCTIONS and FUNCTIONS[name].kind in ("unary", "binary", "matmul") and ufunc.nout == 1:
            return function("", name)(*inputs, out=target)
        if name == "vecdot" and out is None:
            return function("", "vecdot")(*inputs)
        if name == "divmod" and out is None:
            return function("", "floor_divide")(*inputs), function("", "remainder")(*inputs)
    given = tuple(_arrays((inputs, keywords, out)))
    memory, _ = _place(given, next((target for target in out or () if type(target) is usm_ndarray), None))
    provider = provider_for(memory)
    if method == "__call__" and not keywords:
        # Arrays of NumPy go beside ours; other arguments, such as those of `reduceat`, are NumPy's to read.
        inputs = tuple(_beside(given[0], operand) if isinstance(operand, np.ndarray) else operand for operand in inputs)
    if provider.name != "numpy" and any(isinstance(target, np.ndarray) for target in out or ()):
        raise TypeError(
            f"{name}: out: found an array of NumPy, allowed are arrays in the memory of the operands; {_HINT}"
        )
    value = provider.ufunc(ufunc, method, inputs, keywords, out)
    if value is NotImplemented:
        what = name if method == "__call__" else f"{name}.{method}"
        raise TypeError(f"{what}: {provider.name}, which computes on this memory, has no such function; {_HINT}")
    return value


def _is_external(operand: Any) -> bool:
    """Whether an operand is of a library, or of a subclass of NumPy's array, with an ``__array_ufunc__`` of its own."""
    kind = type(operand)
    if kind is usm_ndarray or kind.__module__ in ("builtins", "numpy"):
        return False
    own = getattr(kind, "__array_ufunc__", None)
    return own is not None and own is not np.ndarray.__array_ufunc__ and not isinstance(operand, np.generic)


def _arrays(value: Any) -> list[usm_ndarray]:
    """All arrays of ours in arguments."""
    if type(value) is usm_ndarray:
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    if not isinstance(value, (tuple, list)):
        return []
    return [array for item in value for array in _arrays(item)]


#: How NumPy's functions call the argument that comes first here.
_FIRST = ("a", "m", "A", "arr", "prototype", "ar")


def array_function(
    array: usm_ndarray, func: Any, types: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """``usm_ndarray.__array_function__``."""
    if not all(issubclass(kind, (usm_ndarray, np.ndarray, np.generic)) for kind in types):
        return NotImplemented
    replaced = _REPLACED.get(func)
    if replaced is not None:
        named = dict(keywords)
        first = [named.pop(name) for name in _FIRST if name in named and not arguments]
        try:
            return replaced(array, *first, *arguments, **named)
        except TypeError as error:
            # Arguments that this package does not have; the library may.
            if "argument" not in str(error):
                raise
    arrays = tuple(_arrays((arguments, keywords)))
    if not arrays:
        raise TypeError(f"{func.__name__}: no counterpart for like= with these arguments; {_HINT}")
    memory, _ = _place(arrays, None)
    provider = provider_for(memory)
    value = provider.numpy_function(func, arguments, dict(keywords), arrays)
    if value is NotImplemented:
        raise TypeError(
            f"numpy.{func.__name__}: {provider.name}, which computes on this memory, has no such function; {_HINT}"
        )
    return value


def _where(array: usm_ndarray, keywords: dict[str, Any]) -> dict[str, Any]:
    """Creation beside an array."""
    keywords.pop("like", None)
    keywords.pop("device", None)
    keywords.pop("subok", None)
    return {"usm_type": array.usm_type, "sycl_queue": array.sycl_queue} | keywords


def _creation(name: str) -> Callable[..., Any]:
    def create(array: usm_ndarray, *arguments: Any, **keywords: Any) -> Any:
        return getattr(ut, name)(*arguments, **_where(array, keywords))

    return create


def _arange(array: usm_ndarray, *arguments: Any, dtype: Any = None, **where: Any) -> Any:
    # In NumPy the dtype may come fourth.
    dtype = arguments[3] if len(arguments) == 4 else dtype
    return ut.arange(*arguments[:3], dtype=dtype, **_where(array, where))


def _linspace(array: usm_ndarray, start: Any, stop: Any, *rest: Any, **keywords: Any) -> Any:
    start, stop = (
        limit.item() if isinstance(limit, usm_ndarray) and not limit.ndim else limit for limit in (start, stop)
    )
    if np.ndim(start) or np.ndim(stop):
        start, stop = (ut.asnumpy(limit) if isinstance(limit, usm_ndarray) else limit for limit in (start, stop))
        return _of_numpy(np.linspace)(array, start, stop, *rest, **keywords)
    return ut.linspace(start, stop, *rest, **_where(array, keywords))


def _of_numpy(create: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's creation of an array, which is copied beside one of ours."""

    def copied(array: usm_ndarray, *arguments: Any, like: Any = None, **keywords: Any) -> Any:
        return _beside(array, create(*arguments, **keywords))

    return copied


def _array(
    array: usm_ndarray,
    obj: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    **where: Any,
) -> Any:
    made = ut.asarray(obj, dtype=dtype, copy=copy or None, order=order, **_where(array, where))
    return made.reshape((1,) * (ndmin - made.ndim) + made.shape) if made.ndim < ndmin else made


def _asarray(
    array: usm_ndarray, obj: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None, **where: Any
) -> Any:
    return ut.asarray(obj, dtype=dtype, copy=copy, order=order or "K", **_where(array, where))


def _ordered(order: Any) -> Callable[..., Any]:
    def ordered(array: usm_ndarray, obj: Any, dtype: Any = None, **where: Any) -> Any:
        made = ut.asarray(obj, dtype=dtype, order=order, **_where(array, where))
        return made if made.ndim else made.reshape(1)

    return ordered


def _eye(array: usm_ndarray, N: int, M: int | None = None, k: int = 0, dtype: Any = float, **where: Any) -> Any:
    return ut.eye(N, M, k=k, dtype=dtype, **_where(array, where))


def _like(name: str) -> Callable[..., Any]:
    num_values = 1 if name == "full_like" else 0

    def create(array: usm_ndarray, prototype: Any, *arguments: Any, **keywords: Any) -> Any:
        values, rest = arguments[:num_values], arguments[num_values:]
        named = dict(zip(("dtype", "order", "subok", "shape"), rest, strict=False)) | keywords
        values = values or tuple(named.pop(value) for value in ("fill_value",) if value in named)
        dtype, order, shape = named.get("dtype"), named.get("order", "K"), named.get("shape")
        dtype = prototype.dtype if dtype is None else dtype
        if shape is not None:
            kind = {"usm_type": prototype.usm_type, "sycl_queue": prototype.sycl_queue, "dtype": dtype}
            return getattr(ut, name.removesuffix("_like"))(shape, *values, **kind)
        return getattr(ut, name)(prototype, *values, dtype=dtype, order=order)

    return create


def _method(name: str) -> Callable[..., Any]:
    def call(array: usm_ndarray, x: Any, *arguments: Any, **keywords: Any) -> Any:
        return getattr(x, name)(*arguments, **keywords)

    return call


def _same(name: str) -> Callable[..., Any]:
    def call(array: usm_ndarray, *arguments: Any, **keywords: Any) -> Any:
        def ours(item: Any) -> Any:
            return _beside(array, item) if isinstance(item, np.ndarray) else item

        keywords = {key: ours(value) for key, value in keywords.items() if value is not np._NoValue}
        return getattr(ut, name)(*map(ours, arguments), **keywords)

    return call


def _joined(join: Callable[..., Any]) -> Callable[..., Any]:
    def call(
        array: usm_ndarray,
        arrays: Any,
        axis: int | None = 0,
        out: Any = None,
        *,
        dtype: Any = None,
        casting: Any = "same_kind",
    ) -> Any:
        value = join([_beside(array, item) for item in arrays], axis=axis)
        if dtype is not None:
            value = ut.astype(value, dtype, casting=casting)
        return value if out is None else assigned(out, value)

    return call


def _beside(array: usm_ndarray, item: Any) -> Any:
    """An array of ours of an argument that may be NumPy's."""
    if isinstance(item, usm_ndarray):
        return item
    return ut.asarray(item, usm_type=array.usm_type, sycl_queue=array.sycl_queue)


def _take(array: usm_ndarray, x: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    if axis is None:
        x, axis = x.reshape(-1), 0
    return ut.take(x, indices, axis=axis, out=out, mode=mode)


def _transpose(array: usm_ndarray, x: Any, axes: Any = None) -> Any:
    return x.T if axes is None else ut.permute_dims(x, tuple(axes))


def _where_(array: usm_ndarray, condition: Any, *choices: Any) -> Any:
    choices = tuple(_beside(array, item) if isinstance(item, np.ndarray) else item for item in choices)
    condition = _beside(array, condition)
    return ut.where(condition, *choices) if choices else ut.nonzero(condition)


def _result_type(array: usm_ndarray, *items: Any) -> Any:
    # NumPy has types of numbers for dtypes, as in `numpy.float32`.
    return ut.result_type(*(np.dtype(item) if isinstance(item, type) else item for item in items))


def _shape(array: usm_ndarray, x: Any) -> Any:
    return x.shape


def _size(array: usm_ndarray, x: Any, axis: int | None = None) -> Any:
    return x.size if axis is None else x.shape[axis]


def _broadcast_to(array: usm_ndarray, x: Any, shape: Any, subok: bool = False) -> Any:
    return ut.broadcast_to(x, (shape,) if isinstance(shape, int) else shape)


def _copy(array: usm_ndarray, x: Any, order: Any = "K", subok: bool = False) -> Any:
    return ut.copy(x, order=order)


def _reshape(array: usm_ndarray, x: Any, shape: Any, order: Any = "C", *, copy: bool | None = None) -> Any:
    return ut.reshape(x, shape, order=order, copy=copy)


#: Functions of NumPy that this package has itself, or whose results are views.
_REPLACED: dict[Any, Callable[..., Any]] = {
    **{getattr(np, name): _creation(name) for name in ("empty", "full", "ones", "zeros")},
    **{
        getattr(np, name): _of_numpy(getattr(np, name))
        for name in ("frombuffer", "fromfunction", "fromiter", "identity", "tri")
    },
    np.arange: _arange,
    np.linspace: _linspace,
    np.array: _array,
    np.asarray: _asarray,
    np.asanyarray: _asarray,
    np.ascontiguousarray: _ordered("C"),
    np.asfortranarray: _ordered("F"),
    **{getattr(np, name): _like(name) for name in ("empty_like", "full_like", "ones_like", "zeros_like")},
    **{getattr(np, name): _method(name) for name in ("all", "any", "max", "min", "sum", "nonzero", "squeeze", "ravel")},
    np.amax: _method("max"),
    np.amin: _method("min"),
    **{
        getattr(np, name): _same(name)
        for name in """
        allclose broadcast_arrays can_cast count_nonzero expand_dims extract flip isclose meshgrid moveaxis place put
        put_along_axis roll swapaxes take_along_axis tile tril triu
        """.split()
    },
    np.broadcast_to: _broadcast_to,
    np.eye: _eye,
    np.concatenate: _joined(ut.concat),
    np.copy: _copy,
    np.ndim: lambda array, x: x.ndim,
    np.permute_dims: _transpose,
    np.reshape: _reshape,
    np.result_type: _result_type,
    np.shape: _shape,
    np.size: _size,
    np.stack: _joined(ut.stack),
    np.take: _take,
    np.transpose: _transpose,
    np.where: _where_,
    np.real: lambda array, x: x.real,
    np.imag: lambda array, x: x.imag,
}
