"""Layouts for the tests of every import and export."""

from collections.abc import Callable
from typing import Any

import usm.tensor as ut

from .model import Strided
from .values import counting, itemsize, pack

SHAPES = [(), (0,), (1,), (7,), (0, 3), (3, 0, 2), (3, 4), (2, 3, 4), (2, 1, 3, 2), (2, 3, 1, 2, 2)]

# name: (shape, strides, offset) over a buffer of 60 elements
STRIDED = {
    "offset_view": ((3,), (1,), 5),
    "every_third": ((20,), (3,), 0),
    "submatrix": ((2, 3), (10, 1), 23),
    "transposed": ((5, 3), (1, 5), 0),
    "permuted_3d": ((2, 3, 4), (1, 2, 6), 0),
    "reversed_1d": ((10,), (-1,), 9),
    "reversed_step": ((8,), (-3,), 25),
    "reversed_rows": ((3, 4), (-4, 1), 8),
    "reversed_columns": ((3, 4), (4, -1), 3),
    "reversed_both": ((3, 4), (-4, -1), 11),
    "reversed_5d": ((2, 2, 2, 2, 2), (16, -8, 4, -2, 1), 10),
    "broadcast_row": ((4, 3), (0, 1), 2),
    "broadcast_all": ((4, 3), (0, 0), 59),
    "broadcast_and_reversed": ((2, 3, 4), (-12, 0, 2), 20),
    "diagonal": ((7,), (8,), 0),
    "length_one_axis": ((3, 1, 2), (2, 77, 1), 0),
    "zero_dimensional": ((), (), 17),
    "empty_with_offset": ((0, 4), (4, 1), 8),
    "overlapping_windows": ((8, 3), (1, 1), 0),
}


def strided_array(allocate: Callable[..., Any], usm_type: str, name: str, dtype: str = "int32") -> tuple[Any, Any]:
    """An array with the layout of that name over 60 counting elements, and its elements as nested lists."""
    shape, strides, offset = STRIDED[name]
    flat = counting(dtype, 60)
    memory = allocate(usm_type, 60 * itemsize(dtype))
    memory.copy_from_host(pack(dtype, flat))
    array = ut.usm_ndarray(shape, dtype=dtype, buffer=memory, strides=strides, offset=offset)
    return array, Strided(flat, shape, strides, offset).tolist()
