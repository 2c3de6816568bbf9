"""Types of `usm.tensor.linalg`."""

import builtins
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from .._usm import matrix_transpose as matrix_transpose
from .._usm import usm_ndarray

_Operand: TypeAlias = usm_ndarray | complex
_DtypeLike: TypeAlias = Any

class _Eig(NamedTuple):
    eigenvalues: usm_ndarray
    eigenvectors: usm_ndarray

class _Qr(NamedTuple):
    Q: usm_ndarray
    R: usm_ndarray

class _Slogdet(NamedTuple):
    sign: usm_ndarray
    logabsdet: usm_ndarray

class _Svd(NamedTuple):
    U: usm_ndarray
    S: usm_ndarray
    Vh: usm_ndarray

def cholesky(x: usm_ndarray, /, *, upper: builtins.bool = False) -> usm_ndarray: ...
def cross(x1: usm_ndarray, x2: usm_ndarray, /, *, axis: int = -1) -> usm_ndarray: ...
def det(x: usm_ndarray, /) -> usm_ndarray: ...
def diagonal(x: usm_ndarray, /, *, offset: int = 0) -> usm_ndarray: ...
def eig(x: usm_ndarray, /) -> _Eig: ...
def eigh(x: usm_ndarray, /) -> _Eig: ...
def eigvals(x: usm_ndarray, /) -> usm_ndarray: ...
def eigvalsh(x: usm_ndarray, /) -> usm_ndarray: ...
def inv(x: usm_ndarray, /) -> usm_ndarray: ...
def matmul(x1: usm_ndarray, x2: usm_ndarray, /) -> usm_ndarray: ...
def matrix_norm(
    x: usm_ndarray, /, *, keepdims: builtins.bool = False, ord: int | float | Literal["fro", "nuc"] | None = "fro"
) -> usm_ndarray: ...
def matrix_power(x: usm_ndarray, n: int, /) -> usm_ndarray: ...
def matrix_rank(x: usm_ndarray, /, *, rtol: _Operand | None = None) -> usm_ndarray: ...
def outer(x1: usm_ndarray, x2: usm_ndarray, /) -> usm_ndarray: ...
def pinv(x: usm_ndarray, /, *, rtol: _Operand | None = None) -> usm_ndarray: ...
def qr(x: usm_ndarray, /, *, mode: Literal["reduced", "complete"] = "reduced") -> _Qr: ...
def slogdet(x: usm_ndarray, /) -> _Slogdet: ...
def solve(x1: usm_ndarray, x2: usm_ndarray, /) -> usm_ndarray: ...
def svd(x: usm_ndarray, /, *, full_matrices: builtins.bool = True) -> _Svd: ...
def svdvals(x: usm_ndarray, /) -> usm_ndarray: ...
def tensordot(
    x1: usm_ndarray, x2: usm_ndarray, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> usm_ndarray: ...
def trace(x: usm_ndarray, /, *, offset: int = 0, dtype: _DtypeLike | None = None) -> usm_ndarray: ...
def vecdot(x1: usm_ndarray, x2: usm_ndarray, /, *, axis: int = -1) -> usm_ndarray: ...
def vector_norm(
    x: usm_ndarray, /, *, axis: int | Sequence[int] | None = None, keepdims: builtins.bool = False, ord: int | float = 2
) -> usm_ndarray: ...

__all__ = [
    "matrix_transpose",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
