"""Random arrays: the same elements in the same layout, in NumPy and in USM of every kind on each backend."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import usm
import usm.tensor as ut

from . import requirements
from .values import DTYPES

BOOL = ["bool"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = [*SIGNED, *UNSIGNED]
REALS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
ALL = list(DTYPES)
SPECIAL = [np.nan, np.inf, -np.inf, -0.0]


@dataclass(frozen=True)
class MemoryPlace:
    queue: usm.SyclQueue
    usm_type: str

    def put(self, array: Any) -> ut.usm_ndarray:
        """A copy of a NumPy array, C-contiguous."""
        return ut.asarray(
            np.ascontiguousarray(array).reshape(array.shape), usm_type=self.usm_type, sycl_queue=self.queue
        )

    def __repr__(self) -> str:
        return f"{self.usm_type} memory on {self.queue.sycl_device.filter_string}"


def _places() -> list[MemoryPlace]:
    devices = ["host:cpu:0"]
    if not requirements.NO_SYCL:
        found = [device.filter_string for device in usm.get_devices() if device.backend != "host"]
        if not found and requirements.REQUIRE_SYCL:
            raise RuntimeError("a SYCL device is required here and missing")
        devices += found[:1]
    queues = [usm.SyclQueue(device) for device in devices]
    return [MemoryPlace(queue, kind) for queue in queues for kind in ("host", "shared", "device")]


PLACES = _places()


@dataclass(frozen=True)
class Pair:
    ours: ut.usm_ndarray
    theirs: Any


def elements(seed: int, dtype: str, shape: tuple[int, ...]) -> Any:
    """Small numbers, so that every cast between dtypes keeps most of them; NaN, infinities and -0.0 among real ones."""
    random = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind

    def reals() -> Any:
        values = random.integers(-100, 100, shape) / 4
        special = random.random(shape) < 0.1
        return np.where(special, random.choice(SPECIAL, shape), values)

    if kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if kind in "iu":
        return np.asarray(random.integers(0 if kind == "u" else -100, 100, shape)).astype(dtype)
    if kind == "f":
        return reals().astype(dtype)
    parts = np.zeros(shape, dtype)
    parts.real, parts.imag = reals(), reals()
    return parts


shapes = st.lists(st.integers(0, 4), max_size=3).map(tuple)
places = st.sampled_from(PLACES)
seeds = st.integers(0, 2**32 - 1)


@st.composite
def pairs(draw: Any, place: Any = places, dtypes: Any = ALL, shape: Any = shapes, strided: bool = True) -> Pair:
    """Arrays with steps of -2 to 2 along axes that lie in any order."""
    where, dtype, size = draw(place), draw(st.sampled_from(dtypes)), draw(shape)
    ndim = len(size)
    steps = [draw(st.sampled_from([1, 1, -1, 2, -2])) if strided else 1 for _ in size]
    order = draw(st.permutations(range(ndim))) if strided else range(ndim)
    # Axis k of the array is axis places[k] of memory.
    whole = [0] * ndim
    cut = [slice(None)] * ndim
    for axis, lies in enumerate(order):
        whole[lies] = size[axis] * abs(steps[axis])
        cut[lies] = slice(None, None, steps[axis])
    theirs = np.asarray(elements(draw(seeds), dtype, tuple(whole)))
    ours = where.put(theirs)
    return Pair(ut.permute_dims(ours[tuple(cut)], tuple(order)), theirs[(*cut, ...)].transpose(order))


def same_elements(ours: Any, theirs: Any) -> None:
    """Shape, dtype and elements; NaN equals NaN."""
    theirs = np.asarray(theirs)
    assert isinstance(ours, ut.usm_ndarray)
    assert ours.shape == theirs.shape
    assert np.dtype(ours.dtype) == theirs.dtype
    np.testing.assert_array_equal(ut.asnumpy(ours), theirs)


def same(ours: Any, theirs: Any, *operands: Any) -> None:
    """As same_elements, and the place follows from the operands."""
    same_elements(ours, theirs)
    assert ours.sycl_queue == operands[0].sycl_queue
    kinds = [operand.usm_type for operand in operands]
    assert ours.usm_type == max(kinds, key=["host", "shared", "device"].index)


def same_view(ours: Any, theirs: Any, base: Pair) -> None:
    """As same, and the elements are those of `base`, at the same distance from its first one."""
    same(ours, theirs, base.ours)
    assert ours.usm_data._pointer == base.ours.usm_data._pointer
    if theirs.size and isinstance(theirs, np.ndarray):  # not a NumPy number, which is a copy

        def address(array: Any) -> int:
            return array.__array_interface__["data"][0]

        assert ours._pointer - base.ours._pointer == address(theirs) - address(base.theirs)
        wide = [n > 1 for n in theirs.shape]
        strides = [stride // theirs.itemsize for stride in theirs.strides]
        assert [s for s, w in zip(ours.strides, wide, strict=True) if w] == [
            s for s, w in zip(strides, wide, strict=True) if w
        ]


def same_order(ours: Any, theirs: Any) -> None:
    """The axes lie in memory as NumPy's."""
    if theirs.size and isinstance(theirs, np.ndarray):  # not a NumPy number, which is a copy
        wide = [axis for axis, n in enumerate(theirs.shape) if n > 1]
        assert [ours.strides[axis] for axis in wide] == [theirs.strides[axis] // theirs.itemsize for axis in wide]
