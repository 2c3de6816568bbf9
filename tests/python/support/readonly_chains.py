"""Chains of operations from read-only memory, as a campaign of `rounds`.

Each operation gives a copy, or something over the same memory. The latter is read-only by each of its interfaces, and
refuses each write. The bytes of the source never change.
"""

import copy
import ctypes
import gc
import importlib.util
import operator
import pickle
import random
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import usm
import usm.compute
import usm.ipc
import usm.memory as um
import usm.tensor as ut
from usm._usm import _array_over_buffer, _Memory, _memory_over_buffer

from . import buffers, capsules
from .dlpack import CapsuleExporter, Exporter, ManagedVersioned, OldExporter
from .interface import Producer
from .rounds import Balance

CHAINS = 100
LONGEST = 8
#: More than a copy may have: the bytes of a source, which other processes can open.
SHAPE = (16, 32, 16)
#: How a write is refused. Views of Python know no complex numbers, and raise the last one.
REFUSALS = (ValueError, TypeError, BufferError, NotImplementedError)
HAS_NUMPY = importlib.util.find_spec("numpy") is not None
HAS_DPNP = importlib.util.find_spec("dpnp") is not None
if HAS_NUMPY:
    import numpy as np
READ_ONLY = 1
#: How an operation says that it has nothing for an object.
NOTHING = (*REFUSALS, RuntimeError, IndexError, usm.compute.Missing)

Operations = dict[str, Callable[["Chains", Any], Any]]


class Cuda:
    """An object with the dictionary of CUDA."""

    def __init__(self, interface: Any, owner: Any) -> None:
        self.__cuda_array_interface__, self.owner = interface, owner


class Source:
    """Read-only forms of some bytes, and the bytes."""

    def __init__(self, name: str, make: Callable[[], Any], bounds: tuple[int, int], read: Callable[[], Any]) -> None:
        self.name, self.make, self.bounds, self.read = name, make, bounds, read
        self.content, self.is_far = bytes(read()), "device" in name or "process" in name

    def is_under(self, obj: Any) -> bool | None:
        """Whether an object is over some of the bytes. None for one without bytes, or with an interface alone."""
        bounds = bounds_of(obj)
        return None if bounds is None else bounds[0] < self.bounds[1] and self.bounds[0] < bounds[1]

    def check(self, steps: list[str]) -> None:
        assert self.read() == self.content, f"the bytes of {self.name} have changed after {steps}"


def _bounds_of_array(array: ut.usm_ndarray) -> tuple[int, int]:
    ends = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    item, first = array.itemsize, array._pointer
    return (
        first + item * sum(end for end in ends if end < 0),
        first + item * (sum(end for end in ends if end > 0) + 1),
    )


def bounds_of(obj: Any) -> tuple[int, int] | None:
    """The bytes that an object is over. None for one without any."""
    if isinstance(obj, ut.usm_ndarray):
        return _bounds_of_array(obj) if obj.size else None
    if isinstance(obj, _Memory):
        return (obj._pointer, obj._pointer + obj.nbytes) if obj.nbytes else None
    if isinstance(obj, memoryview) or (HAS_NUMPY and isinstance(obj, np.ndarray)):
        return buffers.bounds(obj) if obj.nbytes else None
    if hasattr(obj, "__sycl_usm_array_interface__"):
        return bounds_of(ut.asarray(obj))
    return None


class Chains:
    def __init__(self, device: str) -> None:
        self.queue = usm.SyclQueue(device)
        self.device = self.queue.sycl_device.filter_string
        self.choice = random.Random(0)
        self.is_on_host = device.startswith("host")
        self.other = self._other_process()
        self.sources = [source for kind in ("host", "device", "shared") for source in self._sources(kind)]
        self.sources += self._of_python()

    def one_of(self, items: Any) -> Any:
        return items[int(self.choice.random() * len(items))]

    # Sources.

    def _other_process(self) -> "subprocess.Popen[str]":
        program = """
import sys, usm.ipc, usm.tensor as ut
array = ut.reshape(ut.arange(16 * 32 * 16, dtype="i4", usm_type="device", device=sys.argv[1]), (16, 32, 16))
array.flags.writable = False
handle = usm.ipc.export(array)
print(bytes(handle).hex(), flush=True)
sys.stdin.read()
"""
        command = [sys.executable, "-c", program, self.queue.sycl_device.filter_string]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def _sources(self, kind: str) -> list[Source]:
        count = SHAPE[0] * SHAPE[1] * SHAPE[2]
        sources = []
        for dtype in ("i4", "c8"):
            numbers = ut.arange(count, dtype=dtype, usm_type=kind, sycl_queue=self.queue)
            writable = ut.reshape(numbers, SHAPE)
            frozen = writable[...]
            frozen.flags.writable = False
            bounds, read = _bounds_of_array(writable), writable.usm_data.tobytes
            forms = self._forms(writable, frozen)
            sources += [Source(f"{name} of {kind} memory", make, bounds, read) for name, make in forms.items()]
        return sources

    def _forms(self, writable: Any, frozen: Any) -> dict[str, Callable[[], Any]]:
        interface = writable.__sycl_usm_array_interface__
        interface["data"] = (interface["data"][0], True)
        forms: dict[str, Callable[[], Any]] = {
            "an array": lambda: frozen,
            "a view": lambda: frozen[::-1],
            "memory": lambda: frozen.usm_data,
            "a dict": lambda: Producer(interface, writable),
            "a broadcast array": lambda: ut.broadcast_to(writable[0, 0], (3, SHAPE[2])),
        }
        if not (self.is_on_host and writable.usm_type == "device"):
            forms["a tensor"] = lambda: Exporter(frozen)
            forms["an old tensor"] = lambda: OldExporter(writable)
        if writable.usm_type != "device":
            forms["a buffer"] = lambda: memoryview(frozen)
            if HAS_NUMPY:
                forms["an array of NumPy"] = lambda: np.asarray(frozen)
        if self.queue.native_stream is not None:
            of_cuda = frozen.__cuda_array_interface__
            forms["a dict of CUDA"] = lambda: Cuda(of_cuda, frozen)
        return forms

    def _of_python(self) -> list[Source]:
        data = bytes(range(256)) * 64
        view = memoryview(data)
        bounds = buffers.bounds(view)
        sources = [Source("a buffer of bytes", lambda: view, bounds, lambda: data)]
        if self.is_on_host:
            # Elsewhere it is a copy.
            sources.append(Source("an array over bytes", lambda: self.over("host", view), bounds, lambda: data))
        if HAS_NUMPY:
            array = np.frombuffer(data, "i4").reshape(64, 64)
            sources.append(Source("an array of NumPy over bytes", lambda: array, bounds, lambda: data))
        assert self.other.stdout is not None
        handle = bytes.fromhex(self.other.stdout.readline())
        opened = usm.ipc.open(handle, queue=self.queue)
        read = opened.usm_data.tobytes
        sources.append(
            Source("memory of another process", lambda: usm.ipc.open(handle), _bounds_of_array(opened), read)
        )
        return sources

    def over(self, kind: str, data: Any) -> Any:
        view = memoryview(data).cast("B")
        return _array_over_buffer(kind, self.device, False, "int16", (view.nbytes // 2,), (0,), view)

    # Chains.

    def play(self, happened: Counter[str]) -> None:
        """One chain."""
        happened["chains"] += 1
        source = self.one_of(self.sources)
        obj, steps = source.make(), [source.name]
        if source.is_under(obj) is False:
            # Bytes of Python are memory of one kind at a time, and a copy for another one.
            assert source.name == "an array over bytes", source.name
            return
        self.check(obj, steps)
        for _ in range(1 + int(self.choice.random() * LONGEST)):
            table = table_of(obj)
            name = self.one_of(table.names)
            try:
                result = table.operations[name](self, obj)
            except NOTHING:
                continue
            steps.append(name)
            happened[f"{table.name}: {name}"] += 1
            is_view = source.is_under(result)
            if is_view:
                happened["views"] += 1
                obj = result
                self.check(obj, steps)
            elif is_view is False and self.choice.random() < 0.5:
                happened["copies"] += 1
                break
        # A copy from a device takes long.
        if not source.is_far or self.choice.random() < 0.05:
            source.check(steps)

    def check(self, obj: Any, steps: list[str]) -> None:
        table = table_of(obj)
        for name, is_read_only in table.interfaces.items():
            assert is_read_only(obj), f"the {name} of {table.name} is writable after {steps}"
        writes = list(table.writes.items())
        if table.slow_writes and self.choice.random() < 0.1:
            writes.append(self.one_of(list(table.slow_writes.items())))
        for name, write in writes:
            try:
                write(self, obj)
            except (*REFUSALS, usm.compute.Missing):
                continue
            raise AssertionError(f"{name} writes to {table.name} after {steps}")


class Table:
    """What is done with objects of a type: operations, interfaces that say whether they are read-only, and writes."""

    def __init__(
        self,
        name: str,
        operations: Operations,
        interfaces: dict[str, Callable[[Any], bool]],
        writes: Operations,
        slow_writes: Operations | None = None,
    ) -> None:
        self.name, self.operations, self.names = name, operations, list(operations)
        self.interfaces, self.writes, self.slow_writes = interfaces, writes, slow_writes or {}


# Arrays.


def _key(chains: Chains, array: Any) -> Any:
    """A basic index that leaves elements, most of the time."""
    one_of = chains.one_of
    parts = (
        slice(None),
        slice(None, None, -1),
        slice(1, None),
        slice(None, None, 2),
        0,
        -1,
        None,
        slice(0, 1),
        slice(3, 1, -1),
    )
    key = [one_of(parts) for _ in range(one_of(range(array.ndim + 1)))]
    if one_of((True, False)):
        key.insert(one_of(range(len(key) + 1)), ...)
    return tuple(key)


def _reshaped(chains: Chains, array: Any) -> Any:
    size = array.size
    factors = [factor for factor in (1, 2, 4, 16, size) if factor and size % factor == 0]
    factor = chains.one_of(factors)
    return ut.reshape(array, (size // factor, factor), copy=chains.one_of((None, None, False)))


def _permuted(chains: Chains, array: Any) -> Any:
    axes = list(range(array.ndim))
    chains.choice.shuffle(axes)
    return ut.permute_dims(array, tuple(axes))


def _axis(chains: Chains, array: Any) -> int:
    return chains.one_of(range(array.ndim or 1))


def _of_view(chains: Chains, array: Any) -> Any:
    dtypes = {4: ("f4", "u4", "i4"), 8: ("f8", "i8", "c8"), 1: ("u1", "i1"), 2: ("i2", "f2")}
    return array.view(chains.one_of(dtypes[array.itemsize]))


def _pickled(chains: Chains, obj: Any) -> Any:
    beside: list[pickle.PickleBuffer] = []
    data = pickle.dumps(obj, 5, buffer_callback=beside.append)
    return pickle.loads(data, buffers=beside)


def _sent(chains: Chains, obj: Any) -> Any:
    return ForkingPickler.loads(bytes(ForkingPickler.dumps(obj)))


def _by_handle(chains: Chains, obj: Any) -> Any:
    return usm.ipc.open(usm.ipc.export(obj))


def _of_cuda(chains: Chains, obj: Any) -> Any:
    try:
        interface = obj.__cuda_array_interface__
    except AttributeError as error:
        raise TypeError(str(error)) from None
    return ut.asarray(Cuda(interface, obj))


def _capsule(chains: Chains, array: Any) -> Any:
    capsule = array.__dlpack__(max_version=(1, chains.one_of((0, 3))))
    return ut.from_dlpack(CapsuleExporter(lambda: capsule, array.__dlpack_device__()))


def _legacy(chains: Chains, array: Any) -> Any:
    """An array that is read-only has no legacy tensor but as a copy."""
    capsule = array.__dlpack__()
    return ut.from_dlpack(CapsuleExporter(lambda: capsule, array.__dlpack_device__()))


ARRAYS: Operations = {
    "slice": lambda chains, a: a[_key(chains, a)],
    "slice of a slice": lambda chains, a: a[_key(chains, a)][_key(chains, a)],
    "T": lambda chains, a: a.T,
    "mT": lambda chains, a: a.mT,
    "reshape": _reshaped,
    "ravel": lambda chains, a: a.ravel(),
    "real": lambda chains, a: a.real,
    "imag": lambda chains, a: a.imag,
    "real of the namespace": lambda chains, a: ut.real(a),
    "conj": lambda chains, a: ut.conj(a),
    "broadcast_to": lambda chains, a: ut.broadcast_to(a, (chains.one_of((1, 2)), *a.shape)),
    "broadcast_arrays": lambda chains, a: ut.broadcast_arrays(a, ut.zeros((2, *a.shape), sycl_queue=a.sycl_queue))[0],
    "flip": lambda chains, a: ut.flip(a, axis=_axis(chains, a)),
    "squeeze": lambda chains, a: a.squeeze(),
    "expand_dims": lambda chains, a: ut.expand_dims(a, axis=_axis(chains, a)),
    "permute_dims": _permuted,
    "moveaxis": lambda chains, a: ut.moveaxis(a, _axis(chains, a), _axis(chains, a)),
    "swapaxes": lambda chains, a: a.swapaxes(_axis(chains, a), _axis(chains, a)),
    "transpose": lambda chains, a: a.transpose(),
    "matrix_transpose": lambda chains, a: ut.matrix_transpose(a),
    "unstack": lambda chains, a: chains.one_of(ut.unstack(a, axis=_axis(chains, a))),
    "iteration": lambda chains, a: next(iter(a), a),
    "view of a dtype": _of_view,
    "asarray": lambda chains, a: ut.asarray(a),
    "asarray without a copy": lambda chains, a: ut.asarray(a, copy=False),
    "asarray of the dtype": lambda chains, a: ut.asarray(a, dtype=a.dtype, usm_type=a.usm_type),
    "asarray on the queue": lambda chains, a: ut.asarray(a, sycl_queue=chains.queue),
    "astype": lambda chains, a: a.astype(a.dtype, copy=False),
    "to_device": lambda chains, a: a.to_device(a.device),
    "copy": lambda chains, a: a.copy(),
    "copy.copy": lambda chains, a: copy.copy(a),
    "from_dlpack": lambda chains, a: ut.from_dlpack(a),
    "a capsule": _capsule,
    "an old capsule": _legacy,
    "an old producer": lambda chains, a: ut.from_dlpack(OldExporter(a)),
    "a dict": lambda chains, a: ut.asarray(Producer(a.__sycl_usm_array_interface__, a)),
    "a producer": lambda chains, a: Producer(a.__sycl_usm_array_interface__, a),
    "a dict of CUDA": _of_cuda,
    "usm_data": lambda chains, a: a.usm_data,
    "as_usm_memory": lambda chains, a: um.as_usm_memory(a),
    "constructor": lambda chains, a: ut.usm_ndarray(a.shape, a.dtype, strides=a.strides, buffer=a),
    "memoryview": lambda chains, a: memoryview(a),
    "pickle": _pickled,
    "a message": _sent,
    "a handle": _by_handle,
}


def _interface(obj: Any) -> bool:
    return obj.__sycl_usm_array_interface__["data"][1] is True


def _cuda_interface(obj: Any) -> bool:
    interface = getattr(obj, "__cuda_array_interface__", None)
    return interface is None or interface["data"][1] is True


def _buffer(obj: Any) -> bool:
    if isinstance(obj, ut.usm_ndarray | _Memory) and _kind(obj) == "device":
        return True
    try:
        with memoryview(obj) as view:
            return view.readonly
    except BufferError:
        # More axes than the protocol has, or a view that excludes this one.
        return True


def _kind(obj: Any) -> str:
    return obj.usm_type if isinstance(obj, ut.usm_ndarray) else obj.get_usm_type()


def _tensor(array: Any) -> bool:
    try:
        capsule = array.__dlpack__(max_version=(1, 0))
    except BufferError:
        # DLPack has no device for device memory of the host backend.
        return True
    managed = ManagedVersioned.from_address(capsules.pointer_of(capsule))
    return bool(managed.flags & READ_ONLY)


def _refused_tensor(array: Any) -> bool:
    """The old struct has no word for it."""
    try:
        array.__dlpack__()
    except BufferError:
        return True
    return False


def _pickle(obj: Any) -> bool:
    return obj.__reduce_ex__(5)[1][2] is True


def _set_writable(chains: Chains, obj: Any) -> None:
    obj.flags.writable = True


def _set_flag(chains: Chains, obj: Any) -> None:
    obj.flags["W"] = True


def _of_ctypes(chains: Chains, obj: Any) -> None:
    ctypes.c_char.from_buffer(obj)


ARRAY_INTERFACES: dict[str, Callable[[Any], bool]] = {
    "flag": lambda a: a.flags.writable is False and a.flags["W"] is False,
    "dict": _interface,
    "dict of CUDA": _cuda_interface,
    "buffer": _buffer,
    "tensor": _tensor,
    "old tensor": _refused_tensor,
    "memory": lambda a: a.usm_data.readonly is True,
    "pickle": _pickle,
}


def _with_provider(function: str) -> Callable[[Chains, Any], Any]:
    def write(chains: Chains, array: Any) -> Any:
        return getattr(ut, function)(array, 1, out=array)

    return write


ARRAY_WRITES: Operations = {
    "an assignment": lambda chains, a: a.__setitem__(..., 0),
    "an assignment to an element": lambda chains, a: a.__setitem__((0,) * a.ndim, 1),
    "an assignment of an array": lambda chains, a: a.__setitem__(..., a),
    "fill": lambda chains, a: a.fill(1),
    "put": lambda chains, a: ut.put(a, [0], 1),
    "flags.writable": _set_writable,
    "flags['W']": _set_flag,
    "memset of its memory": lambda chains, a: a.usm_data.memset(1),
    "memset of the queue": lambda chains, a: chains.queue.memset(a, 1),
    "fill of the queue": lambda chains, a: chains.queue.fill(a, b"\1"),
    "memcpy": lambda chains, a: chains.queue.memcpy(a, b"\1" * 4, 1),
    "copy_from_host": lambda chains, a: um.as_usm_memory(a).copy_from_host(bytes(a.usm_data.nbytes)),
    "a buffer": _of_ctypes,
}
ARRAY_SLOW_WRITES: Operations = {
    "place": lambda chains, a: ut.place(a, ut.ones(a.shape, "?", sycl_queue=a.sycl_queue), 1),
    "out of where": lambda chains, a: ut.where(ut.ones(a.shape, "?", sycl_queue=a.sycl_queue), a, 1, out=a),
    "out of take": lambda chains, a: ut.take(a[None], [0], axis=0, out=a[None]),
    "out of equal": lambda chains, a: ut.equal(a, a, out=a),
    "out of real": lambda chains, a: ut.conj(a, out=a),
    "an index array": lambda chains, a: a.__setitem__([0], 1),
    "a mask": lambda chains, a: a.__setitem__(ut.ones(a.shape, "?", sycl_queue=a.sycl_queue), 1),
    "put_along_axis": lambda chains, a: ut.put_along_axis(a, ut.zeros((1,) * a.ndim, "i8", sycl_queue=a.sycl_queue), 1),
    "copy_from_device": lambda chains, a: a.usm_data.copy_from_device(um.MemoryUSMShared(64, queue=chains.queue)),
}

# Memory.

MEMORY: Operations = {
    "slice": lambda chains, m: m[chains.one_of((0, 8, 64)) : chains.one_of((64, 1024, None))],
    "as_usm_memory": lambda chains, m: um.as_usm_memory(m),
    "the class": lambda chains, m: type(m)(m),
    "a copy by the class": lambda chains, m: um.MemoryUSMShared(m, copy=True),
    "asarray": lambda chains, m: ut.asarray(m),
    "constructor": lambda chains, m: ut.usm_ndarray(m.nbytes // 4, "i4", buffer=m),
    "constructor of complex numbers": lambda chains, m: ut.usm_ndarray((2, 3), "c8", buffer=m),
    "memoryview": lambda chains, m: memoryview(m),
    "a producer": lambda chains, m: Producer(m.__sycl_usm_array_interface__, m),
    "a dict": lambda chains, m: ut.asarray(Producer(m.__sycl_usm_array_interface__, m)),
    "a dict of CUDA": _of_cuda,
    "copy.copy": lambda chains, m: copy.copy(m),
    "pickle": _pickled,
    "a message": _sent,
    "a handle": _by_handle,
    "over the buffer": lambda chains, m: _memory_over_buffer(_kind(m), chains.device, False, memoryview(m), m.nbytes),
}
MEMORY_INTERFACES: dict[str, Callable[[Any], bool]] = {
    "flag": lambda m: m.readonly is True,
    "dict": _interface,
    "dict of CUDA": _cuda_interface,
    "buffer": _buffer,
    "pickle": _pickle,
}
MEMORY_WRITES: Operations = {
    "memset": lambda chains, m: m.memset(1),
    "copy_from_host": lambda chains, m: m.copy_from_host(bytes(m.nbytes)),
    "copy_from_device": lambda chains, m: m.copy_from_device(um.MemoryUSMShared(1, queue=chains.queue)),
    "memset of the queue": lambda chains, m: chains.queue.memset(m, 1),
    "fill of the queue": lambda chains, m: chains.queue.fill(m, b"\1"),
    "memcpy": lambda chains, m: chains.queue.memcpy(m, b"\1" * 4, 1),
    "a copy of the queue": lambda chains, m: chains.queue.copy(m, bytes(m.nbytes)),
    "a buffer": _of_ctypes,
}

# Views of Python.

VIEWS: Operations = {
    "slice": lambda chains, v: v[chains.one_of((0, 1)) :: chains.one_of((1, 2, -1))],
    "cast": lambda chains, v: v.cast("B").cast(chains.one_of(("i", "f", "h", "B"))),
    "toreadonly": lambda chains, v: v.toreadonly(),
    "memoryview": lambda chains, v: memoryview(v),
    "asarray": lambda chains, v: ut.asarray(v, sycl_queue=chains.queue),
    "over the buffer": lambda chains, v: chains.over(chains.one_of(("host", "shared", "device")), v),
    "memory over the buffer": lambda chains, v: _memory_over_buffer("host", chains.device, False, v, v.nbytes),
    "a pickle of a buffer": lambda chains, v: memoryview(pickle.PickleBuffer(v)),
}
VIEW_INTERFACES: dict[str, Callable[[Any], bool]] = {"flag": lambda v: v.readonly is True, "buffer": _buffer}


VIEW_WRITES: Operations = {
    "an assignment": lambda chains, v: v.__setitem__((0,) * v.ndim, 0),
    "an assignment of a slice": lambda chains, v: v.__setitem__(slice(None), v),
    "a buffer": _of_ctypes,
    "copy_to_host": lambda chains, v: um.MemoryUSMShared(1, queue=chains.queue).copy_to_host(v),
    "memcpy": lambda chains, v: chains.queue.memcpy(v, um.MemoryUSMShared(1, queue=chains.queue), 1),
}

# Objects with the interface alone.

PRODUCERS: Operations = {
    "asarray": lambda chains, p: ut.asarray(p),
    "as_usm_memory": lambda chains, p: um.as_usm_memory(p),
    "constructor": lambda chains, p: ut.usm_ndarray(1, "u1", buffer=p),
    "flip": lambda chains, p: ut.flip(p),
    "broadcast_to": lambda chains, p: ut.broadcast_to(p, (2, *p.__sycl_usm_array_interface__["shape"])),
    "reshape": lambda chains, p: ut.reshape(p, -1),
}
PRODUCER_WRITES: Operations = {
    "memset of the queue": lambda chains, p: chains.queue.memset(p, 1),
    "memcpy": lambda chains, p: chains.queue.memcpy(p, b"\1" * 4, 1),
    "put": lambda chains, p: ut.put(p, [0], 1),
}
# Objects with DLPack or the interface of CUDA alone.
TENSORS: Operations = {
    "from_dlpack": lambda chains, t: ut.from_dlpack(t),
    "asarray": lambda chains, t: ut.asarray(t),
}
CUDA: Operations = {"asarray": lambda chains, c: ut.asarray(c)}

# NumPy, and what it makes of arrays of the package.

NUMPY: Operations = {}
NUMPY_INTERFACES: dict[str, Callable[[Any], bool]] = {}
NUMPY_WRITES: Operations = {}
if HAS_NUMPY:
    NUMPY = {
        "slice": lambda chains, n: n[_key(chains, n)],
        "T": lambda chains, n: n.T,
        "view": lambda chains, n: n.view("u1"),
        "ravel": lambda chains, n: n.ravel(),
        "real": lambda chains, n: n.real,
        "asarray": lambda chains, n: np.asarray(n),
        "broadcast_to": lambda chains, n: np.broadcast_to(n, (2, *n.shape)),
        "memoryview": lambda chains, n: memoryview(n),
        "asarray of the package": lambda chains, n: ut.asarray(n, sycl_queue=chains.queue),
        "from_numpy": lambda chains, n: ut.from_numpy(n, sycl_queue=chains.queue),
        "from_dlpack": lambda chains, n: ut.from_dlpack(n),
        "over the buffer": lambda chains, n: chains.over(chains.one_of(("host", "shared", "device")), n),
        "pickle": _pickled,
    }
    NUMPY_INTERFACES = {
        "flag": lambda n: n.flags.writeable is False,
        "dict of NumPy": lambda n: n.__array_interface__["data"][1] is True,
        "buffer": _buffer,
    }
    NUMPY_WRITES = {
        "an assignment": lambda chains, n: n.__setitem__(..., 0),
        "setflags": lambda chains, n: n.setflags(write=True),
        "copyto": lambda chains, n: np.copyto(n, 0),
        "a buffer": _of_ctypes,
        "copy_to_host": lambda chains, n: um.MemoryUSMShared(1, queue=chains.queue).copy_to_host(n),
    }
    VIEWS["frombuffer"] = lambda chains, v: np.frombuffer(v, "i2")
    ARRAYS |= {
        "asarray of NumPy": lambda chains, a: np.asarray(a),
        "from_dlpack of NumPy": lambda chains, a: np.from_dlpack(a),
        "to_numpy": lambda chains, a: ut.to_numpy(a),
        "diagonal": lambda chains, a: ut.linalg.diagonal(a),
        "transpose of NumPy": lambda chains, a: np.transpose(a),
        "broadcast_to of NumPy": lambda chains, a: np.broadcast_to(a, (2, *a.shape)),
        "diagonal of NumPy": lambda chains, a: np.diagonal(a),
        "atleast_3d of NumPy": lambda chains, a: np.atleast_3d(a),
        "split of NumPy": lambda chains, a: np.split(a, 1)[0],
        "positive": lambda chains, a: ut.positive(a),
    }
    ARRAY_SLOW_WRITES |= {
        "out of add": _with_provider("add"),
        "out of multiply": _with_provider("multiply"),
        "+=": lambda chains, a: operator.iadd(a, 1),
        "sort": lambda chains, a: a.sort(),
        "copyto": lambda chains, a: np.copyto(a, 1),
        "out of NumPy": lambda chains, a: np.add(a, 1, out=a),
    }

# dpnp, on whose devices it can be.

DPNP: Operations = {}
DPNP_INTERFACES: dict[str, Callable[[Any], bool]] = {"flag": lambda d: not d.flags.writable, "dict": _interface}
DPNP_WRITES: Operations = {"an assignment": lambda chains, d: d.__setitem__(..., 0)}


def _import_dpnp() -> None:
    import dpnp.tensor as dpt

    DPNP.update(
        {
            "slice": lambda chains, d: d[_key(chains, d)],
            "T": lambda chains, d: d.T,
            "reshape": lambda chains, d: dpt.reshape(d, -1),
            "flip": lambda chains, d: dpt.flip(d),
            "asarray of the package": lambda chains, d: ut.asarray(d),
            "from_dlpack of the package": lambda chains, d: ut.from_dlpack(d),
            "as_usm_memory of an array of the package": lambda chains, d: um.as_usm_memory(d),
        }
    )
    ARRAYS["asarray of dpnp"] = lambda chains, a: dpt.asarray(a)
    ARRAYS["from_dlpack of dpnp"] = lambda chains, a: dpt.from_dlpack(a)
    TABLES[dpt.usm_ndarray] = Table("an array of dpnp", DPNP, DPNP_INTERFACES, DPNP_WRITES)


_TENSOR = Table("a tensor", TENSORS, {}, {})
TABLES: dict[type, Table] = {
    memoryview: Table("a buffer", VIEWS, VIEW_INTERFACES, VIEW_WRITES),
    Producer: Table("a producer", PRODUCERS, {"dict": _interface}, PRODUCER_WRITES),
    Exporter: _TENSOR,
    OldExporter: _TENSOR,
    Cuda: Table("an object of CUDA", CUDA, {"dict": _cuda_interface}, {}),
}


def table_of(obj: Any) -> Table:
    return TABLES[type(obj)]


def prepare(device: str) -> Callable[[random.Random], Counter[str]]:
    """The function of a round."""
    warnings.simplefilter("ignore")
    if HAS_DPNP and device.startswith(("opencl", "level_zero")):
        _import_dpnp()
    TABLES[ut.usm_ndarray] = Table("an array", ARRAYS, ARRAY_INTERFACES, ARRAY_WRITES, ARRAY_SLOW_WRITES)
    memory = Table("memory", MEMORY, MEMORY_INTERFACES, MEMORY_WRITES)
    TABLES.update(dict.fromkeys((um.MemoryUSMHost, um.MemoryUSMDevice, um.MemoryUSMShared), memory))
    if HAS_NUMPY:
        TABLES[np.ndarray] = Table("an array of NumPy", NUMPY, NUMPY_INTERFACES, NUMPY_WRITES)
    chains = Chains(device)
    balance = Balance()
    gc.collect()
    gc.freeze()

    def play(choice: random.Random) -> Counter[str]:
        chains.choice = choice
        happened: Counter[str] = Counter()
        with balance:
            for _ in range(CHAINS):
                chains.play(happened)
        return happened

    return play
