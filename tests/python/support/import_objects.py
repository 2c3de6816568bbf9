"""Objects with dicts, and arguments of functions: for constructors, indices, dtypes and filter selectors."""

import math
from collections.abc import Callable
from typing import Any

import usm
import usm.memory as um
import usm.tensor as ut
from usm._usm import DType

from .import_world import KINDS, Call, Path, World
from .mutations import ACTIONS, Mutator


class _Shifting:
    """Another interface at each look."""

    def __init__(self, mutator: Mutator, name: str, interface: Any, owner: Any) -> None:
        self.mutator, self.name, self.interface, self.owner = mutator, name, interface, owner

    def __getattr__(self, name: str) -> Any:
        if name != self.name:
            raise AttributeError(name)
        return self.mutator.changed(self.interface)


class _Acting(_Shifting):
    """Something happens at each look."""

    def __getattr__(self, name: str) -> Any:
        if name != self.name:
            raise AttributeError(name)
        self.mutator.one_of(ACTIONS)(self.mutator)
        return self.interface


class _Holder:
    """The interface as a plain attribute."""

    def __init__(self, mutator: Mutator, name: str, interface: Any, owner: Any) -> None:
        self.__dict__.update({name: interface, "owner": owner})


class Dicts(Path):
    # The last two where the elements are indices or are assigned.
    errors = (TypeError, ValueError, BufferError, IndexError, OverflowError)
    name = "__sycl_usm_array_interface__"
    holders: tuple[Callable[..., Any], ...] = (_Holder, _Holder, _Holder, _Shifting, _Acting)

    def __init__(self, world: World) -> None:
        super().__init__(world)
        queue, target = world.queue, world.sources[0].array
        memory = KINDS["shared"](64, queue=queue)
        self.consumers: list[Callable[[Any], Any]] = [
            ut.asarray,
            ut.asarray,
            um.as_usm_memory,
            um.MemoryUSMShared,
            lambda obj: um.MemoryUSMHost(obj, copy=True),
            lambda obj: ut.usm_ndarray((2,), "u1", buffer=obj),
            lambda obj: ut.asarray(obj, copy=True),
            lambda obj: ut.asarray(obj, dtype="f4", usm_type="shared"),
            lambda obj: ut.asarray([obj, obj]),
            lambda obj: ut.empty_like(obj),
            lambda obj: ut.flip(obj),
            lambda obj: ut.concat([obj, obj], axis=None),
            lambda obj: target.__setitem__(..., obj),
            lambda obj: queue.memcpy(memory, obj, 8),
            lambda obj: memory.copy_from_device(obj),
            lambda obj: target[obj],
        ]

    def interface(self) -> tuple[dict[str, Any], Any]:
        source = self.one_of(self.world.sources)
        return source.interface, source.array

    def call(self) -> Call:
        interface, owner = self.interface()
        changed = self.changed(dict(interface), self.times())
        holder = self.one_of(self.holders)
        return self.one_of(self.consumers), (holder(self.mutator, self.name, changed, owner),)


class CudaDicts(Dicts):
    """On other devices than those of CUDA all is refused."""

    name = "__cuda_array_interface__"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.streams = [None, 1, 2, world.queue.native_stream]
        self.wrong_streams = [0, -1, 2**64, "own", 1.5]
        self.interfaces = []
        for source in world.sources:
            array, item = source.array, source.array.itemsize
            interface = getattr(array, self.name, None) or {
                "shape": array.shape,
                "typestr": f"<{array.dtype.kind}{item}",
                "data": (array._pointer, not array.flags.writable),
                "strides": tuple(item * stride for stride in array.strides),
                "stream": 1,
                "version": 3,
            }
            self.interfaces.append((interface, array))

    def interface(self) -> tuple[dict[str, Any], Any]:
        return self.one_of(self.interfaces)

    def call(self) -> Call:
        function, (obj,) = super().call()
        found = obj.__dict__.get(self.name, obj.__dict__.get("interface"))
        # The driver follows any other number of a stream.
        if isinstance(found, dict) and "stream" in dict.keys(found):
            streams = self.streams if self.mutator.choice.random() < 0.9 else self.wrong_streams
            dict.__setitem__(found, "stream", self.one_of(streams))
        return function, (obj,)

    # What changes at each look could have any stream.
    holders = (_Holder, _Acting)


class Constructors(Path):
    errors = (TypeError, ValueError, OverflowError, usm.UsmError)

    def __init__(self, world: World) -> None:
        super().__init__(world)
        queue = world.queue
        new = {"shape": (3, 4), "dtype": "f4", "strides": (4, 1), "buffer": "device", "offset": 0, "order": "C"}
        new["buffer_ctor_kwargs"] = {"queue": queue, "alignment": 64}
        self.templates: list[tuple[Callable[..., Any], dict[str, Any]]] = [(ut.usm_ndarray, new)]
        for source in world.sources[::2]:
            over = {
                "shape": (2, 3),
                "dtype": "i2",
                "strides": (-3, 1),
                "buffer": source.memory,
                "offset": 4,
                "order": "F",
            }
            self.templates.append((ut.usm_ndarray, over))
        for source in world.sources[::4]:
            self.templates.append(
                (ut.usm_ndarray, {"shape": 5, "dtype": "u1", "buffer": source.array, "array_namespace": None})
            )
        for kind in KINDS.values():
            self.templates.append((kind, {"nbytes": 100, "alignment": 16, "queue": queue, "copy": False}))
        where = {"device": queue, "usm_type": "shared"}
        self.templates += [
            (ut.empty, {"shape": (2, 3), "dtype": "f8", "order": "F", **where}),
            (ut.full, {"shape": (2,), "fill_value": 1.5, "dtype": "f8", **where}),
            (ut.empty_like, {"x": world.sources[1].array, "order": "K"}),
        ]
        # Positional only.
        self.templates[-1] = (lambda x=None, **keywords: ut.empty_like(x, **keywords), self.templates[-1][1])

    def call(self) -> Call:
        function, template = self.one_of(self.templates)
        keywords = self.changed(dict(template), self.times())
        if isinstance(keywords, dict):
            # PyO3 shows names of keywords.
            keywords = {key: value for key, value in dict.items(keywords) if type(key) is str}
        return lambda keywords: function(**keywords), (keywords,)


class Indices(Path):
    errors = (TypeError, ValueError, IndexError, OverflowError, BufferError)
    #: Bytes beside the elements, which nobody writes.
    GUARD = 512

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.memories, self.targets = [], []
        for kind in KINDS.values():
            for dtype, item in (("i4", 4), ("u1", 1), ("c16", 16)):
                memory = kind(2 * self.GUARD + 120 * item, queue=world.queue)
                memory.memset(0xA5)
                world.add(memory._pointer, memory._pointer + memory.nbytes)
                self.memories.append(memory)
                array = ut.usm_ndarray((4, 5, 6), dtype, buffer=memory, offset=self.GUARD // item)
                array[...] = 0
                self.targets += [array, array[::-1, 1:4], array.mT]
        places = ut.asarray([0, 2, 1], sycl_queue=world.queue)
        mask = ut.asarray([True, False, True, True], sycl_queue=world.queue)
        self.keys: list[Any] = [
            0,
            -1,
            ...,
            None,
            slice(1, 3),
            (1, 2, 3),
            (slice(None), None, -1),
            (..., slice(None, None, -2)),
        ]
        self.keys += [
            [0, 1, 3],
            (places, slice(1, 2)),
            mask,
            (slice(None), [[0, 1], [2, 3]]),
            (),
            (places, places),
            [True, False, True, True],
        ]
        self.values: list[Any] = [
            0,
            1.5,
            True,
            [1, 2, 3],
            world.sources[0].array,
            b"abc",
            2**40,
            1j,
            [[1], [2]],
            memoryview(bytes(6)),
        ]
        self.functions: list[tuple[Callable[..., Any], Any]] = [
            (ut.reshape, (6, 20)),
            (ut.permute_dims, (2, 0, 1)),
            (ut.broadcast_to, (2, 4, 5, 6)),
            (lambda x, axis: ut.squeeze(x[:1], axis=axis), 0),
            (lambda x, axis: ut.expand_dims(x, axis=axis), (0, 2)),
            (lambda x, axis: ut.flip(x, axis=axis), (0, 1)),
            (lambda x, shift: ut.roll(x, shift, axis=(0, 1)), (1, 2)),
            (lambda x, axes: ut.moveaxis(x, axes, (1, 0)), (0, 1)),
            (lambda x, axis: ut.swapaxes(x, 0, axis), 1),
            (lambda x, where: ut.take(x, where, axis=0), [0, 1]),
            (lambda x, where: ut.take(x, where, mode="clip"), [0, 1]),
            (lambda x, where: ut.put(x, where, 1), [0, 1]),
            (lambda x, axis: ut.unstack(x, axis=axis), 1),
            (lambda x, times: ut.repeat(x, times, axis=0), [1, 0, 2, 1]),
            (lambda x, times: ut.tile(x, times), (1, 2)),
            (lambda x, at: x.item(*at), [1, 2, 3]),
        ]

    def key(self) -> Any:
        key = self.one_of(self.keys)
        if type(key) is slice:
            parts = self.changed((key.start, key.stop, key.step))
            return slice(*parts[:3]) if type(parts) is tuple and parts else parts
        return self.changed(key, self.times())

    def call(self) -> Call:
        array, kind = self.one_of(self.targets), self.mutator.choice.random()
        if kind < 0.5:
            return array.__getitem__, (self.key(),)
        if kind < 0.8:
            value = self.one_of(self.values)
            return array.__setitem__, (self.key(), self.changed(value) if kind < 0.7 else value)
        function, argument = self.one_of(self.functions)
        argument = self.changed(argument, self.times())
        if type(argument) is bytes:
            # Numbers, too: `tile` repeats the elements as often as they say.
            self.mutator.product *= math.prod(max(1, byte) for byte in argument)
        return function, (array, argument)

    def after_round(self) -> None:
        guard = b"\xa5" * self.GUARD
        for memory in self.memories:
            found = memory.tobytes()
            assert found[: self.GUARD] == guard and found[-self.GUARD :] == guard, "bytes beside an array were written"


class Dtypes(Path):
    def __init__(self, world: World) -> None:
        super().__init__(world)
        array, queue = world.sources[0].array, world.queue
        self.texts: list[Any] = [
            "float64",
            "<f8",
            "|b1",
            "i4",
            "complex64",
            "bfloat16",
            "float8_e4m3fn",
            "=u2",
            "d",
            "?",
        ]
        self.texts += [float, bool, DType("f4")]
        self.consumers: list[Callable[[Any], Any]] = [
            DType,
            lambda x: ut.empty(2, dtype=x, sycl_queue=queue),
            lambda x: ut.astype(array, x),
            lambda x: ut.usm_ndarray(2, x, buffer_ctor_kwargs={"queue": queue}),
            lambda x: ut.usm_ndarray(2, x, buffer=array.usm_data),
            lambda x: ut.asarray([1, 2], dtype=x, sycl_queue=queue),
            lambda x: array.view(x),
            lambda x: ut.can_cast(x, "f4"),
            lambda x: ut.can_cast("f4", x, casting="same_kind"),
            lambda x: ut.result_type(x, array),
            ut.finfo,
            ut.iinfo,
            lambda x: ut.isdtype(x, "numeric"),
            lambda x: ut.isdtype("f4", x),
            lambda x: usm._usm.LocalAccessor(x, (2,)),
            lambda x: usm._usm._array_from_pickle("shared", "host:cpu:0", False, x, (2,), (0,), bytes(16)),
        ]

    def call(self) -> Call:
        return self.one_of(self.consumers), (self.changed(self.one_of(self.texts), self.times()),)


class Selectors(Path):
    # The last one for a name that is no aspect, as in dpctl.
    errors = (TypeError, ValueError, usm.UsmError, AttributeError)

    def __init__(self, world: World) -> None:
        super().__init__(world)
        device = world.queue.sycl_device
        self.texts: list[Any] = [
            device.filter_string,
            "host:cpu:0",
            "host",
            "cpu",
            "gpu,cpu",
            "0",
            "cuda:gpu:0",
            "host:0",
            device,
        ]
        self.consumers: list[Callable[[Any], Any]] = [
            usm.SyclDevice,
            usm.SyclDevice,
            usm.SyclQueue,
            usm.SyclContext,
            usm.SyclPlatform,
            usm.get_device_cached_queue,
            lambda x: usm.get_devices(x),
            lambda x: usm.get_devices(device_type=x),
            lambda x: ut.empty(1, device=x),
            lambda x: um.MemoryUSMShared(8, queue=x),
            lambda x: usm.SyclQueue(device, property=x),
            lambda x: usm.SyclQueue(device, x),
            lambda x: usm.SyclContext([device, x]),
            self.subdivided,
            lambda x: usm.select_device_with_aspects(x),
            lambda x: usm.select_device_with_aspects("cpu", x),
            lambda x: ut.dldevice_to_sycl_device((x, 0)),
            lambda x: usm.memory.current_pool(x),
        ]
        self.device, self.divisions = device, 0

    def subdivided(self, partition: Any) -> Any:
        # The SYCL runtime keeps some kilobytes for good each time, which dpctl loses as well.
        if self.divisions == 100:
            raise ValueError("the device was divided often enough")
        devices = self.device.create_sub_devices(partition=partition)
        self.divisions += 1
        return devices

    def call(self) -> Call:
        return self.one_of(self.consumers), (self.changed(self.one_of(self.texts), self.times()),)
