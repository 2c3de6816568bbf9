"""Structures that are made by hand: tensors of DLPack, and views of the buffer protocol."""

import array as arrays
import bisect
import ctypes
import gc
import pickle
from collections.abc import Callable
from typing import Any

import usm
import usm.ipc
import usm.memory as um
import usm.tensor as ut

from . import capsules
from .buffers import Exporter, bounds
from .dlpack import VERSIONED, CapsuleExporter, External
from .import_world import HAS_NUMPY, KINDS, Call, Path, World
from .mutations import ACTIONS


class Tensors(Path):
    """Capsules of DLPack, made by hand."""

    errors = (TypeError, ValueError, BufferError, usm.UsmError)
    #: Code, bits and lanes of valid elements.
    dtypes = ((0, 32, 1), (0, 8, 1), (1, 64, 1), (2, 64, 1), (5, 128, 1), (6, 8, 1), (4, 16, 1))
    wrong_dtypes = ((0, 24, 1), (2, 16, 4), (3, 64, 1), (7, 8, 1), (17, 4, 2), (255, 255, 65535), (2, 0, 0), (5, 64, 0))

    def __init__(self, world: World, name: bytes) -> None:
        super().__init__(world)
        self.name, self.external = name, External(name)
        # As many numbers as a tensor may have axes.
        self.sizes, self.steps, self.ones = [(ctypes.c_int64 * 64)(*[1] * 64) for _ in range(3)]
        self.deleter = self.external.managed.deleter
        self.capsule: Any = None
        pair = ut.sycl_device_to_dldevice(world.queue.sycl_device)
        self.pairs = [(1, 0), (int(pair[0]), pair[1])]
        self.wrong_pairs = [
            (1, 1),
            (2, 0),
            (3, 0),
            (13, 0),
            (14, 0),
            (14, 9),
            (12, 0),
            (0, 0),
            (-1, -1),
            (99, 2**31 - 1),
        ]
        self.exporter = CapsuleExporter(self._capsule, (1, 0))
        queue = world.queue
        self.consumers: list[Callable[[Any], Any]] = [
            ut.from_dlpack,
            ut.from_dlpack,
            ut.asarray,
            lambda obj: ut.from_dlpack(obj, copy=True),
            lambda obj: ut.from_dlpack(obj, copy=False),
            lambda obj: ut.from_dlpack(obj, device=queue),
            lambda obj: ut.from_dlpack(obj, device=self.changed((1, 0))),
            lambda obj: ut.asarray(obj, dtype="f4", usm_type="shared", sycl_queue=queue),
            lambda obj: ut.asarray([obj, 1]),
        ]

    def _capsule(self) -> Any:
        kind = self.mutator.choice.random()
        if kind < 0.03:
            self.one_of(ACTIONS)(self.mutator)
        elif kind < 0.05:
            return self.mutator.value()
        elif kind < 0.07:
            # It takes its own capsule while it hands it out.
            ut.from_dlpack(CapsuleExporter(lambda: self.capsule))
        return self.capsule

    def call(self) -> Call:
        self.fill()
        while not self.is_checkable():
            self.fill()
        name = self.name if self.mutator.choice.random() < 0.95 else self.one_of((b"dltensor_", b"used_dltensor", None))
        self.capsule = capsules.make(ctypes.addressof(self.external.managed), name)
        self.renamed = name
        tensor = self.external.tensor
        self.exporter.device = (tensor.device_type, tensor.device_id)
        if self.mutator.choice.random() < 0.1:
            self.exporter.device = self.changed(self.exporter.device)
        return self.one_of(self.consumers), (self.exporter,)

    def fill(self) -> None:
        """A valid tensor with some of its fields spoiled."""
        external, one_of = self.external, self.one_of
        tensor, managed = external.tensor, external.managed
        external.deleted, managed.deleter = 0, self.deleter
        source = one_of(self.world.sources) if self.mutator.choice.random() < 0.5 else None
        tensor.data = self.world.block.middle if source is None else source.array._pointer
        tensor.device_type, tensor.device_id = self.pairs[source is not None]
        tensor.ndim, tensor.byte_offset = one_of((0, 1, 1, 2, 2, 3)), one_of((0, 0, 0, 16))
        tensor.code, tensor.bits, tensor.lanes = one_of(self.dtypes)
        # Nothing is left of the spoiled numbers of earlier tensors, of which `product` knows nothing.
        for numbers in (self.sizes, self.steps):
            ctypes.memmove(numbers, self.ones, ctypes.sizeof(self.ones))
        step = 1
        for axis in range(tensor.ndim):
            self.sizes[axis], self.steps[axis] = one_of((1, 2, 3)), step
            step *= self.sizes[axis]
        tensor.shape = ctypes.cast(self.sizes, ctypes.POINTER(ctypes.c_int64))
        tensor.strides = (
            ctypes.cast(self.steps, ctypes.POINTER(ctypes.c_int64)) if one_of((True, True, False)) else None
        )
        if self.name == VERSIONED:
            managed.major, managed.minor, managed.flags = 1, one_of((0, 1, 3, 9)), one_of((0, 1, 2, 3, 2**63))
        for _ in range(self.times()):
            one_of(self.spoilers)(self)

    def number(self) -> int:
        number = self.one_of((self.one_of(range(-5, 6)), self.mutator._number()))
        self.mutator.product *= max(1, abs(number))
        return number if -(2**63) <= number < 2**63 else 2**63 - 1

    def _spoil_ndim(self) -> None:
        self.external.tensor.ndim = self.one_of((0, 1, 2, 64, 65, -1, 2**31 - 1, -(2**31)))

    def _spoil_size(self) -> None:
        self.sizes[self.one_of((0, 1, 2, 63))] = self.number()

    def _spoil_step(self) -> None:
        self.steps[self.one_of((0, 1, 2, 63))] = self.number()

    def _spoil_offset(self) -> None:
        self.external.tensor.byte_offset = self.number() % 2**64

    def _spoil_dtype(self) -> None:
        tensor = self.external.tensor
        tensor.code, tensor.bits, tensor.lanes = self.one_of(self.wrong_dtypes)

    def _spoil_device(self) -> None:
        tensor = self.external.tensor
        tensor.device_type, tensor.device_id = self.one_of(self.wrong_pairs)

    def _spoil_data(self) -> None:
        tensor = self.external.tensor
        tensor.data = self.one_of((0, (tensor.data or 0) + self.one_of((1, 2, 4, 8))))

    def _spoil_pointers(self) -> None:
        if self.one_of((True, False)):
            self.external.tensor.shape = None
        else:
            self.external.managed.deleter = None

    def _spoil_version(self) -> None:
        if self.name == VERSIONED:
            self.external.managed.major = self.one_of((0, 2, 2**32 - 1))

    spoilers = (_spoil_ndim, _spoil_size, _spoil_size, _spoil_step, _spoil_step, _spoil_offset, _spoil_dtype)
    spoilers += (_spoil_device, _spoil_data, _spoil_pointers, _spoil_version)

    def is_checkable(self) -> bool:
        """Whether nobody has to trust the tensor: host memory that is no USM has no owner that could be asked."""
        tensor = self.external.tensor
        sizes = self.sizes[: max(0, min(64, tensor.ndim))]
        if tensor.device_type != 1 or not tensor.data or any(size <= 0 for size in sizes):
            return True
        if tensor.ndim and not tensor.shape:
            return True
        steps = list(self.steps[: len(sizes)])
        if not tensor.strides:
            step = 1
            for axis in reversed(range(len(sizes))):
                steps[axis], step = step, step * sizes[axis]
        ends = [(size - 1) * step for size, step in zip(sizes, steps, strict=True)]
        item, first = max(1, tensor.bits * tensor.lanes // 8), (tensor.data + tensor.byte_offset) % 2**64
        low = first + item * sum(end for end in ends if end < 0)
        high = first + item * (sum(end for end in ends if end > 0) + 1)
        if self.world.block.has(low, high):
            return True
        at = bisect.bisect(self.world.starts, low) - 1
        return at >= 0 and high <= self.world.ends[at] and not self.world.block.has(low, low)

    def after(self) -> None:
        name = capsules.name_of(self.capsule)
        was_taken = name != self.renamed
        expected = was_taken and self.external.managed.deleter is not None
        if self.external.deleted != expected:
            gc.collect()
        assert self.external.deleted == expected, (name, self.external.deleted)
        if was_taken:
            assert name == b"used_" + self.name, name
        # A changed device may have an array.
        self.capsule, self.exporter.device = None, (1, 0)


class Buffers(Path):
    errors = (TypeError, ValueError, BufferError, IndexError, OverflowError)
    formats = [b"B", b"b", b"<i", b"=q", b"d", b"Zd", b"Zf", b"?", b"e", b"@H", b"f", b"l", b"i"]
    wrong_formats = [
        b"",
        b">d",
        b"T{i:a:}",
        b"&i",
        b"3s",
        b"(2)i",
        b"w",
        b"Zg",
        b"g",
        b"\xff",
        b"O",
        b"i" * 300,
        b"P",
        b"<",
    ]
    sizes = {b"<i": 4, b"=q": 8, b"d": 8, b"Zd": 16, b"Zf": 8, b"e": 2, b"@H": 2, b"f": 4, b"l": 8, b"i": 4}

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.exporter = Exporter()
        self.shape, self.steps, self.pointers = (
            (ctypes.c_ssize_t * 64)(),
            (ctypes.c_ssize_t * 64)(),
            (ctypes.c_ssize_t * 64)(),
        )
        for axis in range(64):
            self.pointers[axis] = -1
        self.texts = {format: ctypes.create_string_buffer(format) for format in self.formats + self.wrong_formats}
        memory = KINDS["shared"](64, queue=world.queue)
        target, queue = world.sources[0].array, world.queue
        name = world.queue.sycl_device.filter_string
        over, copied = usm._usm._array_over_buffer, usm._usm._array_from_pickle
        self.consumers: list[Callable[[Any], Any]] = [
            ut.asarray,
            ut.asarray,
            lambda obj: ut.asarray(obj, dtype="f4", usm_type="shared", sycl_queue=queue),
            lambda obj: ut.asarray([obj, obj], sycl_queue=queue),
            lambda obj: target.__setitem__(..., obj),
            lambda obj: target[obj],
            memory.copy_from_host,
            memory.copy_to_host,
            lambda obj: queue.memcpy(memory, obj, 8),
            lambda obj: queue.memcpy(obj, memory, 8),
            lambda obj: over("host", name, False, "int32", (2, 3), (0, 1), obj),
            lambda obj: copied("shared", name, True, "int8", (4,), (0,), obj),
            lambda obj: usm.ipc.open(obj),
            lambda obj: queue.fill(memory, obj),
            lambda obj: um.MemoryUSMShared(obj),
            lambda obj: ut.full(2, obj, sycl_queue=queue),
            lambda obj: ut.usm_ndarray(3, "f4", buffer=obj),
        ]
        self.others: list[Any] = [
            b"abcd",
            bytearray(48),
            memoryview(bytes(24)).cast("d"),
            memoryview(bytes(24)).cast("i", (2, 3)),
        ]
        self.others += [
            arrays.array("u", "text"),
            arrays.array("d", [1.5, 2]),
            (ctypes.c_int * 3)(),
            ctypes.c_double(2.5),
        ]
        self.others += [memoryview(bytes(48)).cast("i", (3, 4))[::-1], pickle.PickleBuffer(bytearray(8)), memory]
        self.others += [memoryview(source.array) for source in world.sources[:4]]
        self.errors += (usm.UsmError,)
        if HAS_NUMPY:
            import numpy

            for dtype in "?bBhHiIlLefdgFDGSUVMmO":
                self.others.append(numpy.zeros((2, 3), dtype).T)
            self.others += [
                numpy.zeros(9, "u1")[1:].view("f8"),
                numpy.zeros((2, 0)),
                numpy.zeros((), ">f4"),
                numpy.zeros(8)[::-2],
            ]
            self.others += [
                numpy.broadcast_to(numpy.zeros(1), (3, 4)),
                numpy.zeros((1,) * 20),
                numpy.float64(1),
                numpy.complex64(1),
            ]
        for other in self.others:
            try:
                world.add(*bounds(other))
            except (TypeError, ValueError, BufferError):
                # Elements that the protocol has no format for.
                pass

    def call(self) -> Call:
        if self.mutator.choice.random() < 0.4:
            return self.one_of(self.consumers), (self.one_of(self.others),)
        self.fill()
        while not self.is_checkable():
            self.fill()
        return self.one_of(self.consumers), (self.exporter.object,)

    def fill(self) -> None:
        view, one_of = self.exporter.view, self.one_of
        format = one_of(self.formats)
        view.buf, view.itemsize, view.readonly = self.world.block.middle, self.sizes.get(format, 1), one_of((0, 1))
        view.format, view.ndim = ctypes.addressof(self.texts[format]), one_of((0, 1, 1, 2, 3))
        step = view.itemsize
        for axis in reversed(range(view.ndim)):
            self.shape[axis], self.steps[axis] = one_of((1, 2, 3)), step
            step *= self.shape[axis]
        view.len = step
        view.shape, view.strides = ctypes.addressof(self.shape), ctypes.addressof(self.steps)
        view.suboffsets = None
        for _ in range(self.times()):
            one_of(self.spoilers)(self)
        # Python itself trusts what PEP 3118 demands: no shape means one axis, there are pointers only along axes, and
        # the length is that of all items.
        if not view.shape:
            view.ndim = min(view.ndim, 1)
        if not view.ndim or not view.strides:
            view.suboffsets = None
        view.len = view.itemsize
        for axis in range(view.ndim if view.shape else 0):
            view.len *= self.shape[axis]

    def _spoil_format(self) -> None:
        format = self.one_of(self.wrong_formats)
        self.exporter.view.format = self.one_of((None, ctypes.addressof(self.texts[format])))

    def _spoil_itemsize(self) -> None:
        self.exporter.view.itemsize = self.one_of((1, 2, 3, 4, 5, 8, 16, 32))

    def _spoil_shape(self) -> None:
        self.shape[self.one_of((0, 1, 2))] = self.one_of((0, 1, 4, 9))

    def _spoil_steps(self) -> None:
        self.steps[self.one_of((0, 1, 2))] = self.one_of((0, 1, 3, -1, -8, 64, 2**62, -(2**63), 2**63 - 1))

    def _spoil_ndim(self) -> None:
        self.exporter.view.ndim = self.one_of((0, 1, 2, 3, 64))

    def _spoil_pointers(self) -> None:
        view = self.exporter.view
        view.strides = None
        if self.one_of((True, False)):
            view.shape = None

    def _spoil_suboffsets(self) -> None:
        self.exporter.view.suboffsets = ctypes.addressof(self.pointers)

    def _spoil_address(self) -> None:
        self.exporter.view.buf += self.one_of((1, 2, 4, 8))

    spoilers = (_spoil_format, _spoil_itemsize, _spoil_shape, _spoil_steps, _spoil_steps, _spoil_ndim)
    spoilers += (_spoil_pointers, _spoil_suboffsets, _spoil_address)

    def is_checkable(self) -> bool:
        """Whether all items are in the block."""
        view, block = self.exporter.view, self.world.block
        if view.len == 0:
            return True
        shape, steps = (self.shape[: view.ndim], self.steps[: view.ndim]) if view.shape and view.strides else ([], [])
        ends = [(size - 1) * step for size, step in zip(shape, steps, strict=True)]
        low, high = view.buf + sum(end for end in ends if end < 0), view.buf + sum(end for end in ends if end > 0)
        return block.has(low, high + view.itemsize) and block.has(view.buf, view.buf + view.len)

    def after(self) -> None:
        assert self.exporter.taken == 0, f"{self.exporter.taken} buffers are not released"
