"""The classes of zarr's buffers: bytes on the host, arrays in USM."""

# zarr has no types here.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false

from __future__ import annotations

from importlib import import_module

import usm.tensor as ut

from ..tensor import usm_ndarray
from ._values import on_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = ["Buffer", "NDBuffer"]

_core: Any = import_module("zarr.core.buffer.core")
_cpu: Any = import_module("zarr.core.buffer.cpu")
_numpy: Any = import_module("numpy")


class Buffer(_cpu.Buffer):  # type: ignore[misc]
    """The bytes of a chunk, on the host, where codecs and stores read and write them."""

    __module__ = "usm.zarr"

    def __init__(self, array_like: Any) -> None:
        super().__init__(on_host(array_like))


class NDBuffer(_core.NDBuffer):  # type: ignore[misc]
    """The elements of a chunk or selection, in device memory of the default device, or where the array is that is
    written."""

    __module__ = "usm.zarr"

    @classmethod
    def create(cls, *, shape: Iterable[int], dtype: Any, order: Any = "C", fill_value: Any = None) -> NDBuffer:
        """A new buffer, filled with a number where one is given."""
        buffer = cls.empty(tuple(shape), dtype, order)
        if fill_value is not None:
            buffer.fill(fill_value)
        return buffer

    @classmethod
    def empty(cls, shape: tuple[int, ...], dtype: Any, order: Any = "C") -> NDBuffer:
        """A new buffer."""
        return cls(ut.empty(shape, dtype=dtype, order=order))

    @classmethod
    def from_ndarray_like(cls, ndarray_like: Any) -> NDBuffer:
        """A buffer over an array of this package, or a copy of another one."""
        return cls(ut.asarray(ndarray_like))

    @classmethod
    def from_numpy_array(cls, array_like: Any) -> NDBuffer:
        """A copy of an array of NumPy."""
        return cls.from_ndarray_like(array_like)

    def as_numpy_array(self) -> Any:
        """The elements on the host."""
        return on_host(self._data)

    def all_equal(self, other: Any, equal_nan: bool = True) -> bool:
        """Whether all elements have the bits of a number."""
        return other is not None and _have_bits(self._data, on_host(other))

    def __getitem__(self, key: Any) -> NDBuffer:
        return type(self)(self._data[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._data[key] = value._data if isinstance(value, _core.NDBuffer) else value


def _have_bits(array: usm_ndarray, number: Any) -> bool:
    if array.dtype.kind == "c":
        return _have_bits(array.real, number.real) and _have_bits(array.imag, number.imag)
    # 0.0 and -0.0 differ, and NaN is itself.
    bits = f"u{array.dtype.itemsize}"
    wanted = _numpy.asarray(number, dtype=array.dtype).view(bits).item()
    flat = ut.reshape(ut.asarray(array, order="C"), (-1,)).view(bits)
    return bool(ut.all(ut.equal(flat, wanted)))
