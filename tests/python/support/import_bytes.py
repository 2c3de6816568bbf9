"""Bytes: pickles, and handles of memory of processes."""

import ctypes
import io
import pickle
import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import usm
import usm.ipc
import usm.tensor as ut
from usm._usm import DType, _Memory, _withdraw

from .import_world import KINDS, LIMIT_BYTES, Call, Path, World


class _Restricted(pickle.Unpickler):
    """Finds the names that valid pickles of the package have, and no others."""

    names: dict[tuple[str, str], Any] = {}

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self.names[module, name]
        except (KeyError, TypeError):
            raise pickle.UnpicklingError(f"no name of the package: {module!r} {name!r}") from None


class _Noted(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        _Restricted.names[module, name] = found
        return found


class Pickles(Path):
    # Those of the module `pickle` for bytes that are no pickle, too.
    errors = (TypeError, ValueError, BufferError, usm.UsmError, pickle.UnpicklingError, EOFError, LookupError)
    errors += (AttributeError, OverflowError, ImportError)

    def __init__(self, world: World) -> None:
        super().__init__(world)
        queue = world.queue
        others = [queue, queue.sycl_device, queue.sycl_context, queue.submit_barrier(), queue.sycl_device.sycl_platform]
        others += [world.sources[0].array.device, DType("f4"), DType("bfloat16")]
        things = [source.array for source in world.sources] + [source.memory for source in world.sources[::5]] + others
        self.pickles: list[tuple[bytes, list[Any]]] = []
        self.calls: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        for thing in things:
            for protocol in (0, 2, 4, 5):
                self.pickles.append((pickle.dumps(thing, protocol), []))
            buffers: list[pickle.PickleBuffer] = []
            data = pickle.dumps(thing, 5, buffer_callback=buffers.append)
            beside = [bytearray(buffer.raw()) for buffer in buffers]
            self.pickles.append((data, beside))
            for block in beside:
                first = ctypes.addressof(ctypes.c_char.from_buffer(block)) if block else 0
                world.add(first, first + len(block))
            if isinstance(thing, ut.usm_ndarray | _Memory):
                for protocol in (4, 5):
                    function, arguments, *_ = thing.__reduce_ex__(protocol)
                    plain = [bytes(x) if isinstance(x, pickle.PickleBuffer) else x for x in arguments]
                    self.calls.append((function, tuple(plain)))
        for data, beside in self.pickles:
            self.check(_Noted(io.BytesIO(data), buffers=beside).load())
        # The module allocates what the bytes say, and fills it. Addresses have no limit: drivers of GPUs, which bytes
        # may name, reserve many.
        with open("/proc/self/statm") as figures:
            most = resource.getpagesize() * int(figures.read().split()[5]) + 16 * LIMIT_BYTES
        resource.setrlimit(resource.RLIMIT_DATA, (most, resource.RLIM_INFINITY))

    def check(self, result: Any) -> None:
        self.world.check(result, is_of_python=True)

    def call(self) -> Call:
        kind = self.mutator.choice.random()
        if kind < 0.3:
            function, arguments = self.one_of(self.calls)
            changed = self.changed(arguments, self.times())
            return lambda arguments: function(*arguments), (changed,)
        data, beside = self.one_of(self.pickles)
        if kind < 0.4 and beside:
            beside = self.changed(beside)
        else:
            changed = self.changed(data, self.times())
            # CPython prints a SystemError where it has no memory for a bytearray.
            data = data if type(changed) is bytes and pickle.BYTEARRAY8 in changed else changed
        self.mutator.product = 1 << 60
        return lambda data, beside: _Restricted(io.BytesIO(data), buffers=beside).load(), (data, beside)


_OTHER_PROCESS = """
import sys, usm.ipc, usm.tensor as ut
arrays = [ut.ones((100, 200), usm_type=kind, device=sys.argv[1]) for kind in sys.argv[2:]]
handles = [usm.ipc.export(array) for array in arrays] + [usm.ipc.export(array[::-1, 1:]) for array in arrays]
print(*(bytes(handle).hex() for handle in handles), flush=True)
sys.stdin.read()
"""


class Handles(Path):
    errors = (TypeError, ValueError, usm.UsmError)

    def __init__(self, world: World) -> None:
        super().__init__(world)
        queue, name = world.queue, world.queue.sycl_device.filter_string
        kinds = ["device"] if name.startswith("cuda") else list(KINDS)
        arrays = [ut.ones((100, 200), usm_type=kind, sycl_queue=queue) for kind in kinds]
        self.kept = [usm.ipc.export(array) for array in arrays]
        self.kept += [usm.ipc.export(array[::-1, 1:]) for array in arrays] + [
            usm.ipc.export(array.usm_data) for array in arrays
        ]
        for array in arrays:
            world.add(array._pointer, array._pointer + array.nbytes)
        self.other = subprocess.Popen(
            [sys.executable, "-c", _OTHER_PROCESS, name, *kinds],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.other.stdout is not None
        world.shared = arrays[0].nbytes
        theirs = [bytes.fromhex(word) for word in self.other.stdout.readline().split()]
        self.handles = [bytes(handle) for handle in self.kept] * 3 + theirs

    def call(self) -> Call:
        data = self.changed(self.one_of(self.handles), self.times())
        kind = self.mutator.choice.random()
        if kind < 0.02:
            # The token of a handle withdraws it.
            is_valid = type(data) is bytes and any(handle[24:40] in data for handle in self.handles)
            return _withdraw, (b"" if is_valid else data,)
        if kind < 0.1:
            queue = self.changed(self.world.queue.sycl_device.filter_string)
            return lambda data: usm.ipc.open(data, queue=queue), (data,)
        return usm.ipc.open, (data,)
