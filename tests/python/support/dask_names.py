"""The names of CuPy in Dask's own tests of a chunk type, as ours: the functions are NumPy's, on arrays of this package.

A name that is not here is NumPy's, whose protocols find ours.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

import usm.tensor as ut
from usm.dask._creation import RandomState

__version__ = "99.0"
ndarray = ut.usm_ndarray
asnumpy = ut.asnumpy
_like = ut.empty(0)


def __getattr__(name: str) -> Any:
    return getattr(np, name)


def _created(function: Any) -> Any:
    return lambda *arguments, **keywords: function(*arguments, **keywords, like=_like)


array, asarray, asanyarray = _created(np.array), _created(np.asarray), _created(np.asanyarray)
ascontiguousarray, asfortranarray = _created(np.ascontiguousarray), _created(np.asfortranarray)
arange, eye, ones, tri, zeros = map(_created, (np.arange, np.eye, np.ones, np.tri, np.zeros))


class _Generator:
    """Random numbers of NumPy, copied."""

    def __init__(self, seed: object = None) -> None:
        self._theirs = np.random.default_rng(seed)

    def __getattr__(self, name: str) -> Any:
        theirs = getattr(self._theirs, name)
        return lambda *arguments, **keywords: ut.asarray(theirs(*arguments, **keywords))


random = SimpleNamespace(RandomState=RandomState, default_rng=_Generator)
