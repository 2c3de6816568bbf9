"""Strided arrays over USM.

Strides and offsets count elements. Slicing, transposing and new axes give views
of the same memory. NumPy is optional: only :func:`asnumpy` needs it.
"""

from .._usm import asarray, asnumpy, empty, usm_ndarray, zeros

USMArray = usm_ndarray

__all__ = [
    "USMArray",
    "asarray",
    "asnumpy",
    "empty",
    "usm_ndarray",
    "zeros",
]
