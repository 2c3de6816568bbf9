"""The contenders on a CUDA device, all of them on one stream: their arrays, their waits, events and plain copies."""

import functools
import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

# Elements of the block that the content of an array repeats. A prime, so that no row begins like the row before it.
BLOCK = 1_048_573
# The dtypes that NumPy does not know by itself, and the bytes of an element.
NARROW = {"bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1}


class NoDeviceError(Exception):
    """There is no CUDA device here."""


@functools.cache
def queue() -> Any:
    """A queue of the first CUDA device. The other libraries use its stream."""
    import usm

    for device in usm.get_devices():
        if device.backend == "cuda" and (found := usm.SyclQueue(device)).native_stream is not None:
            return found
    reasons = [backend["reason"] for backend in usm.backends() if backend["name"] == "cuda"]
    raise NoDeviceError(f"a CUDA device is required: {reasons[0] if reasons and reasons[0] else 'there is none'}")


@dataclass(frozen=True)
class Array:
    """`values`: `numbers`, `small` ones, `mask` or `order`, a scattered permutation of its indices, each times `step`;
    `shift`: elements between an address that is a multiple of 256 bytes and the first element."""

    shape: tuple[int, ...]
    dtype: str
    values: str = "numbers"
    shift: int = 0
    step: int = 1

    @property
    def itemsize(self) -> int:
        return NARROW.get(self.dtype) or int(self.dtype[1:])

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.itemsize

    @property
    def span(self) -> int:
        """Bytes up to its end, with the ones before its first element."""
        return self.nbytes + self.shift * self.itemsize


@functools.lru_cache(4)
def content(array: Array) -> Any:
    """NumPy's bytes of the whole array, or of a block that it repeats. Floating-point numbers are small integers, so
    that sums and casts are exact, and narrow ones any that are positive and finite."""
    import numpy

    count = array.shift + math.prod(array.shape)
    if array.values == "order":
        return (order(count) * array.step).astype(array.dtype).view("u1")
    generator = numpy.random.default_rng(len(array.shape) + array.itemsize)
    count = min(count, BLOCK)
    if array.values == "mask":
        return generator.integers(0, 2, count, "u1")
    if array.dtype in NARROW:
        # Above these bits of an element are infinity and NaN.
        return generator.integers(0, 0x78 << 8 * (array.itemsize - 1), count, f"u{array.itemsize}").view("u1")
    if array.dtype[0] in "fc":
        most = 16 if array.values == "small" else 2000
        return generator.integers(-most, most + 1, count, "i4").astype(array.dtype).view("u1")
    return generator.integers(0, 256, count * array.itemsize, "u1")


def order(count: int) -> Any:
    """A permutation of the indices: products with odd numbers and shifts, modulo a power of two, without what is too
    large."""
    import numpy

    bits = max(1, (count - 1).bit_length())
    index, mask = numpy.arange(1 << bits, dtype="i8"), (1 << bits) - 1
    for factor in (0x9E3779B1, 0x85EBCA6B):
        index = index * factor & mask
        index ^= index >> (bits + 1) // 2
    return index[index < count]


class Side:
    """A library. `memory` has bytes for each name of an operand, kept from case to case: making and freeing
    gigabytes takes longer than measuring."""

    name = ""

    def __init__(self) -> None:
        self.memory: dict[str, Any] = {}
        self.loaded: dict[str, Array] = {}

    def bytes_of(self, name: str, nbytes: int) -> Any:
        """At least so many bytes under this name."""
        if name not in self.memory or self.size(self.memory[name]) < nbytes:
            self.memory.pop(name, None)
            self.loaded.pop(name, None)
            self.memory[name] = self.allocate(max(nbytes, 256))
        return self.memory[name]

    def operand(self, name: str, array: Array, is_written: bool) -> Any:
        """The array over the memory of this name, with its content."""
        memory = self.bytes_of(name, array.span)
        if self.loaded.get(name) != array:
            self.load(memory, name, array)
            self.loaded[name] = array
        if is_written:
            self.loaded.pop(name)
        return self.over(memory, array)

    def names(self) -> dict[str, Any]:
        raise NotImplementedError

    def allocate(self, nbytes: int) -> Any:
        raise NotImplementedError

    def size(self, memory: Any) -> int:
        return memory.nbytes

    def load(self, memory: Any, name: str, array: Array) -> None:
        """Copies what the same operand of ours has."""
        import usm.tensor as xp

        ours = side(Usm).bytes_array(side(Usm).content_of(array), array.span)
        xp.asarray(memory[: array.span], sycl_queue=queue())[...] = ours
        queue().wait()

    def over(self, memory: Any, array: Array) -> Any:
        raise NotImplementedError

    def host_bytes(self, result: Any) -> bytes:
        raise NotImplementedError

    def wait(self) -> None:
        raise NotImplementedError


class Usm(Side):
    name = "usm"

    def __init__(self) -> None:
        super().__init__()
        import usm.memory
        import usm.tensor

        self.xp, self.memory_class = usm.tensor, usm.memory.MemoryUSMDevice
        self.queue = queue()

    def names(self) -> dict[str, Any]:
        return {
            "xp": self.xp,
            "permute": self.xp.permute_dims,
            "broadcast": self.xp.broadcast_to,
            "queue": self.queue,
            "wait": self.queue.wait,
        }

    def allocate(self, nbytes: int) -> Any:
        return self.memory_class(nbytes, queue=self.queue)

    def bytes_array(self, memory: Any, nbytes: int) -> Any:
        return self.xp.usm_ndarray((nbytes,), dtype="u1", buffer=memory)

    def content_of(self, array: Array) -> Any:
        """Memory that has the content of an array and that no operation writes. The last ones are kept."""
        key = f"content of {array}"
        if key not in self.memory:
            kept = [name for name in self.memory if name.startswith("content of")]
            for name in kept[: max(0, len(kept) - 3)]:
                del self.memory[name]
            self.memory[key] = self.allocate(max(array.span, 256))
            self.fill(self.memory[key], array)
        return self.memory[key]

    def fill(self, memory: Any, array: Array) -> None:
        """Repeats the block over the memory, in pieces that double."""
        block, target = content(array), self.bytes_array(memory, array.span)
        done = len(block)
        target[:done] = block
        while done < array.span:
            more = min(done, array.span - done)
            target[done : done + more] = target[:more]
            done += more
        tail = min(64, array.span)
        expected = block.take(range(array.span - tail, array.span), mode="wrap")
        if self.xp.asnumpy(target[-tail:]).tobytes() != expected.tobytes():
            raise RuntimeError("contiguous copies into device memory are wrong: no case can be measured")

    def load(self, memory: Any, name: str, array: Array) -> None:
        self.bytes_array(memory, array.span)[...] = self.bytes_array(self.content_of(array), array.span)

    def over(self, memory: Any, array: Array) -> Any:
        dtype = "?" if array.values == "mask" else array.dtype
        return self.xp.usm_ndarray(array.shape, dtype=dtype, buffer=memory, offset=array.shift)

    def host_bytes(self, result: Any) -> bytes:
        return self.xp.asnumpy(result).tobytes()

    def wait(self) -> None:
        self.queue.wait()

    def copier(self, nbytes: int) -> Callable[[], object]:
        source, target = self.bytes_of("a", nbytes), self.bytes_of("o", nbytes)
        self.loaded.pop("o", None)
        return lambda: self.queue.memcpy_async(target, source, nbytes)

    def setter(self, nbytes: int) -> Callable[[], object]:
        target = self.bytes_of("o", nbytes)
        self.loaded.pop("o", None)
        return lambda: self.queue.memset_async(target, 7, nbytes)

    def timer(self) -> tuple[Callable[[], object], Callable[[], float]]:
        """The clock of the process: for smoke runs, where no other library has events."""
        started = [0]

        def start() -> None:
            started[0] = time.perf_counter_ns()

        def stop() -> float:
            self.wait()
            return float(time.perf_counter_ns() - started[0])

        return start, stop


class CuPy(Side):
    name = "CuPy"

    def __init__(self) -> None:
        super().__init__()
        self.xp = import_module("cupy")
        cuda = self.xp.cuda
        external = getattr(cuda, "ExternalStream", None)
        self.stream = external(queue().native_stream) if external else cuda.Stream.from_external(queue())
        self.stream.use()

    def names(self) -> dict[str, Any]:
        xp = self.xp
        return {"xp": xp, "permute": xp.transpose, "broadcast": xp.broadcast_to, "wait": self.stream.synchronize}

    def allocate(self, nbytes: int) -> Any:
        return self.xp.empty(nbytes, "u1")

    def over(self, memory: Any, array: Array) -> Any:
        dtype = "?" if array.values == "mask" else array.dtype
        return self.xp.ndarray(array.shape, dtype, memptr=memory.data + array.shift * array.itemsize)

    def host_bytes(self, result: Any) -> bytes:
        return self.xp.asnumpy(result).tobytes()

    def taken(self, result: Any, of: type[Side], expected: Any) -> Any:
        """The elements of another library's result as an array of this one."""
        if of is PyTorch:
            return self.xp.ascontiguousarray(self.xp.asarray(result))
        return filled_by_ours(self.xp.empty(expected.shape, expected.dtype), result)

    def same(self, one: Any, other: Any) -> bool:
        return bool((one.ravel().view("u1") == other.ravel().view("u1")).all())

    def wait(self) -> None:
        self.stream.synchronize()

    def copier(self, nbytes: int) -> Callable[[], object]:
        source, target = self.bytes_of("a", nbytes), self.bytes_of("o", nbytes)
        self.loaded.pop("o", None)
        copy, to_device = self.xp.cuda.runtime.memcpyAsync, self.xp.cuda.runtime.memcpyDeviceToDevice
        return lambda: copy(target.data.ptr, source.data.ptr, nbytes, to_device, self.stream.ptr)

    def setter(self, nbytes: int) -> Callable[[], object]:
        target = self.bytes_of("o", nbytes)
        self.loaded.pop("o", None)
        return lambda: self.xp.cuda.runtime.memsetAsync(target.data.ptr, 7, nbytes, self.stream.ptr)

    def timer(self) -> tuple[Callable[[], object], Callable[[], float]]:
        events = [self.xp.cuda.Event() for _ in range(2)]

        def stop() -> float:
            events[1].record(self.stream)
            events[1].synchronize()
            return self.xp.cuda.get_elapsed_time(*events) * 1e6

        return lambda: events[0].record(self.stream), stop


class PyTorch(Side):
    name = "PyTorch"

    def __init__(self) -> None:
        super().__init__()
        self.xp = import_module("torch")
        self.stream = self.xp.cuda.ExternalStream(queue().native_stream)
        self.xp.cuda.set_stream(self.stream)
        names = {"b1": "bool", "u1": "uint8", "u2": "int16", "i4": "int32", "i8": "int64"}
        names |= {"f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128"}
        # Where elements are only moved, a type of the same size does.
        self.dtypes = {short: getattr(self.xp, long) for short, long in names.items()}
        self.dtypes |= {name: getattr(self.xp, name) for name in NARROW}

    def names(self) -> dict[str, Any]:
        xp = self.xp
        return {"xp": xp, "permute": xp.permute, "broadcast": xp.broadcast_to, "wait": self.stream.synchronize}

    def allocate(self, nbytes: int) -> Any:
        return self.xp.empty(nbytes, dtype=self.xp.uint8, device="cuda")

    def over(self, memory: Any, array: Array) -> Any:
        dtype = self.dtypes["b1" if array.values == "mask" else array.dtype]
        return memory[array.shift * array.itemsize : array.span].view(dtype).view(array.shape)

    def host_bytes(self, result: Any) -> bytes:
        return self.integers(result).cpu().numpy().tobytes()

    def taken(self, result: Any, of: type[Side], expected: Any) -> Any:
        empty = self.xp.empty(expected.shape, dtype=expected.dtype, device="cuda")
        return filled_by_ours(empty, result)

    def same(self, one: Any, other: Any) -> bool:
        return self.xp.equal(self.integers(one), self.integers(other))

    def integers(self, result: Any) -> Any:
        """Narrow numbers as integers: neither NumPy nor a comparison knows them."""
        if result.dtype not in [self.dtypes[name] for name in NARROW]:
            return result
        return result.view(self.xp.uint8 if result.element_size() == 1 else self.xp.int16)

    def wait(self) -> None:
        self.stream.synchronize()

    def copier(self, nbytes: int) -> Callable[[], object]:
        source, target = self.bytes_of("a", nbytes)[:nbytes], self.bytes_of("o", nbytes)[:nbytes]
        self.loaded.pop("o", None)
        return lambda: target.copy_(source)

    def setter(self, nbytes: int) -> Callable[[], object]:
        target = self.bytes_of("o", nbytes)[:nbytes]
        self.loaded.pop("o", None)
        return lambda: target.zero_()

    def timer(self) -> tuple[Callable[[], object], Callable[[], float]]:
        events = [self.xp.cuda.Event(enable_timing=True) for _ in range(2)]

        def stop() -> float:
            events[1].record(self.stream)
            events[1].synchronize()
            return events[0].elapsed_time(events[1]) * 1e6

        return lambda: events[0].record(self.stream), stop


class OnHost(Side):
    """NumPy, which runs the statements of CuPy on copies: what results have to be where CuPy is not there."""

    name = "NumPy"

    def names(self) -> dict[str, Any]:
        import numpy

        return {"xp": numpy, "permute": numpy.transpose, "broadcast": numpy.broadcast_to}

    def operand(self, name: str, array: Array, is_written: bool) -> Any:
        import numpy

        if array.dtype in NARROW:
            import_module("ml_dtypes")  # teaches NumPy these dtypes
        ours = side(Usm)
        copied = bytearray(ours.host_bytes(ours.bytes_array(ours.content_of(array), array.span)))
        dtype = "?" if array.values == "mask" else array.dtype
        return numpy.frombuffer(copied, dtype, offset=array.shift * array.itemsize).reshape(array.shape)

    def host_bytes(self, result: Any) -> bytes:
        return result.tobytes()

    def wait(self) -> None:
        pass


_sides: dict[type[Side], Side] = {}


def side(which: type[Side]) -> Any:
    """The one of this process. Its first use imports the library: a missing one leaves the others."""
    if which not in _sides:
        _sides[which] = which()
    return _sides[which]


def filled_by_ours(target: Any, result: Any) -> Any:
    """Another library's array, after the elements of an array of ours are copied into it."""
    ours = side(Usm)
    ours.xp.asarray(target, sycl_queue=ours.queue)[...] = result
    ours.wait()
    return target


@functools.cache
def plain() -> Any:
    """The library whose copies, fills and events everything is compared with: not ours where another one works."""
    for which in (CuPy, PyTorch):
        with suppress(Exception):
            start, stop = side(which).timer()
            start()
            side(which).copier(256)()
            stop()
            return side(which)
    return side(Usm)


def is_usable() -> bool:
    """False after a fault that leaves the device's context broken in this process."""
    try:
        ours = side(Usm)
        found = ours.xp.asnumpy(ours.xp.asarray([1, 2], "u1", usm_type="device", sycl_queue=ours.queue)).tolist()
        plain().wait()
    except Exception:  # Each library has its own.
        return False
    return found == [1, 2]


def release() -> None:
    """Gives back what results of a case took."""
    if CuPy in _sides:
        _sides[CuPy].xp.get_default_memory_pool().free_all_blocks()
    if PyTorch in _sides:
        _sides[PyTorch].xp.cuda.empty_cache()
