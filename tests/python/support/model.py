"""A strided array in plain Python: the model for comparisons with the real one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .values import nested


@dataclass(frozen=True)
class Strided:
    """Elements of a flat list; strides and offset count elements."""

    flat: list[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @classmethod
    def c_order(cls, flat: list[Any], shape: Sequence[int]) -> Strided:
        return cls(flat, tuple(shape), c_strides(shape))

    def indices(self) -> Iterator[tuple[int, ...]]:
        return itertools.product(*map(range, self.shape))

    def position(self, index: Sequence[int]) -> int:
        """Where in `flat` the element is: the formula the container specification opens with."""
        return self.offset + sum(s * i for s, i in zip(self.strides, index, strict=True))

    def tolist(self) -> Any:
        return nested([self.flat[self.position(i)] for i in self.indices()], self.shape)

    def transposed(self) -> Strided:
        return Strided(self.flat, self.shape[::-1], self.strides[::-1], self.offset)

    def __getitem__(self, key: Any) -> Strided:
        parts = list(key) if isinstance(key, tuple) else [key]
        if Ellipsis not in parts:
            parts.append(Ellipsis)
        named = sum(1 for p in parts if p is not None and p is not Ellipsis)
        at = parts.index(Ellipsis)
        parts[at : at + 1] = [slice(None)] * (len(self.shape) - named)
        shape, strides, offset, axis = [], [], self.offset, 0
        for part in parts:
            if part is None:
                shape.append(1)
                strides.append(0)
                continue
            length, stride = self.shape[axis], self.strides[axis]
            axis += 1
            if isinstance(part, slice):
                steps = range(*part.indices(length))
                shape.append(len(steps))
                strides.append(stride * steps.step)
                offset += stride * steps.start if len(steps) else 0
            else:
                offset += stride * range(length)[part]
        return Strided(self.flat, tuple(shape), tuple(strides), offset)


def c_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a C-contiguous array; axes of length 0 count as 1."""
    return tuple(math.prod(max(n, 1) for n in shape[k + 1 :]) for k in range(len(shape)))


def is_c_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """True when row-major order visits consecutive elements; axes of length 1 do not matter."""
    if math.prod(shape) == 0:
        return True
    return all(n == 1 or s == c for n, s, c in zip(shape, strides, c_strides(shape), strict=True))
