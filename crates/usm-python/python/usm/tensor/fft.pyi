"""Types of `usm.tensor.fft`."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from .._usm import usm_ndarray

_Operand: TypeAlias = usm_ndarray | complex
_DtypeLike: TypeAlias = Any

def fft(
    x: usm_ndarray,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> usm_ndarray: ...
def ifft(
    x: usm_ndarray,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> usm_ndarray: ...
def fftn(
    x: usm_ndarray,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> usm_ndarray: ...
def ifftn(
    x: usm_ndarray,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> usm_ndarray: ...
def rfft(
    x: usm_ndarray,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> usm_ndarray: ...
def irfft(
    x: usm_ndarray,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> usm_ndarray: ...
def rfftn(
    x: usm_ndarray,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> usm_ndarray: ...
def irfftn(
    x: usm_ndarray,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> usm_ndarray: ...
def hfft(
    x: usm_ndarray,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> usm_ndarray: ...
def ihfft(
    x: usm_ndarray,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: Literal["backward", "ortho", "forward"] = "backward",
) -> usm_ndarray: ...
def fftshift(x: usm_ndarray, /, *, axes: int | Sequence[int] | None = None) -> usm_ndarray: ...
def ifftshift(x: usm_ndarray, /, *, axes: int | Sequence[int] | None = None) -> usm_ndarray: ...
def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: _DtypeLike | None = None, device: Any | None = None
) -> usm_ndarray: ...
def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: _DtypeLike | None = None, device: Any | None = None
) -> usm_ndarray: ...

__all__ = [
    "fft",
    "ifft",
    "fftn",
    "ifftn",
    "rfft",
    "irfft",
    "rfftn",
    "irfftn",
    "hfft",
    "ihfft",
    "fftshift",
    "ifftshift",
    "fftfreq",
    "rfftfreq",
]
