"""The creation of dask arrays over USM, with dask's setting ``array.backend: usm``."""

# Dask has no types here.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUntypedBaseClass=false

from __future__ import annotations

from importlib import import_module

import usm.tensor as ut

from ..tensor import usm_ndarray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["RandomState", "UsmBackend"]

da: Any = import_module("dask.array")
dask: Any = import_module("dask")
np: Any = import_module("numpy")
_Backend: Any = import_module("dask.array.backends").ArrayBackendEntrypoint


def _meta() -> usm_ndarray:
    """An array of no elements, which tells dask the type of chunks and their device: the default one."""
    return ut.empty(0)


def _created(name: str, arguments: Any, keywords: dict[str, Any]) -> Any:
    """What dask creates with chunks as those of `like` or `meta`."""
    what = "like" if name == "arange" else "meta"
    if keywords.get(what) is None:
        keywords[what] = _meta()
    with dask.config.set({"array.backend": "numpy"}):
        return getattr(da, name)(*arguments, **keywords)


def _moved(array: Any) -> usm_ndarray:
    return ut.asarray(array)


class RandomState:
    """NumPy's random numbers, copied to the default device of the worker."""

    def __init__(self, seed: Any = None) -> None:
        self._state = np.random.RandomState(seed)

    def __getattr__(self, name: str) -> Any:
        theirs = getattr(self._state, name)

        def drawn(*arguments: Any, **keywords: Any) -> Any:
            value = theirs(*arguments, **keywords)
            return ut.asarray(value) if isinstance(value, np.ndarray) else value

        return drawn if callable(theirs) else theirs


class UsmBackend(_Backend):  # type: ignore[misc]
    """The entry point ``usm`` of ``dask.array.backends``."""

    @classmethod
    def to_backend_dispatch(cls) -> Callable[[Any], usm_ndarray]:
        """What moves a chunk to USM."""
        return _moved

    @classmethod
    def to_backend(cls, data: Any, **keywords: Any) -> Any:
        """A dask array with chunks in USM."""
        if isinstance(data._meta, usm_ndarray):
            return data
        return data.map_blocks(_moved, **{"dtype": data.dtype, "meta": _moved(data._meta)} | keywords)

    @property
    def RandomState(self) -> type[RandomState]:
        """What draws random numbers with ``dask.array.random.RandomState``."""
        return RandomState

    @property
    def default_bit_generator(self) -> Any:
        """What draws random numbers with ``dask.array.random.default_rng``: these are NumPy's, and its arrays."""
        return np.random.PCG64

    @staticmethod
    def ones(*arguments: Any, **keywords: Any) -> Any:
        """A dask array of ones."""
        return _created("ones", arguments, keywords)

    @staticmethod
    def zeros(*arguments: Any, **keywords: Any) -> Any:
        """A dask array of zeros."""
        return _created("zeros", arguments, keywords)

    @staticmethod
    def empty(*arguments: Any, **keywords: Any) -> Any:
        """A dask array of any values."""
        return _created("empty", arguments, keywords)

    @staticmethod
    def full(*arguments: Any, **keywords: Any) -> Any:
        """A dask array of one number."""
        return _created("full", arguments, keywords)

    @staticmethod
    def arange(*arguments: Any, **keywords: Any) -> Any:
        """A dask array of evenly spaced numbers."""
        return _created("arange", arguments, keywords)
