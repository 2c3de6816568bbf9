"""Copies, casts, fills and index operations on a CUDA device, beside a plain copy of as many bytes."""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from case import Case
from device_case import Work, on_device
from device_sides import NARROW, Array

Shape = tuple[int, ...]
MIB = 1 << 20
ASSIGN = {"statement": "b[...] = v", "torch": "b.copy_(v)"}

TRANSPOSES = {
    "aligned": [
        ("u1", 16384, 16384),
        ("u2", 16384, 16384),
        ("f4", 8192, 8192),
        ("f8", 8192, 8192),
        ("c16", 4096, 4096),
    ],
    "16-byte pitches": [("u1", 12000, 10000), ("f4", 8000, 6000), ("f8", 7000, 5000)],
    "odd pitches": [
        ("u1", 32767, 16385),
        ("u2", 16383, 16389),
        ("f4", 16383, 8193),
        ("f8", 8191, 4099),
        ("c16", 4095, 4097),
    ],
}


class Sizes:
    """The sizes of the cases; small ones, with the same remainders modulo 16 in matrices, for smoke runs."""

    def __init__(self, smoke: bool) -> None:
        self.smoke = smoke

    def shape(self, *axes: int) -> Shape:
        if not self.smoke:
            return axes
        if len(axes) < 3:
            return tuple(n if n < 8 else 16 + n % 16 for n in axes)
        return tuple(n if n < 8 else 8 + n % 8 if len(axes) == 3 else 2 + n % 3 for n in axes)

    def count(self, n: int) -> int:
        return 1000 + n % 3 if self.smoke else n


def copy(
    name: str,
    shape: Shape,
    dtype: str,
    view: str = "a",
    *,
    out: Shape | None = None,
    target: str = "o",
    to: str = "",
    values: str = "numbers",
    shift: int = 0,
    **more: Any,
) -> Case:
    """`v`, a view of `a`, into `b`, a view of `o`. The plain copy has the bytes of the result; of a cast, the mean of
    what is read and written."""
    read = Array(shape, dtype, values, shift=shift)
    result = Array(out or viewed(shape, view), to or dtype, shift=shift)
    written = prod(viewed(result.shape, target.replace("o", "a"))) * result.itemsize
    moved = (written + written // result.itemsize * read.itemsize) // 2 if to else written
    x = more.pop("x", None)
    views = {"v": view, "b": target}
    return on_device(name, Work({"a": read, "o": result}, views=views, moved=moved, **ASSIGN | more), x=x)


def viewed(shape: Shape, view: str) -> Shape:
    """The shape of a view, found without memory."""
    import numpy

    array = numpy.broadcast_to(numpy.zeros((), "u1"), shape)
    names = {"a": array, "permute": numpy.transpose, "broadcast": numpy.broadcast_to}
    return eval(view, names).shape


def transposes(sizes: Sizes) -> Iterator[Case]:
    for pitches, matrices in TRANSPOSES.items():
        for dtype, rows, columns in matrices:
            yield copy(f"transpose/{pitches} {dtype}", sizes.shape(rows, columns), dtype, "a.T")
    for dtype, rows, columns in TRANSPOSES["aligned"]:
        if dtype in ("u1", "f4", "f8"):
            name = f"transpose/bases off by one element {dtype}"
            yield copy(name, sizes.shape(rows, columns), dtype, "a.T", shift=1)


def permutes(sizes: Sizes) -> Iterator[Case]:
    def permute(name: str, axes: Sequence[int], dtype: str, *order: int) -> Case:
        view = f"permute(a, {order})"
        return copy(f"permute/{name} {order} {dtype}", sizes.shape(*axes), dtype, view)

    for dtype in ("f4", "f8"):
        for order in [(2, 0, 1), (2, 1, 0), (1, 0, 2), (0, 2, 1)]:
            yield permute("512³", (512, 512, 512), dtype, *order)
    for dtype in ("f4", "f8"):
        for axes in [(508, 516, 500), (509, 515, 501)]:
            for order in [(2, 0, 1), (2, 1, 0)]:
                yield permute("×".join(map(str, axes)), axes, dtype, *order)
    for dtype, pixels in [("u1", 128 * MIB), ("f4", 32 * MIB)]:
        yield copy(f"permute/planes to pixels {dtype}", sizes.shape(3, pixels), dtype, "a.T")
        yield copy(f"permute/pixels to planes {dtype}", sizes.shape(pixels, 3), dtype, "a.T")
    yield permute("all axes of rank 4 reversed", (96,) * 4, "f4", 3, 2, 1, 0)
    yield permute("all axes of rank 6 reversed", (20,) * 6, "f4", 5, 4, 3, 2, 1, 0)
    yield permute("rank 6", (8, 32, 16, 24, 16, 32), "f4", 4, 2, 0, 5, 3, 1)
    yield permute("NCHW to NHWC", (64, 256, 56, 56), "f2", 0, 2, 3, 1)
    yield permute("NHWC to NCHW", (64, 56, 56, 256), "f2", 0, 3, 1, 2)


def strided(sizes: Sizes) -> Iterator[Case]:
    n, matrix, wide = sizes.count(256 * MIB), sizes.shape(8192, 8192), sizes.shape(8192, 16384)
    bytes_matrix = sizes.shape(32768, 32768)
    yield copy("strided/contiguous f8", (n // 2,), "f8")
    yield copy("strided/a[::2] f4", (n,), "f4", "a[::2]")
    yield copy("strided/a[::3] f4", (n,), "f4", "a[::3]")
    yield copy("strided/a[:, ::2] f8", wide, "f8", "a[:, ::2]")
    for dtype, shape in [("f8", matrix), ("u1", bytes_matrix)]:
        yield copy(f"strided/a[1:-1, 1:-1] {dtype}", shape, dtype, "a[1:-1, 1:-1]")
        inner = tuple(axis - 2 for axis in shape)
        yield copy(f"strided/o[1:-1, 1:-1] = a {dtype}", inner, dtype, out=shape, target="o[1:-1, 1:-1]")
    for dtype, itemsize in [("u1", 1), ("f4", 4), ("f8", 8)]:
        count = sizes.count(512 * MIB // itemsize)
        # PyTorch has no negative strides.
        yield copy(f"strided/a[::-1] {dtype}", (count,), dtype, "a[::-1]", **reversed_by_torch((0,)))
    yield copy("strided/a[::-1, ::-1] f8", matrix, "f8", "a[::-1, ::-1]", **reversed_by_torch((0, 1)))
    yield copy("strided/(n, 4)[:, :3] f8", (n // 8, 4), "f8", "a[:, :3]")
    yield copy("strided/(n, 5)[:, :4] u1", (n // 2, 5), "u1", "a[:, :4]")
    yield copy("strided/o[::2] = a f4", (n // 2,), "f4", out=(n // 2 * 2,), target="o[::2]")
    narrow = (wide[0], wide[1] // 2)
    yield copy("strided/o[:, ::2] = a f8", narrow, "f8", out=(narrow[0], narrow[1] * 2), target="o[:, ::2]")
    yield copy("strided/a row into a matrix f8", matrix[1:], "f8", f"broadcast(a, {matrix})")


def reversed_by_torch(axes: Shape) -> dict[str, str]:
    return {"torch": f"o = xp.flip(a, {axes})"}


def casts(sizes: Sizes) -> Iterator[Case]:
    n, matrix = sizes.count(64 * MIB), sizes.shape(8192, 8192)
    for source, target in [("f4", "f8"), ("f8", "f4"), ("i4", "f4"), ("f4", "f2")]:
        yield copy(f"cast/{source} to {target}", (n,), source, to=target)
    for narrow in NARROW:
        yield copy(f"cast/f4 to {narrow}", (n,), "f4", to=narrow, values="small")
        yield copy(f"cast/{narrow} to f4", (n,), narrow, to="f4")
    yield copy("cast/f8 to f4 of a transpose", matrix, "f8", "a.T", to="f4")


def fills(sizes: Sizes) -> Iterator[Case]:
    patterns = {"u1": 7, "u2": 258, "f4": 1.5, "f8": 1.1, "c16": 1.5 + 2.5j}
    for dtype, value in patterns.items():
        o = Array((sizes.count(1024 * MIB // int(dtype[1:])),), dtype)
        of_others = {"cupy": "o.fill(x)", "torch": "o.fill_(x)"}
        work = Work({"o": o}, "o[...] = x", **of_others, also={"x": value}, moved=o.nbytes)
        yield on_device(f"fill/{o.itemsize} bytes", work, beside="memset")


def results(sizes: Sizes) -> Iterator[Case]:
    """Operations that make their result."""
    n, matrix = sizes.count(64 * MIB), sizes.shape(8192, 8192)
    a, x = Array(matrix, "f8"), {"shape": matrix}
    others = {"cupy": "r = a.T.copy()", "torch": "r = a.T.contiguous()"}
    work = Work({"a": a}, "r = xp.copy(a.T, order='C')", **others, result="r", moved=a.nbytes)
    yield on_device("new/copy of a transpose f8", work)
    a = Array((n,), "f4")
    others = {"cupy": "r = a.astype('f8')", "torch": "r = a.to(xp.float64)"}
    work = Work({"a": a}, "r = xp.astype(a, 'f8')", **others, result="r", moved=6 * n)
    yield on_device("new/astype f4 to f8", work)
    others = {"cupy": "r = xp.full(shape, 1.5)", "torch": "r = xp.full(shape, 1.5, dtype=xp.float64, device='cuda')"}
    statement = "r = xp.full(shape, 1.5, dtype='f8', sycl_queue=queue)"
    work = Work({}, statement, **others, also=x, result="r", moved=8 * prod(matrix))
    yield on_device("new/full f8", work, beside="memset")


def indexed(sizes: Sizes) -> Iterator[Case]:
    def taken(name: str, a: Array, i: Array) -> Case:
        row = prod(a.shape[1:]) * a.itemsize
        work = Work({"a": a, "i": i}, "r = xp.take(a, i, axis=0)", torch="r = xp.index_select(a, 0, i)", result="r")
        return on_device(f"index/{name}", with_bytes(work, i.shape[0] * row))

    def written(name: str, o: Array, i: Array) -> Case:
        a = Array((*i.shape, *o.shape[1:]), o.dtype)
        others = {"cupy": "o[i] = a", "torch": "o.index_copy_(0, i, a)"}
        work = Work({"a": a, "o": o, "i": i}, "xp.put(o, i, a, axis=0)", **others)
        return on_device(f"index/{name}", with_bytes(work, a.nbytes))

    rows, many, few = sizes.count(MIB), sizes.count(64 * MIB), sizes.count(16 * MIB)
    table, order = Array((rows, 64), "f4"), Array((rows,), "i8", "order")
    yield taken("take rows of 256 bytes", table, order)
    yield written("put rows of 256 bytes", table, order)
    single = Array((many,), "f4")
    order = Array((few,), "i8", "order", step=many // few)
    yield taken("take single f4", single, order)
    yield written("put single f4", single, order)
    a, m = Array((many,), "f4"), Array((many,), "b1", "mask")
    yield on_device("index/a[mask] f4", Work({"a": a, "m": m}, "r = a[m]", result="r", moved=a.nbytes + m.nbytes))


def with_bytes(work: Work, moved: int) -> Work:
    return Work(work.arrays, work.statement, work.views, work.cupy, work.torch, work.result, moved, work.also)


def reductions(sizes: Sizes) -> Iterator[Case]:
    n = sizes.count(64 * MIB)
    a, o = Array((n,), "f4"), Array((n,), "f4")
    work = Work({"a": a, "o": o}, "r = a == o", result="r", moved=(2 * a.nbytes + n) // 2)
    yield on_device("ops/a == b f4", work)
    a = Array((n,), "f8")
    yield on_device("ops/sum f8", Work({"a": a}, "r = xp.sum(a)", result="r", moved=a.nbytes // 2))


def growth(sizes: Sizes) -> Iterator[Case]:
    """Cost by bytes of the result, and by rank."""
    for mib, side in [(1, 512), (4, 1024), (16, 2048), (64, 4096), (256, 8192), (1024, 16384)]:
        n, matrix = sizes.count(mib * MIB // 4), sizes.shape(side, side)
        x = {"x": float(mib)}
        yield copy(f"bytes/contiguous f4/{mib} MiB", (n,), "f4", **x)
        yield copy(f"bytes/transpose f4/{mib} MiB", matrix, "f4", "a.T", **x)
        yield copy(f"bytes/a[::2] f4/{mib} MiB", (2 * n,), "f4", "a[::2]", **x)
        yield copy(f"bytes/cast f4 to f8/{mib} MiB", (n // 2,), "f4", to="f8", **x)
    for rank, side in [(2, 8000), (3, 400), (4, 90), (5, 36), (6, 20), (8, 9)]:
        order = tuple(reversed(range(rank)))
        shape = sizes.shape(*(side,) * rank)
        yield copy(f"rank/all axes reversed f4/{rank}", shape, "f4", f"permute(a, {order})", x=float(rank))


def cases(smoke: bool) -> Iterator[Case]:
    sizes = Sizes(smoke)
    for group in (transposes, permutes, strided, casts, fills, results, indexed, reductions, growth):
        yield from group(sizes)
