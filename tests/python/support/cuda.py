"""Work that another library submits: calls of the CUDA driver, of which our guards know nothing."""

import ctypes
import os
from typing import Any


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

    def copy(self, target: int, source: int, len_bytes: int, stream: int) -> None:
        """Submits a copy between two addresses to a stream."""
        addresses = ctypes.c_uint64(target), ctypes.c_uint64(source)
        self.call("cuMemcpyAsync", *addresses, ctypes.c_size_t(len_bytes), ctypes.c_void_p(stream))

    def wait(self, stream: int) -> None:
        self.call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def close(self) -> None:
        self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
