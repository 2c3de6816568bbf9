"""Discrete Fourier transforms: the extension ``fft`` of the array API standard.

The library for the memory of the operands computes the functions: see :mod:`usm.compute`.
"""

from ..compute._functions import function as _function
from ..compute._table import FFT as _TABLE

__all__ = [*_TABLE]  # pyright: ignore[reportUnsupportedDunderAll]

globals().update({name: _function("fft", name) for name in _TABLE})


def __dir__() -> list[str]:
    return sorted(__all__)
