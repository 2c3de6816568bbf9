"""CuPy and PyTorch as providers for memory of NVIDIA GPUs.

Both work on the stream of the array's queue meanwhile, so that their work comes in the order of the queue and nobody
waits. Their functions are taken in the form that the package ``array-api-compat`` gives them.
"""

# The libraries have no types here.
# pyright: reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple, cast

from .._usm import _adopt, _cuda_stream, _new, _publish, _span, asarray, astype, from_dlpack, result_type, usm_ndarray
from ._choice import Missing
from ._library import LibraryProvider, Plain, first
from ._table import FFT, FUNCTIONS, LINALG

__all__ = ["CupyProvider", "TorchProvider"]


def _namespace(name: str) -> Any:
    try:
        return import_module(f"array_api_compat.{name}")
    except ModuleNotFoundError as error:
        if error.name not in ("array_api_compat", f"array_api_compat.{name}"):
            raise
        raise Missing(
            f"{name} computes on this memory through array-api-compat, which is not installed: "
            "pip install array-api-compat"
        ) from error


class _CudaProvider(LibraryProvider):
    """What both have in common."""

    def __init__(self, memory: str) -> None:
        super().__init__(memory)
        self.namespace = _namespace(self.name)
        #: The library's object for the address of a stream and a GPU.
        self.stream = lru_cache(maxsize=64)(self.make_stream)

    def make_stream(self, pointer: int, ordinal: int) -> Any:
        raise NotImplementedError

    def find(self, part: str, name: str) -> Callable[..., Any] | None:
        home = getattr(self.namespace, part) if part else self.namespace
        found: Callable[..., Any] | None = getattr(home, name, None)
        return found

    def adapt(self, part: str, name: str) -> Plain | None:
        return _ADAPTED.get((part, name), lambda _: None)(self.namespace)

    def beside(self, array: usm_ndarray, operands: tuple[Any, ...]) -> usm_ndarray:
        """A result in memory of the kind that follows from the operands."""
        if self.memory == "cuda":
            return array
        there = _new(operands, array.shape, array.dtype)
        there[...] = array
        return there

    def frequencies(self, name: str, n: int, d: float, dtype: Any, place: usm_ndarray) -> usm_ndarray:
        with self.order((place,)):
            value = self.on_device(lambda **where: getattr(self.namespace.fft, name)(n, d=d, **where), place)
            ours = self.ours(value, (place,))
        return ours if dtype is None else astype(ours, dtype)

    def on_device(self, make: Callable[..., Any], place: usm_ndarray) -> Any:
        """Makes an array of the library on the device of `place`."""
        return make()


class CupyProvider(_CudaProvider):
    """Computes with CuPy."""

    name = "cupy"

    def __init__(self, memory: str) -> None:
        self.module = self.cupy = import_module("cupy")
        super().__init__(memory)

    def make_stream(self, pointer: int, ordinal: int) -> Any:
        return self.cupy.cuda.Stream.from_external(_Pointer(pointer))

    def find(self, part: str, name: str) -> Callable[..., Any] | None:
        theirs = super().find(part, name)
        if theirs is None or part or FUNCTIONS[name].kind != "binary":
            return theirs
        return _with_any_integer(theirs)

    def order(self, operands: tuple[Any, ...]) -> Any:
        return _OnCupyStream(self, *_cuda_stream(first(operands)))

    def view(self, array: usm_ndarray) -> Any:
        kept = _publish(array)
        if isinstance(kept, self.cupy.ndarray):
            return kept
        if array.size == 0:
            return self.cupy.empty(array.shape, array.dtype)
        memory, offset = _span(array)
        ordinal, itemsize = _cuda_stream(array)[1], array.itemsize
        cuda = self.cupy.cuda
        block = cuda.UnownedMemory(memory._pointer, memory.nbytes, memory, ordinal)
        pointer = cuda.MemoryPointer(block, offset * itemsize)
        strides = tuple(stride * itemsize for stride in array.strides)
        theirs = self.cupy.ndarray(array.shape, array.dtype, pointer, strides=strides)
        array._provided = theirs
        return theirs

    def ours(self, value: Any, operands: tuple[Any, ...]) -> Any:
        if not isinstance(value, self.cupy.ndarray):
            return value
        is_dense, itemsize = value.flags.c_contiguous, value.itemsize
        strides = None if is_dense else [stride // itemsize for stride in value.strides]
        array = _adopt(value, value.data.ptr, value.shape, strides, value.dtype.str, first(operands))
        return self.beside(array, operands)


def _with_any_integer(theirs: Plain) -> Plain:
    """A function of two operands that takes integers of more than 64 bits beside real and complex numbers, too."""

    def compute(x1: Any, x2: Any, **keywords: Any) -> Any:
        try:
            return theirs(x1, x2, **keywords)
        except OverflowError:
            if all(isinstance(x, int) or x.dtype.kind not in "fc" for x in (x1, x2)):
                raise
        return theirs(*(float(x) if isinstance(x, int) else x for x in (x1, x2)), **keywords)

    return compute


class _Pointer:
    """A stream by its address, in the protocol of cuda.core. It does not keep the stream: arrays do."""

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.pointer


class _OnCupyStream:
    """CuPy's current device and stream for the lines of a ``with`` statement."""

    __slots__ = ("before", "cuda", "device", "ordinal", "stream")

    def __init__(self, provider: CupyProvider, pointer: int, ordinal: int) -> None:
        self.cuda, self.ordinal = provider.cupy.cuda, ordinal
        self.device: Any = None
        self.stream = provider.stream(pointer, ordinal)

    def __enter__(self) -> None:
        if self.cuda.runtime.getDevice() != self.ordinal:
            self.device = self.cuda.Device(self.ordinal)
            self.device.__enter__()
        self.before = self.cuda.get_current_stream()
        self.stream.use()

    def __exit__(self, *error: Any) -> None:
        self.before.use()
        if self.device is not None:
            self.device.__exit__(*error)


class TorchProvider(_CudaProvider):
    """Computes with PyTorch."""

    name = "torch"
    narrow = frozenset({"bfloat16"})
    refusals = (RuntimeError,)

    def __init__(self, memory: str) -> None:
        self.torch = torch = import_module("torch")
        super().__init__(memory)
        if not torch.backends.cuda.is_built():
            raise Missing("found a PyTorch that is built without CUDA, allowed on this memory is one with it")
        # What PyTorch's own functions of streams call: an object for each stream takes longer than all the rest.
        self.get_stream, self.set_stream = torch._C._cuda_getCurrentStream, torch._C._cuda_setStream
        self.get_device = torch._C._cuda_getDevice
        torch.cuda.init()  # which the last function does not do
        self.typestrs = {getattr(torch, name): result_type(name).str for name in _OF_TORCH}
        # PyTorch's own functions of NumPy's names have other defaults.
        self.module = self.namespace

    def find(self, part: str, name: str) -> Callable[..., Any] | None:
        theirs = super().find(part, name)
        if theirs is None or part:
            return _trace(self.torch, theirs) if theirs is not None and name == "trace" else theirs
        if name in ("mean", "std", "var"):
            return _averaged(self.torch, theirs)
        if name == "positive":
            return cast("Plain", self.torch.clone)  # PyTorch gives the operand itself
        if name == "logsumexp":
            return _logsumexp(theirs)
        return _promoted(self.torch, theirs, name) if FUNCTIONS[name].kind in ("binary", "matmul") else theirs

    def prepared(self, theirs: Plain) -> Plain:
        def with_its_dtype(*operands: Any, **keywords: Any) -> Any:
            if keywords.get("dtype") is not None:
                keywords["dtype"] = getattr(self.torch, result_type(keywords["dtype"]).name)
            return theirs(*operands, **keywords)

        return with_its_dtype

    def of_numpy(self, function: Any) -> Callable[..., Any] | None:
        name = function.__name__
        for part, names in (("", FUNCTIONS), ("linalg", LINALG), ("fft", FFT)):
            if name in names:
                return self.find(part, name)
        # Of other functions the names are NumPy's, and the results are not.
        if name == "norm":
            return cast("Plain", self.torch.linalg.norm)
        return getattr(self.torch, name) if name in ("cumsum", "cumprod") else None

    def make_stream(self, pointer: int, ordinal: int) -> Any:
        stream = self.torch.cuda.ExternalStream(pointer, device=ordinal)
        return stream.stream_id, stream.device_index, stream.device_type

    def order(self, operands: tuple[Any, ...]) -> Any:
        return _OnTorchStream(self, *_cuda_stream(first(operands)))

    def view(self, array: usm_ndarray) -> Any:
        kept = _publish(array)
        if isinstance(kept, self.torch.Tensor):
            return kept
        if not _is_theirs(array):
            return self.torch.from_dlpack(asarray(array, usm_type="device", copy=True))
        # The capsule keeps the memory, and not the array.
        theirs = self.torch.from_dlpack(array)
        array._provided = theirs
        return theirs

    def writes(self, out: usm_ndarray, operands: tuple[Any, ...]) -> bool:
        # Where the dtypes differ it casts by rules of its own.
        dtype = out.dtype
        for operand in operands:
            if type(operand) is usm_ndarray and operand.dtype != dtype:
                return False
        return _is_theirs(out)

    def ours(self, value: Any, operands: tuple[Any, ...]) -> Any:
        if not isinstance(value, self.torch.Tensor):
            return value
        if value.requires_grad:
            value = value.detach()
        # What it has not computed yet: its memory has other elements.
        if value.is_conj() or value.is_neg():
            value = value.resolve_conj().resolve_neg()
        is_bfloat16 = value.dtype == self.torch.bfloat16
        described = value.view(self.torch.int16) if is_bfloat16 else value
        typestr = self.typestrs.get(described.dtype)
        if typestr is None or not value.is_cuda:
            array = from_dlpack(value)
            array._provided = value
            return self.beside(array, operands)
        array = _adopt(described, value.data_ptr(), value.shape, value.stride(), typestr, first(operands))
        if is_bfloat16:
            array = array.view("bfloat16")
            array._provided = value
        return self.beside(array, operands)

    def on_device(self, make: Callable[..., Any], place: usm_ndarray) -> Any:
        return make(device=f"cuda:{_cuda_stream(place)[1]}", dtype=self.torch.float64)


class _OnTorchStream:
    """PyTorch's current device and stream for the lines of a ``with`` statement."""

    __slots__ = ("before", "device", "ordinal", "provider", "stream")

    def __init__(self, provider: TorchProvider, pointer: int, ordinal: int) -> None:
        self.provider, self.ordinal = provider, ordinal
        self.stream = provider.stream(pointer, ordinal)

    def __enter__(self) -> None:
        # Each device has a current stream; to set it makes the device the current one.
        provider = self.provider
        self.device = provider.get_device()
        self.before = provider.get_stream(self.ordinal)
        number, device, kind = self.stream
        provider.set_stream(stream_id=number, device_index=device, device_type=kind)

    def __exit__(self, *error: Any) -> None:
        number, device, kind = self.before
        self.provider.set_stream(stream_id=number, device_index=device, device_type=kind)
        if self.device != self.ordinal:
            self.provider.torch.cuda.set_device(self.device)


#: The dtypes of PyTorch that the interface of CUDA has; bfloat16 goes as int16.
_OF_TORCH = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)


def _is_theirs(array: usm_ndarray) -> bool:
    """Whether PyTorch can have the array: neither with negative strides nor in memory of other kinds."""
    return array.usm_type == "device" and min(array.strides, default=0) >= 0


def _logsumexp(theirs: Plain) -> Plain:
    """PyTorch's wants the axes, and has no `dtype`."""

    def logsumexp(x: Any, *, axis: Any, dtype: Any, keepdims: bool) -> Any:
        x = x if dtype is None else x.to(dtype)
        return theirs(x, tuple(range(x.ndim)) if axis is None else axis, keepdims)

    return logsumexp


def _trace(torch: Any, theirs: Plain) -> Plain:
    """PyTorch's sums of unsigned integers are signed."""

    def trace(x: Any, *, offset: int, dtype: Any) -> Any:
        found = theirs(x, offset=offset, dtype=dtype)
        is_signed = dtype is None and found.dtype == torch.int64
        return found.view(torch.uint64) if is_signed and str(x.dtype).startswith("torch.uint") else found

    return trace


def _averaged(torch: Any, theirs: Plain) -> Plain:
    """A mean or variance, of which PyTorch has none for integers."""
    return lambda x, **keywords: theirs(x.to(torch.float64) if _is_exact(x) else x, **keywords)


def _is_exact(x: Any) -> bool:
    """Whether a tensor is of integers or booleans."""
    return not (x.dtype.is_floating_point or x.dtype.is_complex)


#: Functions that PyTorch computes with a tensor and a number.
_WITH_NUMBERS = frozenset({"add", "divide", "floor_divide", "multiply", "pow", "remainder", "subtract"})


def _promoted(torch: Any, theirs: Plain, name: str) -> Plain:
    """A function of two operands with the array API's promotion, where PyTorch's default dtype of 32 bits comes in."""

    def beside(number: Any, x: Any) -> tuple[Any, Any]:
        """A number of Python and the tensor beside it."""
        if isinstance(number, (float, complex)):
            return number, x.to(torch.float64) if _is_exact(x) else x
        if not _is_exact(x):
            return float(number), x
        if x.dtype != torch.bool:
            number, limits = int(number), torch.iinfo(x.dtype)
            if not limits.min <= number <= limits.max:
                raise OverflowError(f"{name}: found the integer {number}, allowed are those of {x.dtype}")
        return number, x

    # The one that array-api-compat calls after its own promotion, of which tensors of one dtype have no need.
    plain = getattr(torch, theirs.__name__, theirs)
    divides, takes_numbers = name == "divide", name in _WITH_NUMBERS

    def compute(x1: Any, x2: Any, **keywords: Any) -> Any:
        if type(x1) is torch.Tensor:
            if type(x2) is torch.Tensor:
                if x1.dtype == x2.dtype and not (divides and _is_exact(x1)):
                    return plain(x1, x2, **keywords)
            elif takes_numbers and x1.dtype.is_floating_point and type(x2) in (float, int):
                return plain(x1, float(x2), **keywords)
        if not isinstance(x1, torch.Tensor):
            x1, x2 = beside(x1, x2)
        elif not isinstance(x2, torch.Tensor):
            x2, x1 = beside(x2, x1)
        if divides:
            x1, x2 = (x.to(torch.float64) if isinstance(x, torch.Tensor) and _is_exact(x) else x for x in (x1, x2))
        return theirs(x1, x2, **keywords)

    return compute


class EigResult(NamedTuple):
    """The result of ``linalg.eig``."""

    eigenvalues: Any
    eigenvectors: Any


def _eig(namespace: Any) -> Plain:
    return lambda x: EigResult(*(_complex(namespace, part) for part in namespace.linalg.eig(x)))


def _complex(namespace: Any, x: Any) -> Any:
    return namespace.astype(x, namespace.result_type(x.dtype, namespace.complex64), copy=False)


def _diff(namespace: Any) -> Plain:
    def diff(x: Any, prepend: Any, append: Any, *, axis: int, n: int) -> Any:
        given = {name: value for name, value in (("prepend", prepend), ("append", append)) if value is not None}
        return namespace.diff(x, axis=axis, n=n, **given)

    return diff


def _rsqrt(namespace: Any) -> Plain:
    return lambda x: namespace.reciprocal(namespace.sqrt(x))


def _reduce_hypot(namespace: Any) -> Plain:
    def reduce_hypot(x: Any, *, axis: Any, dtype: Any, keepdims: bool) -> Any:
        x = x if dtype is None else namespace.astype(x, dtype)
        return namespace.linalg.vector_norm(x, axis=axis, keepdims=keepdims)

    return reduce_hypot


#: Functions whose operands the table gives in another way, or that differ from the standard.
_ADAPTED: dict[tuple[str, str], Callable[[Any], Plain]] = {
    ("", "diff"): _diff,
    ("", "rsqrt"): _rsqrt,
    ("", "reduce_hypot"): _reduce_hypot,
    ("", "searchsorted"): lambda namespace: (
        lambda x1, x2, sorter, *, side: namespace.searchsorted(x1, x2, side=side, sorter=sorter)
    ),
    ("", "clip"): lambda namespace: lambda x, low, high: namespace.clip(x, low, high),
    ("linalg", "diagonal"): lambda namespace: (
        lambda x, *, offset: namespace.asarray(namespace.linalg.diagonal(x, offset=offset), copy=True)
    ),
    ("linalg", "eig"): _eig,
    ("linalg", "eigvals"): lambda namespace: lambda x: _complex(namespace, namespace.linalg.eigvals(x)),
    ("linalg", "matrix_rank"): lambda namespace: lambda x, rtol: namespace.linalg.matrix_rank(x, rtol=rtol),
    ("linalg", "pinv"): lambda namespace: lambda x, rtol: namespace.linalg.pinv(x, rtol=rtol),
}
