"""Linear algebra: the extension ``linalg`` of the array API standard.

The library for the memory of the operands computes the functions: see :mod:`usm.compute`.
"""

from .._usm import matrix_transpose
from ..compute._functions import function as _function
from ..compute._table import LINALG as _TABLE

__all__ = ["matrix_transpose", *_TABLE]  # pyright: ignore[reportUnsupportedDunderAll]

globals().update({name: _function("linalg", name) for name in _TABLE})


def __dir__() -> list[str]:
    return sorted(__all__)
