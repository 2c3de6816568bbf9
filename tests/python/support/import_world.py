"""Valid sources for imports, the check of results, and what the paths of imports have in common."""

import bisect
import ctypes
import importlib.util
from collections.abc import Callable
from typing import Any

import usm
import usm.memory as um
import usm.tensor as ut
from usm._usm import DType, _Memory

from .interface import Producer
from .mutations import Mutator

KINDS = {"host": um.MemoryUSMHost, "device": um.MemoryUSMDevice, "shared": um.MemoryUSMShared}
#: Memory of the pool: more than any valid object needs.
LIMIT_BYTES = 64 << 20
#: Bytes of the host memory in the middle of which tensors and buffers of others are.
BLOCK_BYTES = 1 << 20
HAS_NUMPY = importlib.util.find_spec("numpy") is not None

#: A function, and what it gets.
Call = tuple[Callable[..., Any], tuple[Any, ...]]


class Source:
    """An array over a part of an allocation."""

    def __init__(self, memory: Any, array: ut.usm_ndarray) -> None:
        self.memory, self.array = memory, array
        self.first, self.end = memory._pointer, memory._pointer + memory.nbytes
        self.interface = array.__sycl_usm_array_interface__


class Block:
    """Host memory that is no USM."""

    def __init__(self) -> None:
        self.bytes = bytearray(BLOCK_BYTES)
        self.first = ctypes.addressof(ctypes.c_char.from_buffer(self.bytes))
        self.end, self.middle = self.first + BLOCK_BYTES, self.first + BLOCK_BYTES // 2

    def has(self, low: int, high: int) -> bool:
        return self.first <= low and high <= self.end


class World:
    """What all paths need."""

    def __init__(self, device: str) -> None:
        self.queue = usm.SyclQueue(device)
        self.pool = um.use_pool(self.queue.sycl_device, limit_bytes=LIMIT_BYTES)
        self.sources = [source for kind in KINDS for source in self._sources(kind)]
        self.block = Block()
        others = [self.queue, self.queue.sycl_device, self.queue.sycl_context, self.queue.submit_barrier()]
        others += [self.sources[0].array, self.sources[0].memory, DType("f8"), Producer(self.sources[0].interface)]
        if HAS_NUMPY:
            import numpy

            others += [
                numpy.float32(1.5),
                numpy.int64(3),
                numpy.zeros((2, 3)),
                numpy.dtype("M8[s]"),
                numpy.array("text"),
            ]
            others += [numpy.zeros(3, dtype=[("a", "i4")]), numpy.bool_(True), numpy.uint64(7), numpy]
        self.mutator = Mutator(others)
        # What a path adds lies in these blocks.
        #: Bytes of the memory that another process shares.
        self.shared = 0
        self.starts: list[int] = []
        self.ends: list[int] = []
        for source in self.sources:
            self.add(source.first, source.end)
        self.add(self.block.first, self.block.end)

    def add(self, first: int, end: int) -> None:
        at = bisect.bisect(self.starts, first)
        if first not in self.starts:
            self.starts.insert(at, first)
            self.ends.insert(at, end)

    def _sources(self, kind: str) -> list[Source]:
        def make(shape: Any, dtype: str, **keywords: Any) -> Source:
            memory = KINDS[kind](4096, queue=self.queue)
            memory.memset(1)
            return Source(memory, ut.usm_ndarray(shape, dtype, buffer=memory, **keywords))

        read_only = make((4, 2), "c16")
        read_only.array.flags.writable = False
        return [
            make((4, 8), "f8"),
            make((3, 5, 2), "i4", strides=(-20, 2, 1), offset=50),
            make((100,), "u1", offset=7),
            make((), "b1"),
            make((0, 3), "f2"),
            Source(read_only.memory, read_only.array[1:, ::-1]),
        ]

    def check(self, result: Any, is_of_python: bool = False) -> None:
        """Each element lies in an allocation or in a block of this program, or in any object of Python."""
        if isinstance(result, list | tuple):
            for part in result:
                self.check(part, is_of_python)
        elif isinstance(result, ut.usm_ndarray):
            if result.size == 0:
                return
            steps = [(size - 1) * stride for size, stride in zip(result.shape, result.strides, strict=True)]
            item, first = result.itemsize, result._pointer
            low = first + sum(step for step in steps if step < 0) * item
            high = first + (sum(step for step in steps if step > 0) + 1) * item
            self.check_bytes(low, high, result.usm_data, is_of_python)
            self.touch(result)
        elif isinstance(result, _Memory):
            if result.nbytes:
                self.check_bytes(result._pointer, result._pointer + result.nbytes, result, is_of_python)

    def check_bytes(self, low: int, high: int, memory: Any, is_of_python: bool) -> None:
        at = bisect.bisect(self.starts, low) - 1
        if at >= 0 and high <= self.ends[at]:
            return
        # New memory.
        assert memory._pointer <= low and high <= memory._pointer + memory.nbytes, (hex(low), hex(high), memory)
        if is_of_python:
            memory.tobytes()
        elif self.mutator.choice.random() < 0.1:
            blocks = [
                live
                for live in um.snapshot()
                if not live.is_reserve and (live.holder != "borrowed" or live.nbytes == self.shared)
            ]
            places = [(live.address, live.address + live.nbytes) for live in blocks]
            assert any(first <= low and high <= end for first, end in places), (hex(low), hex(high), places)

    def touch(self, array: ut.usm_ndarray) -> None:
        """Reads all elements now and then."""
        is_far = array.usm_type == "device" and not array.sycl_device.is_cpu
        if array.size <= 256 and self.mutator.choice.random() < (0.02 if is_far else 0.2):
            array.tolist()


class Path:
    """A way in. `call` gives a function and what it gets."""

    #: How a refusal may look.
    errors: tuple[type[BaseException], ...] = (TypeError, ValueError)

    def __init__(self, world: World) -> None:
        self.world, self.mutator = world, world.mutator
        self.one_of, self.changed = world.mutator.one_of, world.mutator.changed

    def times(self) -> int:
        return self.one_of((1, 1, 1, 2, 3))

    def call(self) -> Call:
        raise NotImplementedError

    def check(self, result: Any) -> None:
        """Fails where a result is not what it may be."""
        self.world.check(result)

    def after(self) -> None:
        """After each execution, when its result is gone."""

    def after_round(self) -> None:
        """After each round."""
