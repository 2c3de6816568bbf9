"""Arrays in messages of ``distributed`` and in its files: their numbers in the header, their elements as one frame.

The frame of a dense array in host or shared memory is its memory. Other arrays are copied once: strided ones are packed
where they are, and device memory is copied to the host. Whoever receives the frame copies it to memory of the same
kind.
"""

# distributed has no types here.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import usm.tensor as ut

from .._usm import SyclDeviceCreationError, USMAllocationError, _array_from_pickle, select_default_device
from ..tensor import usm_ndarray
from . import _handles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

__all__ = ["register"]


def register(protocol: ModuleType) -> None:
    """Register with ``distributed.protocol``, which has just been imported."""
    module: Any = protocol
    module.dask_serialize.register(usm_ndarray)(serialize)
    module.dask_deserialize.register(usm_ndarray)(deserialize)


def serialize(array: usm_ndarray, context: Any = None) -> tuple[dict[str, Any], list[memoryview]]:
    """The header and the frames of an array: those of a message with a `context`, else those of a file."""
    handle = _handles.for_peer(array, context)
    if handle is not None:
        return {"handle": handle}, []
    header: dict[str, Any] = {"kind": array.usm_type, "readonly": not array.flags.writable}
    if 0 in array.strides and array.size > 1:
        # One element stands for all along the axis.
        header["broadcast"] = array.shape
        array = array[tuple(slice(1) if stride == 0 else slice(None) for stride in array.strides)]
    if array.usm_type == "device":
        # The strided copy is made on the device, and host memory gets it dense.
        axes = _memory_order(array)
        array = ut.permute_dims(ut.asarray(ut.permute_dims(array, axes), usm_type="host", order="C"), _inverse(axes))
    _, (_, device, _, dtype, shape, axes, data) = array.__reduce_ex__(5)
    header |= {"device": device, "dtype": dtype, "shape": shape, "axes": axes}
    frame = memoryview(data)
    return header, [frame.toreadonly().cast("B") if frame.nbytes else memoryview(b"")]


def deserialize(header: dict[str, Any], frames: list[Any]) -> usm_ndarray:
    """The array of a header and frames: of the same kind and device where there is place for it."""
    if "handle" in header:
        return _handles.opened(header["handle"])
    rest = (header["readonly"], header["dtype"], header["shape"], header["axes"], frames[0] if frames else b"")
    array = _placed(header["kind"], header["device"], *rest)
    return ut.broadcast_to(array, header["broadcast"]) if "broadcast" in header else array


def _placed(kind: Any, device: str, *rest: Any) -> usm_ndarray:
    """A new array. It is on the default device where the other one is not here, and in host memory where the device has
    no memory left: distributed waits for ever for an array that cannot be read."""
    try:
        return _array_from_pickle(kind, device, *rest)
    except SyclDeviceCreationError:
        return _placed(kind, select_default_device().filter_string, *rest)
    except USMAllocationError:
        if kind == "host":
            raise
        return _placed("host", device, *rest)


def _memory_order(array: usm_ndarray) -> tuple[int, ...]:
    """The axes by their strides, the longest first."""
    return tuple(sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])))


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))
