"""Work that another library submits, and graphs that it captures: calls of the CUDA driver, unknown to our guards."""

import contextlib
import ctypes
import os
from collections.abc import Iterator
from typing import Any

# CU_STREAM_CAPTURE_MODE_GLOBAL, which forbids most.
GLOBAL = 0
NON_BLOCKING = 1
# CU_POINTER_ATTRIBUTE_MEMORY_TYPE, which the driver leaves at 0 for an address that it does not know.
MEMORY_TYPE = 2
# A kernel that multiplies so many numbers.
SCALE = """
.version 7.0
.target sm_52
.address_size 64

.visible .entry scale(.param .u64 x, .param .f32 by, .param .u32 count)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [x];
    ld.param.f32 %f1, [by];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra done;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r5, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    mul.f32 %f3, %f2, %f1;
    st.global.f32 [%rd4], %f3;
done:
    ret;
}
"""


class Graph:
    """What was captured; `nodes` and `handle` are there after the capture."""

    nodes: int
    handle: ctypes.c_void_p


class Driver:
    """The driver, with the context of a device as that of the thread until `close`."""

    def __init__(self, device_id: int = 0) -> None:
        self.library = ctypes.CDLL(os.environ.get("USM_CUDA_DRIVER", "libcuda.so.1"))
        self.device_id = device_id
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device_id)
        self.call("cuCtxPushCurrent_v2", context)

    def call(self, name: str, *arguments: Any) -> None:
        assert getattr(self.library, name)(*arguments) == 0, name

    def is_allocated(self, address: int) -> bool:
        """Whether the driver knows the byte as one of an allocation."""
        kind = ctypes.c_uint()
        attribute, value = ctypes.c_int(MEMORY_TYPE), ctypes.c_void_p(ctypes.addressof(kind))
        pointers = ctypes.byref(attribute), ctypes.byref(value)
        self.call("cuPointerGetAttributes", 1, *pointers, ctypes.c_uint64(address))
        return kind.value != 0

    def free_bytes(self) -> int:
        """Free memory of the device."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def copy(self, target: int, source: int, len_bytes: int, stream: int) -> None:
        """Submits a copy between two addresses to a stream."""
        addresses = ctypes.c_uint64(target), ctypes.c_uint64(source)
        self.call("cuMemcpyAsync", *addresses, ctypes.c_size_t(len_bytes), ctypes.c_void_p(stream))

    def hold(self, stream: int, seconds: float) -> None:
        """Lets operations of a stream take so many seconds. On the stand-in, a wait for one of them ends that."""
        if hasattr(self.library, "cuda_loopback_hold"):
            self.library.cuda_loopback_hold(ctypes.c_uint(int(1e3 * seconds)))
        else:
            # A function with one argument, which the driver calls with what it takes for a pointer.
            pause = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p)
            self.call("cuLaunchHostFunc", ctypes.c_void_p(stream), pause, ctypes.c_void_p(int(1e6 * seconds)))

    def wait(self, stream: int) -> None:
        self.call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def new_stream(self) -> int:
        """A stream of the library, which stays."""
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), NON_BLOCKING)
        assert stream.value is not None
        return stream.value

    @contextlib.contextmanager
    def capture(self, stream: int) -> Iterator[Graph]:
        """Captures a stream. The capture has to be valid at its end."""
        graph = Graph()
        self.call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), GLOBAL)
        try:
            yield graph
        finally:
            captured = ctypes.c_void_p()
            self.call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(captured))
        nodes, graph.handle = ctypes.c_size_t(), ctypes.c_void_p()
        self.call("cuGraphGetNodes", captured, None, ctypes.byref(nodes))
        graph.nodes = nodes.value
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(graph.handle), captured, ctypes.c_uint64(0))
        self.call("cuGraphDestroy", captured)

    def is_capturing(self, stream: int) -> bool:
        """Whether a capture goes on and is valid."""
        status = ctypes.c_int()
        self.call("cuStreamIsCapturing", ctypes.c_void_p(stream), ctypes.byref(status))
        return status.value == 1

    def launch(self, graph: Graph, stream: int) -> None:
        """Runs a graph and waits for it."""
        self.call("cuGraphLaunch", graph.handle, ctypes.c_void_p(stream))
        self.wait(stream)

    def destroy(self, graph: Graph) -> None:
        self.call("cuGraphExecDestroy", graph.handle)

    def close(self) -> None:
        self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
