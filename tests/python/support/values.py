"""Raw bytes of elements, so that values are checked without trusting the array under test."""

import struct
from collections.abc import Iterable, Sequence
from typing import Any

# Every element type of the interface: name -> (typestr code, struct format of one part, parts).
DTYPES = {
    "bool": ("b1", "?", 1),
    "int8": ("i1", "b", 1),
    "int16": ("i2", "h", 1),
    "int32": ("i4", "i", 1),
    "int64": ("i8", "q", 1),
    "uint8": ("u1", "B", 1),
    "uint16": ("u2", "H", 1),
    "uint32": ("u4", "I", 1),
    "uint64": ("u8", "Q", 1),
    "float16": ("f2", "e", 1),
    "float32": ("f4", "f", 1),
    "float64": ("f8", "d", 1),
    "complex64": ("c8", "f", 2),
    "complex128": ("c16", "d", 2),
}


def itemsize(dtype: str) -> int:
    _, part, parts = DTYPES[dtype]
    return struct.calcsize(f"={part}") * parts


def pack(dtype: str, values: Iterable[Any]) -> bytes:
    """Native bytes of `values`."""
    _, part, parts = DTYPES[dtype]
    if parts == 1:
        return b"".join(struct.pack(f"={part}", v) for v in values)
    return b"".join(struct.pack(f"={part}{part}", complex(v).real, complex(v).imag) for v in values)


def unpack(dtype: str, data: bytes) -> list[Any]:
    """The elements whose native bytes are `data`."""
    _, part, parts = DTYPES[dtype]
    flat = [v for (v,) in struct.iter_unpack(f"={part}", data)]
    if parts == 1:
        return flat
    return [complex(re, im) for re, im in zip(flat[::2], flat[1::2], strict=True)]


def counting(dtype: str, count: int, start: int = 0) -> list[Any]:
    """`count` values that every width can hold, different as far as the type allows."""
    numbers = [(start + i) % 100 for i in range(count)]
    kind = DTYPES[dtype][0][0]
    if kind == "b":
        return [n % 2 == 1 for n in numbers]
    if kind == "f":
        return [n + 0.5 for n in numbers]
    if kind == "c":
        return [complex(n, -n - 1) for n in numbers]
    return numbers


def nested(values: Sequence[Any], shape: Sequence[int]) -> Any:
    """Row-major `values` as nested lists of `shape`; a 0-d shape gives the one value."""
    if not shape:
        return values[0]
    step = len(values) // shape[0] if shape[0] else 0
    return [nested(values[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def flattened(values: Any) -> list[Any]:
    """The elements of nested lists in row-major order."""
    if not isinstance(values, list):
        return [values]
    return [element for part in values for element in flattened(part)]
