"""Computing with bfloat16 and float8: in float32, by the provider for the memory.

Operands are cast to float32, and results in floating point are rounded to the dtype of the operands once. So sums and
means accumulate in float32. PyTorch computes with bfloat16 itself.
"""

from __future__ import annotations

from typing import Any

from .._usm import astype, result_type, usm_ndarray
from ._provider import Computed, Provider, assigned, results
from ._table import Function

__all__ = ["NarrowProvider"]

_NAMES = frozenset({"bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"})


class NarrowProvider(Provider):
    """Computes in float32 by another provider."""

    def __init__(self, memory: str, base: Provider) -> None:
        super().__init__(memory)
        self.name, self.base = base.name, base
        self.widened = _NAMES - base.narrow

    def is_narrow(self, operand: Any) -> bool:
        """Whether an operand is cast to float32."""
        return type(operand) is usm_ndarray and operand.dtype.name in self.widened

    def make(self, row: Function) -> Computed:
        if row.name == "nextafter":
            raise NotImplementedError("nextafter: no library has it for bfloat16 and float8; cast to float32")
        computed = self.base.functions[row]

        def compute(operands: tuple[Any, ...], keywords: dict[str, Any] | None, out: Any) -> Any:
            asked = (keywords or {}).get("dtype")
            if asked is None:
                return self.rounded(computed(self.wide(operands), keywords, None), operands, out)
            dtype = result_type(asked)
            of_base = keywords if dtype.name not in self.widened else {**(keywords or {}), "dtype": "float32"}
            value = astype(computed(self.wide(operands), of_base, None), dtype, copy=False)
            return value if out is None else assigned(out, value)

        return compute

    def wide(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """The operands in float32, where they are narrow."""
        return tuple(astype(operand, "float32") if self.is_narrow(operand) else operand for operand in operands)

    def deep(self, value: Any) -> Any:
        """Arguments with each narrow array in them in float32."""
        if type(value) in (list, tuple):
            return type(value)(self.deep(item) for item in value)
        return self.wide((value,))[0]

    def rounded(self, value: Any, operands: tuple[Any, ...], out: Any) -> Any:
        """A result in the dtype that follows from the operands, or in `out`."""
        dtypes = [operand.dtype for operand in operands if type(operand) is usm_ndarray]
        if out is None and dtypes:
            dtype = result_type(*dtypes)
            if dtype.name in _NAMES:
                return results(value, lambda part: _rounded(part, dtype))
        if out is None:
            return value
        if out.dtype.name in _NAMES and value.dtype.name == "float32":
            value = astype(value, out.dtype)
        return assigned(out, value)

    def frequencies(self, name: str, n: int, d: float, dtype: Any, place: usm_ndarray) -> usm_ndarray:
        return self.base.frequencies(name, n, d, dtype, place)

    def ufunc(self, ufunc: Any, method: str, operands: tuple[Any, ...], keywords: dict[str, Any], out: Any) -> Any:
        if method == "at" or (out and len(out) > 1):
            return NotImplemented
        value = self.base.ufunc(ufunc, method, self.wide(operands), keywords, None)
        return value if value is NotImplemented else self.rounded(value, operands, out[0] if out else None)

    def numpy_function(
        self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], arrays: tuple[Any, ...]
    ) -> Any:
        out = keywords.pop("out", None)
        wide = {name: self.wide((value,))[0] for name, value in keywords.items()}
        value = self.base.numpy_function(function, self.deep(arguments), wide, self.wide(arrays))
        return value if value is NotImplemented else self.rounded(value, arrays, out)


def _rounded(part: Any, dtype: Any) -> Any:
    return astype(part, dtype) if type(part) is usm_ndarray and part.dtype.name == "float32" else part
